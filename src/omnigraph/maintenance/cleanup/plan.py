"""Which versions of which tables go: all of them, minus what the policy keeps, minus what is protected."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow.compute as pc

from omnigraph.base import clock
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.cleanup.protections import Protections, forked_versions
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.manifest.log import ACTORS, COMMITS
from omnigraph.manifest.rows import MANIFEST, ObjectType
from omnigraph.manifest.state import ManifestState
from omnigraph.storage.refs import Ref, list_refs
from omnigraph.storage.retention import stored_versions, tagged_versions
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.writes.context import GraphContext
from omnigraph.writes.recovery.audit import RECOVERIES


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupTarget:
    """One ref of one table, or a dropped table as a whole."""

    name: str
    """The table key, or the directory of an internal table."""
    address: TableAddress
    branch: str | None
    """The branch that owns the ref; None for the main line."""
    incarnation: str | None = None
    """Which creation of that branch; None for the main line."""
    is_internal: bool = False
    is_dropped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedTable:
    """A table whose type is gone, and since when."""

    name: str
    location: str
    dropped_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What of one target goes, and why other versions that the policy would let go do not."""

    table: Table
    versions: tuple[int, ...]
    kept_because: tuple[str, ...]


def cleanup_targets(
    protections: Protections, policy: CleanupPolicy, dropped: Iterable[DroppedTable]
) -> list[CleanupTarget]:
    """List everything that cleanup looks at: data tables, the refs of branches, dropped tables, internal tables."""
    targets: dict[TableAddress, CleanupTarget] = {}
    for branch, state in protections.states.items():
        for pin in state.snapshot.pins.values():
            main_line = TableAddress(pin.location)
            targets.setdefault(main_line, CleanupTarget(name=pin.table_key, address=main_line, branch=None))
            if pin.ref is not None and pin.ref == state.snapshot.own_ref:
                targets[pin.address] = CleanupTarget(
                    name=pin.table_key, address=pin.address, branch=branch, incarnation=state.branch.incarnation
                )
    cutoff = policy.drops_tables_older_than_us(clock.now_us())
    for table in dropped:
        if not protections.mentions(table.location) and table.dropped_at_us < cutoff:
            address = TableAddress(table.location)
            targets[address] = CleanupTarget(name=table.name, address=address, branch=None, is_dropped=True)
    return [*targets.values(), *_internal_targets(protections)]


def select_versions(
    context: GraphContext,
    target: CleanupTarget,
    protections: Protections,
    policy: CleanupPolicy,
    orphans: Iterable[Ref],
) -> Selection | None:
    """Choose the versions of one target that go; None when the table is not there.

    What an orphan was forked from stays until the next run, although the orphan itself goes in this one: while it is
    there, Lance cannot tell what would go without it, and a run must not remove more than its preview said.
    """
    table = context.store.tables.head(target.address)
    if table is None:
        return None
    own_policy = policy.for_internal_tables() if target.is_internal else policy
    here = list_refs(context.store.tables, target.address.location).values()
    referred = {**forked_versions(target.address, [*here, *orphans]), **_tags(table)}
    versions, reasons = [], []
    for version in own_policy.lets_go(stored_versions(table), now_us=clock.now_us()):
        reason = referred.get(version) or protections.keeps(target.address, version)
        if reason is not None:
            reasons.append(reason)
        elif version != table.version:
            versions.append(version)
    return Selection(table=table, versions=tuple(versions), kept_because=tuple(dict.fromkeys(reasons)))


def dropped_tables(context: GraphContext, state: ManifestState) -> tuple[DroppedTable, ...]:
    """Return the tables whose types were dropped, with the time of the commit that dropped each."""
    commits = context.log.history(state.head)
    rows = state.rows.filter(pc.equal(state.rows["object_type"], ObjectType.TABLE_TOMBSTONE.value))
    return tuple(
        DroppedTable(
            name=row["table_key"],
            location=row["location"],
            dropped_at_us=commits[row["graph_commit_id"]].created_at_us,
        )
        for row in rows.select(["table_key", "location", "graph_commit_id"]).to_pylist()
        if row["graph_commit_id"] in commits
    )


def _tags(table: Table) -> dict[int, str]:
    return {version: f"tag:{name} refers to v{version}" for version, name in tagged_versions(table).items()}


def _internal_targets(protections: Protections) -> Iterator[CleanupTarget]:
    yield CleanupTarget(name=MANIFEST.location, address=MANIFEST, branch=None, is_internal=True)
    for branch, state in protections.states.items():
        if branch != MAIN_BRANCH:
            yield CleanupTarget(
                name=MANIFEST.location,
                address=state.branch.manifest,
                branch=branch,
                incarnation=state.branch.incarnation,
                is_internal=True,
            )
    for address in (COMMITS, ACTORS, RECOVERIES):
        yield CleanupTarget(name=address.location, address=address, branch=None, is_internal=True)
