"""`omnigraph shell`."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import click

from omnigraph import errors
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.operator_config import operator_home
from omnigraph.cli.query_state import chosen_branch, state_options
from omnigraph.cli.scope import resolve_storage

if TYPE_CHECKING:
    from omnigraph.cli.query_view import Format

_HISTORY = "shell_history"


@command(
    "shell",
    examples=(
        "omnigraph shell art.omni",
        "omnigraph shell art.omni --branch main --read-only",
        "echo 'match { $a: Artist } return { count($a) as n }' | omnigraph shell art.omni --format csv",
    ),
)
@state_options
@click.option("--read-only", is_flag=True, help="Refuse mutations.")
def shell(
    invocation: Invocation, *, branch: str | None, snapshot: str | None, form: str | None, read_only: bool
) -> None:
    """Ask questions and make changes one after the other, with history and completion.

    A query is run when its braces are closed, over the state of the branch at that moment; each mutation is a commit
    of its own. Commands start with a colon: `:help` lists them. Without a terminal, statements are read from standard
    input up to the first that fails, which gives the exit code.
    """
    branch = chosen_branch(branch, snapshot)
    target = resolve_storage(invocation)
    form = form or invocation.config.defaults.output
    import omnigraph
    from omnigraph.cli.shell.session import Session, Settings
    from omnigraph.cli.shell.statements import all_statements

    graph = omnigraph.open(target.uri, read_only=True)
    settings = Settings(branch=branch, snapshot=snapshot, form=cast("Format", form))
    with graph.snapshot(settings.address):
        pass  # whether it is there is known before anybody types
    session = Session(invocation, graph, uri=target.uri, settings=settings, is_read_only=read_only)
    if not (sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty())):
        all(session.answer(statement) for statement in all_statements(_lines_of_stdin()))
        return
    from omnigraph.cli.shell.terminal import talk

    invocation.notices.echo(f"{target.uri}: :help lists the commands, Tab completes, Ctrl-D leaves.")
    talk(invocation, session, name=target.name, history=operator_home(invocation.environ) / _HISTORY)


def _lines_of_stdin() -> Iterator[str]:
    """Yield lines as they come; like files of queries they are UTF-8, whatever the locale says."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.decode("utf-8" if number > 1 else "utf-8-sig")
        except UnicodeDecodeError as error:
            raise errors.Io(f"Line {number} of standard input is not UTF-8 text (byte {error.start}).") from error
