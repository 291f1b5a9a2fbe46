"""Who holds a lock: for messages only, nothing is decided by it."""

import json
import os
import socket
from dataclasses import asdict

from omnigraph.base import clock
from omnigraph.base.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process and what it is doing."""

    host: str
    pid: int
    operation: str
    since: str
    """Spelled by the holder's own clock."""

    @classmethod
    def here(cls, operation: str) -> "Holder":
        """Describe this process."""
        return cls(
            host=socket.gethostname(),
            pid=os.getpid(),
            operation=operation,
            since=clock.timestamp_from_us(clock.now_us()),
        )

    def __str__(self) -> str:
        return f"{self.operation} in process {self.pid} on {self.host}"

    def to_bytes(self) -> bytes:
        """Spell the holder as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> "Holder | None":
        """Read what `to_bytes` wrote; None if it is not that, since a holder may be caught between two writes."""
        try:
            return cls(**json.loads(content))
        except (ValueError, TypeError):
            return None
