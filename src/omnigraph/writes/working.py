"""Tables while statements are applied to them: the captured state under an overlay of changes."""

from collections.abc import Callable, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.errors import ConstraintViolation, KeyConflict
from omnigraph.graphs.capture import Capture
from omnigraph.records.tables import content_schema, embedded_properties
from omnigraph.storage.filters import Comparison, all_of
from omnigraph.storage.tables import Table
from omnigraph.writes.budget import Budget
from omnigraph.writes.delta import (
    PLACE_COLUMNS,
    TableDelta,
    delta_rows,
    empty_reference,
    reference_columns,
    rows_among,
    rows_without,
)
from omnigraph.writes.vectors import keep_vectors_of, vector_columns

_FUNCTION = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityFilter:
    """Which entities a statement means: by id, or by comparisons that must all hold."""

    ids: tuple[str, ...] | None = None
    where: tuple[Comparison, ...] = ()


class WorkingTable:
    """What statements made of one table so far; images in it may still lack what is required."""

    def __init__(self, capture: Capture, entity: EntityType, budget: Budget) -> None:
        self._capture = capture
        self._entity = entity
        self._budget = budget
        self._upserts = self._images_only(content_schema(entity).empty_table())
        self._matched = empty_reference(entity)
        self._removed = empty_reference(entity)

    def delta(self) -> TableDelta:
        """Return the overlay as a delta, whose images are as they came."""
        return TableDelta(entity=self._entity, upserts=self._upserts, matched=self._matched, removed=self._removed)

    def add(self, rows: pa.Table) -> None:
        """Write entities whose ids were minted for this write, so that nothing can have them."""
        rows = self._images_only(rows)
        self._budget.spend(rows)
        self._upserts = pa.concat_tables([self._upserts, rows])

    def upsert(self, rows: pa.Table, *, is_insert: bool = False, keeps_vectors: bool = False) -> None:
        """Write whole entities over whatever is there; `is_insert` refuses ids that exist."""
        new_ids = rows["id"].combine_chunks()
        self._refuse_repeated(new_ids)
        if is_insert:
            self._refuse_existing(new_ids)
        if keeps_vectors and embedded_properties(self._entity):
            rows = keep_vectors_of(self._current(new_ids, vector_columns(self._entity)), self._entity, rows)
        rows = self._images_only(rows)
        self._budget.spend(rows)
        stored = self._untouched(new_ids) if not is_insert else empty_reference(self._entity)
        returning = rows_among(self._removed, new_ids)
        self._removed = rows_without(self._removed, new_ids)
        self._matched = pa.concat_tables([self._matched, stored, returning])
        self._upserts = pa.concat_tables([rows_without(self._upserts, new_ids), rows])

    def update(self, selection: EntityFilter, change: Callable[[pa.Table], pa.Table]) -> int:
        """Let `change` turn the selected entities into new images of the same ids; return how many there are."""
        stored = rows_without(self._stored(selection, None), self._touched_ids())
        pending = self._selected(selection)
        images = pa.concat_tables([self._images_only(stored), pending]).drop_columns(list(PLACE_COLUMNS))
        if images.num_rows:
            changed = self._images_only(change(images))
            self._budget.spend(changed)
            self._matched = pa.concat_tables([self._matched, self._reference(stored)])
            kept = rows_without(self._upserts, pending["id"].combine_chunks())
            self._upserts = pa.concat_tables([kept, changed])
        return int(images.num_rows)

    def remove(self, selection: EntityFilter) -> pa.Array:
        """Remove the selected entities; return their ids."""
        return self._remove_stored_and_pending(
            self._stored(selection, reference_columns(self._entity)),
            self._selected(selection)["id"].combine_chunks(),
        )

    def remove_where_in(self, column: str, values: pa.Array) -> pa.Array:
        """Remove the entities whose `column` is one of `values`; return their ids."""
        pending = self._upserts.filter(pc.is_in(self._upserts[column], value_set=values))["id"].combine_chunks()
        return self._remove_stored_and_pending(
            self._table.lookup(column, values, reference_columns(self._entity)), pending
        )

    def _remove_stored_and_pending(self, stored: pa.Table, pending: pa.Array) -> pa.Array:
        untouched = rows_without(self._reference(stored), self._touched_ids())
        self._budget.spend(untouched)
        self._removed = pa.concat_tables([self._removed, untouched])
        if len(pending):
            self._upserts = rows_without(self._upserts, pending)
            self._removed = pa.concat_tables([self._removed, rows_among(self._matched, pending)])
            self._matched = rows_without(self._matched, pending)
        return pa.concat_arrays([untouched["id"].combine_chunks(), pending])

    def _stored(self, selection: EntityFilter, columns: list[str] | None) -> pa.Table:
        if selection.ids is not None:
            names = columns or self._table.schema.names
            return self._table.lookup("id", pa.array(selection.ids, pa.string()), names)
        found = self._table.scan(columns, where=all_of(selection.where), with_row_ids=True, with_row_addresses=True)
        return self._budget.read_all(found)

    def _selected(self, selection: EntityFilter) -> pa.Table:
        if selection.ids is not None:
            return rows_among(self._upserts, pa.array(selection.ids, pa.string()))
        return self._upserts.filter(comparisons_hold(self._upserts, selection.where))

    def _current(self, ids: pa.Array, columns: list[str]) -> pa.Table:
        """Return what the entities with these ids are by now."""
        stored = rows_without(self._table.lookup("id", ids, columns), self._touched_ids())
        pending = rows_among(self._upserts, ids).select(columns)
        return pa.concat_tables([stored.select(columns).cast(pending.schema), pending])

    def _untouched(self, ids: pa.Array) -> pa.Table:
        """Return the stored rows with these ids that still speak for themselves."""
        wanted = ids.filter(pc.invert(pc.is_in(ids, value_set=self._touched_ids())))
        return self._reference(self._table.lookup("id", wanted, reference_columns(self._entity)))

    def _touched_ids(self) -> pa.Array:
        """Ids whose stored row no longer speaks for itself."""
        return pa.concat_arrays([self._matched["id"].combine_chunks(), self._removed["id"].combine_chunks()])

    def _refuse_repeated(self, ids: pa.Array) -> None:
        counts = ids.value_counts()
        repeated = counts.filter(pc.greater(counts.field("counts"), 1))
        if len(repeated):
            named = repeated[0]["values"].as_py()
            raise ConstraintViolation(
                f"{self._entity.name} {named!r} occurs more than once in one statement; nothing was written.",
                table_key=self._entity.table_key,
                row_id=named,
                rule="duplicate_id",
            )

    def _refuse_existing(self, ids: pa.Array) -> None:
        existing = self._current(ids, ["id"])["id"].to_pylist()
        if existing:
            raise KeyConflict(
                f"{self._entity.name} {existing[0]!r} exists already; nothing was written. Upsert it, or choose "
                "another id.",
                table_key=self._entity.table_key,
                row_id=existing[0],
            )

    def _images_only(self, rows: pa.Table) -> pa.Table:
        return delta_rows(self._entity, rows, is_final=False)

    def _reference(self, rows: pa.Table) -> pa.Table:
        shape = empty_reference(self._entity).schema
        return rows.select(shape.names).cast(shape)

    @property
    def _table(self) -> Table:
        return self._capture.table(self._entity.table_key)


class WorkingTables:
    """The tables that statements of one write have come to, all of one capture."""

    def __init__(self, capture: Capture, budget: Budget) -> None:
        self._capture = capture
        self._budget = budget
        self._tables: dict[TableKey, WorkingTable] = {}

    def table(self, entity: EntityType) -> WorkingTable:
        """Return what the statements made of a table so far."""
        if entity.table_key not in self._tables:
            self._tables[entity.table_key] = WorkingTable(self._capture, entity, self._budget)
        return self._tables[entity.table_key]

    def deltas(self) -> dict[TableKey, TableDelta]:
        """Return what became of each of them."""
        return {key: working.delta() for key, working in self._tables.items()}


def comparisons_hold(rows: pa.Table, comparisons: Iterable[Comparison]) -> pa.Array:
    """Return a mask of the rows for which every comparison holds, as a Lance scan would; null compares as false."""
    mask = pa.repeat(True, rows.num_rows)
    for comparison in comparisons:
        mask = pc.and_(mask, _holds(rows[comparison.column], comparison))
    return mask


def _holds(column: pa.ChunkedArray, comparison: Comparison) -> pa.ChunkedArray:
    if isinstance(comparison.value, tuple):
        is_member = pc.is_in(column, value_set=pa.array(comparison.value, column.type))
        return is_member if comparison.operator == "in" else pc.and_(pc.invert(is_member), pc.is_valid(column))
    if comparison.value is None:
        return pc.is_null(column) if comparison.operator == "=" else pc.is_valid(column)
    value = comparison.value if isinstance(comparison.value, pa.Scalar) else pa.scalar(comparison.value, column.type)
    return pc.fill_null(_FUNCTION[comparison.operator](column, value), False)
