"""The way through one run: parse, run, translate whatever went wrong, choose the exit code."""

import os
import sys
from collections.abc import Sequence

import click

from omnigraph import errors
from omnigraph.base.hidden_modules import hide_module
from omnigraph.cli.app import COMPLETION_VARIABLE, PROGRAM, build_app
from omnigraph.cli.failures import report_failure
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.main import INTERRUPTED
from omnigraph.cli.streams import StdoutLost, abandon_stdout, take_over_streams
from omnigraph.cli.words import check_words

STDOUT_CLOSED = 141


def run_line(argv: Sequence[str] | None) -> int:
    """Run one command line, that of this process if none is given, and return its exit code.

    Nothing escapes but an interrupt that comes while another one is being reported.
    """
    if argv is None:
        hide_module("pandas")
        take_over_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    invocation = Invocation(argv=arguments, environ=os.environ)
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        return _complete(instruction, invocation)
    if invocation.is_debug:
        import logging

        logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)
    try:
        code = _run(arguments, invocation)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()
        return STDOUT_CLOSED
    except StdoutLost as lost:
        abandon_stdout()
        return _report_lost_output(lost, invocation)
    except KeyboardInterrupt as interrupt:
        # Everything that holds a lock or a file is a context manager and has been left by now. An engine that was
        # interrupted says what became of its work.
        invocation.notices.error(": ".join(("interrupted", *map(str, interrupt.args))))
        return INTERRUPTED
    return code


def _run(arguments: list[str], invocation: Invocation) -> int:
    try:
        check_words(arguments, invocation.environ)
        context = build_app().make_context(
            PROGRAM, arguments, obj=invocation, help_option_names=["-h", "--help"], max_content_width=110
        )
        with context:
            context.command.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (BrokenPipeError, StdoutLost, KeyboardInterrupt):
        raise
    except BaseException as failure:  # noqa: BLE001  # the outermost boundary, and a panic in a library is no Exception
        return report_failure(failure, invocation)
    return 0


def _report_lost_output(lost: StdoutLost, invocation: Invocation) -> int:
    """Say that the result could not be printed; there is no place for a document that says it."""
    invocation.output.has_result = True
    return report_failure(errors.Io(f"The result could not be written to standard output: {lost}."), invocation)


def _complete(instruction: str, invocation: Invocation) -> int:
    from click.shell_completion import shell_complete

    return shell_complete(build_app(), {"obj": invocation}, PROGRAM, COMPLETION_VARIABLE, instruction)
