"""Decide, entity by entity, what a merge does: the truth table, as one SQL statement over two change sets.

The grain is the entity: two sides that change different properties of one entity differently are a conflict.
"""

from collections.abc import Sequence
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.changes.compare import TableState
from omnigraph.engine.interface import Engine
from omnigraph.records.contents import equal_ids


class Outcome(StrEnum):
    """What becomes of one entity that the source changed; what the target keeps as it is has none."""

    TAKE = "take"
    """The source's image replaces the target's, or is inserted."""
    DELETE = "delete"
    DIVERGENT_INSERT = "divergent_insert"
    DIVERGENT_UPDATE = "divergent_update"
    DELETE_VS_UPDATE = "delete_vs_update"


RESOLUTION_SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("outcome", pa.string())])


def outcome_expression(*, are_equal: str) -> str:
    """Spell the truth table over a change `s` of the source and the change `t` of the target, if it made one.

    `are_equal` says whether both left the entity with equal values; null is the outcome of keeping the target's.
    """
    return f"""
        CASE
            WHEN t.id IS NULL AND s.op = 'delete' THEN 'delete'
            WHEN t.id IS NULL THEN 'take'
            WHEN s.op = 'delete' AND t.op = 'delete' THEN NULL
            WHEN s.op = 'delete' OR t.op = 'delete' THEN 'delete_vs_update'
            WHEN {are_equal} THEN NULL
            WHEN s.op = 'insert' THEN 'divergent_insert'
            ELSE 'divergent_update'
        END
    """


def agreement_expression(bases: int) -> str:
    """Spell what several bases say about one entity together: where they disagree, none is picked silently."""
    return f"CASE WHEN count(*) = {bases} AND min(outcome) = max(outcome) THEN min(outcome) ELSE 'divergent_update' END"


_RESOLVE = f"""
    SELECT id, outcome FROM (
        SELECT s.id AS id, {outcome_expression(are_equal="e.id IS NOT NULL")} AS outcome
        FROM source s LEFT JOIN target t ON s.id = t.id LEFT JOIN equal e ON s.id = e.id
    ) resolved WHERE outcome IS NOT NULL
"""

_CHANGED_ON_BOTH = """
    SELECT s.id AS id FROM source s JOIN target t ON s.id = t.id WHERE s.op <> 'delete' AND t.op <> 'delete'
"""


def resolve(
    engine: Engine, source: TableState, target: TableState, *, source_changes: pa.Table, target_changes: pa.Table
) -> pa.Table:
    """Return `(id, outcome)` of every entity that the merge changes or cannot decide, against one base.

    Changes are `(id, op)` since that base; the states are read only for entities that both sides changed.
    """
    changes = {"source": source_changes, "target": target_changes}
    both = _ids(engine.sql(changes, _CHANGED_ON_BOTH))
    equal = equal_ids(source.images(both), target.images(both)) if len(both) else both
    return engine.sql({**changes, "equal": pa.table({"id": equal})}, _RESOLVE).cast(RESOLUTION_SCHEMA)


def agreed(engine: Engine, resolutions: Sequence[pa.Table]) -> pa.Table:
    """Combine the resolutions against several bases: where they disagree, no base is picked silently."""
    if len(resolutions) == 1:
        return resolutions[0]
    statement = f"SELECT id, {agreement_expression(len(resolutions))} AS outcome FROM resolutions GROUP BY id"
    return engine.sql({"resolutions": pa.concat_tables(resolutions)}, statement).cast(RESOLUTION_SCHEMA)


def rows_with(resolution: pa.Table, *outcomes: Outcome) -> pa.Table:
    """Return the rows that have one of these outcomes."""
    wanted = pa.array([outcome.value for outcome in outcomes], pa.string())
    return resolution.filter(pc.is_in(resolution["outcome"], value_set=wanted))


def ids_with(resolution: pa.Table, *outcomes: Outcome) -> pa.Array:
    """Return the ids that have one of these outcomes."""
    return _ids(rows_with(resolution, *outcomes))


def _ids(rows: pa.Table) -> pa.Array:
    return rows["id"].combine_chunks().cast(pa.string())
