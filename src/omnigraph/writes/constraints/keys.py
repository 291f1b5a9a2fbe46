"""The key columns of entities: all that checks over a whole graph look at, for written and for stored rows.

Column names are fixed or numbered, because engines fold the case of names and reserve words that schemas may use.
"""

from collections.abc import Iterator
from operator import itemgetter

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.grouping import grouped
from omnigraph.base.values import dataclass
from omnigraph.catalog.identity import spell_column
from omnigraph.catalog.model import EntityType
from omnigraph.engine.interface import Produced
from omnigraph.records.contents import row_digests
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID, Table
from omnigraph.storage.worker_files import TablePlace, worker_store

_ENDPOINTS = ("src", "dst")
_STORED_TASK_ROWS = 2 << 20
CONTENT_FIELD = ("content", pa.binary())


def member_columns(entity: EntityType) -> dict[str, str]:
    """Return the key column of every property that takes part in a `@unique`, by property name."""
    members = dict.fromkeys(name for rule in entity.uniques for name in rule.properties)
    numbered = {name: f"m{index}" for index, name in enumerate(members)}
    return {name: name if name in _ENDPOINTS else column for name, column in numbered.items()}


def identity_columns(entity: EntityType) -> list[str]:
    """Return the columns that name an entity and, for an edge, its ends."""
    return ["id"] if entity.kind == "node" else ["id", *_ENDPOINTS]


def stored_schema(entity: EntityType, *, has_content: bool) -> pa.Schema:
    """Return the key columns of stored rows."""
    fields = [*key_fields(entity), ("row_id", pa.int64()), ("row_address", pa.int64())]
    return pa.schema(fields + ([CONTENT_FIELD] if has_content else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFragments:
    """Some fragments of a stored table whose key columns are wanted."""

    uri: str
    operation_id: str
    place: TablePlace
    fragment_ids: tuple[int, ...]
    rows: int
    entity: EntityType
    has_content: bool


def stored_keys(tasks: tuple[StoredFragments, ...], entity: EntityType, *, has_content: bool) -> Produced:
    """Describe the key columns of a stored table, for workers to read."""
    return Produced(
        schema=stored_schema(entity, has_content=has_content),
        read=read_stored_keys,
        tasks=tasks,
        rows=sum(task.rows for task in tasks),
    )


def stored_fragments(
    table: Table, entity: EntityType, *, uri: str, operation_id: str, place: TablePlace, has_content: bool
) -> tuple[StoredFragments, ...]:
    """Divide a stored table into shares of work."""
    return tuple(
        StoredFragments(
            uri=uri,
            operation_id=operation_id,
            place=place,
            fragment_ids=tuple(fragment_id for fragment_id, _ in group),
            rows=sum(rows for _, rows in group),
            entity=entity,
            has_content=has_content,
        )
        for group in grouped(sorted(table.rows_by_fragment().items()), (itemgetter(1), _STORED_TASK_ROWS))
    )


def read_stored_keys(task: StoredFragments) -> Iterator[pa.RecordBatch]:
    """Read the key columns of stored rows, whole rows only where their content is compared."""
    entity = task.entity
    schema = stored_schema(entity, has_content=task.has_content)
    names = identity_columns(entity) + [name for name in member_columns(entity) if name not in _ENDPOINTS]
    table = task.place.open(worker_store(task.uri, task.operation_id))
    scan = table.scan(
        None if task.has_content else names,
        with_row_ids=True,
        with_row_addresses=True,
        fragment_ids=task.fragment_ids,
    )
    for batch in scan:
        rows = pa.Table.from_batches([batch])
        columns = [*key_columns(entity, rows), rows[ROW_ID], rows[ROW_ADDRESS]]
        if task.has_content:
            columns.append(content_digests(entity, rows))
        arrays = [typed(column, field) for column, field in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def content_digests(entity: EntityType, rows: pa.Table) -> pa.Array:
    """Return a digest of everything but the id, as the one comparator tells rows apart (`records/contents.py`)."""
    return row_digests(rows, [*identity_columns(entity)[1:], *entity.property_by_name])


def key_fields(entity: EntityType) -> list[tuple[str, pa.DataType]]:
    """Return the key columns that written and stored rows have alike, with their types."""
    names = identity_columns(entity)
    names += [column for column in member_columns(entity).values() if column not in _ENDPOINTS]
    return [(name, pa.string()) for name in names]


def key_columns(entity: EntityType, rows: pa.Table) -> list[pa.ChunkedArray | pa.Array]:
    """Take these columns out of rows."""
    members = [name for name in member_columns(entity) if name not in _ENDPOINTS]
    return [
        *(rows[name] for name in identity_columns(entity)),
        *(spell_column(_finite(rows[name].combine_chunks()), entity.property_by_name[name].type) for name in members),
    ]


def _finite(column: pa.Array) -> pa.Array:
    """Return a column with nulls for what has no spelling: no write stores it, but a forced repair may have."""
    return pc.if_else(pc.is_finite(column), column, None) if pa.types.is_floating(column.type) else column


def typed(column: pa.ChunkedArray | pa.Array, field: pa.Field) -> pa.Array:
    """Return a column as one array of the type of a field."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array.cast(field.type)
