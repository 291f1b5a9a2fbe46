"""What tasks say of themselves while they run, from Spark's Python workers to a driver on the same machine.

Spark tells the driver of a task when it ends, and of its metrics every ten seconds. Between, workers send datagrams to
a port of the loopback interface: losing one costs nothing, waiting for nobody costs nothing, and none leaves the
machine. On a cluster, and over Connect, tasks are many and Spark's own count of them is enough.
"""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Thread

from omnigraph.base import clock, ids, work
from omnigraph.engine.meter import Meter

_LOOPBACK = "127.0.0.1"
_MESSAGE = struct.Struct("!26sqQ")
_SECONDS_BETWEEN = 0.2
ALL = (1 << 63) - 1
"""More than any task weighs: it is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportAddress:
    """Where the tasks of one job report to; travels with them."""

    port: int
    token: bytes
    """Tells the messages of this job from anybody else's."""

    @contextmanager
    def reporting(self, place: int, *, at_end: int | None = None) -> Iterator[None]:
        """Send what the task in this block says of itself, a few times a second, and `at_end` when it is done."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            done, sent_at = 0, 0.0

            def report(amount: int) -> None:
                nonlocal done, sent_at
                done += amount
                if (now := clock.monotonic_seconds()) - sent_at >= _SECONDS_BETWEEN:
                    sent_at = now
                    self._send(sender, place, done)

            with work.reporting(report):
                yield
            self._send(sender, place, done if at_end is None else at_end)

    def _send(self, sender: socket.socket, place: int, done: int) -> None:
        with suppress(OSError):  # progress is worth no failure
            sender.sendto(_MESSAGE.pack(self.token, place, done), (_LOOPBACK, self.port))


@contextmanager
def listening(meter: Meter) -> Iterator[ReportAddress]:
    """Take in the reports of a job's tasks until the block ends."""
    token = ids.new_ulid().encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind((_LOOPBACK, 0))
        address = ReportAddress(port=receiver.getsockname()[1], token=token)

        def listen() -> None:
            while (message := receiver.recv(_MESSAGE.size + 1)) != token:
                if len(message) == _MESSAGE.size:
                    sender_token, place, done = _MESSAGE.unpack(message)
                    if sender_token == token:
                        meter.reach(place, done)

        thread = Thread(target=listen, name="omnigraph-reports", daemon=True)
        thread.start()
        try:
            yield address
        finally:
            # Behind everything that was sent before, and at once: waiting for a timeout would make small jobs slow.
            receiver.sendto(token, (_LOOPBACK, address.port))
            thread.join()
