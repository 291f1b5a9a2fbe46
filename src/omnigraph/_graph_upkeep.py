"""Methods of `Graph` that maintain and recover it; each makes a request and hands it on."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from omnigraph.base.events import Events, ignore_events
from omnigraph.catalog.type_names import each_name
from omnigraph.engine.choice import EngineChoice
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

    from omnigraph.graph import Graph
    from omnigraph.maintenance.cleanup.policy import CleanupPolicy
    from omnigraph.maintenance.cleanup.report import CleanupReport
    from omnigraph.maintenance.health.judging import HealthReport
    from omnigraph.maintenance.maintain.report import MaintainReport
    from omnigraph.maintenance.optimize.report import OptimizeResult
    from omnigraph.maintenance.repair.run import RepairReport
    from omnigraph.maintenance.verify.report import VerifyReport
    from omnigraph.writes.pending import PendingOperation
    from omnigraph.writes.recovery.audit import RecoveryRecord
    from omnigraph.writes.recovery.sweep import SweepResult


def optimize(
    self: "Graph",
    *,
    branch: str = MAIN_BRANCH,
    tables: Sequence[str] = (),
    target_rows: int = 1 << 20,
    max_bytes_per_file: int = 1 << 30,
    deleted_ratio: float = 0.10,
    reindex: bool = True,
    verify: bool = False,
    max_seconds: float | None = None,
    max_bytes: int | None = None,
    max_memory: int = 1 << 30,
    dry_run: bool = False,
    message: str | None = None,
    wait_seconds: float = 0.0,
    engine: "str | EngineChoice | None" = None,
    events: Events = ignore_events,
) -> "OptimizeResult":
    """Merge small fragments, bring indexes up to date and build declared ones, for all tables as one commit.

    No row changes and no version is removed. Writers wait only while finished files are committed. `failure` of
    the result says what could not be done; everything else is published.
    """
    from omnigraph.maintenance.optimize.request import OptimizeRequest
    from omnigraph.maintenance.optimize.run import run_optimize

    if not dry_run:
        self._refuse_read_only()
    request = OptimizeRequest(
        branch=branch,
        target_rows=target_rows,
        max_bytes_per_file=max_bytes_per_file,
        deleted_ratio=deleted_ratio,
        tables=each_name(tables),
        reindex=reindex,
        verify=verify,
        max_seconds=max_seconds,
        max_bytes=max_bytes,
        max_memory=max_memory,
        dry_run=dry_run,
        message=message,
        wait_seconds=wait_seconds,
        engine=EngineChoice.named(engine, os.environ),
    )
    return run_optimize(self._context, request, events=events)


def repair(
    self: "Graph",
    *,
    confirm: bool = False,
    force: bool = False,
    discard: bool = False,
    branch: str | None = None,
    tables: Sequence[str] = (),
    review_limit: int | None = None,
    message: str | None = None,
    sample_limit: int = 20,
    wait_seconds: float = 0.0,
    events: Events = ignore_events,
) -> "RepairReport":
    """Show tables whose newest version is not the one that the graph pins; with `confirm`, publish that version.

    `confirm` publishes only what provably changed no row; `force` together with it also publishes what somebody
    has reviewed, and `discard` brings the tables back to what the graph pins instead. Without `confirm` nothing is
    written. `review_limit` compares rows: what publishing changes and which declared rules that breaks, with that
    many samples per table. Forced tables are judged by the rules in any case, with `sample_limit` samples.
    """
    from omnigraph.maintenance.repair.request import Consent, RepairRequest
    from omnigraph.maintenance.repair.run import run_repair

    request = RepairRequest(
        consent=Consent.given(confirm=confirm, force=force, discard=discard),
        branch=branch,
        tables=each_name(tables),
        review_limit=review_limit,
        message=message,
        sample_limit=sample_limit,
        wait_seconds=wait_seconds,
    )
    if confirm:
        self._refuse_read_only()
    return run_repair(self._context, request, events=events)


def health(self: "Graph") -> "HealthReport":
    """Say how the graph is doing and what to do about it; changes nothing and takes no lock."""
    from omnigraph.maintenance.health.judging import report_health

    return report_health(self._context)


def verify(
    self: "Graph",
    *,
    deep: bool = False,
    branch: str | None = None,
    all_branches: bool = False,
    engine: "str | EngineChoice | None" = None,
    events: Events = ignore_events,
) -> "VerifyReport":
    """Prove that what every readable graph version needs is there and agrees with itself; changes nothing.

    Looks at `main`, at another `branch` or at all of them. With `deep` every byte is read, on the engine that is
    asked for, every declared rule checked, and every index compared with a scan.
    """
    from omnigraph.maintenance.verify.run import VerifyRequest, run_verify

    choice = EngineChoice.named(engine, os.environ)
    request = VerifyRequest(deep=deep, branch=branch, all_branches=all_branches, engine=choice)
    return run_verify(self._context, request, events=events)


def cleanup(
    self: "Graph",
    policy: "CleanupPolicy | None" = None,
    *,
    keep: int | None = None,
    older_than: "timedelta | str | None" = None,
    confirm: bool = False,
    wait_seconds: float = 0.0,
    engine: "str | EngineChoice | None" = None,
    events: Events = ignore_events,
) -> "CleanupReport":
    """Remove old versions that nobody needs; without `confirm`, say exactly what would go and change nothing.

    `keep=10` keeps the newest ten published versions of each table, `older_than="7d"` those younger than that;
    with both, only what is outside both goes. A `CleanupPolicy` says the same in one value.
    """
    from omnigraph.maintenance.cleanup.policy import CleanupPolicy, CleanupRequest
    from omnigraph.maintenance.cleanup.run import run_cleanup

    request = CleanupRequest(
        policy=CleanupPolicy.of(policy, keep=keep, older_than=older_than),
        confirm=confirm,
        wait_seconds=wait_seconds,
        engine=EngineChoice.named(engine, os.environ),
    )
    if confirm:
        self._refuse_read_only()
    return run_cleanup(self._context, request, events=events)


def maintain(
    self: "Graph",
    *,
    settings: "str | Path | Mapping[str, object] | None" = None,
    dry_run: bool = False,
    full: bool = False,
    max_seconds: float | None = None,
    max_bytes: int | None = None,
    engine: "str | EngineChoice | None" = None,
    events: Events = ignore_events,
) -> "MaintainReport":
    """Do what `health` finds due and nothing else: recover, optimize, and clean up where the settings say what stays.

    `settings` is a YAML file with a section `maintenance`, or that section as a mapping. What needs a person is
    reported and left alone. `failure` of the result says what went wrong, if anything did.
    """
    from omnigraph.cluster.maintaining import upkeep_of_graph
    from omnigraph.maintenance.maintain.request import MaintainRequest
    from omnigraph.maintenance.maintain.rounds import Journal, run_maintain

    if not dry_run:
        self._refuse_read_only()
    request = MaintainRequest(
        dry_run=dry_run,
        full=full,
        max_seconds=max_seconds,
        max_bytes=max_bytes,
        engine=EngineChoice.named(engine, os.environ),
    )
    upkeep = upkeep_of_graph(self.uri, settings=settings)
    journal = Journal(objects=self._context.store.objects, prefix=upkeep.journal.prefix)
    opened = {upkeep.graphs[0].name: self._context}
    return run_maintain(upkeep.graphs, request, journal, about=self.uri, opened=opened, events=events)


def maintain_cluster(
    cluster: str,
    *,
    graphs: Sequence[str] = (),
    settings: "str | Path | Mapping[str, object] | None" = None,
    dry_run: bool = False,
    full: bool = False,
    max_seconds: float | None = None,
    max_bytes: int | None = None,
    workers: int = 1,
    engine: "str | EngineChoice | None" = None,
    events: Events = ignore_events,
) -> "MaintainReport":
    """Do for the applied graphs of a cluster, or some of them, what `Graph.maintain` does for one.

    `cluster` is a directory or a storage root. Without `settings` the section `maintenance` of its `cluster.yaml`
    counts. A graph that another process maintains is left to it, and one that cannot be read keeps none of the others
    waiting.
    """
    from omnigraph.cluster.maintaining import upkeep_of_cluster
    from omnigraph.maintenance.maintain.request import MaintainRequest
    from omnigraph.maintenance.maintain.rounds import run_maintain

    request = MaintainRequest(
        dry_run=dry_run,
        full=full,
        max_seconds=max_seconds,
        max_bytes=max_bytes,
        workers=workers,
        engine=EngineChoice.named(engine, os.environ),
    )
    upkeep = upkeep_of_cluster(cluster, graphs, settings=settings, events=events)
    return run_maintain(upkeep.graphs, request, upkeep.journal, about=upkeep.about, events=events)


def recover(self: "Graph", *, wait_seconds: float = 0.0, events: Events = ignore_events) -> "SweepResult":
    """Settle all interrupted writes, oldest first, and say what was done, what is in use and what is blocked.

    An operation whose branch is locked is waited for; on object stores the lock of a dead writer lives on for up
    to a minute.
    """
    from omnigraph.writes.recovery.sweep import settle_all

    self._refuse_read_only()
    return settle_all(self._context, wait_seconds=wait_seconds, events=events)


def abandon(self: "Graph", operation_id: str, *, events: Events = ignore_events) -> "SweepResult":
    """Give up an operation that recovery cannot settle: its sidecar goes, the tables stay as they are."""
    from omnigraph.writes.recovery.abandon import abandon_operation
    from omnigraph.writes.recovery.sweep import SweepResult

    self._refuse_read_only()
    return SweepResult(recovered=[abandon_operation(self._context, operation_id, events)])


def pending_operations(self: "Graph") -> "list[PendingOperation]":
    """Return the operations that were interrupted or are under way, oldest first; changes nothing."""
    from omnigraph.writes.pending import list_pending, sidecars_of

    return list_pending(sidecars_of(self._context))


def recoveries(self: "Graph") -> "list[RecoveryRecord]":
    """Return the recorded recoveries, oldest first."""
    from omnigraph.writes.recovery.audit import list_recoveries

    return list_recoveries(self._context.store.tables)
