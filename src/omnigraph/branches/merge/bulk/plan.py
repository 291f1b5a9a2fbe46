"""Plan a merge on an engine: the same decisions as in process, with rows and ids staying on the workers.

What comes back to the driver is counts, the first conflicts, the names of written files and, for every row of the
target that goes or gets a successor, the eight bytes of its address.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import pyarrow as pa

from omnigraph.base.events import Events, Phase, phase
from omnigraph.branches.merge.bulk.merged_state import TAKEN, MergedState
from omnigraph.branches.merge.bulk.resolving import Resolver
from omnigraph.branches.merge.bulk.rows import StateAddress
from omnigraph.branches.merge.bulk.writing import TakenTable, TakeTask, take_part
from omnigraph.branches.merge.conflicts import KIND_BY_OUTCOME, ConflictList
from omnigraph.branches.merge.images import with_images
from omnigraph.branches.merge.plan import MergePlan, TableCounts
from omnigraph.branches.merge.resolution import Outcome
from omnigraph.branches.merge.routes import Route
from omnigraph.branches.merge.sides import MergeSides
from omnigraph.branches.merge.tables import word_conflicts
from omnigraph.catalog.model import Catalog, EdgeType, EntityType, TableKey
from omnigraph.engine.interface import Engine, Produced, Relation
from omnigraph.records.findings import FindingCollector
from omnigraph.storage.staging import stage_written
from omnigraph.storage.worker_files import TablePlace
from omnigraph.writes.constraints.keys import stored_fragments, stored_keys
from omnigraph.writes.constraints.set_checks import (
    Check,
    cardinality_check,
    endpoint_checks,
    run_checks,
    stored_orphan_checks,
    unique_checks,
)
from omnigraph.writes.delta import with_strip
from omnigraph.writes.protocol import PreparedTable, WriteIdentity

COMPARING = "comparing the branches"
MERGING = "merging"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resolved:
    """One table of the merge: its resolution, which the engine keeps, and how many entities have which outcome."""

    entity: EntityType
    route: Route
    relation: Relation
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


def plan_in_bulk(
    sides: MergeSides,
    routes: Mapping[TableKey, Route],
    engine: Engine,
    *,
    operation_id: str,
    writes_files: bool,
    show_values: bool,
    events: Events,
) -> MergePlan:
    """Resolve every table on the engine, check the graph that would come out, and have workers write what is taken.

    Without `writes_files`, or with conflicts, nothing is written. Files of a merge that is then refused belong to
    nobody; cleanup removes them.
    """
    return _BulkMerge(sides=sides, engine=engine, operation_id=operation_id, events=events).plan(
        routes, writes_files=writes_files, show_values=show_values
    )


@dataclass(kw_only=True)
class _BulkMerge:
    sides: MergeSides
    engine: Engine
    operation_id: str
    events: Events

    def plan(self, routes: Mapping[TableKey, Route], *, writes_files: bool, show_values: bool) -> MergePlan:
        with phase(self.events, COMPARING, total=len(routes), unit="tables") as comparing:
            tables = self._resolve(routes, comparing)
        conflicts = ConflictList()
        for table in sorted(tables, key=lambda table: (table.entity.kind == "edge", table.entity.name)):
            self._add_conflicts(table, conflicts)
        findings = FindingCollector(limit=max(conflicts.room, 1))
        with phase(self.events, "checking"):
            self._check(tables, findings)
        pointed = {table.entity.table_key for table in tables if table.route is Route.POINTER}
        is_clean = not conflicts and not findings
        fragments = self._take(tables, pointed, findings, writes_files=writes_files and is_clean)
        conflicts.add_findings(findings.result())
        if show_values:
            conflicts.kept = with_images(self.sides, conflicts.kept)
        written = [table for table in tables if table.entity.table_key not in pointed]
        removed = {} if conflicts or not writes_files else self._removed_addresses(written)
        return MergePlan(
            outcome=self.sides.outcome,
            tables=tuple(sorted((table.table_counts for table in tables), key=lambda counts: counts.table_key)),
            pointers=tuple(self.sides.source.pins[key] for key in sorted(pointed)),
            conflicts=conflicts,
            stage=partial(_stage, self.sides, fragments, removed),
        )

    @cached_property
    def _catalog(self) -> Catalog:
        return self.sides.target.catalog

    def _place(self, table_key: TableKey) -> TablePlace:
        pin = self.sides.target.snapshot.pins[table_key]
        return TablePlace(address=pin.address, version=pin.version, target=self.sides.target.target(table_key))

    def _stored(self, entity: EntityType) -> Produced:
        fragments = stored_fragments(
            self.sides.target.table(entity.table_key),
            entity,
            uri=self.sides.target.context.store.uri,
            operation_id=self.operation_id,
            place=self._place(entity.table_key),
            has_content=False,
        )
        return stored_keys(fragments, entity, has_content=False)

    def _resolve(self, routes: Mapping[TableKey, Route], comparing: Phase) -> list[_Resolved]:
        """Resolve all tables, and count what comes out in one statement; tables that do not change are left out."""
        resolver = Resolver(engine=self.engine, sides=self.sides, operation_id=self.operation_id)
        entities = [self._catalog.type_by_table_key[key] for key in sorted(routes)]
        relations = {}
        for number, entity in enumerate(entities):
            relations[f"resolved{number}"] = resolver.resolve(entity, routes[entity.table_key], self._stored(entity))
            comparing.advance()
        queries = [
            f"SELECT {number} AS number, outcome, count(*) AS entities, count(row_id) AS images, "
            f"count(target_row) AS held FROM resolved{number} GROUP BY outcome"
            for number in range(len(entities))
        ]
        counts: dict[int, dict[Outcome, _Count]] = defaultdict(dict)
        for row in self.engine.sql(relations, " UNION ALL ".join(queries)).to_pylist():
            counted = _Count(entities=row["entities"], images=row["images"], held=row["held"])
            counts[row["number"]][Outcome(row["outcome"])] = counted
        return [
            _Resolved(
                entity=entity,
                route=routes[entity.table_key],
                relation=relations[f"resolved{number}"],
                counts=counts[number],
            )
            for number, entity in enumerate(entities)
            if number in counts
        ]

    def _add_conflicts(self, table: _Resolved, conflicts: ConflictList) -> None:
        total = table.counted(*KIND_BY_OUTCOME).entities
        if not total:
            return
        kinds = ", ".join(f"'{outcome}'" for outcome in KIND_BY_OUTCOME)
        query = f"SELECT id, outcome FROM resolved WHERE outcome IN ({kinds}) ORDER BY id LIMIT {conflicts.room}"
        rows = self.engine.sql({"resolved": table.relation}, query) if conflicts.room else None
        conflicts.add(word_conflicts(table.entity, rows.to_pylist() if rows is not None else []), total=total)

    def _check(self, tables: list[_Resolved], findings: FindingCollector) -> None:
        resolved = {table.entity.table_key: table for table in tables}
        state = MergedState({key: table.relation for key, table in resolved.items()}, self._stored)
        checks = list(self._checks(state, resolved, findings.limit))
        run_checks(self.engine, state.relations, state, checks, findings)

    def _checks(self, state: MergedState, resolved: Mapping[TableKey, _Resolved], limit: int) -> Iterator[Check]:
        def loses(entity: EntityType) -> bool:
            table = resolved.get(entity.table_key)
            return table is not None and table.counted(Outcome.DELETE).held > 0

        for table in resolved.values():
            if table.brings_rows:
                yield from unique_checks(state, table.entity, limit)
                if isinstance(table.entity, EdgeType):
                    yield from endpoint_checks(state, self._catalog, table.entity, limit)
        for edge in self._catalog.edges:
            yield from stored_orphan_checks(state, self._catalog, edge, limit, loses=loses)
            if edge.table_key in resolved and not edge.cardinality.is_unbounded:
                yield cardinality_check(state, self._catalog, edge, limit)

    def _take(
        self, tables: list[_Resolved], pointed: set[TableKey], findings: FindingCollector, *, writes_files: bool
    ) -> dict[TableKey, list[str]]:
        """Have workers check and write the rows that come from the source: one job for all tables."""
        taken = [table for table in tables if table.brings_rows]
        fragments: dict[TableKey, list[str]] = defaultdict(list)
        if not taken:
            return fragments
        task = TakeTask(
            uri=self.sides.target.context.store.uri,
            operation_id=self.operation_id,
            findings_limit=findings.limit,
            tables=tuple(
                TakenTable(
                    entity=table.entity,
                    source=StateAddress.of(self.sides.source_state(table.entity)),
                    place=self._place(table.entity.table_key),
                    is_written=writes_files and table.entity.table_key not in pointed,
                )
                for table in taken
            ),
        )
        queries = [
            f"SELECT part * {len(taken)} + {number} AS part, row_id, row_address, target_row FROM taken{number} "
            f"WHERE {TAKEN}"
            for number in range(len(taken))
        ]
        relations = {f"taken{number}": table.relation for number, table in enumerate(taken)}
        total = sum(table.counted(Outcome.TAKE, Outcome.DELETE_VS_UPDATE).images for table in taken)
        with phase(self.events, MERGING, total=total, unit="rows") as merging:
            parts = self.engine.map_groups(
                relations,
                " UNION ALL ".join(queries),
                by="part",
                function=partial(take_part, task),
                watch=merging.reach,
            )
            for part in parts:
                fragments[part.table_key].extend(part.fragments)
                findings.include(part.findings)
        return fragments

    def _removed_addresses(self, tables: list[_Resolved]) -> dict[TableKey, pa.Array]:
        """Fetch where the target has the rows that go or get a successor; without conflicts that is all of them."""
        query = "SELECT target_address FROM resolved WHERE target_address IS NOT NULL"
        removed = {table.entity.table_key: pa.array([], pa.uint64()) for table in tables}
        for table in tables:
            if table.counted(*Outcome).held:
                found = self.engine.sql({"resolved": table.relation}, query)["target_address"]
                removed[table.entity.table_key] = found.combine_chunks().cast(pa.uint64())
        return removed


def _stage(
    sides: MergeSides,
    fragments: Mapping[TableKey, list[str]],
    removed: Mapping[TableKey, pa.Array],
    identity: WriteIdentity,
) -> tuple[PreparedTable, ...]:
    """Plan one transaction per table over the files that workers wrote."""
    capture = sides.target
    prepared = []
    for key in sorted(removed):
        if not fragments.get(key) and len(removed[key]) == 0:
            continue
        table, target = capture.table(key), capture.target(key)
        staged = stage_written(
            capture.context.store.tables,
            table,
            target,
            sorted(fragments.get(key, [])),
            removed_addresses=removed[key],
            properties=identity.transaction_properties,
        )
        prepared.append(
            PreparedTable(pin=capture.snapshot.pins[key], target=target, chain=with_strip(table, staged, identity))
        )
    return tuple(prepared)
