"""`omnigraph load`."""

import sys
from dataclasses import replace
from typing import cast, get_args

import click

from omnigraph import documents, errors
from omnigraph.base.events import phase
from omnigraph.cli import texts
from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import branch_option, json_option, message_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import echo_target, require_consent
from omnigraph.cli.served import ServerTarget, connected, resolve_target
from omnigraph.pipeline.load.request import LoadMode

MODE_MEANINGS = (
    "overwrite makes the types in the input hold exactly the input, append adds records and refuses ids that exist, "
    "merge replaces the entities that exist and adds the others"
)


@command(
    "load",
    examples=(
        "omnigraph load --store art.omni --data seed.jsonl --mode merge",
        "cat more.jsonl | omnigraph load art.omni --data - --mode append --as act-ines",
    ),
)
@click.option("--data", metavar="PATH", help="Required: a file, glob or directory, here or on s3://; - reads stdin.")
@click.option("--mode", type=click.Choice(get_args(LoadMode)), help=f"Required: {MODE_MEANINGS}.")
@click.option("--type", "type_name", metavar="TYPE", help="The input is a table of this type, not records.")
@click.option(
    "--map",
    "pairs",
    metavar="COLUMN=PROPERTY",
    multiple=True,
    help="Rename a column; COLUMN= leaves it out. Repeatable.",
)
@branch_option
@click.option("--from", "from_branch", metavar="BASE", help="Create the branch from this one if it does not exist.")
@message_option
@json_option
def load(
    invocation: Invocation,
    *,
    data: str | None,
    mode: str | None,
    type_name: str | None,
    pairs: tuple[str, ...],
    branch: str,
    from_branch: str | None,
    message: str | None,
) -> None:
    """Load records as one atomic commit.

    The input is NDJSON with one node or edge per line, plain or compressed (.gz, .zst). With --type it is a table of
    one type: .parquet, .csv, .arrow, .feather or .lance; the ends of edges are its columns from and to. A directory
    that `export --format parquet` wrote needs no --type. Any invalid record fails the whole load and leaves the graph
    as it was.
    """
    typed = invocation.command.typed
    if typed == "ingest":
        invocation.notices.warn("`ingest` is deprecated; use `omnigraph load`")
        mode, from_branch = mode or "merge", from_branch or "main"
    if data is None:
        raise errors.Usage(f"`{typed}` needs --data PATH: a file, a directory, or - for stdin.", flag="--data")
    if mode is None:
        raise errors.Usage(f"`{typed}` needs --mode: {MODE_MEANINGS}.", flag="--mode")
    columns = parse_map(pairs)
    target = resolve_target(invocation, type=type_name, map=pairs, message=message)
    if mode == "overwrite":
        require_consent(invocation, target)
    echo_target(invocation, target, destroys=mode == "overwrite")
    records = sys.stdin.buffer if data == "-" else data
    if isinstance(target, ServerTarget):
        graph_there = connected(invocation, target)
        send = graph_there.ingest if typed == "ingest" else graph_there.load
        with follow_progress(invocation) as events, phase(events, "loading over the server"):
            result = send(records, mode=cast("LoadMode", mode), branch=branch, from_branch=from_branch)
        invocation.output.show(result, document=documents.load_document, text=texts.load_text)
        return
    actor = invocation.actor()
    choice = resolve_engine(invocation)
    import omnigraph

    with follow_progress(invocation) as events:
        graph = omnigraph.open(target.uri, events=events)
        result = graph.load(
            records,
            mode=cast("LoadMode", mode),
            type=type_name,
            map=columns,
            branch=branch,
            from_branch=from_branch,
            actor=actor,
            message=message,
            engine=choice,
            events=events,
        )
    # The address in the result is the one that was given, so that scripts can compare the two.
    shown = replace(result, uri=target.uri)
    invocation.output.show(shown, document=documents.load_document, text=texts.load_text)


def parse_map(pairs: tuple[str, ...]) -> dict[str, str | None]:
    """Read `COLUMN=PROPERTY` and `COLUMN=`."""
    mapped: dict[str, str | None] = {}
    for pair in pairs:
        column, equals, name = pair.partition("=")
        if not equals or not column:
            raise errors.Usage(f"--map takes COLUMN=PROPERTY, or COLUMN= to leave one out, not `{pair}`.", flag="--map")
        if column in mapped:
            raise errors.Usage(f"--map names the column {column} twice.", flag="--map")
        mapped[column] = name or None
    return mapped
