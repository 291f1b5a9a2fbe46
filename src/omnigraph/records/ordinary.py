"""The fast path: lines of ordinary shape, read a column at a time.

The pattern of a type accepts only lines that are strict JSON with declared members; Arrow's reader then parses all of
them at once and refuses repeated members. What both accept means the same to `values.py`. Every other line, right or
wrong, is left to the reference path, and so is a whole group in which Arrow meets a misfit: such a load mostly fails.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import default_scalar
from omnigraph.catalog.model import Catalog, EdgeType, EntityType, PropertyType
from omnigraph.records.envelope import open_envelope
from omnigraph.records.offences import Rejected
from omnigraph.records.patterns import line_pattern
from omnigraph.records.scalar_forms import form_of
from omnigraph.records.strict_json import decode_line
from omnigraph.records.tables import LINE, content_schema, embedded_properties, omitted_column

_GROUPS_MAX = 64
"""Every group costs a look at all lines; beyond so many the reference path is not slower."""

_READER_BYTES_MAX = 2**31 - 2
"""Arrow's reader gets its input as one block, whose size is a signed 32-bit number."""

_HEAD = re.compile(rb'[ \t]*\{[ \t]*"(?:type|edge)"[ \t]*:[ \t]*"\w+"')


class _MisfitError(ValueError):
    """A group holds something that only the reference path can judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdinaryLines:
    """The rows that were read, a table with `__line` per group, and the indexes of the lines that were not."""

    tables: tuple[tuple[EntityType, pa.Table], ...]
    left_over: pa.Array


def read_ordinary(lines: pa.Array, *, first_line: int, catalog: Catalog) -> OrdinaryLines:
    """Read what is ordinary among lines of valid UTF-8, given as `large_binary` with their line ends.

    The first line that has no group yet names the type of the next group; lines that begin alike belong to it.
    """
    tables: list[tuple[EntityType, pa.Table]] = []
    read = [pa.array([], pa.uint64())]
    ungrouped = pa.repeat(pa.scalar(value=True), len(lines))
    start = 0
    for _ in range(_GROUPS_MAX):
        start = pc.index(ungrouped, value=True, start=start).as_py()
        if start < 0:
            break
        sample = lines[start].as_py()
        start += 1
        entity = _entity_of(sample, catalog)
        if entity is None:
            continue
        pattern = line_pattern(entity)
        head = _HEAD.match(sample)
        alike = pc.starts_with(lines, head[0].decode()) if head else pc.match_substring_regex(lines, pattern)
        group = pc.and_(ungrouped, alike)
        ungrouped = pc.and_not(ungrouped, group)
        indexes = _matching(lines, pc.indices_nonzero(group), pattern)
        table = _read_group(_take(lines, indexes), entity)
        if table is not None:
            read.append(indexes)
            tables.append((entity, table.append_column(LINE, pc.add(indexes, pa.scalar(first_line, pa.uint64())))))
    return OrdinaryLines(tables=tuple(tables), left_over=_others(pa.concat_arrays(read), len(lines)))


def _entity_of(line: bytes, catalog: Catalog) -> EntityType | None:
    try:
        return open_envelope(decode_line(line), catalog).entity
    except Rejected:
        return None


def _matching(lines: pa.Array, indexes: pa.Array, pattern: str) -> pa.Array:
    matches = pc.match_substring_regex(_take(lines, indexes), pattern)
    return indexes.filter(matches)


def _take(lines: pa.Array, indexes: pa.Array) -> pa.Array:
    return lines if len(indexes) == len(lines) else lines.take(indexes)


def _others(indexes: pa.Array, count: int) -> pa.Array:
    if len(indexes) == count:
        return pa.array([], pa.uint64())
    every = pc.indices_nonzero(pa.repeat(pa.scalar(value=True), count))
    return every.filter(pc.invert(pc.is_in(every, value_set=indexes)))


def _read_group(lines: pa.Array, entity: EntityType) -> pa.Table | None:
    """Read lines that match the pattern of a type; None if anything about them needs a closer look."""
    text = lines.buffers()[2]
    if not len(lines) or text.size > _READER_BYTES_MAX:
        return None
    try:
        records = pa_json.read_json(
            pa.BufferReader(text),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=text.size + 1),
            parse_options=pa_json.ParseOptions(
                explicit_schema=_record_schema(entity), unexpected_field_behavior="error"
            ),
        ).combine_chunks()
        if len(records) != len(lines):
            raise _MisfitError
        return _content(records, entity)
    except ValueError:  # Arrow's refusals are ValueErrors too
        return None


def _record_schema(entity: EntityType) -> pa.Schema:
    stored = content_schema(entity)
    data = {"id": pa.utf8()} | {
        declared.name: _json_type(declared.type, stored.field(declared.name).type) for declared in entity.properties
    }
    names = ["edge", "from", "to"] if isinstance(entity, EdgeType) else ["type"]
    return pa.schema({**dict.fromkeys(names, pa.utf8()), "data": pa.struct(data)})


def _json_type(declared: PropertyType, stored: pa.DataType) -> pa.DataType:
    item = form_of(declared.scalar).ordinary
    if item is None:
        return stored
    return pa.list_(item) if declared.is_sequence else item


def _content(records: pa.Table, entity: EntityType) -> pa.Table:
    data = records["data"].combine_chunks()
    column_by_name = dict(zip((field.name for field in data.type), data.flatten(), strict=True))
    if isinstance(entity, EdgeType):
        _required(records["edge"])
        columns = [column_by_name["id"], _required(records["from"]), _required(records["to"])]
    else:
        _required(records["type"])
        columns = [column_by_name["id"]]
    schema = content_schema(entity)
    for declared in entity.properties:
        given = form_of(declared.type.scalar).from_ordinary
        column = given(column_by_name[declared.name], schema.field(declared.name).type)
        default = default_scalar(declared)
        if default is not None:
            column = pc.fill_null(column, default)
        columns.append(column if declared.stored_nullable else _required(column))
    table = pa.Table.from_arrays(columns, schema=schema)
    for name in embedded_properties(entity):
        table = table.append_column(omitted_column(name), pc.is_null(table[name]))
    return table


def _required(column: pa.Array) -> pa.Array:
    if column.null_count:
        raise _MisfitError
    return column
