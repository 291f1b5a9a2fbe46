"""`omnigraph branch`."""

from typing import Unpack

import click

from omnigraph import documents, errors
from omnigraph.cli import branch_view, change_view
from omnigraph.cli.change_flags import Filters, filter_options, page_options, read_pages
from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option, message_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import echo_target, require_consent, resolve_storage
from omnigraph.cli.served import ServerTarget, connected, is_remote, open_to_read, resolve_target


@command("branch create", examples=("omnigraph branch create review art.omni",))
@click.argument("name", metavar="NAME")
@click.option("--from", "source", metavar="SOURCE", default="main", help="A branch, a commit id or branch@N.")
@json_option
def branch_create(invocation: Invocation, *, name: str, source: str) -> None:
    """Create a branch of the whole graph.

    It costs the same for any size of graph: tables are shared until the branch first writes to them.
    """
    target = resolve_target(invocation)
    echo_target(invocation, target)
    actor: str | None = None
    if isinstance(target, ServerTarget):
        made = connected(invocation, target).branches.create(name, source=source)
        created, actor = made.name, made.actor_id
    else:
        import omnigraph

        actor = invocation.actor()
        events = invocation.notices.event
        branches = omnigraph.open(target.uri, events=events).branches
        created = branches.create(name, source=source, actor=actor, events=events)
    invocation.output.show(
        created,
        document=lambda made: documents.created_branch_document(made, uri=target.uri, source=source, actor_id=actor),
        text=lambda made: [f"created branch {made} from {source}"],
    )


@command("branch list", examples=("omnigraph branch list art.omni",))
@json_option
def branch_list(invocation: Invocation) -> None:
    """Show the branches of a graph."""
    graph = open_to_read(invocation)
    if is_remote(graph):
        invocation.output.show(
            graph.branches.list(),
            document=lambda names: {"branches": names},
            text=branch_view.branch_names_text,
        )
        return
    branches = graph.branches.list()
    invocation.output.show(branches, document=documents.branches_document, text=branch_view.branches_text)


@command(
    "branch diff",
    examples=(
        "omnigraph branch diff main art.omni",
        "omnigraph branch diff --store art.omni main --from main~1 --stat",
    ),
)
@click.argument("source", metavar="SOURCE")
@click.option("--into", metavar="TARGET", help="Where it would be merged; default main.")
@click.option("--from", "before", metavar="ADDRESS", help="Compare with exactly this state instead.")
@click.option("--stat", is_flag=True, help="Only how much changed, table by table.")
@page_options
@filter_options
@json_option
def branch_diff(
    invocation: Invocation,
    *,
    source: str,
    into: str | None,
    before: str | None,
    stat: bool,
    limit: int | None,
    page_token: str | None,
    **filters: Unpack[Filters],
) -> None:
    """Show what merging a branch would bring.

    SOURCE is compared with the commit at which it parted from the target; what the target did since is left out. With
    --from it is compared with any other state. Every state is a branch, branch@N, branch@TIME, branch~N or a commit id.
    """
    if before is not None and into is not None:
        raise errors.Usage("--from names the state to compare with, so --into has no say; give one.", flag="--into")
    if stat and (limit is not None or page_token is not None):
        raise errors.Usage("--stat counts all changes and has no pages.", flag="--stat")
    import omnigraph

    graph = omnigraph.open(resolve_storage(invocation).uri, read_only=True)
    if before is not None:
        diff = graph.diff(before, source, **filters)
    else:
        diff = graph.branches.diff(source, into=into or "main", **filters).diff
    if stat:
        invocation.output.show(
            diff.counts(),
            document=lambda counts: documents.diff_counts_document(diff, counts),
            text=change_view.counts_text,
        )
        return
    shown = read_pages(diff, limit=limit, page_token=page_token)
    invocation.output.show(
        shown,
        document=lambda page: documents.diff_document(diff, page.changes, next_page_token=page.next_page_token),
        text=lambda page: [*change_view.changes_text(page.changes), *change_view.token_text(page.next_page_token)],
    )


@command("branch delete", examples=("omnigraph branch delete review art.omni",))
@click.argument("name", metavar="NAME")
@json_option
def branch_delete(invocation: Invocation, *, name: str) -> None:
    """Delete a branch and everything that only it had."""
    target = resolve_target(invocation)
    require_consent(invocation, target)
    echo_target(invocation, target, destroys=True)
    actor: str | None = None
    if isinstance(target, ServerTarget):
        actor = connected(invocation, target).branches.delete(name).actor_id
    else:
        import omnigraph

        actor = invocation.actor()
        with follow_progress(invocation) as events:
            omnigraph.open(target.uri, events=events).branches.delete(name, actor=actor, events=events)
    invocation.output.show(
        name,
        document=lambda gone: documents.deleted_branch_document(gone, uri=target.uri, actor_id=actor),
        text=lambda gone: [f"deleted branch {gone}"],
    )


@command(
    "branch merge",
    examples=(
        "omnigraph branch merge review art.omni --dry-run",
        "omnigraph branch merge --store art.omni review --message 'October review'",
    ),
)
@click.argument("source", metavar="SOURCE")
@click.option("--into", metavar="TARGET", default="main", help="The branch that changes; default main.")
@click.option("--delete-branch", is_flag=True, help="Delete SOURCE afterwards.")
@click.option("--dry-run", is_flag=True, help="Say what would change or conflict; write nothing.")
@message_option
@click.option("--show-values", is_flag=True, help="Show conflicting entities as they are on each side.")
@json_option
def branch_merge(
    invocation: Invocation,
    *,
    source: str,
    into: str,
    delete_branch: bool,
    dry_run: bool,
    message: str | None,
    show_values: bool,
) -> None:
    """Bring the changes of a branch into another one, as one commit or not at all.

    What only one side changed since the two parted is kept. What both changed differently is a conflict, and so is a
    rule that both together would break: then nothing is written, and exit code 5 comes with the list.
    """
    target = resolve_target(invocation, dry_run=dry_run, message=message, show_values=show_values)
    if delete_branch and not dry_run:
        require_consent(invocation, target)
    echo_target(invocation, target, destroys=delete_branch and not dry_run)
    if isinstance(target, ServerTarget):
        _merge_served(invocation, target, source, into, delete_branch=delete_branch)
        return
    actor = invocation.actor()
    choice = resolve_engine(invocation)
    import omnigraph

    with follow_progress(invocation) as events:
        graph = omnigraph.open(target.uri, read_only=dry_run, events=events)
        try:
            result = graph.branches.merge(
                source,
                into=into,
                delete_branch=delete_branch,
                dry_run=dry_run,
                message=message,
                show_values=show_values,
                actor=actor,
                engine=choice,
                events=events,
            )
        except errors.MergeConflicts as conflicts:
            invocation.output.show(conflicts, document=documents.conflicts_document, text=branch_view.conflicts_text)
            raise
    invocation.output.show(result, document=documents.merge_document, text=branch_view.merge_text)


def _merge_served(invocation: Invocation, target: ServerTarget, source: str, into: str, *, delete_branch: bool) -> None:
    try:
        result = connected(invocation, target).branches.merge(source, into=into, delete_branch=delete_branch)
    except errors.MergeConflicts as conflicts:
        invocation.output.show(conflicts, document=documents.conflicts_document, text=branch_view.conflicts_text)
        raise
    invocation.output.show(result, document=lambda made: made.document(), text=branch_view.served_merge_text)
    if result.branch_delete_error is not None:
        invocation.notices.warn(f"branch {source} was merged and not deleted: {result.branch_delete_error}")
    elif delete_branch and result.branch_deleted is None:
        invocation.notices.warn(f"branch {source} was merged, and the server does not support deleting it with that")
