"""`omnigraph optimize`."""

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import click

from omnigraph import documents, errors
from omnigraph.base import clock
from omnigraph.base.events import Events
from omnigraph.cli import optimize_view
from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option, message_option, size_option, wait_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import echo_target, resolve_storage

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.graph import Graph
    from omnigraph.maintenance.optimize.report import OptimizeResult

_Number = TypeVar("_Number", int, float)


@command(
    "optimize",
    examples=(
        "omnigraph optimize art.omni --dry-run",
        "omnigraph optimize art.omni",
        "omnigraph optimize art.omni --table node:Artist --verify --json",
    ),
)
@click.option("--branch", metavar="BRANCH", help="The branch whose own tables are optimized; default main.")
@click.option("--all-branches", is_flag=True, help="Optimize main and then every other branch.")
@click.option("--table", "tables", metavar="KEY", multiple=True, help="Only this table, e.g. node:Artist; repeatable.")
@click.option("--target-rows", type=int, default=1 << 20, show_default=True, help="Rows of a full fragment.")
@size_option("--max-bytes-per-file", default="1GiB", help_text="Bytes of a full fragment; default 1GiB.")
@click.option(
    "--deleted-ratio", type=float, default=0.1, show_default=True, help="Rewrite fragments with more deleted rows."
)
@click.option("--no-reindex", is_flag=True, help="Leave all indexes as they are.")
@click.option("--verify", is_flag=True, help="Compare every rewritten value with the original before publishing.")
@click.option("--max-seconds", type=float, metavar="N", help="Start no new work after this many seconds.")
@size_option("--max-bytes", help_text="Rewrite at most this much; the rest is left to the next run.")
@size_option("--max-memory", default="1GiB", help_text="Memory of one worker for the rows it rewrites; default 1GiB.")
@click.option("--dry-run", is_flag=True, help="Show what would be done; changes nothing.")
@message_option
@wait_option
@json_option
def optimize(
    invocation: Invocation,
    *,
    branch: str | None,
    all_branches: bool,
    tables: tuple[str, ...],
    target_rows: int,
    max_bytes_per_file: int,
    deleted_ratio: float,
    no_reindex: bool,
    verify: bool,
    max_seconds: float | None,
    max_bytes: int | None,
    max_memory: int,
    dry_run: bool,
    message: str | None,
    wait: timedelta,
) -> None:
    """Make a graph fast again: fewer, larger files and complete indexes.

    Merges small fragments, drops deleted rows from files, folds new rows into indexes and builds the indexes that the
    schema declares. All tables are published as one commit. No row changes, and no old version is removed.
    """
    if branch is not None and all_branches:
        raise errors.Usage("--branch and --all-branches exclude each other; give one.", flag="--all-branches")
    target = resolve_storage(invocation)
    choice = resolve_engine(invocation)
    echo_target(invocation, target)
    started = clock.monotonic_seconds()
    results: list[OptimizeResult] = []

    def optimize_branch(graph: "Graph", name: str, events: Events) -> None:
        # The budgets are those of the whole run: what one branch took, the next ones do not have.
        elapsed, rewritten = clock.monotonic_seconds() - started, sum(result.bytes_rewritten for result in results)
        try:
            result = graph.optimize(
                branch=name.strip(),
                tables=tables,
                target_rows=target_rows,
                max_bytes_per_file=max_bytes_per_file,
                deleted_ratio=deleted_ratio,
                reindex=not no_reindex,
                verify=verify,
                max_seconds=_rest(max_seconds, elapsed) if results else max_seconds,
                max_bytes=_rest(max_bytes, rewritten) if results else max_bytes,
                max_memory=max_memory,
                dry_run=dry_run,
                message=message,
                wait_seconds=wait.total_seconds(),
                engine=choice,
                events=events,
            )
        except errors.OmniError as error:
            if all_branches:
                error.message = f"optimizing branch {name!r} failed: {error.message}"
                error.args = (error.message,)
            raise
        # The address in the result is the one that was given, so that scripts can compare the two.
        results.append(replace(result, uri=target.uri))

    try:
        with follow_progress(invocation) as events:
            import omnigraph

            graph = omnigraph.open(target.uri, read_only=dry_run, recover=False)
            names = [branch or "main"]
            if all_branches:
                names += sorted(found.name for found in graph.branches.list() if found.name != "main")
            for name in names:
                optimize_branch(graph, name, events)
    finally:
        # Also when a later branch failed: what is published is published.
        _show(invocation, results, all_branches=all_branches)
    for result in results:
        if result.failure is not None:
            raise result.failure


def _rest(budget: _Number | None, used: _Number) -> _Number | None:
    return None if budget is None else max(type(budget)(0), budget - used)


def _show(invocation: Invocation, results: "list[OptimizeResult]", *, all_branches: bool) -> None:
    if not results:
        return
    if all_branches:
        invocation.output.show(results, document=documents.optimize_runs_document, text=optimize_view.runs_text)
    else:
        invocation.output.show(results[0], document=documents.optimize_document, text=optimize_view.optimize_text)
