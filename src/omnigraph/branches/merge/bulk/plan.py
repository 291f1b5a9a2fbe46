"""Plan a merge on an engine: the same decisions as in process, with rows and ids staying on the workers.

What comes back to the driver is counts, the first conflicts and the names of written files, however many rows change.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from omnigraph.base.events import Events, phase
from omnigraph.branches.merge.bulk.comparing import Compared, read_table
from omnigraph.branches.merge.bulk.merged_state import MergedState
from omnigraph.branches.merge.bulk.outcomes import REMOVED_ROWS, RESOLVED, TAKEN_ROWS
from omnigraph.branches.merge.bulk.resolving import resolve
from omnigraph.branches.merge.bulk.screening import has_suspects
from omnigraph.branches.merge.bulk.writing import TakenTable, TakeTask, take_part
from omnigraph.branches.merge.conflicts import KIND_BY_OUTCOME, ConflictList
from omnigraph.branches.merge.images import with_images
from omnigraph.branches.merge.plan import MergePlan
from omnigraph.branches.merge.resolution import Outcome
from omnigraph.branches.merge.routes import Route
from omnigraph.branches.merge.sides import MergeSides
from omnigraph.branches.merge.tables import word_conflicts
from omnigraph.catalog.model import Catalog, EdgeType, EntityType, TableKey
from omnigraph.changes.diff import TableCounts
from omnigraph.engine.interface import Engine, Produced, Relation
from omnigraph.records.offences import OffenceCollector
from omnigraph.storage.deletions import RemovedRows
from omnigraph.storage.worker_files import ScratchPlace
from omnigraph.writes.chains import prepare_written
from omnigraph.writes.constraints.keys import stored_fragments, stored_keys
from omnigraph.writes.constraints.set_checks import (
    ViolationQuery,
    cardinality_check,
    endpoint_checks,
    run_checks,
    stored_orphan_checks,
    unique_checks,
)
from omnigraph.writes.exchange.cutting import Buckets
from omnigraph.writes.exchange.removing import ThinnedTable, remove_rows
from omnigraph.writes.exchange.stages import Exchange
from omnigraph.writes.prepared import PreparedTable, WriteIdentity

READING = "reading the branches"
COMPARING = "comparing the branches"
MERGING = "merging"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resolved:
    """One table of the merge: its resolution, which workers keep, and how many entities have which outcome."""

    entity: EntityType
    route: Route
    relation: Relation
    parts: int
    """In how many parts workers read the source."""
    counts: Mapping[Outcome, "_Count"]

    def counted(self, *outcomes: Outcome) -> "_Count":
        found = [self.counts[outcome] for outcome in outcomes if outcome in self.counts]
        return _Count(
            entities=sum(count.entities for count in found),
            images=sum(count.images for count in found),
            held=sum(count.held for count in found),
        )

    @property
    def brings_rows(self) -> bool:
        return self.counted(Outcome.TAKE, Outcome.DELETE_VS_UPDATE).images > 0

    @property
    def table_counts(self) -> TableCounts:
        taken, deleted = self.counted(Outcome.TAKE), self.counted(Outcome.DELETE)
        return TableCounts(
            table_key=self.entity.table_key,
            inserted=taken.entities - taken.held,
            updated=taken.held,
            deleted=deleted.held,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """How many entities there are, how many of them the source has, and how many the target has."""

    entities: int
    images: int
    held: int


_COUNTED = ("entities", "images", "held")


def plan_in_bulk(
    sides: MergeSides,
    routes: Mapping[TableKey, Route],
    engine: Engine,
    *,
    scratch: ScratchPlace,
    writes_files: bool,
    show_values: bool,
    events: Events,
) -> MergePlan:
    """Resolve every table on the engine, check the graph that would come out, and have workers write what is taken.

    Without `writes_files`, or with conflicts, nothing is written but in the scratch, which must stay until the plan is
    carried out. Files of a merge that is then refused belong to nobody; cleanup removes them.
    """
    return _BulkMerge(sides=sides, engine=engine, scratch=scratch, events=events).plan(
        routes, writes_files=writes_files, show_values=show_values
    )


@dataclass(kw_only=True)
class _BulkMerge:
    sides: MergeSides
    engine: Engine
    scratch: ScratchPlace
    events: Events

    def plan(self, routes: Mapping[TableKey, Route], *, writes_files: bool, show_values: bool) -> MergePlan:
        exchange, tables = self._resolve(routes)
        conflicts = ConflictList()
        for table in sorted(tables, key=lambda table: (table.entity.kind == "edge", table.entity.name)):
            self._add_conflicts(table, conflicts)
        findings = OffenceCollector(limit=max(conflicts.room, 1))
        with phase(self.events, "checking"):
            self._check(exchange, routes, tables, findings)
        pointed = {table.entity.table_key for table in tables if table.route is Route.POINTER}
        is_clean = not conflicts and not findings
        fragments = self._take(exchange, tables, pointed, findings, writes_files=writes_files and is_clean)
        conflicts.add_findings(findings.result())
        if show_values:
            conflicts.kept = with_images(self.sides, conflicts.kept)
        written = [table for table in tables if table.entity.table_key not in pointed]
        removed = {} if conflicts or not writes_files else self._remove(exchange, written)
        return MergePlan(
            outcome=self.sides.outcome,
            tables=tuple(sorted((table.table_counts for table in tables), key=lambda counts: counts.table_key)),
            pointers=tuple(self.sides.source.pins[key] for key in sorted(pointed)),
            conflicts=conflicts,
            stage=partial(_stage, self.sides, fragments, removed),
        )

    @property
    def _uri(self) -> str:
        return self.sides.target.context.store.uri

    @cached_property
    def _catalog(self) -> Catalog:
        return self.sides.target.catalog

    def _stored(self, entity: EntityType) -> Produced:
        fragments = stored_fragments(
            self.sides.target.table(entity.table_key),
            entity,
            uri=self._uri,
            operation_id=self.scratch.operation_id,
            place=self.sides.target.place(entity.table_key),
            has_content=False,
        )
        return stored_keys(fragments, entity, has_content=False)

    def _resolve(self, routes: Mapping[TableKey, Route]) -> tuple[Exchange, list[_Resolved]]:
        """Resolve all tables; those that do not change are left out."""
        compared = [
            Compared(entity=self._catalog.type_by_table_key[key], route=routes[key], bases=len(self.sides.bases))
            for key in sorted(routes)
        ]
        read = {
            table.number: read_table(
                self.sides,
                table,
                self._stored(table.entity),
                operation_id=self.scratch.operation_id,
                slots=self.engine.slots,
            )
            for table in compared
        }
        found = [reading for table in read.values() for reading in table.readings]
        rows = sum(sum(reading.rows_by_task) for reading in found)
        buckets = Buckets.for_rows(rows, slots=self.engine.slots)
        exchange = Exchange(engine=self.engine, place=self.scratch, buckets=buckets)
        with phase(self.events, READING, total=rows, unit="rows") as reading:
            exchange.read(found, watch=reading.reach)
        with phase(self.events, COMPARING, total=len(routes), unit="tables") as comparing:
            counted = resolve(exchange, self._catalog, compared)
            for _ in compared:
                comparing.advance()
        counts: dict[int, dict[Outcome, _Count]] = defaultdict(dict)
        for row in counted.group_by(["place", "outcome"]).aggregate([(name, "sum") for name in _COUNTED]).to_pylist():
            count = _Count(**{name: row[f"{name}_sum"] for name in _COUNTED})
            counts[row["place"]][Outcome(row["outcome"])] = count
        return exchange, [
            _Resolved(
                entity=table.entity,
                route=table.route,
                relation=exchange.produced(
                    f"{table.number}_resolved",
                    RESOLVED,
                    rows=sum(count.entities for count in counts[place].values()),
                ),
                parts=read[table.number].parts,
                counts=counts[place],
            )
            for place, table in enumerate(compared)
            if place in counts
        ]

    def _add_conflicts(self, table: _Resolved, conflicts: ConflictList) -> None:
        total = table.counted(*KIND_BY_OUTCOME).entities
        if not total:
            return
        kinds = ", ".join(f"'{outcome}'" for outcome in KIND_BY_OUTCOME)
        query = f"SELECT id, outcome FROM resolved WHERE outcome IN ({kinds}) ORDER BY id LIMIT {conflicts.room}"
        rows = self.engine.sql({"resolved": table.relation}, query) if conflicts.room else None
        conflicts.add(word_conflicts(table.entity, rows.to_pylist() if rows is not None else []), total=total)

    def _check(
        self,
        exchange: Exchange,
        routes: Mapping[TableKey, Route],
        tables: list[_Resolved],
        findings: OffenceCollector,
    ) -> None:
        resolved = {table.entity.table_key: table for table in tables}
        state = MergedState({key: table.relation for key, table in resolved.items()}, self._stored)
        taken = [table.entity for table in tables if table.brings_rows]
        is_suspicious = has_suspects(exchange, self._catalog, frozenset(routes), taken, self._stored)
        checks = list(self._checks(state, resolved, findings.limit, is_suspicious=is_suspicious))
        run_checks(self.engine, state, checks, findings)

    def _checks(
        self, state: MergedState, resolved: Mapping[TableKey, _Resolved], limit: int, *, is_suspicious: bool
    ) -> Iterator[ViolationQuery]:
        def loses(entity: EntityType) -> bool:
            table = resolved.get(entity.table_key)
            return table is not None and table.counted(Outcome.DELETE).held > 0

        for table in resolved.values():
            if table.brings_rows and is_suspicious:
                yield from unique_checks(state, table.entity, limit)
                if isinstance(table.entity, EdgeType):
                    yield from endpoint_checks(state, self._catalog, table.entity, limit)
        for edge in self._catalog.edges:
            yield from stored_orphan_checks(state, self._catalog, edge, limit, loses=loses)
            if edge.table_key in resolved and not edge.cardinality.is_unbounded:
                yield cardinality_check(state, self._catalog, edge, limit)

    def _take(
        self,
        exchange: Exchange,
        tables: list[_Resolved],
        pointed: set[TableKey],
        findings: OffenceCollector,
        *,
        writes_files: bool,
    ) -> dict[TableKey, list[str]]:
        """Have workers check and write the rows that come from the source: one job for all tables."""
        taken = tuple(
            TakenTable(
                entity=table.entity,
                source=self.sides.source_state(table.entity).table.state,
                place=self.sides.target.place(table.entity.table_key),
                parts=table.parts,
                is_written=writes_files and table.entity.table_key not in pointed,
            )
            for table in tables
            if table.brings_rows
        )
        fragments: dict[TableKey, list[str]] = defaultdict(list)
        if not taken:
            return fragments
        task = TakeTask(
            uri=self._uri,
            operation_id=self.scratch.operation_id,
            findings_limit=findings.limit,
            shelf=exchange.listed(TAKEN_ROWS, [table.relation for table in taken]),
            tables=taken,
        )
        parts = [(number, part) for number, table in enumerate(taken) for part in range(table.parts)]
        total = sum(table.counted(Outcome.TAKE, Outcome.DELETE_VS_UPDATE).images for table in tables)
        share = -(-total // len(parts))
        with phase(self.events, MERGING, total=total, unit="rows") as merging:
            outcomes = self.engine.map(
                partial(take_part, task),
                parts,
                weights=[share] * len(parts),
                watch=lambda done: merging.reach(min(done, total)),
            )
            for part in outcomes:
                fragments[part.table_key].extend(part.fragments)
                findings.include(part.findings)
        return fragments

    def _remove(self, exchange: Exchange, tables: list[_Resolved]) -> dict[TableKey, RemovedRows]:
        """Have the target's rows deleted that go or get a successor; without conflicts that is all of them."""
        thinned = [
            ThinnedTable(
                entity=table.entity,
                place=self.sides.target.place(table.entity.table_key),
                rows_by_fragment=self.sides.target.table(table.entity.table_key).rows_by_fragment(),
            )
            for table in tables
            if table.counted(*Outcome).held
        ]
        nothing = {table.entity.table_key: RemovedRows() for table in tables}
        if not thinned:
            return nothing
        shelf = exchange.listed(REMOVED_ROWS, [table.relation for table in thinned])
        removed = remove_rows(self.engine, shelf, thinned, uri=self._uri, operation_id=self.scratch.operation_id)
        return nothing | {table.entity.table_key: rows for table, rows in zip(thinned, removed, strict=True)}


def _stage(
    sides: MergeSides,
    fragments: Mapping[TableKey, list[str]],
    removed: Mapping[TableKey, RemovedRows],
    identity: WriteIdentity,
) -> tuple[PreparedTable, ...]:
    """Plan the transactions of every table over the files that workers wrote."""
    return tuple(
        prepare_written(sides.target, identity, key, sorted(fragments.get(key, [])), removed=removed[key])
        for key in sorted(removed)
        if fragments.get(key) or removed[key]
    )
