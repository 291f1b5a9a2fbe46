"""Tasks that take their worker along: they do all their work, and are killed before anybody hears of it.

Of all tasks that share a directory, the first one that is done kills its Python worker and the next one its executor;
a task that Spark runs again counts as another one. Travels to workers by value, so that they need no tests.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORKER, EXECUTOR = "worker", "executor"


@dataclass(frozen=True)
class Losing:
    """A task, and where it is written down which were lost."""

    function: Callable[..., Any]
    directory: str

    def __call__(self, *arguments: Any) -> Any:
        outcome = self.function(*arguments)
        for kind in (WORKER, EXECUTOR):
            victim = os.getpid() if kind == WORKER else _executor()
            if self._is_first(kind, victim):
                os.kill(victim, signal.SIGKILL)
                signal.pause()  # until the daemon notices that its executor is gone
        Path(self.directory, f"done-{os.getpid()}-{os.urandom(4).hex()}").touch()
        return outcome

    def _is_first(self, kind: str, victim: int) -> bool:
        try:
            with Path(self.directory, kind).open("x") as lost:
                lost.write(str(victim))
        except FileExistsError:
            return False
        return True


def _executor() -> int:
    """Return the Java process that this worker works for: it has started the daemon that this was forked from."""
    executor = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
    command = Path(f"/proc/{executor}/cmdline").read_bytes()
    assert b"CoarseGrainedExecutorBackend" in command, command
    return executor
