"""`omnigraph changes`."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Unpack

import click

from omnigraph import documents
from omnigraph.base.units import counted
from omnigraph.cli import change_view
from omnigraph.cli.change_flags import Filters, filter_options, limit_option, page_limits, served_filters
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import branch_option, json_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.served import is_remote, open_to_read
from omnigraph.cli.served_files import served_baseline

if TYPE_CHECKING:
    from omnigraph.changes.feed import FeedPage


@command(
    "changes poll",
    examples=(
        "omnigraph changes poll art.omni --start beginning",
        "omnigraph changes poll art.omni --json",
    ),
)
@branch_option
@click.option("--cursor", metavar="CURSOR", help="Go on behind what an earlier poll delivered.")
@click.option(
    "--start", metavar="START", help="Where to begin: now (the default: only a cursor), beginning or after:<commit>."
)
@limit_option
@filter_options
@json_option
def changes_poll(
    invocation: Invocation,
    *,
    branch: str,
    cursor: str | None,
    start: str | None,
    limit: int | None,
    **filters: Unpack[Filters],
) -> None:
    """Deliver what changed on a branch since a cursor, commit by commit, oldest first.

    Store the cursor together with what the blocks changed, and poll again with it. A block may come twice, so apply
    it by its commit id.
    """
    graph = open_to_read(invocation, exclude_type=filters["exclude_types"])
    limits = page_limits(limit)
    poll: Callable[..., FeedPage]
    if is_remote(graph):
        poll = partial(graph.changes.poll, branch=branch, limits=limits, **served_filters(filters))
    else:
        poll = partial(graph.changes.feed(branch, **filters).poll, limits=limits)
    pages = [poll(cursor=cursor, start=start)]
    while (token := pages[-1].next_page_token) is not None:
        pages.append(poll(page_token=token))
    invocation.output.show(pages, document=documents.feed_document, text=change_view.feed_text)


@command("changes baseline", examples=("omnigraph changes baseline art.omni --out art-baseline.jsonl",))
@branch_option
@filter_options
@click.option("--out", metavar="PATH", required=True, help="The file to write; it appears complete or not at all.")
@json_option
def changes_baseline(
    invocation: Invocation,
    *,
    branch: str,
    out: str,
    **filters: Unpack[Filters],
) -> None:
    """Write one exact state of a branch to a file, with the cursor that follows it.

    Install the state, then poll with the cursor: the first block is the first commit behind the state. The last line
    of the file holds the cursor, too.
    """
    with follow_progress(invocation) as events:
        graph = open_to_read(invocation, exclude_type=filters["exclude_types"])
        if is_remote(graph):
            result = served_baseline(graph, out, branch=branch, filters=served_filters(filters))
        else:
            result = graph.baseline(out, branch=branch, events=events, **filters)
    invocation.output.show(
        result,
        document=documents.baseline_document,
        text=lambda done: [
            f"wrote {counted(done.total_rows, 'row')} of commit {done.snapshot_commit_id} to {out}",
            f"cursor: {done.resume_cursor}",
        ],
    )
