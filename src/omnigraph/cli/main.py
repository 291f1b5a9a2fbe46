"""The way through one run: parse, run, translate what went wrong, choose the exit code."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

import click

from omnigraph.base.hidden_modules import hide_module
from omnigraph.cli.app import COMPLETION_VARIABLE, PROGRAM, build_app
from omnigraph.cli.failures import report_failure, report_unprinted
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.output import StdoutFailed, writing_to_stdout

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    if argv is None:
        hide_module("pandas")
    arguments = list(sys.argv[1:] if argv is None else argv)
    invocation = Invocation(argv=arguments, environ=os.environ)
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        return _complete(instruction, invocation)
    _replace_closed_streams()
    _speak_utf8(sys.stdout)
    _speak_utf8(sys.stderr)
    if invocation.is_debug:
        import logging

        logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)
    try:
        code = _run(arguments, invocation)
        with writing_to_stdout():
            pass
    except (StdoutFailed, BrokenPipeError) as failure:
        _abandon_stdout()
        return report_unprinted(failure if isinstance(failure, StdoutFailed) else StdoutFailed(failure), invocation)
    except KeyboardInterrupt as interrupt:
        # Everything that holds a lock or a file is a context manager and has been left by now. An engine that was
        # interrupted says what became of its work.
        in_force = invocation.notices.in_force
        invocation.notices.error(
            ": ".join(("interrupted", *map(str, interrupt.args))) + (f". In force: {in_force}." if in_force else "")
        )
        return INTERRUPTED
    return code


def _run(arguments: list[str], invocation: Invocation) -> int:
    try:
        context = build_app().make_context(
            PROGRAM, arguments, obj=invocation, help_option_names=["-h", "--help"], max_content_width=110
        )
        with context:
            context.command.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (StdoutFailed, BrokenPipeError):
        raise
    except Exception as failure:  # noqa: BLE001  # the outermost boundary: whatever it is becomes a line and a code
        return report_failure(failure, invocation)
    return 0


def _complete(instruction: str, invocation: Invocation) -> int:
    from click.shell_completion import shell_complete

    from omnigraph.cli.completing import run_completion

    return run_completion(
        lambda: shell_complete(build_app(), {"obj": invocation}, PROGRAM, COMPLETION_VARIABLE, instruction)
    )


def _replace_closed_streams() -> None:
    # A process that is started with a stream closed has None for it, and whoever prints would fall over that.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # A stdout that takes nothing: a result that nobody gets must not pass for one that was printed.
            place = os.open(os.devnull, os.O_RDONLY) if name == "stdout" else os.devnull
            setattr(sys, name, open(place, mode, encoding="utf-8"))  # noqa: SIM115, PTH123  # lives as long as we do


def _speak_utf8(stream: TextIO) -> None:
    # Documents are UTF-8 whatever the locale says, and a file name that is not must not stop an error message.
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")


def _abandon_stdout() -> None:
    # The interpreter flushes stdout once more while it ends; without a reader that would print a second failure.
    with suppress(OSError):  # a stream without a descriptor is nobody's to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
