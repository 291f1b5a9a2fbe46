"""What has to be done to a graph before anything is written to it: finish what others could not, and migrate."""

from omnigraph.base.events import Events, Warned
from omnigraph.errors import OmniError
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.claim import complete_birth, read_claim
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.manifest.root import adopt_root
from omnigraph.writes.recovery.entry import settle_whatever_is_pending


def settle_on_open(context: GraphContext, events: Events) -> None:
    """Probe the store, migrate `main`, settle sidecars, finish an interrupted init, refresh stale schema copies.

    A blocked sidecar never fails an open: it concerns the writes of its own branch, and they will say so.
    """
    context.store.objects.probe()
    adopt_root(context.store.tables, context.store.root)
    bring_up_to_date(context, MAIN_BRANCH)
    settle_whatever_is_pending(context, events)
    state = context.manifest.load(MAIN_BRANCH)
    reference = state.snapshot.schema
    standing = read_claim(context.store)
    if standing is not None:
        genesis = [*context.log.first_parents(state.head)][-1]
        if genesis.graph_commit_id == standing.claim.ulid:
            complete_birth(context.store, genesis, reference)
    if context.schemas.edited_copy(state.accepted_sources()) is not None:
        # Somebody's text is never overwritten by an open; the next schema change demands a decision about it.
        events(Warned(message="_schema.pg was edited by hand; the graph does not follow it (see `schema plan`)"))
    elif not context.schemas.copies_are_fresh(reference):
        try:
            context.schemas.write_copies(reference)
        except OmniError as error:
            events(Warned(message=f"the readable schema copies could not be refreshed: {error}"))


def bring_up_to_date(context: GraphContext, branch: str) -> None:
    """Migrate a branch to the present stamp; costs one look when it is there already."""
    state = context.manifest.load(branch)
    if not state.stamp.is_current:
        # Few graphs are old, and the steps bring the schema compiler with them: start-up should not pay for it.
        from omnigraph.manifest.migrations.run import migrate_branch

        migrate_branch(context.store, context.schemas, state)
