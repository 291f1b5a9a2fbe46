"""`omnigraph export`."""

import sys
from dataclasses import replace

import click

from omnigraph import documents, errors
from omnigraph.base.units import counted
from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import branch_option, json_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.served import ServerTarget, connected, resolve_target
from omnigraph.cli.served_files import served_export
from omnigraph.pipeline.export.request import ExportFormat


@command(
    "export",
    examples=(
        "omnigraph export art.omni --out art.jsonl",
        "omnigraph export art.omni --type Artist | head -n 5",
        "omnigraph export art.omni --format parquet --out tables",
    ),
)
@branch_option
@click.option("--snapshot", metavar="ADDRESS", help="An older state: a commit id, branch@N, branch@TIME or branch~N.")
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Only this type or table key; repeatable.")
@click.option(
    "--out", metavar="PATH", help="A file, or a directory or s3:// prefix for files per type, instead of stdout."
)
@click.option(
    "--format", "form", type=click.Choice([form.value for form in ExportFormat]), default="jsonl", help="Default jsonl."
)
@json_option
@click.option("--jsonl", "asks_for_jsonl", is_flag=True, hidden=True)
def export(
    invocation: Invocation,
    *,
    branch: str,
    snapshot: str | None,
    types: tuple[str, ...],
    out: str | None,
    form: str,
    asks_for_jsonl: bool,
) -> None:
    """Write a snapshot of the data in the form that `load` reads.

    Nodes come before edges, types in name order. Files appear complete or not at all. The formats parquet and lance
    write one directory per type and need --out DIR. A file that exists is replaced only with --yes, a directory must be
    empty or new.
    """
    if asks_for_jsonl:
        invocation.notices.warn("--jsonl is deprecated and has no effect: export always emits NDJSON")
    if out is None and form != "jsonl":
        raise errors.Usage(f"--format {form} writes a directory; say which with --out DIR.", flag="--out")
    if out is None and invocation.wants_json:
        raise errors.Usage(
            "--json describes an export to --out; without --out stdout holds the records.", flag="--json"
        )
    target = resolve_target(invocation, snapshot=snapshot, format=form != ExportFormat.JSONL)
    where = sys.stdout.buffer if out is None else out
    with follow_progress(invocation, shares_terminal=out is None) as events:
        if isinstance(target, ServerTarget):
            graph_there = connected(invocation, target)
            result = served_export(graph_there, where, branch=branch, types=types, overwrite=invocation.flags.yes)
        else:
            import omnigraph

            result = omnigraph.open(target.uri, read_only=True).export(
                where,
                branch=branch,
                snapshot=snapshot,
                types=types,
                format=form,
                overwrite=invocation.flags.yes,
                engine=resolve_engine(invocation),
                events=events,
            )
    if out is None:
        return
    if invocation.wants_json:
        shown = replace(result, uri=target.uri)
        invocation.output.show(shown, document=documents.export_document, text=lambda _: ())
    else:
        rows, tables = counted(result.total_rows, "row"), counted(len(result.tables), "table")
        invocation.notices.note(f"exported {rows} in {tables} to {out}")
