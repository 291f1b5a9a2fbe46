"""From an exception to what the user sees: one error line, one error document, one exit code."""

import os
import sys
import traceback
from difflib import get_close_matches

import click

from omnigraph import errors
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.output import write_json
from omnigraph.cli.streams import StdoutLost, abandon_stdout

# Flags that earlier programs of this name had, with what replaced them.
_REMOVED_FLAGS = {
    "--config": "use --store <uri> or --server <name|url>, or the operator config in ~/.omnigraph/config.yaml",
}


def report_failure(failure: BaseException, invocation: Invocation) -> int:
    """Tell the user what failed and return the exit code.

    With `--json` the error document goes to stdout, unless the command has already printed a result that says it.
    """
    error = _as_omni_error(failure)
    if invocation.is_debug:
        traceback.print_exception(failure, file=sys.stderr)
    if invocation.wants_json and not invocation.output.has_result:
        _write_document(error)
    invocation.notices.error("\n".join([error.message, *_record_lines(error)]))
    return _exit_code(error, invocation)


def _write_document(error: errors.OmniError) -> None:
    """Write the error document if stdout takes it; the error itself and its exit code matter more."""
    try:
        write_json(error.document())
        sys.stdout.flush()
    except StdoutLost:
        abandon_stdout()


def _exit_code(error: errors.OmniError, invocation: Invocation) -> int:
    """Return the code of a failure; the low ones of `health` speak of the graph, so its failures have others."""
    if not invocation.is_health:
        return error.exit_code
    return os.EX_USAGE if error.exit_code == errors.Usage.exit_code else os.EX_SOFTWARE


def _as_omni_error(failure: BaseException) -> errors.OmniError:
    if isinstance(failure, errors.OmniError):
        return failure
    if isinstance(failure, click.UsageError):
        return _usage(failure)
    if isinstance(failure, MemoryError):
        return errors.Internal("The command needs more memory than this machine gives it.")
    # The text of an unexpected exception may hold anything, also secrets; it is shown only on request.
    return errors.Internal(
        f"An unexpected {type(failure).__name__} stopped the command, which is a defect in omnigraph. "
        "Run it again with --debug to see the stack trace, and report it."
    )


def _usage(failure: click.UsageError) -> errors.Usage:
    context = failure.ctx
    path = context.command_path if context else "omnigraph"
    match failure:
        case click.NoSuchOption(option_name=flag):
            instead = _REMOVED_FLAGS.get(flag) or f"the nearest one is {_nearest(flag, _flags(context))}"
            message = f"`{path}` has no flag {flag}; {instead}."
            return errors.Usage(f"{message} See `{path} --help`.", flag=flag)
        case click.exceptions.NoSuchCommand(command_name=word):
            message = f"`{path}` has no command `{word}`; the nearest one is `{_nearest(word, _words(context))}`."
        case click.MissingParameter(param=click.Parameter() as parameter):
            message = f"`{path}` needs {parameter.human_readable_name.upper()}."
        case _:
            message = failure.format_message()
            if "unexpected extra argument" in message and "--data" in _flags(context):
                message += " Name what is to be read with --data."
    return errors.Usage(f"{message} See `{path} --help`.")


def _nearest(word: str, known: list[str]) -> str:
    return get_close_matches(word, known, n=1, cutoff=0.0)[0]


def _flags(context: click.Context | None) -> list[str]:
    if context is None:
        return ["--help"]
    options = [option for option in context.command.get_params(context) if isinstance(option, click.Option)]
    return [spelling for option in options if not option.hidden for spelling in (*option.opts, *option.secondary_opts)]


def _words(context: click.Context | None) -> list[str]:
    if context is None or not isinstance(context.command, click.Group):
        return ["--help"]
    return context.command.list_commands(context)


def _record_lines(error: errors.OmniError) -> list[str]:
    """Spell the records that a load rejected, one line each; other errors have no total and no such list."""
    total = error.details.get("total_errors")
    if total is None:
        return []
    lines = [_record_line(record) for record in error.details["errors"]]
    return [*lines, f"… and {total - len(lines)} more"] if total > len(lines) else lines


def _record_line(record: dict[str, object]) -> str:
    place = ":".join(str(record[key]) for key in ("file", "line") if record.get(key) is not None)
    return f"{place}: [{record['code']}] {record['message']}" if place else f"[{record['code']}] {record['message']}"
