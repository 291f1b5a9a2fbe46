"""`omnigraph commit`."""

from typing import TYPE_CHECKING, Unpack

import click

from omnigraph import documents, errors
from omnigraph.cli import change_view, commit_view
from omnigraph.cli.change_flags import Filters, filter_options, page_options, read_pages, served_filters
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import branch_option, json_option
from omnigraph.cli.served import is_remote, open_to_read

if TYPE_CHECKING:
    from omnigraph.changes.commit import CommitChanges
    from omnigraph.client.remote import RemoteCommitChanges
    from omnigraph.graph import Graph
    from omnigraph.manifest.commits import Commit


@command("commit list", examples=("omnigraph commit list art.omni --limit 5",))
@branch_option
@click.option("--all", "merged", is_flag=True, help="Also the commits that merges brought in.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N.")
@json_option
def commit_list(invocation: Invocation, *, branch: str, merged: bool, limit: int | None) -> None:
    """List the commits of a branch, newest first.

    The order comes from the parents, never from times or ids. A write that was interrupted and completed or undone
    later says when that was, and by which process.
    """
    graph = open_to_read(invocation, all=merged)
    if is_remote(graph):
        shown = documents.ShownCommits(commits=graph.commits(branch, limit=limit))
    else:
        shown = _with_recoveries(invocation, graph, graph.commits(branch, limit=limit, merged=merged))
    invocation.output.show(shown, document=documents.commits_document, text=commit_view.commits_text)


@command(
    "commit show",
    examples=("omnigraph commit show main --store art.omni", "omnigraph commit show main~1 --store art.omni --json"),
)
@click.argument("commit_id", metavar="COMMIT")
@json_option
def commit_show(invocation: Invocation, *, commit_id: str) -> None:
    """Show one commit, on whichever branch it was made.

    COMMIT is an id, the beginning of one that no other commit shares, a branch, branch~N, branch@N or branch@TIME.
    """
    graph = open_to_read(invocation)
    if is_remote(graph):
        shown = documents.ShownCommits(commits=[graph.commit(commit_id)])
    else:
        shown = _with_recoveries(invocation, graph, [graph.commit(commit_id)])
    invocation.output.show(shown, document=documents.one_commit_document, text=commit_view.one_commit_text)


def _with_recoveries(invocation: Invocation, graph: "Graph", commits: "list[Commit]") -> "documents.ShownCommits":
    try:
        recoveries = graph.recoveries()
    except errors.StorageError as error:
        invocation.notices.warn(f"which of these commits were recovered cannot be told: {error}")
        recoveries = []
    return documents.ShownCommits(
        commits=commits,
        recovery_by_commit={found.graph_commit_id: found for found in recoveries if found.graph_commit_id is not None},
    )


@command(
    "commit changes",
    examples=("omnigraph commit changes main art.omni",),
)
@click.argument("commit_id", metavar="COMMIT")
@page_options
@filter_options
@json_option
def commit_changes(
    invocation: Invocation,
    *,
    commit_id: str,
    limit: int | None,
    page_token: str | None,
    **filters: Unpack[Filters],
) -> None:
    """Show what one commit changed, entity by entity.

    COMMIT is an id, the beginning of one that no other commit shares, a branch, branch~N, branch@N or branch@TIME.
    The commit is compared with its first parent, so a merge shows what it brought in. A commit that only moved things
    physically, such as `optimize`, changed nothing.
    """
    graph = open_to_read(invocation, exclude_type=filters["exclude_types"])
    changes: CommitChanges | RemoteCommitChanges
    if is_remote(graph):
        changes = graph.changes.of_commit(commit_id, **served_filters(filters))
    else:
        changes = graph.changes.of_commit(commit_id, **filters)
    shown = read_pages(changes, limit=limit, page_token=page_token)
    invocation.output.show(
        shown,
        document=lambda page: documents.commit_changes_document(
            changes.cause, page.changes, next_page_token=page.next_page_token
        ),
        text=lambda page: [*change_view.changes_text(page.changes), *change_view.token_text(page.next_page_token)],
    )
