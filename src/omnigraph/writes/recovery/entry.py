"""The way into recovery: one listing, and the code that settles is imported only when something is to be settled.

That is next to never, and every command that writes comes through here.
"""

from omnigraph.base.events import Events, Warned, ignore_events
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit
from omnigraph.storage.locks import HeldLock
from omnigraph.writes.pending import sidecars_of
from omnigraph.writes.sidecar import Sidecar


def settle_branch(
    context: GraphContext, branch: str, *, lock: HeldLock | None = None, events: Events = ignore_events
) -> None:
    """Settle every sidecar that concerns a branch and say so, or raise `RecoveryRequired` for the first that cannot be.

    Costs one listing when nothing is pending, which is nearly always. Sidecars of other branches are left alone,
    unless they change the schema; one that cannot be read may belong to any branch and therefore blocks.
    """
    pending = sidecars_of(context).pending()
    if pending:
        from omnigraph.writes.recovery.sweep import settle_concerning

        settle_concerning(context, branch, pending, lock=lock, events=events)


def settle_whatever_is_pending(context: GraphContext, events: Events) -> None:
    """Settle all sidecars for somebody who came for something else, and say what was done and what is blocked."""
    pending = sidecars_of(context).pending()
    if pending:
        from omnigraph.writes.recovery.sweep import settle_operations, tell_settled

        swept = settle_operations(context, pending, events=events)
        tell_settled(swept, events)
        for blocked in swept.blocked:
            events(Warned(message=blocked.reason))


def settle_own(context: GraphContext, sidecar: Sidecar, lock: HeldLock) -> Commit | None:
    """Settle the operation of this very process, which still holds its gates; return its commit if it is visible."""
    from omnigraph.writes.recovery import sweep

    return sweep.settle_own(context, sidecar, lock)


def visible_commit(context: GraphContext, sidecar: Sidecar) -> Commit | None:
    """Return the commit of an operation if it can be seen."""
    from omnigraph.writes.recovery.facts import observe

    return observe(context, sidecar).forward_commit
