"""`omnigraph commit list` and `omnigraph commit show`."""

import click

from omnigraph.cli import documents, texts
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.opening import open_to_read
from omnigraph.cli.params import branch_option, json_option


@command("commit list", examples=("omnigraph commit list art.omni --limit 5",))
@branch_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N.")
@json_option
def commit_list(invocation: Invocation, *, branch: str, limit: int | None) -> None:
    """List the commits of a branch, newest first.

    The order comes from the parents, never from times or ids.
    """
    graph = open_to_read(invocation)
    commits = graph.commits(branch, limit=limit)
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
