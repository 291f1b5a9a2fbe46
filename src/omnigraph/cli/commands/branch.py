"""`omnigraph branch`."""

import click

from omnigraph.cli import branch_view
from omnigraph.cli.command import command
from omnigraph.cli.consent import require_consent
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.opening import open_to_read
from omnigraph.cli.params import json_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import echo_target, resolve_storage


@command("branch create", examples=("omnigraph branch create --store art.omni review",))
@click.argument("name", metavar="NAME")
@click.option("--from", "source", metavar="SOURCE", default="main", help="A branch, a commit id or branch@N.")
@json_option
def branch_create(invocation: Invocation, *, name: str, source: str) -> None:
    """Create a branch of the whole graph.

    It costs the same for any size of graph: tables are shared until the branch first writes to them.
    """
    target = resolve_storage(invocation)
    actor = invocation.actor()
    echo_target(invocation, target)
    import omnigraph

    created = omnigraph.open(target.uri).branches.create(name, source=source)
    invocation.output.show(
        created,
        document=lambda made: {"uri": target.uri, "from": source, "name": made, "actor_id": actor},
        text=lambda made: [f"created branch {made} from {source}"],
    )


@command("branch list", examples=("omnigraph branch list art.omni",))
@json_option
def branch_list(invocation: Invocation) -> None:
    """Show the branches of a graph."""
    branches = open_to_read(invocation).branches.list()
    invocation.output.show(branches, document=branch_view.branches_document, text=branch_view.branches_text)


@command("branch delete", examples=("omnigraph branch delete --store art.omni review",))
@click.argument("name", metavar="NAME")
@json_option
def branch_delete(invocation: Invocation, *, name: str) -> None:
    """Delete a branch and everything that only it had."""
    target = resolve_storage(invocation)
    actor = invocation.actor()
    require_consent(invocation, target)
    echo_target(invocation, target)
    import omnigraph

    with follow_progress(invocation) as events:
        omnigraph.open(target.uri).branches.delete(name, events=events)
    invocation.output.show(
        name,
        document=lambda gone: {"uri": target.uri, "name": gone, "actor_id": actor},
        text=lambda gone: [f"deleted branch {gone}"],
    )
