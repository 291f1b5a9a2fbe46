"""Maintenance beside the writers of a soak: `python -m soak.maintainer <uri>` goes on until somebody kills it.

Writers are killed all the time, so that refusals over what they left are normal; anything else ends this process with
its message, which is a finding.
"""

import sys
from datetime import timedelta

import omnigraph
from omnigraph.base import clock
from omnigraph.errors import BranchBusy, RecoveryRequired
from omnigraph.maintenance.cleanup.policy import CleanupPolicy

# The checker reads every version back, a moment after it was made.
POLICY = CleanupPolicy(keep_versions=30, older_than=timedelta(seconds=30))
EXPLAINED = {"maintenance_contention"}
_PAUSE_SECONDS = 1.0
"""Far more often than anybody would, and still leaving the machine to the writers."""


def main() -> None:
    uri = sys.argv[1]
    while True:
        clock.sleep_seconds(_PAUSE_SECONDS)
        graph = omnigraph.open(uri)
        try:
            failure = graph.optimize().failure
            if failure is not None and failure.kind not in EXPLAINED:
                sys.exit(f"optimize: {failure.kind}: {failure}")
            failed = graph.cleanup(POLICY, confirm=True).failed
            if failed:
                sys.exit(f"cleanup of {failed[0].table_key}: {failed[0].error}")
        except (RecoveryRequired, BranchBusy):
            continue


if __name__ == "__main__":
    main()
