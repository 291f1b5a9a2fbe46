"""`omnigraph recover`."""

from typing import TYPE_CHECKING

import click

from omnigraph import documents, errors
from omnigraph.base import waits
from omnigraph.base.units import counted
from omnigraph.cli import recovery_view
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import echo_target, require_consent, resolve_storage

if TYPE_CHECKING:
    from omnigraph.graph import Graph


@command(
    "recover",
    examples=("omnigraph recover art.omni", "omnigraph recover art.omni --list"),
)
@click.option("--list", "lists", is_flag=True, help="Show past recoveries and pending operations; changes nothing.")
@click.option("--show", metavar="ID", help="Show one pending operation as it is stored; changes nothing.")
@click.option("--abandon", metavar="ID", help="Give up one pending operation; its tables stay as they are.")
@click.option("--confirm", is_flag=True, help="Really abandon.")
@json_option
def recover(invocation: Invocation, *, lists: bool, show: str | None, abandon: str | None, confirm: bool) -> None:
    """Settle interrupted writes.

    Every write that died half-way is either completed or undone, oldest first. What cannot be proven to belong to the
    write is left alone and reported.
    """
    if sum((lists, show is not None, abandon is not None)) > 1:
        raise errors.Usage("`recover` takes one of --list, --show and --abandon.", flag="--list")
    if abandon is not None and not confirm:
        raise errors.Usage("`recover --abandon` needs --confirm: it gives up what the operation did.", flag="--confirm")
    target = resolve_storage(invocation)
    echo_target(invocation, target, destroys=abandon is not None)
    import omnigraph

    if lists or show is not None:
        _look(invocation, omnigraph.open(target.uri, read_only=True), show)
        return
    if abandon is not None:
        require_consent(invocation, target)
    with follow_progress(invocation) as events:
        graph = omnigraph.open(target.uri, recover=False)
        swept = (
            graph.abandon(abandon, events=events)
            if abandon
            else graph.recover(wait_seconds=waits.GATE_SECONDS, events=events)
        )
    if swept.recovered:
        invocation.notices.done(f"the end of {', '.join(settled.operation_id for settled in swept.recovered)}")
    invocation.output.show(
        swept,
        document=lambda result: documents.sweep_document(result, uri=target.uri),
        text=recovery_view.sweep_text,
    )
    if swept.blocked:
        raise errors.RecoveryRequired(
            f"{counted(len(swept.blocked), 'operation')} could not be settled; first: {swept.blocked[0].reason}",
            operation_ids=[blocked.operation_id for blocked in swept.blocked],
        )
    if swept.in_use:
        raise errors.BranchBusy(
            f"{counted(len(swept.in_use), 'operation')} may still be carried out by a live writer; run "
            "`omnigraph recover` again later.",
            operation_ids=swept.in_use,
        )


def _look(invocation: Invocation, graph: "Graph", show: str | None) -> None:
    pending = graph.pending_operations()
    if show is None:
        invocation.output.show(
            documents.Recoveries(past=graph.recoveries(), pending=pending),
            document=documents.recoveries_document,
            text=recovery_view.recoveries_text,
        )
        return
    found = next((operation for operation in pending if operation.operation_id == show), None)
    if found is None:
        raise errors.EntityNotFound(f"No pending operation {show} is in {graph.uri}.", selector=show)
    invocation.output.show(found, document=documents.pending_document, text=recovery_view.pending_text)
