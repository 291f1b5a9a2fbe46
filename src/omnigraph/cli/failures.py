"""From an exception to what the user sees: one error line, one error document, one exit code."""

import os
import sys
import traceback
from contextlib import suppress
from difflib import get_close_matches

import click

from omnigraph import errors
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.output import StdoutFailed, write_json

DONE_NOT_PRINTED = 9
STDOUT_CLOSED = 141

# Flags that earlier programs of this name had, with what replaced them.
_REMOVED_FLAGS = {
    "--config": "use --store <uri> or --server <name|url>, or the operator config in ~/.omnigraph/config.yaml",
}


def report_failure(failure: Exception, invocation: Invocation) -> int:
    """Tell the user what failed and return the exit code.

    With `--json` the error document goes to stdout, unless the command has already printed a result that says it.
    """
    error = _as_omni_error(failure)
    if invocation.is_debug:
        traceback.print_exception(failure, file=sys.stderr)
    in_force = invocation.notices.in_force
    if in_force is not None and error.effect is not errors.Effect.PUBLISHED:
        error.effect = errors.Effect.PUBLISHED
        error.message = f"{error.message} What was published before that stands: {in_force}."
    if invocation.wants_json and not invocation.output.has_result:
        # The line on stderr says the same, and the exit code is that of the failure.
        with suppress(StdoutFailed):
            write_json(error.document())
    invocation.notices.error("\n".join([error.message, *_record_lines(error)]))
    return _exit_code(error, invocation)


def report_unprinted(failure: StdoutFailed, invocation: Invocation) -> int:
    """Say what the result was about that stdout did not take, and return the exit code.

    What is published is never reported as failed: it has an exit code of its own.
    """
    in_force = invocation.notices.in_force
    if in_force is not None:
        invocation.notices.error(
            f"the result could not be printed ({failure}), but the work is done. In force: {in_force}."
        )
        return DONE_NOT_PRINTED
    if failure.is_closed:
        return STDOUT_CLOSED
    invocation.notices.error(f"the result could not be printed: {failure}. Nothing was changed.")
    return errors.Io.exit_code


def _exit_code(error: errors.OmniError, invocation: Invocation) -> int:
    """Return the code of a failure; the low ones of `health` speak of the graph, so its failures have others."""
    if not invocation.is_health:
        return error.exit_code
    return os.EX_USAGE if error.exit_code == errors.Usage.exit_code else os.EX_SOFTWARE


def _as_omni_error(failure: Exception) -> errors.OmniError:
    if isinstance(failure, errors.OmniError):
        return failure
    if isinstance(failure, click.UsageError):
        return _usage(failure)
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
