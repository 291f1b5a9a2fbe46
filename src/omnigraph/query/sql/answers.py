"""Reads answered by DuckDB, and what an engine returned in the types of a result."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import TableKey
from omnigraph.errors import OmniError, QueryFailed
from omnigraph.query.columns import result_schema
from omnigraph.query.lookups.pushed import filter_of_tests
from omnigraph.query.plan.reading import property_tests, read_by_condition
from omnigraph.query.run.exact import insist_on_finite
from omnigraph.query.sql.dialects import DUCKDB
from omnigraph.query.sql.statement import Asked, statement_of
from omnigraph.query.typed import Aggregate, CheckedRead, Pattern

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.graphs.snapshot import Snapshot


def answer_with_duckdb(snapshot: "Snapshot", asked: Asked) -> "pa.Table":
    """Answer a read over a snapshot: Lance leaves out rows and columns that the read does not need."""
    from omnigraph.engine.local import LocalEngine
    from omnigraph.graphs.snapshot import pinned_state

    failures: list[OmniError] = []
    filters = filters_of_variables(asked)
    names = {variable: f"{table_key} of ${variable}" for variable, (table_key, _) in filters.items()}
    tables: dict[str, Any] = {key: snapshot.table(key).scannable(failures) for key in _tables_of(asked.read.pattern)}
    for variable, (table_key, where) in filters.items():
        tables[names[variable]] = snapshot.table(table_key).scannable(failures, where=where)
    own = pinned_state(snapshot)[0].engine
    engine = own if isinstance(own, LocalEngine) else LocalEngine()
    try:
        with engine.querying(tables, statement_of(asked, DUCKDB, name_by_variable=names)) as reader:
            return fitted(reader.read_all(), asked.read)
    except QueryFailed:
        # The database tells of a table that could not be read in words of its own.
        if failures:
            raise failures[0] from None
        raise


def filters_of_variables(asked: Asked) -> dict[str, tuple[TableKey, str]]:
    """Return the variables of the match of which Lance need not read all: their tables, and filters that Lance knows.

    What a filter lets through is tested again by the statement.
    """
    pattern = asked.read.pattern
    found = {}
    for variable, entity in (*pattern.nodes.items(), *pattern.edges.items()):
        own = [condition for condition in pattern.conditions if read_by_condition(condition) == {variable}]
        where, _ = filter_of_tests(entity, property_tests(own, asked.constant))
        if where is not None:
            found[variable] = (entity.table_key, where)
    return found


def _tables_of(pattern: Pattern) -> set[TableKey]:
    """Return the tables that a pattern names, at any depth."""
    found = {entity.table_key for entity in (*pattern.nodes.values(), *pattern.edges.values())}
    found |= {traversal.edge.table_key for traversal in pattern.traversals}
    found |= {TableKey(f"node:{traversal.edge.from_type}") for traversal in pattern.traversals}
    return found.union(*map(_tables_of, pattern.negations))


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
