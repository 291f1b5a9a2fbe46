"""Standard output and standard error of the process, so that a failing one is known for what it is.

A result that cannot be printed is an error of its own, wherever in the program the print happened; a line on stderr
that nobody can receive is none, because what it speaks of goes on. Both streams carry UTF-8 whatever the locale says.
"""

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, NoReturn, TextIO

from omnigraph.cli.output import StdoutFailed

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Stdout(io.FileIO):
    """File descriptor 1."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StdoutFailed(error) from error


class _ClosedStdout(io.RawIOBase):
    """Standard output of a process that was started without one."""

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> NoReturn:
        del data
        raise StdoutFailed(OSError(errno.EBADF, "standard output is closed"))


class _Stderr(io.FileIO):
    """File descriptor 2, as far as it goes: a full disk behind it stops nothing."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def take_over_streams() -> None:
    """Put our own streams in place of those that the interpreter opened, before anything is printed."""
    has_stdout = sys.stdout is not None
    # Descriptors that are closed are taken by the next file that anybody opens, which would then be printed into.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # lives as long as the process
    sys.stdout = _text(_Stdout(1, "w", closefd=False) if has_stdout else _ClosedStdout(), sys.stdout)
    sys.stderr = _text(_Stderr(2, "w", closefd=False), sys.stderr)


def _text(raw: io.RawIOBase, before: TextIO | None) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8",
        # A name that is no Unicode must not stop the message that speaks of it.
        errors="backslashreplace",
        line_buffering=getattr(before, "line_buffering", True),
        write_through=getattr(before, "write_through", False),
    )


def abandon_stdout() -> None:
    """Let go of a stdout that takes no more: the interpreter flushes it once again while it ends."""
    nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  # lives as long as the process
    os.dup2(nowhere.fileno(), 1)
    sys.stdout = nowhere
