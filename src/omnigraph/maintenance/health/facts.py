"""Observe: everything that health speaks of, read without a lock and without writing anything.

What cannot be read is itself a fact (`damage.py`): looking goes on with the next table or branch. Only a graph whose
main manifest cannot be read, or a store that does not answer, leaves nothing to say.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial

from omnigraph.base import clock
from omnigraph.base.values import dataclass
from omnigraph.errors import BranchNotFound, OmniError, StorageError
from omnigraph.graphs.capture import capture_branch
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.holding import MAINTENANCE_LOCK
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.health.branches import BranchHealth, LiveBranch, observe_branches
from omnigraph.maintenance.health.damage import Damage, DamagedPart, DamageLog, verify_heads
from omnigraph.maintenance.health.rules import BrokenTable, forced_tables, observe_rules
from omnigraph.maintenance.health.runs import MaintenanceRun, maintenance_runs
from omnigraph.maintenance.health.space import DEFAULT_POLICY, NOTHING_TO_RECLAIM, Leftover, observe_space
from omnigraph.maintenance.health.tables import DEFAULT_AIM, TableHealth, observe_tables_of
from omnigraph.maintenance.journal import JOURNAL_PREFIX, read_journal
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.maintenance.unreadable import UNREADABLE, problem_of, refuse_unreachable
from omnigraph.maintenance.verify.report import Problem
from omnigraph.manifest.ancestry import History
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitKind
from omnigraph.manifest.log import ACTORS, COMMITS
from omnigraph.manifest.rows import MANIFEST
from omnigraph.manifest.state import ManifestState, look_at_live_branches
from omnigraph.storage.layout import TableLayout, read_layout
from omnigraph.storage.locks import Holder
from omnigraph.storage.retention import stored_versions
from omnigraph.storage.tables import TableAddress
from omnigraph.writes.pending import PendingOperation, list_pending, sidecars_of
from omnigraph.writes.sidecar import RECOVERY_PREFIX


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalHealth:
    """One internal table."""

    name: str
    branch: str | None
    """The branch whose manifest it is; None for that of `main` and for the log that all branches share."""
    layout: TableLayout
    versions: int

    @property
    def bytes(self) -> int:
        """Bytes of its data files."""
        return sum(fragment.bytes for fragment in self.layout.fragments)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphHealth:
    """All facts about one graph."""

    uri: str
    looked_at_us: int
    tables: tuple[TableHealth, ...]
    internal: tuple[InternalHealth, ...]
    branches: tuple[BranchHealth, ...]
    pending: tuple[PendingOperation, ...]
    locks: Mapping[str, Holder]
    leftovers: tuple[Leftover, ...]
    """What cleanup would remove from beside the tables."""
    last_maintenance: Commit | None
    runs: tuple[MaintenanceRun, ...]
    """Known runs of maintenance, oldest first."""
    damages: tuple[Damage, ...]
    broken: tuple[BrokenTable, ...] = ()
    """Tables that a forced repair published and whose rows break declared rules."""
    lost: tuple[Problem, ...] = ()
    """What the heads of the branches need and is not there as it was; `verify` looks at older versions, too."""

    @property
    def reclaimable_bytes(self) -> int:
        """Everything that cleanup would remove."""
        return sum(table.reclaimable_bytes for table in self.tables) + sum(left.bytes for left in self.leftovers)


def observe_health(
    context: GraphContext,
    *,
    aim: OptimizeRequest = DEFAULT_AIM,
    retention: CleanupPolicy | None = DEFAULT_POLICY,
) -> GraphHealth:
    """Look at a graph; raise only when there is nothing that could be looked at.

    `aim` says what optimize would be asked for, and `retention` what a cleanup would keep; with None nobody asks what
    it would remove, which takes as long to find out as everything else.
    """
    context.manifest.load(MAIN_BRANCH)
    damages = DamageLog()
    live = _live_branches(context, damages)
    history = _history(context, live.values(), damages)
    space = NOTHING_TO_RECLAIM if retention is None else observe_space(context, damages, retention)
    tables = [
        table for branch in live.values() for table in observe_tables_of(branch.capture, space.by_table, damages, aim)
    ]
    internal = list(_internal(context, live, damages))
    branches = _branches(context, live, history, damages)
    broken = _broken_rules(live, history, damages)
    lost = _lost(context, live, damages)
    gone = _gone_meanwhile(context, live)
    return GraphHealth(
        uri=context.store.uri,
        looked_at_us=clock.now_us(),
        tables=tuple(table for table in tables if table.branch not in gone),
        internal=tuple(table for table in internal if table.branch not in gone),
        branches=tuple(branch for branch in branches if branch.name not in gone),
        pending=_pending(context, damages),
        locks=_locks(context, live, damages),
        leftovers=tuple(left for left in space.leftovers if left.branch not in gone),
        last_maintenance=_last_maintenance(live, history),
        runs=_runs(context, history, damages),
        damages=damages.without_branches(gone),
        broken=tuple(table for table in broken if table.branch not in gone),
        lost=tuple(problem for problem in lost if problem.branch not in gone),
    )


def _live_branches(context: GraphContext, damages: DamageLog) -> dict[str, LiveBranch]:
    """Capture every branch that can be read, `main` first."""
    try:
        seen = look_at_live_branches(context.manifest, lambda name: _look_at(context, name))
    except UNREADABLE as error:
        refuse_unreachable(error)
        where = f"{MANIFEST.location}/_refs/branches"
        damages.note(part=DamagedPart.INTERNAL, where=where, problem=problem_of(str(error)))
        seen = {MAIN_BRANCH: _look_at(context, MAIN_BRANCH)}
    for name, found in seen.items():
        if not isinstance(found, LiveBranch):
            address = TableAddress(MANIFEST.location, _unless_main(name))
            is_lost = isinstance(found, StorageError | BranchNotFound) or not isinstance(found, OmniError)
            damages.note(
                part=DamagedPart.BRANCH,
                where=address.path if is_lost else None,
                problem="its manifest is gone" if isinstance(found, BranchNotFound) else problem_of(str(found)),
                branch=address.ref,
            )
    return {name: found for name, found in seen.items() if isinstance(found, LiveBranch)}


def _look_at(context: GraphContext, name: str) -> LiveBranch | BaseException:
    """Capture a branch, or return why that cannot be done; one that is not listed any more raises."""
    try:
        return LiveBranch(capture=capture_branch(context, name), head=context.manifest.load(name).head)
    except UNREADABLE as error:
        refuse_unreachable(error)
        if name not in context.manifest.incarnations():
            raise
        return error


def _gone_meanwhile(context: GraphContext, live: Mapping[str, LiveBranch]) -> set[str]:
    """Name the branches that were deleted while we looked: what seemed damaged there is merely gone."""
    try:
        incarnations = context.manifest.incarnations()
    except UNREADABLE as error:
        refuse_unreachable(error)
        return set()
    return {name for name, found in live.items() if incarnations.get(name) != found.capture.snapshot.incarnation}


def _history(context: GraphContext, live: Iterable[LiveBranch], damages: DamageLog) -> History | None:
    """Read the log; None when it cannot be read."""
    heads = [branch.head for branch in live]
    unknown: History | None = None
    return damages.attempt(
        lambda: context.log.history(*heads), otherwise=unknown, part=DamagedPart.INTERNAL, where=COMMITS.location
    )


def _internal(context: GraphContext, live: Mapping[str, LiveBranch], damages: DamageLog) -> Iterator[InternalHealth]:
    manifests = [TableAddress(MANIFEST.location, _unless_main(name)) for name in live if name != MAIN_BRANCH]
    for address in (MANIFEST, COMMITS, ACTORS, *manifests):
        found = damages.attempt(
            partial(_internal_table, context, address),
            otherwise=None,
            part=DamagedPart.INTERNAL,
            where=address.path,
            branch=address.ref,
        )
        if found is not None:
            yield found


def _internal_table(context: GraphContext, address: TableAddress) -> InternalHealth | None:
    table = context.store.tables.head(address)
    if table is None:
        return None
    return InternalHealth(
        name=address.location,
        branch=address.ref,
        layout=read_layout(table),
        versions=len(stored_versions(context.store.objects, address)),
    )


def _branches(
    context: GraphContext, live: Mapping[str, LiveBranch], history: History | None, damages: DamageLog
) -> list[BranchHealth]:
    nothing: list[BranchHealth] = []
    return damages.attempt(
        lambda: observe_branches(context, live, history),
        otherwise=nothing,
        part=DamagedPart.INTERNAL,
        where=f"{MANIFEST.location}/_refs/branches",
    )


def _lost(context: GraphContext, live: Mapping[str, LiveBranch], damages: DamageLog) -> list[Problem]:
    nothing: list[Problem] = []
    return damages.attempt(
        lambda: list(verify_heads(context, list(_states(context, live)))),
        otherwise=nothing,
        part=DamagedPart.INTERNAL,
        where=MANIFEST.location,
    )


def _states(context: GraphContext, live: Iterable[str]) -> Iterator[ManifestState]:
    for name in live:
        # A branch that is deleted while we look has lost nothing.
        with suppress(BranchNotFound):
            yield context.manifest.load(name)


def _broken_rules(live: Mapping[str, LiveBranch], history: History | None, damages: DamageLog) -> list[BrokenTable]:
    forced = forced_tables(history)
    nothing: list[BrokenTable] = []
    return [
        table
        for name, branch in live.items()
        for table in damages.attempt(
            partial(observe_rules, branch.capture, forced),
            otherwise=nothing,
            part=DamagedPart.BRANCH,
            where=None,
            branch=_unless_main(name),
        )
    ]


def _pending(context: GraphContext, damages: DamageLog) -> tuple[PendingOperation, ...]:
    nothing: tuple[PendingOperation, ...] = ()
    return damages.attempt(
        lambda: tuple(list_pending(sidecars_of(context))),
        otherwise=nothing,
        part=DamagedPart.INTERNAL,
        where=RECOVERY_PREFIX,
    )


def _locks(context: GraphContext, branches: Iterable[str], damages: DamageLog) -> dict[str, Holder]:
    nothing: dict[str, Holder] = {}
    return damages.attempt(
        lambda: _holders(context, branches), otherwise=nothing, part=DamagedPart.INTERNAL, where="__locks"
    )


def _holders(context: GraphContext, branches: Iterable[str]) -> dict[str, Holder]:
    names = [MAINTENANCE_LOCK, "schema", *(f"branch/{name}" for name in branches)]
    holders = {name: context.store.locks.holder(name, store_clock=None) for name in names}
    return {name: holder for name, holder in holders.items() if holder is not None}


def _last_maintenance(live: Mapping[str, LiveBranch], history: History | None) -> Commit | None:
    """Return the newest maintenance on the line of `main`, as far back as the log goes."""
    current = live[MAIN_BRANCH].head if MAIN_BRANCH in live else None
    while current is not None and current.kind is not CommitKind.MAINTENANCE:
        parent = current.parent_commit_id
        current = history.get(parent) if history is not None and parent is not None else None
    return current


def _runs(context: GraphContext, history: History | None, damages: DamageLog) -> tuple[MaintenanceRun, ...]:
    nothing: tuple[MaintenanceRun, ...] = ()
    return damages.attempt(
        lambda: maintenance_runs(read_journal(context.store.objects), (history or {}).values()),
        otherwise=nothing,
        part=DamagedPart.INTERNAL,
        where=JOURNAL_PREFIX,
    )


def _unless_main(branch: str) -> str | None:
    return None if branch == MAIN_BRANCH else branch
