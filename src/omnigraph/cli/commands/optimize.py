"""`omnigraph optimize`."""

from dataclasses import replace
from datetime import timedelta

import click

from omnigraph import errors
from omnigraph.cli import optimize_view
from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option, size_option, wait_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import echo_target, resolve_storage


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
    import omnigraph

    graph = omnigraph.open(target.uri, read_only=dry_run, recover=False)
    names = [branch or "main"]
    if all_branches:
        names += sorted(found.name for found in graph.branches.list() if found.name != "main")
    results = []
    with follow_progress(invocation) as events:
        for name in names:
            result = graph.optimize(
                branch=name.strip(),
                tables=tables,
                target_rows=target_rows,
                max_bytes_per_file=max_bytes_per_file,
                deleted_ratio=deleted_ratio,
                reindex=not no_reindex,
                verify=verify,
                max_seconds=max_seconds,
                max_bytes=max_bytes,
                max_memory=max_memory,
                dry_run=dry_run,
                wait_seconds=wait.total_seconds(),
                engine=choice,
                events=events,
            )
            # The address in the result is the one that was given, so that scripts can compare the two.
            results.append(replace(result, uri=target.uri))
    if all_branches:
        invocation.output.show(results, document=optimize_view.runs_document, text=optimize_view.runs_text)
    else:
        invocation.output.show(results[0], document=optimize_view.optimize_document, text=optimize_view.optimize_text)
    for result in results:
        if result.failure is not None:
            raise result.failure
