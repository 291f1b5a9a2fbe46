"""Observe: everything that health speaks of, read without a lock and without writing anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from omnigraph.base import clock
from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.errors import OmniError
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.cleanup.run import CleanupRow, preview_cleanup
from omnigraph.maintenance.journal import JournalEntry, read_journal
from omnigraph.maintenance.optimize.facts import TableFacts, observe_table
from omnigraph.maintenance.optimize.options import OptimizeOptions
from omnigraph.maintenance.optimize.plan import TablePlan, plan_tables
from omnigraph.maintenance.repair.drift import Classification, TableDrift, find_lasting_drift
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitKind
from omnigraph.manifest.log import ACTORS, COMMITS
from omnigraph.manifest.rows import MANIFEST
from omnigraph.storage.filters import Comparison, all_of
from omnigraph.storage.layout import TableLayout, read_layout
from omnigraph.storage.locks import Holder
from omnigraph.storage.retention import stored_versions
from omnigraph.writes.authority import Capture, capture_branch
from omnigraph.writes.context import GraphContext
from omnigraph.writes.holding import MAINTENANCE_LOCK
from omnigraph.writes.sidecar import PendingOperation, list_pending

DEFAULT_POLICY = CleanupPolicy(keep_versions=10)
"""What `cleanup` does when nobody says otherwise, so that the bytes named here are those that it would remove."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHealth:
    """One table of `main`, or of a branch that owns it."""

    branch: str
    drift: TableDrift
    plan: TablePlan | None
    """What `optimize` would do; None for a table that cannot be read at its pin."""
    versions: int
    reclaimable_bytes: int
    pending_vectors: int

    @property
    def table_key(self) -> TableKey:
        """The table's name."""
        return self.drift.pin.table_key

    @property
    def facts(self) -> TableFacts | None:
        """How the table lies on disk."""
        return None if self.plan is None else self.plan.facts


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalHealth:
    """One internal table."""

    name: str
    layout: TableLayout
    versions: int

    @property
    def bytes(self) -> int:
        """Bytes of its data files."""
        return sum(fragment.bytes for fragment in self.layout.fragments)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchHealth:
    """One branch besides `main`."""

    name: str
    graph_version: int
    last_commit_us: int
    owned_tables: int
    pins_behind_main: int
    """Tables that the branch reads at an older version than `main` does."""


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
    last_maintenance: Commit | None
    journal: tuple[JournalEntry, ...]


def observe_health(context: GraphContext) -> GraphHealth:
    """Look at a graph."""
    names = [MAIN_BRANCH, *context.manifest.branch_names()]
    captures = {name: capture_branch(context, name) for name in names}
    reclaimable = _reclaimable(context)
    return GraphHealth(
        uri=context.store.uri,
        looked_at_us=clock.now_us(),
        tables=tuple(table for name in names for table in _tables(captures[name], reclaimable)),
        internal=tuple(_internal(context)),
        branches=tuple(_branch(context, captures[name], captures[MAIN_BRANCH]) for name in names[1:]),
        pending=tuple(list_pending(context.sidecars)),
        locks=_locks(context, names),
        last_maintenance=_last_maintenance(context),
        journal=tuple(read_journal(context.store.objects)),
    )


def _tables(capture: Capture, reclaimable: Mapping[tuple[str, str | None], int]) -> list[TableHealth]:
    found = find_lasting_drift(capture.context, capture.snapshot.branch)
    readable = [drift for drift in found if drift.classification is not Classification.BEHIND]
    plans = {
        plan.table_key: plan
        for plan in plan_tables(
            [observe_table(capture, drift.pin.table_key) for drift in readable], OptimizeOptions(dry_run=True)
        )
    }
    branch = None if capture.snapshot.branch == MAIN_BRANCH else capture.snapshot.branch
    return [
        TableHealth(
            branch=capture.snapshot.branch,
            drift=drift,
            plan=plans.get(drift.pin.table_key),
            versions=len(stored_versions(drift.head)) if drift.head is not None else 0,
            reclaimable_bytes=reclaimable.get((drift.pin.table_key, branch), 0),
            pending_vectors=_pending_vectors(capture, drift.pin.table_key) if drift in readable else 0,
        )
        for drift in found
    ]


def _pending_vectors(capture: Capture, table_key: TableKey) -> int:
    """Count rows whose text has no vector yet."""
    entity = capture.catalog.type_by_table_key[table_key]
    table = capture.table(table_key)
    return sum(
        table.count_rows(all_of((Comparison(vector, "=", None), Comparison(source, "!=", None))))
        for vector, source in embedded_columns(entity)
    )


def embedded_columns(entity: EntityType) -> list[tuple[str, str]]:
    """Name the vector columns of a type that are computed from a text, each with that text's column."""
    return [(declared.name, declared.embed.source) for declared in entity.properties if declared.embed]


def _reclaimable(context: GraphContext) -> dict[tuple[str, str | None], int]:
    try:
        rows: Sequence[CleanupRow] = preview_cleanup(context, DEFAULT_POLICY)
    except OmniError:
        # What keeps cleanup from looking is a finding of its own: drift, or a branch that cannot be read.
        return {}
    return {(row.table_key, row.branch): row.removed.bytes for row in rows}


def _internal(context: GraphContext) -> list[InternalHealth]:
    found = []
    for address in (MANIFEST, COMMITS, ACTORS):
        table = context.store.tables.head(address)
        if table is not None:
            found.append(
                InternalHealth(name=address.location, layout=read_layout(table), versions=len(stored_versions(table)))
            )
    return found


def _branch(context: GraphContext, capture: Capture, main: Capture) -> BranchHealth:
    snapshot = capture.snapshot
    on_main = {pin.identity: pin.version for pin in main.snapshot.pins.values()}
    return BranchHealth(
        name=snapshot.branch,
        graph_version=snapshot.graph_version,
        last_commit_us=context.manifest.load(snapshot.branch).head.created_at_us,
        owned_tables=sum(pin.ref == snapshot.own_ref for pin in snapshot.pins.values()),
        pins_behind_main=sum(
            pin.ref is None and pin.version < on_main.get(pin.identity, 0) for pin in snapshot.pins.values()
        ),
    )


def _locks(context: GraphContext, branches: Sequence[str]) -> dict[str, Holder]:
    names = [MAINTENANCE_LOCK, "schema", *(f"branch/{name}" for name in branches)]
    holders = {name: context.store.locks.holder(name, store_clock=None) for name in names}
    return {name: holder for name, holder in holders.items() if holder is not None}


def _last_maintenance(context: GraphContext) -> Commit | None:
    head = context.manifest.load(MAIN_BRANCH).head
    return next((c for c in context.log.first_parents(head) if c.kind is CommitKind.MAINTENANCE), None)
