"""The changed entities of one type between two states, with their images where they were few.

Most commits change little. Their rows are read once, compared in memory, and kept until the page has them; only larger
changes go through a relational step and have their images read again, a chunk at a time.
"""

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.changes.compare import CHANGES_SCHEMA, Op, TableState, changed_entities, way_between
from omnigraph.changes.entities import Image, images_by_id
from omnigraph.changes.filled import with_filled
from omnigraph.graphs.context import GraphContext
from omnigraph.records.contents import row_contents
from omnigraph.storage.lineage import History
from omnigraph.storage.row_changes import deleted_row_ids, fragments_added_to, fragments_not_in, rows_written_in
from omnigraph.storage.tables import ROW_ID

_FEW_ROWS = 256
_FEW_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChanges:
    """Changes as `changed_entities` returns them; images of all of them, or None where those were too large to keep."""

    changes: pa.Table
    before: Mapping[str, Image] | None = None
    after: Mapping[str, Image] | None = None

    def with_ops(self, ops: Collection[Op]) -> "FoundChanges":
        """Return those of some operations, ordered by id."""
        changes = self.changes
        if ops:
            wanted = pa.array([op.value for op in ops], pa.string())
            changes = changes.filter(pc.is_in(changes["op"], value_set=wanted))
        if changes.num_rows > 1:
            changes = changes.sort_by("id")
        return FoundChanges(changes=changes, before=self.before, after=self.after)


def find_changes(context: GraphContext, before: TableState | None, after: TableState | None) -> FoundChanges:
    """Find every entity that differs by value, as `changed_entities` does."""
    few = _few_changes(context, before, after) if before is not None and after is not None else None
    return few or FoundChanges(changes=changed_entities(context, before, after))


def inserted(images: Mapping[str, Image]) -> FoundChanges:
    """Return new entities as changes."""
    none = pa.nulls(len(images), pa.uint64())
    ops = pa.repeat(Op.INSERT.value, len(images))
    changes = pa.Table.from_arrays([pa.array(images, pa.string()), ops, none, none], schema=CHANGES_SCHEMA)
    return FoundChanges(changes=changes, before={}, after=images)


def _few_changes(context: GraphContext, before: TableState, after: TableState) -> FoundChanges | None:
    """Find changes from what Lance remembers; None where it does not, and where there may be many."""
    if set(before.columns) != set(after.columns):
        return None
    stretches, history = way_between(context, before.table, after.table)
    if history is History.INCOMPLETE:
        return None
    is_added_only = history is History.ADDED_ONLY
    new = (fragments_added_to if is_added_only else fragments_not_in)(before.table, after.table)
    if after.table.bytes_of(new) > _FEW_BYTES:
        return None
    columns = ["id", *after.stored_columns]
    now = rows_written_in(before.table, after.table, columns, new) if new else None
    gone = pa.array([], pa.uint64())
    if not is_added_only:
        gone = deleted_row_ids(context.store.tables, before.table.address.location, stretches)
    touched = pa.concat_arrays([gone, *([] if now is None else now[ROW_ID].chunks)]).unique()
    if len(touched) > _FEW_ROWS:
        return None
    then = None if is_added_only or not len(touched) else before.table.take(touched, ["id", *before.stored_columns])
    if any(rows is not None and rows.nbytes > _FEW_BYTES for rows in (then, now)):
        return None
    return _classified(_Rows.of(before, then), _Rows.of(after, now))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Rows of a state with what they are compared by."""

    state: TableState
    rows: pa.Table | None
    content_by_id: Mapping[str, bytes]

    @classmethod
    def of(cls, state: TableState, rows: pa.Table | None) -> "_Rows":
        if rows is None or not rows.num_rows:
            return cls(state=state, rows=None, content_by_id={})
        rows = with_filled(rows.select(["id", *state.stored_columns]), state.filled)
        contents = row_contents(rows, state.columns).to_pylist()
        return cls(state=state, rows=rows, content_by_id=dict(zip(rows["id"].to_pylist(), contents, strict=True)))

    def images(self, wanted: Sequence[str]) -> Mapping[str, Image]:
        if self.rows is None or not wanted:
            return {}
        rows = self.rows.filter(pc.is_in(self.rows["id"], value_set=pa.array(wanted, pa.string())))
        return images_by_id(rows, self.state.entity)


def _classified(before: _Rows, after: _Rows) -> FoundChanges:
    was, now = before.content_by_id, after.content_by_id
    op_by_id = {
        entity_id: Op.INSERT if entity_id not in was else Op.DELETE if entity_id not in now else Op.UPDATE
        for entity_id in sorted({*was, *now})
        if was.get(entity_id) != now.get(entity_id)
    }
    none = pa.nulls(len(op_by_id), pa.uint64())
    columns = [pa.array(op_by_id, pa.string()), pa.array([op.value for op in op_by_id.values()], pa.string())]
    return FoundChanges(
        changes=pa.Table.from_arrays([*columns, none, none], schema=CHANGES_SCHEMA),
        before=before.images([entity_id for entity_id, op in op_by_id.items() if op is not Op.INSERT]),
        after=after.images([entity_id for entity_id, op in op_by_id.items() if op is not Op.DELETE]),
    )
