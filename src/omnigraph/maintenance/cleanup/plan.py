"""Which versions of which tables go: all of them, minus what the policy keeps, minus what is protected."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import pyarrow.compute as pc

from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.cleanup.protections import Protections, forked_versions
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitId
from omnigraph.manifest.log import ACTORS, COMMITS
from omnigraph.manifest.rows import MANIFEST, ObjectType
from omnigraph.manifest.state import ManifestState
from omnigraph.storage.locks import StoreClock
from omnigraph.storage.refs import Ref, list_refs
from omnigraph.storage.removal import dropped_at
from omnigraph.storage.retention import StoredVersion, tagged_versions
from omnigraph.storage.tables import Table, TableAddress
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
    dropped_at: float
    """In seconds since the Unix epoch: of the store, or of whoever dropped it long ago without leaving a mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalPlan:
    """What of one target goes, what stays, and why versions stay that the policy would let go."""

    table: Table
    versions: tuple[int, ...]
    staying: tuple[int, ...]
    kept_because: tuple[str, ...]


def cleanup_targets(
    protections: Protections, policy: CleanupPolicy, dropped: Iterable[DroppedTable], store_clock: StoreClock
) -> list[CleanupTarget]:
    """List everything that cleanup looks at: data tables, the refs of branches, dropped tables, internal tables."""
    targets: dict[TableAddress, CleanupTarget] = {}
    for branch, state in protections.states.items():
        for pin in state.snapshot.pins.values():
            main_line = pin.address_on(None)
            targets.setdefault(main_line, CleanupTarget(name=pin.table_key, address=main_line, branch=None))
            if pin.ref is not None and pin.ref == state.snapshot.own_ref:
                targets[pin.address] = CleanupTarget(
                    name=pin.table_key, address=pin.address, branch=branch, incarnation=state.branch.incarnation
                )
    cutoff = policy.drops_tables_before(store_clock)
    for table in dropped:
        if not protections.mentions(table.location) and table.dropped_at < cutoff:
            address = TableAddress(table.location)
            targets[address] = CleanupTarget(name=table.name, address=address, branch=None, is_dropped=True)
    return [*targets.values(), *_internal_targets(protections)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choosing:
    """What the choice of versions goes by, the same for all tables of a run."""

    policy: CleanupPolicy
    published: Mapping[TableAddress, Collection[int]]
    """Per ref the versions that some graph version pins."""
    of_newest: Mapping[TableAddress, Collection[int]]
    """Per ref those that the newest graph versions pin, as many of each branch as the policy keeps."""
    store_clock: StoreClock

    def select(
        self,
        context: GraphContext,
        target: CleanupTarget,
        stored: Sequence[StoredVersion],
        protections: Protections,
        orphans: Iterable[Ref],
    ) -> RemovalPlan | None:
        """Choose the versions of one target that go; None when the table is not there.

        What an orphan was forked from stays until the next run, although the orphan itself goes in this one: while it
        is there, Lance cannot tell what would go without it, and a run must not remove more than its preview said.
        """
        table = context.store.tables.head(target.address)
        if table is None:
            return None
        here = list_refs(context.store.tables, target.address.location).values()
        referred = {**forked_versions(target.address, [*here, *orphans]), **_tags(table)}
        if target.is_internal:
            outside = self.policy.lets_go_of_internal(stored, store_clock=self.store_clock)
        else:
            published = self.published.get(target.address, ())
            outside = self.policy.lets_go(stored, published=published, store_clock=self.store_clock)
        versions, reasons = [], []
        for version in outside:
            reason = referred.get(version) or protections.keeps(target.address, version)
            keep = self.policy.keep_versions
            if reason is None and keep is not None and version in self.of_newest.get(target.address, ()):
                reason = f"one of the newest {counted(keep, 'graph version')} pins v{version}"
            if reason is not None:
                reasons.append(reason)
            elif version != table.version:
                versions.append(version)
        going = set(versions)
        return RemovalPlan(
            table=table,
            versions=tuple(versions),
            staying=tuple(known.version for known in stored if known.version not in going),
            kept_because=tuple(dict.fromkeys(reasons)),
        )


def dropped_tables(
    context: GraphContext, state: ManifestState, commits: Mapping[CommitId, Commit]
) -> tuple[DroppedTable, ...]:
    """Return the tables whose types were dropped, each with the time of its mark or of the commit that dropped it."""
    rows = state.rows.filter(pc.equal(state.rows["object_type"], ObjectType.TABLE_TOMBSTONE.value))
    return tuple(
        DroppedTable(
            name=row["table_key"],
            location=row["location"],
            dropped_at=_dropped_at(context, row["location"], commits[row["graph_commit_id"]]),
        )
        for row in rows.select(["table_key", "location", "graph_commit_id"]).to_pylist()
        if row["graph_commit_id"] in commits
    )


def _dropped_at(context: GraphContext, location: str, commit: Commit) -> float:
    marked = dropped_at(context.store.objects, location)
    return marked if marked is not None else commit.created_at_us / 1_000_000


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
