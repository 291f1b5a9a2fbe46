"""From an exception to what the user sees: one error line, one error document, one exit code."""

import os
import sys
import traceback

import click

from omnigraph import errors
from omnigraph.base.plain_text import printable
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.output import StdoutFailed, write_json
from omnigraph.cli.streams import abandon_stdout
from omnigraph.cli.usage_errors import as_usage

DONE_NOT_PRINTED = 9
STDOUT_CLOSED = 141


def report_failure(failure: BaseException, invocation: Invocation) -> int:
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
        try:
            write_json(error.document())
        except StdoutFailed:
            # The line on stderr says the same, and the exit code is that of the failure.
            abandon_stdout()
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
    if failure.is_pipe:
        return STDOUT_CLOSED
    error = errors.Io(f"the result could not be printed: {failure}. Nothing was changed.")
    invocation.notices.error(error.message)
    return STDOUT_CLOSED if failure.is_closed else _exit_code(error, invocation)


def _exit_code(error: errors.OmniError, invocation: Invocation) -> int:
    """Return the code of a failure; where the low ones speak of the graph, failures have others."""
    if not invocation.is_verdict:
        return error.exit_code
    return os.EX_USAGE if error.exit_code == errors.Usage.exit_code else os.EX_SOFTWARE


def _as_omni_error(failure: BaseException) -> errors.OmniError:
    if isinstance(failure, errors.OmniError):
        return failure
    if isinstance(failure, click.UsageError):
        return as_usage(failure)
    if isinstance(failure, MemoryError):
        return errors.Internal("The command needs more memory than this machine gives it.")
    # The text of an unexpected exception may hold anything, also secrets; it is shown only on request.
    return errors.Internal(
        f"An unexpected {type(failure).__name__} stopped the command, which is a defect in omnigraph. "
        "Run it again with --debug to see the stack trace, and report it."
    )


def _record_lines(error: errors.OmniError) -> list[str]:
    """Spell the records that a load rejected, one line each; other errors have no total and no such list."""
    total = error.details.get("total_errors")
    if total is None:
        return []
    lines = [_record_line(record) for record in error.details["errors"]]
    return [*lines, f"… and {total - len(lines)} more"] if total > len(lines) else lines


def _record_line(record: dict[str, object]) -> str:
    place = ":".join(str(record[key]) for key in ("file", "line") if record.get(key) is not None)
    line = f"{place}: [{record['code']}] {record['message']}" if place else f"[{record['code']}] {record['message']}"
    # A file below a directory may be called anything, also something with a line feed in it.
    return printable(line)
