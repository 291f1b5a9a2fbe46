"""One JSON value → one stored value: the reference for what a declared type accepts, and the words when it does not.

The vectorised paths take whole columns and give up at the first doubt; this module decides the doubtful ones. Messages
leave out the `Type.property` in front, which the caller adds.
"""

import binascii
import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

import pyarrow as pa

from omnigraph.base.units import counted
from omnigraph.catalog.arrow import arrow_form
from omnigraph.catalog.blob_bases import REFERENCE_BYTES_MAX
from omnigraph.catalog.blob_cells import content_cell, content_cells, reference_cell
from omnigraph.catalog.instants import parse_moment_ms
from omnigraph.catalog.model import PropertyType
from omnigraph.catalog.scalars import Scalar, traits_of
from omnigraph.errors import Internal
from omnigraph.records.offences import Code, ReferenceTooLong, Rejected
from omnigraph.records.strict_json import Json, Number, spell

Stored: TypeAlias = "str | bool | int | float | bytes | list[Stored]"
"""Dates are days and timestamps milliseconds here; floats are exact at the declared width."""

BLOB_PREFIX = "base64:"
_WHOLE_FLOAT_MAX = 2**53


def decode_blob(text: str) -> bytes:
    """Decode `base64:<payload>`; raise ValueError unless the payload is standard, padded base64."""
    return binascii.a2b_base64(text.removeprefix(BLOB_PREFIX), strict_mode=True)


def decoded_blobs(texts: pa.Array, stored: pa.DataType) -> pa.Array:
    """Decode a column of blobs; raise ValueError unless all are standard, padded base64."""
    return content_cells(pa.array([None if text is None else decode_blob(text) for text in texts.to_pylist()], stored))


def whole_bounds(scalar: Scalar) -> tuple[int, int]:
    """Return the smallest and the largest number of a scalar that is stored as a whole number."""
    bounds = traits_of(scalar).bounds
    if bounds is None:
        raise Internal(f"{scalar} is not stored as a whole number")
    return bounds


def nearest_floats(tokens: Sequence[Number], scalar: Scalar) -> pa.Array:
    """Round decimals to the declared width in one step: going through 64 bits first would round an `F32` twice."""
    return pa.array(tokens, pa.utf8()).cast(arrow_form(scalar).stored)


def read_string(value: Json, declared: PropertyType) -> str:
    """Read a string."""
    # An exact comparison of types: number tokens are strings underneath.
    if type(value) is not str:
        raise wrong_type(value, declared)
    return value


def read_bool(value: Json, declared: PropertyType) -> bool:
    """Read a truth value."""
    if not isinstance(value, bool):
        raise wrong_type(value, declared)
    return value


def read_integer(value: Json, declared: PropertyType) -> int:
    """Read a whole number that fits the width."""
    if not isinstance(value, Number):
        raise wrong_type(value, declared)
    try:
        number = Decimal(value)
    except InvalidOperation as exc:  # an exponent beyond 10^18
        raise wrong_type(value, declared) from exc
    if number != number.to_integral_value():
        raise wrong_type(value, declared)
    whole = _within_bounds(value, number, declared)
    # Above 2^53 a producer's floats skip whole numbers, so `1e18` may not be the number that was meant.
    if not _is_integer_token(value) and abs(whole) > _WHOLE_FLOAT_MAX:
        raise wrong_type(value, declared)
    return whole


def read_float(value: Json, declared: PropertyType) -> float:
    """Read a number, rounded to the declared width."""
    if not isinstance(value, Number):
        raise wrong_type(value, declared)
    number: float = nearest_floats([value], declared.scalar)[0].as_py()
    if not math.isfinite(number):
        raise _out_of_range(value, declared)
    return number


def read_moment(value: Json, declared: PropertyType) -> int:
    """Read a number as it is stored, or a text that names a moment."""
    unit_ms = traits_of(declared.scalar).unit_ms
    assert unit_ms is not None
    if isinstance(value, Number) and _is_integer_token(value):
        return _within_bounds(value, Decimal(value), declared)
    try:
        return parse_moment_ms(read_string(value, declared)) // unit_ms
    except ValueError as exc:
        raise wrong_type(value, declared) from exc


def read_vector(value: Json, declared: PropertyType) -> list[Stored]:
    """Read as many finite numbers as the vector has."""
    if not isinstance(value, list):
        raise wrong_type(value, declared)
    if len(value) != declared.dimension:
        raise Rejected(Code.BAD_VECTOR, f"expects {counted(declared.dimension or 0, 'number')}, got {len(value)}")
    tokens: list[Number] = []
    for place, element in enumerate(value, start=1):
        if not isinstance(element, Number):
            raise Rejected(Code.BAD_VECTOR, f"elements must be numeric, got {spell(element)} at element {place}")
        tokens.append(element)
    numbers: list[Stored] = nearest_floats(tokens, Scalar.F32).to_pylist()
    for place, number in enumerate(numbers):
        if not math.isfinite(number):  # type: ignore[arg-type]  # float32 values come back as float
            raise Rejected(Code.BAD_VECTOR, f"elements must be finite as float32, got {spell(tokens[place])}")
    return numbers


def read_blob(value: Json, declared: PropertyType) -> bytes:
    """Read content in base64, or a reference to an object elsewhere, which is not opened."""
    text = read_string(value, declared)
    if not text.startswith(BLOB_PREFIX):
        return _read_reference(text, declared)
    try:
        return content_cell(decode_blob(text))
    except ValueError as exc:
        raise Rejected(Code.BAD_BLOB, f"is not valid base64: {exc}") from exc


def _read_reference(text: str, declared: PropertyType) -> bytes:
    # The reference may carry credentials, so no message repeats it.
    if declared.blob_bases is None:
        raise Rejected(Code.EXTERNAL_BLOB_DENIED, "refers to an external object; give the content as base64:…")
    size = len(text.encode())
    if size > REFERENCE_BYTES_MAX:
        raise ReferenceTooLong(size, REFERENCE_BYTES_MAX)
    refusal = declared.blob_bases.refusal(text)
    if refusal is not None:
        raise Rejected(Code.EXTERNAL_BLOB_DENIED, f"refers to an external object; the reference {refusal}")
    return reference_cell(text)


def _is_integer_token(token: Number) -> bool:
    return token.removeprefix("-").isdigit()


def _within_bounds(token: Number, number: Decimal, declared: PropertyType) -> int:
    low, high = whole_bounds(declared.scalar)
    if not low <= number <= high:
        raise _out_of_range(token, declared)
    # Zero first: `0e999999999` is zero too, and spelling out its exponent would take all memory.
    return int(number) if number else 0


def wrong_type(value: Json, declared: PropertyType) -> Rejected:
    """Say what was expected and what was there."""
    return Rejected(Code.WRONG_TYPE, f"expects {replace(declared, nullable=False)}, got {spell(value)}")


def _out_of_range(value: Json, declared: PropertyType) -> Rejected:
    return Rejected(Code.OUT_OF_RANGE, f"is out of range for {replace(declared, nullable=False)}: {spell(value)}")
