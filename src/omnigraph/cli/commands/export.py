"""`omnigraph export`."""

import sys

import click

from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import require_local_engine, resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.opening import open_to_read
from omnigraph.cli.params import branch_option
from omnigraph.cli.progress import follow_progress


@command(
    "export",
    examples=("omnigraph export art.omni --out art.jsonl", "omnigraph export art.omni --type Artist | head -n 5"),
)
@branch_option
@click.option("--snapshot", metavar="ADDRESS", help="An older state: a commit id, branch@N or branch~N.")
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Only this type or table key; repeatable.")
@click.option("--out", metavar="PATH", help="A file, or a directory for one file per type, instead of stdout.")
@click.option("--jsonl", "asks_for_jsonl", is_flag=True, hidden=True)
def export(
    invocation: Invocation,
    *,
    branch: str,
    snapshot: str | None,
    types: tuple[str, ...],
    out: str | None,
    asks_for_jsonl: bool,
) -> None:
    """Write a snapshot of the data in the form that `load` reads.

    Nodes come before edges, types in name order. Files appear complete or not at all.
    """
    if asks_for_jsonl:
        invocation.notices.warn("--jsonl is deprecated and has no effect: export always emits NDJSON")
    require_local_engine(resolve_engine(invocation))
    graph = open_to_read(invocation)
    with follow_progress(invocation) as events:
        result = graph.export(
            sys.stdout.buffer if out is None else out, branch=branch, snapshot=snapshot, types=types, events=events
        )
    invocation.notices.echo(f"engine: {result.engine} ({result.engine_reason})")
    if out is not None:
        invocation.notices.note(f"exported {result.total_rows} rows in {len(result.tables)} tables to {out}")
