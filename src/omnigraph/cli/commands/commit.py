"""`omnigraph commit`."""

from typing import Unpack

import click

from omnigraph.cli import change_view, documents, texts
from omnigraph.cli.change_flags import Filters, filter_options, page_options, read_pages
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.opening import open_to_read
from omnigraph.cli.params import branch_option, json_option


@command("commit list", examples=("omnigraph commit list art.omni --limit 5",))
@branch_option
@click.option("--all", "merged", is_flag=True, help="Also the commits that merges brought in.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N.")
@json_option
def commit_list(invocation: Invocation, *, branch: str, merged: bool, limit: int | None) -> None:
    """List the commits of a branch, newest first.

    The order comes from the parents, never from times or ids.
    """
    graph = open_to_read(invocation)
    commits = graph.commits(branch, limit=limit, merged=merged)
    invocation.output.show(commits, document=documents.commits_document, text=texts.commits_text)


@command(
    "commit show",
    examples=('omnigraph commit show --store art.omni "$(omnigraph commit list art.omni --limit 1 | cut -d" " -f1)"',),
)
@click.argument("commit_id", metavar="COMMIT_ID")
@json_option
def commit_show(invocation: Invocation, *, commit_id: str) -> None:
    """Show one commit, on whichever branch it was made."""
    graph = open_to_read(invocation)
    invocation.output.show(graph.commit(commit_id), document=documents.commit_document, text=texts.commit_text)


@command(
    "commit changes",
    examples=('omnigraph commit changes "$(omnigraph commit list art.omni --limit 1 | cut -d" " -f1)" art.omni',),
)
@click.argument("commit_id", metavar="COMMIT_ID")
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

    The commit is compared with its first parent, so a merge shows what it brought in. A commit that only moved things
    physically, such as `optimize`, changed nothing.
    """
    graph = open_to_read(invocation)
    changes = graph.changes.of_commit(commit_id, **filters)
    shown = read_pages(changes, limit=limit, page_token=page_token)
    token = {"next_page_token": shown.next_page_token} if shown.next_page_token is not None else {}
    invocation.output.show(
        shown,
        document=lambda page: {
            "cause": change_view.cause_document(changes.cause),
            "changes": change_view.changes_document(page.changes),
            **token,
        },
        text=lambda page: [*change_view.changes_text(page.changes), *change_view.token_text(page.next_page_token)],
    )
