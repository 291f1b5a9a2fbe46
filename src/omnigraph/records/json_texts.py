"""Columns of scalars as JSON texts, null where the value is; they read back as the same values."""

import binascii
import json

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.blob_cells import split_cells

TEXT = pa.large_utf8()
"""64-bit offsets, because the lines of one batch may need more than 2 GiB."""

_NEEDS_ESCAPE = r'["\\\x00-\x1f]'
_DAY_MS = 86_400_000
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31. Load reads no text for other dates, so they are written as integers."""


def plain(column: pa.Array) -> pa.Array:
    """Spell whole numbers and truth values, which Arrow prints as JSON does."""
    return column.cast(TEXT)


def floats(column: pa.Array) -> pa.Array:
    """Spell numbers that may have a fraction.

    Arrow prints the fewest digits that read back as the same float of this width. It writes `-0`, which many JSON
    readers take for the integer zero.
    """
    texts = column.cast(TEXT)
    return pc.if_else(pc.equal(texts, "-0"), "-0.0", texts)


def dates(column: pa.Array) -> pa.Array:
    """Spell dates as texts, those outside of years 1 to 9999 as numbers of days."""
    return _moments_between(column.cast(pa.int32()), column.cast(TEXT), first=_FIRST_DAY, last=_LAST_DAY)


def times(column: pa.Array) -> pa.Array:
    """Spell timestamps as texts in UTC, those outside of years 1 to 9999 as numbers of milliseconds."""
    numbers = column.cast(pa.int64())
    texts = pc.replace_substring(numbers.cast(pa.timestamp("ms")).cast(TEXT), " ", "T")
    last = (_LAST_DAY + 1) * _DAY_MS - 1
    return _moments_between(numbers, join(texts, "Z"), first=_FIRST_DAY * _DAY_MS, last=last)


def _moments_between(numbers: pa.Array, texts: pa.Array, *, first: int, last: int) -> pa.Array:
    has_text = pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last))
    return pc.if_else(has_text, join('"', texts, '"'), numbers.cast(TEXT))


def strings(column: pa.Array) -> pa.Array:
    """Spell texts with quotes and escapes."""
    quoted = join('"', column, '"')
    needs_escape = pc.match_substring_regex(column, _NEEDS_ESCAPE)
    if not pc.any(needs_escape).as_py():
        return quoted
    escaped = [json.dumps(text, ensure_ascii=False) for text in column.filter(needs_escape).to_pylist()]
    return pc.replace_with_mask(quoted, needs_escape, pa.array(escaped, TEXT))


def blobs(column: pa.Array) -> pa.Array:
    """Spell content as `base64:…`, and a reference as it is."""
    contents, uris = split_cells(column)
    payloads = [None if blob is None else binascii.b2a_base64(blob, newline=False) for blob in contents.to_pylist()]
    spelled = join('"base64:', pa.array(payloads, pa.large_binary()), '"')
    return spelled if uris.null_count == len(uris) else pc.coalesce(strings(uris), spelled)


def join(*pieces: str | pa.Array) -> pa.Array:
    """Put texts side by side, row by row; null if one of them is."""
    texts = (pa.scalar(piece, TEXT) if isinstance(piece, str) else piece.cast(TEXT) for piece in pieces)
    return pc.binary_join_element_wise(*texts, pa.scalar("", TEXT))
