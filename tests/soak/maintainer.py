"""Maintenance beside the writers of a soak: `python -m soak.maintainer <uri> <seed>` goes on until somebody kills it.

Now and then it is the one who meddles: it rewrites a table, or deletes a row, behind the graph's back, and then it
repairs that. Writers are killed all the time, so that refusals over what they left are normal; anything else ends this
process with its message, which is a finding.
"""

import sys
from datetime import timedelta
from random import Random

import lance

from omnigraph.base import clock
from omnigraph.errors import BranchBusy, DriftNeedsRepair, MaintenanceLocked, RecoveryRequired
from omnigraph.graph import Graph
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.storage.locks import LockRequest
from soak.places import open_graph
from support import harbor

# The checker reads every version back, a moment after it was made.
POLICY = CleanupPolicy(keep_versions=30, older_than=timedelta(seconds=30))
EXPLAINED = {"maintenance_contention"}
_PAUSE_SECONDS = 1.0
"""Far more often than anybody would, and still leaving the machine to the writers."""
_MEDDLES = 0.3
"""How often a round starts with a change that the graph knows nothing of."""


def main() -> None:
    uri, seed = sys.argv[1:]
    chance = Random(seed)
    while True:
        clock.sleep_seconds(_PAUSE_SECONDS)
        graph = open_graph(uri)
        try:
            if chance.random() < _MEDDLES:
                meddle(graph, chance)
            repair(graph)
            failure = graph.optimize().failure
            if failure is not None and failure.kind not in EXPLAINED:
                sys.exit(f"optimize: {failure.kind}: {failure}")
            failed = graph.cleanup(POLICY, confirm=True).failed
            if failed:
                sys.exit(f"cleanup of {failed[0].table_key}: {failed[0].error}")
        except (RecoveryRequired, BranchBusy, DriftNeedsRepair, MaintenanceLocked):
            continue


def meddle(graph: Graph, chance: Random) -> None:
    """Change a table as another program would, at a moment at which nobody writes."""
    store = graph._context.store
    with store.locks.acquire_all([LockRequest(name="branch/main")], operation="meddling", wait_seconds=10.0):
        if harbor.pending(graph):
            return
        pin = chance.choice(graph.snapshot().tables)
        table = lance.dataset(f"{graph.uri}/{pin.location}", storage_options=store.settings.lance_options)
        if chance.random() < 0.5:
            table.optimize.compact_files()
        elif rows := table.to_table(["id"], limit=1).to_pylist():
            table.delete(f"id = '{rows[0]['id']}'")


def repair(graph: Graph, *, wait_seconds: float = 0.0) -> None:
    """Adopt what provably changed no row, and take back the rest."""
    if graph.repair(confirm=True, wait_seconds=wait_seconds).refused:
        graph.repair(confirm=True, discard=True, wait_seconds=wait_seconds)


if __name__ == "__main__":
    main()
