"""Reads answered by DuckDB, and what an engine returned in the types of a result."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.query.columns import result_schema
from omnigraph.query.run.exact import insist_on_finite
from omnigraph.query.sql.dialects import DUCKDB
from omnigraph.query.sql.statement import Asked, statement_of
from omnigraph.query.typed import Aggregate, CheckedRead

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.graphs.snapshot import Snapshot


def answer_with_duckdb(snapshot: "Snapshot", asked: Asked) -> "pa.Table":
    """Answer a read over a snapshot; rows are read as the statement needs them."""
    return fitted(snapshot.sql(statement_of(asked, DUCKDB)).to_arrow(), asked.read)


def answer_over(tables: Mapping[str, Any], asked: Asked) -> "pa.Table":
    """Answer a read over tables in memory, by table key."""
    from omnigraph.engine.local import LocalEngine

    return fitted(LocalEngine().sql(tables, statement_of(asked, DUCKDB)), asked.read)


def fitted(rows: "pa.Table", read: CheckedRead) -> "pa.Table":
    """Return rows in the types of the result, whatever an engine calls them."""
    import pyarrow as pa

    schema = result_schema(read)
    _insist_on_sums(rows, read)
    columns = [column.combine_chunks().cast(field.type) for column, field in zip(rows.columns, schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def _insist_on_sums(rows: "pa.Table", read: CheckedRead) -> None:
    """Refuse a sum that has become infinite, which databases do not."""
    import pyarrow.compute as pc

    for values, column in zip(rows.columns, read.columns, strict=True):
        expression = column.expression
        if isinstance(expression, Aggregate) and expression.function in ("sum", "avg"):
            insist_on_finite(bool(pc.all(pc.is_finite(values), min_count=0).as_py()))
