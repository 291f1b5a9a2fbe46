"""The values of expressions, one per row, as Arrow arrays."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from omnigraph.catalog.arrow import arrow_type
from omnigraph.catalog.model import NodeType, PropertyType, Scalar
from omnigraph.query.access import ColumnAccess
from omnigraph.query.run.arrays import arrow_of, maker_of_one
from omnigraph.query.run.bindings import Run
from omnigraph.query.run.ranking import scores_of
from omnigraph.query.run.rows import Rows
from omnigraph.query.run.texts import rows_matching
from omnigraph.query.typed import (
    Aggregate,
    Constant,
    ConstantValue,
    Expression,
    NodeReference,
    Now,
    Parameter,
    PropertyRead,
    TextMatch,
)
from omnigraph.records.json_values import AS_JSON_SAYS

cached_type = lru_cache(maxsize=1_024)(arrow_type)
MakeColumn: TypeAlias = Callable[[Run, Rows], pa.Array]


def column_maker(expression: Expression) -> MakeColumn:
    """Return what `column_of` does for one expression, with everything decided that depends on nothing else."""
    if not isinstance(expression, PropertyRead):
        return partial(column_of, expression=expression)
    entity, variable, name = expression.entity, expression.variable, expression.property
    kind = cached_type(expression.type)
    make_one = maker_of_one(kind)
    is_node = isinstance(entity, NodeType)

    def make(run: Run, rows: Rows) -> pa.Array:
        column = (run.access.nodes(entity) if is_node else run.entities(entity)).column(name)  # type: ignore[arg-type]
        ordinals = rows.columns[variable]
        if not isinstance(ordinals, int):
            return column.take(ordinals)
        return make_one(column.one(ordinals)) if rows.count == 1 else _repeated(column, ordinals, rows.count, kind)

    return make


def values_maker(expression: Expression) -> "Callable[[Run, Rows], list[Any]] | None":
    """Return what gives the values of an expression for a few rows, as JSON has them; None where Arrow is needed."""
    if not isinstance(expression, PropertyRead) or cached_type(expression.type).id not in AS_JSON_SAYS:
        return None
    entity, variable, name = expression.entity, expression.variable, expression.property
    is_node = isinstance(entity, NodeType)

    def make(run: Run, rows: Rows) -> list[Any]:
        column = (run.access.nodes(entity) if is_node else run.entities(entity)).column(name)  # type: ignore[arg-type]
        ordinals = rows.columns[variable]
        if isinstance(ordinals, int):
            return [column.one(ordinals)] * rows.count if rows.count else []
        return [column.one(ordinal) for ordinal in ordinals.tolist()]

    return make


def column_of(run: Run, rows: Rows, expression: Expression) -> pa.Array:
    """Return the value of an expression for every row."""
    if isinstance(expression, PropertyRead):
        return _property(run, rows, expression)
    if isinstance(expression, NodeReference):
        return _node(run, rows, expression)
    if isinstance(expression, Constant | Parameter | Now):
        return repeated(run.constant(expression), expression.type, rows.count)
    if isinstance(expression, TextMatch):
        return arrow_of(rows_matching(run, rows, expression), pa.bool_())
    assert not isinstance(expression, Aggregate)
    values, valid = scores_of(run, rows, expression)
    return arrow_of(values, pa.float64(), valid)


def repeated(value: ConstantValue | None, declared: PropertyType, count: int) -> pa.Array:
    """Return one value for every row."""
    kind = cached_type(declared)
    if value is None:
        return pa.nulls(count, kind)
    return pa.repeat(pa.scalar(list(value) if isinstance(value, tuple) else value, kind), count)


def _property(run: Run, rows: Rows, read: PropertyRead) -> pa.Array:
    column = run.entities(read.entity).column(read.property)
    ordinals = rows.columns[read.variable]
    if not isinstance(ordinals, int):
        return column.take(ordinals)
    return _repeated(column, ordinals, rows.count, cached_type(read.type))


def _repeated(column: ColumnAccess, ordinal: int, count: int, kind: pa.DataType) -> pa.Array:
    """Return the value of one entity for every row."""
    if not count:
        return pa.array([], kind)
    one = column.take(np.array([ordinal], np.int32))
    return one if count == 1 else pa.repeat(one[0], count)


def _node(run: Run, rows: Rows, node: NodeReference) -> pa.Array:
    entities = run.entities(node.entity)
    ordinals = rows.values(node.variable)
    members: list[tuple[Any, Any]] = [(pa.field("id", pa.string(), nullable=False), entities.column("id"))]
    members += [
        (pa.field(declared.name, cached_type(declared.type), nullable=declared.stored_nullable), None)
        for declared in node.entity.properties
        if declared.type.scalar is not Scalar.BLOB
    ]
    arrays = [(column or entities.column(field.name)).take(ordinals) for field, column in members]
    return pa.StructArray.from_arrays(arrays, fields=[field for field, _ in members])
