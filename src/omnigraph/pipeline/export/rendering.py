"""Rows of one type → NDJSON lines, a column at a time: the envelope that load reads, with every value bit for bit.

Each column becomes an Arrow array of JSON texts, and joining these element by element gives the lines. Only blobs and
strings that need escapes become Python objects on the way.
"""

import binascii
import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import FLOATS, EdgeType, EntityType, PropertyType, Scalar

_SLICE_BYTES = 8 * 2**20
_NEEDS_ESCAPE = r'["\\\x00-\x1f]'
_DAY_MS = 86_400_000
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31: dates outside have no text that load reads, so they are written as integers."""


def render_lines(table: pa.Table, entity: EntityType) -> Iterator[bytes]:
    """Yield the rows in order as LF-terminated lines, many lines at a time.

    The columns of the type are found by name and others ignored; blobs come as plain binary.
    """
    rows_at_once = max(1, len(table) * _SLICE_BYTES // max(table.nbytes, 1))
    for offset in range(0, len(table), rows_at_once):
        yield _render(table.slice(offset, rows_at_once), entity)


def _render(rows: pa.Table, entity: EntityType) -> bytes:
    pieces: list[str | pa.Array] = [f'{{"{_type_field(entity)}":"{entity.name}"']
    if isinstance(entity, EdgeType):
        pieces += [',"from":', _strings(_column(rows, "src")), ',"to":', _strings(_column(rows, "dst"))]
    pieces += [',"data":{"id":', _strings(_column(rows, "id"))]
    for declared in entity.properties:
        pieces += [f',"{declared.name}":', _values(_column(rows, declared.name), declared.type)]
    pieces.append("}}\n")
    lines = pc.binary_join_element_wise(
        *(
            pa.scalar(piece, pa.large_utf8()) if isinstance(piece, str) else piece.cast(pa.large_utf8())
            for piece in pieces
        ),
        pa.scalar("", pa.large_utf8()),
        null_handling="replace",
        null_replacement="null",
    )
    text: bytes = lines.buffers()[2].to_pybytes()
    return text


def _type_field(entity: EntityType) -> str:
    return "edge" if isinstance(entity, EdgeType) else "type"


def _column(rows: pa.Table, name: str) -> pa.Array:
    return rows[name].combine_chunks()


def _values(column: pa.Array, declared: PropertyType) -> pa.Array:
    """Spell a column as JSON texts; null stays null."""
    if not declared.is_list and declared.scalar is not Scalar.VECTOR:
        return _scalars(column, declared.scalar)
    # `flatten` leaves out what lies under null lists, so the offsets are counted anew.
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    lists = pa.ListArray.from_arrays(offsets, _scalars(column.flatten(), declared.scalar))
    texts = pc.binary_join_element_wise("[", pc.binary_join(lists, ","), "]", "")
    return pc.if_else(pc.is_valid(column), texts, None)


def _scalars(column: pa.Array, scalar: Scalar) -> pa.Array:
    match scalar:
        case Scalar.STRING:
            return _strings(column)
        case Scalar.BLOB:
            return _blobs(column)
        case Scalar.DATE:
            days = column.cast(pa.int32())
            return _moments(days, _quoted(column.cast(pa.utf8())), _FIRST_DAY, _LAST_DAY)
        case Scalar.DATETIME:
            times = column.cast(pa.int64())
            texts = pc.replace_substring(times.cast(pa.timestamp("ms")).cast(pa.utf8()), " ", "T")
            return _moments(times, _quoted(texts, "Z"), _FIRST_DAY * _DAY_MS, (_LAST_DAY + 1) * _DAY_MS - 1)
        case Scalar.F32 | Scalar.F64 | Scalar.VECTOR:
            # Arrow prints the fewest digits that read back as the same float of this width. It writes `-0`, which many
            # JSON readers take for the integer zero.
            texts = column.cast(pa.utf8())
            return pc.if_else(pc.equal(texts, "-0"), "-0.0", texts)
        case _:
            return column.cast(pa.utf8())


def _moments(numbers: pa.Array, texts: pa.Array, first: int, last: int) -> pa.Array:
    has_text = pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last))
    return pc.if_else(has_text, texts, numbers.cast(pa.utf8()))


def _strings(column: pa.Array) -> pa.Array:
    needs_escape = pc.match_substring_regex(column, _NEEDS_ESCAPE)
    if not pc.any(needs_escape).as_py():
        return _quoted(column)
    escaped = [json.dumps(text, ensure_ascii=False) for text in column.filter(needs_escape).to_pylist()]
    return pc.replace_with_mask(_quoted(column), needs_escape, pa.array(escaped, column.type))


def _blobs(column: pa.Array) -> pa.Array:
    texts = [
        None if blob is None else f'"base64:{binascii.b2a_base64(blob, newline=False).decode()}"'
        for blob in column.to_pylist()
    ]
    return pa.array(texts, pa.large_utf8())


def _quoted(texts: pa.Array, suffix: str = "") -> pa.Array:
    return pc.binary_join_element_wise('"', texts, f'{suffix}"', "")
