"""Second processes for tests: real ones, that can be told lines, listened to, paused and killed."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

TESTS = Path(__file__).parents[1]
_LINE_SECONDS_MAX = 60


def child_environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that imports what this one does, and `support` as well."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]), **more}


class Child:
    """A Python process that runs some code and talks in lines over its standard input and output."""

    def __init__(self, code: str, arguments: tuple[str, ...]) -> None:
        command = [sys.executable, "-u", "-c", dedent(code), *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    @property
    def pid(self) -> int:
        return self._process.pid

    def hear(self) -> str:
        """Return the next line the child prints."""
        ready, _, _ = select.select([self._process.stdout], [], [], _LINE_SECONDS_MAX)
        assert ready, "the child process has not said anything in time"
        line = self._process.stdout.readline()
        assert line, f"the child process ended with {self._process.wait()} instead of saying something"
        return line.decode().strip()

    def tell(self, line: str = "") -> None:
        """Send a line to the child."""
        self._process.stdin.write(f"{line}\n".encode())

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the child as a power cut would; returns when it is gone."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self.kill()
        self._process.stdin.close()
        self._process.stdout.close()


@contextmanager
def child(code: str, *arguments: str) -> Iterator[Child]:
    """Run `code` in a process of its own, with `arguments` in `sys.argv[1:]`; it does not outlive the block."""
    process = Child(code, arguments)
    try:
        yield process
    finally:
        process.close()
