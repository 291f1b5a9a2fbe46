"""One JSON value → one stored value: the reference for what a declared type accepts, and the words when it does not.

The vectorised paths take whole columns and give up at the first doubt; this module decides the doubtful ones. Messages
leave out the `Type.property` in front, which the caller adds.
"""

import binascii
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

import pyarrow as pa

from omnigraph.base.units import counted
from omnigraph.catalog.model import FLOATS, INTEGERS, PropertyType, Scalar
from omnigraph.catalog.values import parse_moment_ms
from omnigraph.records.findings import Code, Rejected
from omnigraph.records.strict_json import Json, Number, spell

Stored: TypeAlias = "str | bool | int | float | bytes | list[Stored]"
"""Dates are days and timestamps milliseconds here; floats are exact at the declared width."""

BLOB_PREFIX = "base64:"
_DAY_MS = 86_400_000
_WHOLE_FLOAT_MAX = 2**53
INTEGER_BOUNDS = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**64 - 1),
    Scalar.DATE: (-(2**31), 2**31 - 1),
    Scalar.DATETIME: (-(2**63), 2**63 - 1),
}


def read_value(value: Json, declared: PropertyType) -> Stored:
    """Convert a non-null value to its stored form; raise `Rejected` with the code and the reason otherwise."""
    if declared.scalar is Scalar.VECTOR:
        return _read_vector(value, declared)
    if not declared.is_list:
        return _read_scalar(value, declared)
    if not isinstance(value, list):
        raise _wrong_type(value, declared)
    return [_read_item(item, declared, place=place) for place, item in enumerate(value, start=1)]


def decode_blob(text: str) -> bytes:
    """Decode `base64:<payload>`; raise ValueError unless the payload is standard, padded base64."""
    return binascii.a2b_base64(text.removeprefix(BLOB_PREFIX), strict_mode=True)


def nearest_floats(tokens: Sequence[Number], scalar: Scalar) -> pa.Array:
    """Round decimals to the declared width in one step: going through 64 bits first would round an `F32` twice."""
    return pa.array(tokens, pa.utf8()).cast(pa.float64() if scalar is Scalar.F64 else pa.float32())


def _read_item(item: Json, declared: PropertyType, *, place: int) -> Stored:
    try:
        return _read_scalar(item, declared)
    except Rejected as exc:
        raise Rejected(exc.code, f"{exc} at item {place}") from exc


def _read_scalar(value: Json, declared: PropertyType) -> Stored:
    return _READERS[declared.scalar](value, declared)


def _read_string(value: Json, declared: PropertyType) -> str:
    # An exact comparison of types: number tokens are strings underneath.
    if type(value) is not str:
        raise _wrong_type(value, declared)
    return value


def _read_bool(value: Json, declared: PropertyType) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(value, declared)
    return value


def _read_integer(value: Json, declared: PropertyType) -> int:
    if not isinstance(value, Number):
        raise _wrong_type(value, declared)
    try:
        number = Decimal(value)
    except InvalidOperation as exc:  # an exponent beyond 10^18
        raise _wrong_type(value, declared) from exc
    if number != number.to_integral_value():
        raise _wrong_type(value, declared)
    whole = _within_bounds(value, number, declared)
    # Above 2^53 a producer's floats skip whole numbers, so `1e18` may not be the number that was meant.
    if not _is_integer_token(value) and abs(whole) > _WHOLE_FLOAT_MAX:
        raise _wrong_type(value, declared)
    return whole


def _read_float(value: Json, declared: PropertyType) -> float:
    if not isinstance(value, Number):
        raise _wrong_type(value, declared)
    number: float = nearest_floats([value], declared.scalar)[0].as_py()
    if not math.isfinite(number):
        raise _out_of_range(value, declared)
    return number


def _read_date(value: Json, declared: PropertyType) -> int:
    return _read_moment(value, declared, unit_ms=_DAY_MS)


def _read_datetime(value: Json, declared: PropertyType) -> int:
    return _read_moment(value, declared, unit_ms=1)


def _read_moment(value: Json, declared: PropertyType, *, unit_ms: int) -> int:
    if isinstance(value, Number) and _is_integer_token(value):
        return _within_bounds(value, Decimal(value), declared)
    try:
        return parse_moment_ms(_read_string(value, declared)) // unit_ms
    except ValueError as exc:
        raise _wrong_type(value, declared) from exc


def _read_vector(value: Json, declared: PropertyType) -> list[Stored]:
    if not isinstance(value, list):
        raise _wrong_type(value, declared)
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


def _read_blob(value: Json, declared: PropertyType) -> bytes:
    text = _read_string(value, declared)
    if not text.startswith(BLOB_PREFIX):
        # The reference may carry credentials, so the message does not repeat it.
        raise Rejected(Code.EXTERNAL_BLOB_DENIED, "refers to an external object; give the content as base64:…")
    try:
        return decode_blob(text)
    except ValueError as exc:
        raise Rejected(Code.BAD_BLOB, f"is not valid base64: {exc}") from exc


_READERS: dict[Scalar, Callable[[Json, PropertyType], Stored]] = {
    Scalar.STRING: _read_string,
    Scalar.BOOL: _read_bool,
    **dict.fromkeys(INTEGERS, _read_integer),
    **dict.fromkeys(FLOATS, _read_float),
    Scalar.DATE: _read_date,
    Scalar.DATETIME: _read_datetime,
    Scalar.BLOB: _read_blob,
}


def _is_integer_token(token: Number) -> bool:
    return token.removeprefix("-").isdigit()


def _within_bounds(token: Number, number: Decimal, declared: PropertyType) -> int:
    low, high = INTEGER_BOUNDS[declared.scalar]
    if not low <= number <= high:
        raise _out_of_range(token, declared)
    # Zero first: `0e999999999` is zero too, and spelling out its exponent would take all memory.
    return int(number) if number else 0


def _wrong_type(value: Json, declared: PropertyType) -> Rejected:
    return Rejected(Code.WRONG_TYPE, f"expects {replace(declared, nullable=False)}, got {spell(value)}")


def _out_of_range(value: Json, declared: PropertyType) -> Rejected:
    return Rejected(Code.OUT_OF_RANGE, f"is out of range for {replace(declared, nullable=False)}: {spell(value)}")
