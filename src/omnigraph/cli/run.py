"""The way through one run: parse, run, translate whatever went wrong, choose the exit code."""

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import click

from omnigraph.base.hidden_modules import defer_module, hide_module, skip_arrow_manual
from omnigraph.cli.app import COMPLETION_VARIABLE, PROGRAM, build_app
from omnigraph.cli.failures import report_failure, report_unprinted
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.main import INTERRUPTED
from omnigraph.cli.output import StdoutFailed, writing_to_stdout
from omnigraph.cli.streams import abandon_stdout, take_over_streams
from omnigraph.cli.words import check_words


def run_line(argv: Sequence[str] | None) -> int:
    """Run one command line, that of this process if none is given, and return its exit code.

    Nothing escapes but an interrupt that comes while another one is being reported.
    """
    if argv is None:
        hide_module("pandas")
        hide_module("httpx._main")  # its own command line, with all that draws it
        hide_module("trio")  # another event loop, for which httpx prepares wherever it is installed
        defer_module("numpy")
        # Messages in Python, for a protobuf that has none in C.
        defer_module("google.protobuf.internal.python_message")
        skip_arrow_manual()
        # Threads that numpy's BLAS starts as it is loaded would spin for as long as loading takes, waiting for work.
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
        take_over_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    invocation = Invocation(argv=arguments, environ=os.environ)
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        return _complete(instruction, invocation)
    try:
        with _logging(invocation):
            code = _run(arguments, invocation)
        with writing_to_stdout():
            pass
    except (StdoutFailed, BrokenPipeError) as failure:
        abandon_stdout()
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


def _logging(invocation: Invocation) -> AbstractContextManager[None]:
    word = "debug" if invocation.is_debug else invocation.environ.get("OMNIGRAPH_LOG", "")
    if not word:
        return nullcontext()
    from omnigraph.cli.log_lines import LEVELS, level_named, log_lines

    level = level_named(word)
    if level is None:
        invocation.notices.warn(f"OMNIGRAPH_LOG is {word!r} and was ignored; it is one of {', '.join(LEVELS)}")
        return nullcontext()
    return log_lines(level)


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
    except (StdoutFailed, BrokenPipeError, KeyboardInterrupt):
        raise
    except BaseException as failure:  # noqa: BLE001  # the outermost boundary, and a panic in a library is no Exception
        return report_failure(failure, invocation)
    return 0


def _complete(instruction: str, invocation: Invocation) -> int:
    from click.shell_completion import shell_complete

    from omnigraph.cli.completing import run_completion

    return run_completion(
        lambda: shell_complete(build_app(), {"obj": invocation}, PROGRAM, COMPLETION_VARIABLE, instruction)
    )
