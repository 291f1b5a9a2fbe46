"""The way in. Imports next to nothing, so that an interrupt finds the program ready to end in one line."""

import sys
from collections.abc import Sequence
from typing import NoReturn

INTERRUPTED = 130
_OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Python would look for garbage a hundred times while modules are imported, and they leave none."""


def program() -> NoReturn:
    """Run the command line of this process, and end the process."""
    import gc

    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    _end(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    try:
        from omnigraph.cli.run import run_line

        return run_line(argv)
    except KeyboardInterrupt:
        # Interrupted before the run could begin, or after it ended.
        if sys.stderr is not None:
            sys.stderr.write("error: interrupted\n")
        return INTERRUPTED
    finally:
        if argv is None:
            _end_at_once_on_interrupt()


def _end_at_once_on_interrupt() -> None:
    # What is left is the interpreter's own shutdown: an interrupt there would print a stack trace of somebody else's.
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end(code: int) -> NoReturn:
    """End without taking every module apart, which would take as long as a short command works.

    Everything that was opened has been left by now. Where something still runs, Python waits for it as ever.
    """
    import atexit
    import os
    import threading
    from contextlib import suppress

    if "pyspark" in sys.modules or threading.active_count() > 1:
        sys.exit(code)
    atexit._run_exitfuncs()  # noqa: SLF001 — what the interpreter itself would call
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    program()
