"""When two edges with different ids are one relationship.

Ids of edges are minted per insert, so that the same relationship, added on both sides or removed and added again, has
several. Edges are one relationship when their endpoints and all their values are equal; they are matched one to one,
so that two equal edges against one leave two.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.branches.merge.resolution import RESOLUTION_SCHEMA, Outcome, ids_with, rows_with
from omnigraph.changes.compare import Op, TableState
from omnigraph.engine.interface import Engine
from omnigraph.records.contents import DIGEST_TYPE, row_digests
from omnigraph.writes.delta import rows_among, rows_without

_PAIRS_SCHEMA = pa.schema([pa.field("left_id", pa.string()), pa.field("right_id", pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipChanges:
    """The change sets of an edge table with everything left out that changes no relationship."""

    source: pa.Table
    target: pa.Table
    stand_ins: pa.Table
    """Pairs of a base edge and the equal edge under another id that the target has in its place."""


def pairs_statement(*, left: str, right: str) -> str:
    """Match the edges `(id, digest)` of two queries that are equal, one to one, in the order of their ids."""
    return f"""
        SELECT ours.id AS left_id, theirs.id AS right_id
        FROM (
            SELECT id, digest, row_number() OVER (PARTITION BY digest ORDER BY id) AS place FROM {left}
        ) ours JOIN (
            SELECT id, digest, row_number() OVER (PARTITION BY digest ORDER BY id) AS place FROM {right}
        ) theirs ON ours.digest = theirs.digest AND ours.place = theirs.place
    """


def relationship_changes(
    engine: Engine,
    *,
    base: TableState,
    source: TableState,
    target: TableState,
    source_changes: pa.Table,
    target_changes: pa.Table,
) -> RelationshipChanges:
    """Leave out edges that a side removed and added again, and inserts of the source that the target has made too."""
    replaced = _replaced(engine, base, source, source_changes)
    stand_ins = _replaced(engine, base, target, target_changes)
    source_changes = rows_without(source_changes, _both_ids(replaced))
    target_changes = rows_without(target_changes, _both_ids(stand_ins))
    added = _with_op(source_changes, Op.INSERT)
    added_there = _with_op(target_changes, Op.INSERT)
    twins = _pairs(engine, source, _without(added, added_there), target, _without(added_there, added))
    return RelationshipChanges(
        source=rows_without(source_changes, twins["left_id"].combine_chunks()),
        target=target_changes,
        stand_ins=stand_ins,
    )


def on_stand_ins(resolution: pa.Table, stand_ins: pa.Table) -> pa.Table:
    """Carry out on the stand-ins what was resolved for the base edges that they stand for.

    A removed edge is removed under the id that the target has; a changed one comes as the source has it, and its
    stand-in goes.
    """
    stood_for = stand_ins["left_id"].combine_chunks()
    decided = rows_with(rows_among(resolution, stood_for), Outcome.TAKE, Outcome.DELETE)
    if decided.num_rows == 0:
        return resolution
    at = pc.index_in(decided["id"].combine_chunks(), value_set=stood_for)
    gone = stand_ins["right_id"].combine_chunks().take(at)
    deleted = ids_with(decided, Outcome.DELETE)
    removals = pa.Table.from_arrays([gone, pa.repeat(Outcome.DELETE.value, len(gone))], schema=RESOLUTION_SCHEMA)
    return pa.concat_tables([rows_without(resolution, deleted), removals])


def _replaced(engine: Engine, base: TableState, side: TableState, changes: pa.Table) -> pa.Table:
    """Return the pairs of a base edge that the side removed and an equal one that it added."""
    return _pairs(engine, base, _with_op(changes, Op.DELETE), side, _with_op(changes, Op.INSERT))


def _pairs(engine: Engine, left: TableState, left_ids: pa.Array, right: TableState, right_ids: pa.Array) -> pa.Table:
    if len(left_ids) == 0 or len(right_ids) == 0:
        return _PAIRS_SCHEMA.empty_table()
    relations = {"left_edges": _digests(left, left_ids), "right_edges": _digests(right, right_ids)}
    return engine.sql(relations, pairs_statement(left="left_edges", right="right_edges")).cast(_PAIRS_SCHEMA)


def _digests(state: TableState, ids: pa.Array) -> pa.Table:
    images = state.images(ids)
    schema = pa.schema([pa.field("id", pa.string()), pa.field("digest", DIGEST_TYPE)])
    return pa.Table.from_arrays([images["id"], row_digests(images, state.columns)], schema=schema)


def _with_op(changes: pa.Table, op: Op) -> pa.Array:
    return changes.filter(pc.equal(changes["op"], op.value))["id"].combine_chunks()


def _without(ids: pa.Array, others: pa.Array) -> pa.Array:
    return ids.filter(pc.invert(pc.is_in(ids, value_set=others)))


def _both_ids(pairs: pa.Table) -> pa.Array:
    return pa.concat_arrays([pairs["left_id"].combine_chunks(), pairs["right_id"].combine_chunks()])
