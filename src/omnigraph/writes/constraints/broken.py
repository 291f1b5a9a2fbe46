"""Which declared constraints the rows of stored tables break.

Writes let no such row in, so a graph has none unless something wrote behind its back and a repair was forced. Repair
shows with this what publishing would break, `verify` and `health` what a published state breaks.

Cost: the keys of the asked tables and of the tables at the other ends of their edges are read once, values only if
wanted and only the columns that have a rule. Work runs on the engine; the driver sees counts and a few samples.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.base.grouping import fitted
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EdgeType, EntityType, TableKey
from omnigraph.engine.interface import Engine, Produced, Watch
from omnigraph.errors import OmniError
from omnigraph.graphs.context import GraphContext
from omnigraph.records.offences import FINDINGS_KEPT, OffenceCollector, Offences
from omnigraph.records.stored import check_stored_rows, ruled_columns
from omnigraph.storage.tables import Table
from omnigraph.storage.worker_files import TablePlace, shared_with_workers, worker_store
from omnigraph.writes.constraints.keys import StoredFragments, stored_fragments, stored_keys
from omnigraph.writes.constraints.set_checks import Violations, find_violations
from omnigraph.writes.constraints.stored_state import StoredState, needed_tables, stored_checks

_STATEMENT_ROWS_MAX = 4 << 20
"""Rows of keys that the tables of one statement have together; a larger table has a statement to itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenConstraints:
    """What was found, by the table that was asked for, and the tables that could not be checked, with the reason.

    A finding names the table whose rule is broken: with a node table, that may be an edge table that lacks its nodes.
    """

    broken: Mapping[TableKey, Offences] = field(default_factory=dict)
    unchecked: Mapping[TableKey, str] = field(default_factory=dict)


def broken_constraints(
    context: GraphContext,
    catalog: Catalog,
    states: Mapping[TableKey, Table],
    *,
    tables: Collection[TableKey] | None = None,
    limit: int = FINDINGS_KEPT,
    with_values: bool = True,
    engine: Engine | None = None,
    watch: Watch | None = None,
) -> BrokenConstraints:
    """Find what the rows of `tables` (all by default) break in a graph that consists of `states`.

    Always looked for: doubled ids and keys, `@unique`, edges without a node, `@card`. With values also enums,
    `@range`, `@check`, required values and ids that are not those of their keys. For a node table, edges of other
    tables that lack one of its nodes count too, unless they are among `tables` themselves.

    A state that cannot be read, or is not among `states`, leaves the tables that need it unchecked and stops nothing
    else. Without an engine the graph's own is used. `watch` is told how many rows are done, of those of `tables`, once
    for keys and once for values.
    """
    asked = sorted(states if tables is None else tables)
    operation_id = ids.new_ulid()
    looking = _Looking(
        context=context,
        engine=engine or context.engine,
        catalog=catalog,
        states=states,
        asked=asked,
        limit=max(limit, 1),
        operation_id=operation_id,
    )
    with shared_with_workers(context.store, operation_id):
        done = looking.check_keys(watch)
        if with_values:
            looking.check_values(watch, done)
    return looking.result()


@dataclass(kw_only=True)
class _Looking:
    context: GraphContext
    engine: Engine
    catalog: Catalog
    states: Mapping[TableKey, Table]
    asked: Sequence[TableKey]
    limit: int
    operation_id: str
    unchecked: dict[TableKey, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._findings: defaultdict[TableKey, OffenceCollector] = defaultdict(
            lambda: OffenceCollector(limit=self.limit)
        )

    def result(self) -> BrokenConstraints:
        broken = {key: found.result() for key, found in sorted(self._findings.items()) if found}
        return BrokenConstraints(broken=broken, unchecked=dict(sorted(self.unchecked.items())))

    def check_keys(self, watch: Watch | None) -> int:
        done = 0
        for batch in self._batches():
            for key, violations in self._violations(batch):
                violations.add_to(self._findings[key])
            done += sum(self._rows(entity) for entity in batch)
            if watch is not None:
                watch(done)
        return done

    def check_values(self, watch: Watch | None, done: int) -> None:
        # Values need no neighbours, so those of a table whose neighbours cannot be read are checked all the same.
        entities = [self.catalog.type_by_table_key[key] for key in self.asked if key in self.states]
        tasks = [task for entity in entities for task in self._fragments(entity)]
        checks = [_ValueCheck(fragments=task, limit=self.limit) for task in tasks]
        for outcome in self.engine.map(check_values, checks):
            if outcome.problem is not None:
                self.unchecked.setdefault(outcome.table_key, outcome.problem)
            elif outcome.findings.total:
                self._findings[outcome.table_key].include(outcome.findings)
            done += outcome.rows
            if watch is not None:
                watch(done)

    def _batches(self) -> Iterator[tuple[EntityType, ...]]:
        """Put small tables together: a statement costs more than a few thousand rows."""
        return fitted(self._checkable(), (self._rows_needed, _STATEMENT_ROWS_MAX))

    def _checkable(self) -> list[EntityType]:
        """Return the asked types that can be checked, and note the others."""
        entities = [self.catalog.type_by_table_key[key] for key in self.asked]
        for entity in entities:
            needed = [found.table_key for found in needed_tables(self.catalog, entity, self.asked)]
            missing = [key for key in needed if key not in self.states]
            for key in [entity.table_key] if isinstance(entity, EdgeType) and missing else missing:
                self.unchecked.setdefault(key, f"{', '.join(missing)} cannot be opened")
        return [entity for entity in entities if entity.table_key not in self.unchecked]

    @property
    def _others(self) -> set[TableKey]:
        """The tables that a node's checks leave out: they are asked for themselves, or cannot be opened."""
        return {*self.asked, *self.unchecked}

    def _violations(self, batch: Sequence[EntityType]) -> list[tuple[TableKey, Violations]]:
        """Check tables together, or one by one when one of them cannot be read."""
        state = StoredState(self._keys)
        checks = [
            (entity.table_key, check)
            for entity in batch
            for check in stored_checks(state, self.catalog, entity, self._others, self.limit)
        ]
        try:
            found = find_violations(self.engine, state, [check for _, check in checks])
            return [(checks[violations.number][0], violations) for violations in found]
        except OmniError as problem:
            if len(batch) == 1:
                self.unchecked[batch[0].table_key] = problem.message
                return []
            return [found for entity in batch for found in self._violations([entity])]

    def _rows(self, entity: EntityType) -> int:
        return sum(self.states[entity.table_key].rows_by_fragment().values())

    def _rows_needed(self, entity: EntityType) -> int:
        return sum(map(self._rows, needed_tables(self.catalog, entity, self._others)))

    def _keys(self, entity: EntityType) -> Produced:
        return stored_keys(self._fragments(entity), entity, has_content=False)

    def _fragments(self, entity: EntityType) -> tuple[StoredFragments, ...]:
        table = self.states[entity.table_key]
        return stored_fragments(
            table,
            entity,
            uri=self.context.store.uri,
            operation_id=self.operation_id,
            place=TablePlace(state=table.state, target=table.address),
            has_content=False,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ValueCheck:
    fragments: StoredFragments
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _ValueOutcome:
    table_key: TableKey
    rows: int
    findings: Offences
    problem: str | None = None


def check_values(check: _ValueCheck) -> _ValueOutcome:
    """Check the values of some fragments on a worker; what cannot be read is an outcome, since others can be."""
    task = check.fragments
    findings = OffenceCollector(limit=check.limit)
    problem: str | None = None
    try:
        table = task.place.open(worker_store(task.uri, task.operation_id))
        for batch in table.scan(ruled_columns(task.entity), fragment_ids=task.fragment_ids):
            check_stored_rows(pa.Table.from_batches([batch]), task.entity, findings)
    except OmniError as unreadable:
        problem = unreadable.message
    return _ValueOutcome(table_key=task.entity.table_key, rows=task.rows, findings=findings.result(), problem=problem)
