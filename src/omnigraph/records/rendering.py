"""Rows of one type → NDJSON lines, a column at a time: the envelope that load reads, with every value bit for bit.

Each column becomes an Arrow array of JSON texts, and joining these element by element gives the lines. Only blobs and
strings that need escapes become Python objects on the way.
"""

import binascii
import json

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import EdgeType, EntityType, PropertyType, Scalar

_TEXT = pa.large_utf8()
"""64-bit offsets, because the lines of one batch may need more than 2 GiB."""

_NEEDS_ESCAPE = r'["\\\x00-\x1f]'
_DAY_MS = 86_400_000
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31. Load reads no text for other dates, so they are written as integers."""


def render_lines(table: pa.Table, entity: EntityType) -> bytes:
    """Render the rows in order as LF-terminated lines.

    Columns are found by name, others than those of the type are ignored, and blobs come as plain binary. The text is
    about as large as the rows, so many rows are best handed over in batches.
    """
    if not len(table):
        return b""
    pieces: list[str | pa.Array]
    if isinstance(entity, EdgeType):
        source, target = _strings(_column(table, "src")), _strings(_column(table, "dst"))
        pieces = [f'{{"edge":"{entity.name}","from":', source, ',"to":', target]
    else:
        pieces = [f'{{"type":"{entity.name}"']
    pieces += [',"data":{"id":', _strings(_column(table, "id"))]
    for declared in entity.properties:
        pieces += [f',"{declared.name}":', pc.fill_null(_values(_column(table, declared.name), declared.type), "null")]
    text: bytes = _join(*pieces, "}}\n").buffers()[2].to_pybytes()
    return text


def _column(table: pa.Table, name: str) -> pa.Array:
    return table[name].combine_chunks()


def _values(column: pa.Array, declared: PropertyType) -> pa.Array:
    """Spell a column as JSON texts; null stays null."""
    if not declared.is_list and declared.scalar is not Scalar.VECTOR:
        return _scalars(column, declared.scalar)
    # `flatten` leaves out what lies under null lists, so the offsets are counted anew.
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    items = _scalars(column.flatten(), declared.scalar).cast(pa.utf8())
    texts = _join("[", pc.binary_join(pa.ListArray.from_arrays(offsets, items), ","), "]")
    return pc.if_else(pc.is_valid(column), texts, pa.scalar(None, _TEXT))


def _scalars(column: pa.Array, scalar: Scalar) -> pa.Array:
    match scalar:
        case Scalar.STRING:
            return _strings(column)
        case Scalar.BLOB:
            return _blobs(column)
        case Scalar.DATE | Scalar.DATETIME:
            return moment_texts(column, scalar)
        case Scalar.F32 | Scalar.F64 | Scalar.VECTOR:
            # Arrow prints the fewest digits that read back as the same float of this width. It writes `-0`, which many
            # JSON readers take for the integer zero.
            texts = column.cast(_TEXT)
            return pc.if_else(pc.equal(texts, "-0"), "-0.0", texts)
        case _:
            return column.cast(_TEXT)


def moment_texts(column: pa.Array, scalar: Scalar) -> pa.Array:
    """Spell a column of dates or times as JSON texts: a quoted text where load reads one, else the number."""
    if scalar is Scalar.DATE:
        return _moments(column.cast(pa.int32()), column.cast(_TEXT), first=_FIRST_DAY, last=_LAST_DAY)
    times = column.cast(pa.int64())
    texts = pc.replace_substring(times.cast(pa.timestamp("ms")).cast(_TEXT), " ", "T")
    last = (_LAST_DAY + 1) * _DAY_MS - 1
    return _moments(times, _join(texts, "Z"), first=_FIRST_DAY * _DAY_MS, last=last)


def _moments(numbers: pa.Array, texts: pa.Array, *, first: int, last: int) -> pa.Array:
    has_text = pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last))
    return pc.if_else(has_text, _join('"', texts, '"'), numbers.cast(_TEXT))


def _strings(column: pa.Array) -> pa.Array:
    quoted = _join('"', column, '"')
    needs_escape = pc.match_substring_regex(column, _NEEDS_ESCAPE)
    if not pc.any(needs_escape).as_py():
        return quoted
    escaped = [json.dumps(text, ensure_ascii=False) for text in column.filter(needs_escape).to_pylist()]
    return pc.replace_with_mask(quoted, needs_escape, pa.array(escaped, _TEXT))


def _blobs(column: pa.Array) -> pa.Array:
    payloads = [None if blob is None else binascii.b2a_base64(blob, newline=False) for blob in column.to_pylist()]
    return _join('"base64:', pa.array(payloads, pa.large_binary()), '"')


def _join(*pieces: str | pa.Array) -> pa.Array:
    texts = (pa.scalar(piece, _TEXT) if isinstance(piece, str) else piece.cast(_TEXT) for piece in pieces)
    return pc.binary_join_element_wise(*texts, pa.scalar("", _TEXT))
