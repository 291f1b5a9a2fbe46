"""The way in. Imports next to nothing, so that an interrupt finds the program ready to end in one line."""

import sys
from collections.abc import Sequence

INTERRUPTED = 130


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


if __name__ == "__main__":
    sys.exit(main())
