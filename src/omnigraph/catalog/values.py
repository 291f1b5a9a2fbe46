"""Which single values a property takes, and what its column then stores.

These are the loader's rules: no value is ever coerced to another kind. Dates become days and timestamps milliseconds
since the epoch, in UTC.
"""

import re
import struct
from datetime import date

from omnigraph.catalog.canonical import canonical_json
from omnigraph.catalog.model import FLOATS, INTEGERS, LiteralValue, PropertyType, Scalar

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_DAY_MS = 86_400_000
# Above 2^53 a float no longer tells whole numbers apart, so a token such as 1e17 does not name one.
_WHOLE_FLOAT_MAX = float(2**53)
_INTEGER_RANGE = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**64 - 1),
    Scalar.DATE: (-(2**31), 2**31 - 1),
    Scalar.DATETIME: (-(2**63), 2**63 - 1),
}
_DATE = r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})|(?P<compact>[0-9]{4}))"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]+))?)?"
_ZONE = r"Z|(?P<sign>[+-])(?P<zone_hour>[0-9]{2})(?::?(?P<zone_minute>[0-9]{2}))?"
_MOMENT = re.compile(rf"{_DATE}(?:[T ]{_TIME}(?:{_ZONE})?)?")


class ValueRefusedError(ValueError):
    """A value does not fit a type; the message says why, and its reader knows which property was meant."""


def stored_value(value: LiteralValue, declared: PropertyType) -> LiteralValue:
    """Return what a scalar or enum column stores for `value`; raise `ValueRefusedError` if it takes no such value.

    A Date is stored as days and a DateTime as milliseconds since the epoch; `F32` rounds to the nearest float32.
    """
    scalar = declared.scalar
    if scalar in INTEGERS:
        return _integer(value, scalar)
    if scalar in FLOATS:
        return _float(value, scalar)
    if scalar is Scalar.DATE:
        return parse_moment_ms(value) // _DAY_MS if isinstance(value, str) else _in_range(value, scalar)
    if scalar is Scalar.DATETIME:
        return parse_moment_ms(value) if isinstance(value, str) else _in_range(value, scalar)
    if scalar is Scalar.BOOL:
        return _bool(value)
    text = _text(value)
    if declared.enum_values is not None and text not in declared.enum_values:
        raise ValueRefusedError(f"{canonical_json(text)} is not one of {', '.join(declared.enum_values)}")
    return text


def parse_moment_ms(text: str) -> int:
    """Read a date or a timestamp as milliseconds since the epoch; without a zone it is UTC.

    `2031-07-15`, `20310715` and `2031-7-15` are dates; a time follows after `T` or a space, with optional seconds
    and one of `Z`, `+02`, `+0200`, `+02:00`. Digits beyond milliseconds are cut toward the past.
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueRefusedError(f"{canonical_json(text)} is neither YYYY-MM-DD nor an ISO timestamp")
    part = match.groupdict(default="0")
    month, day = (part["compact"][:2], part["compact"][2:]) if match["compact"] else (part["month"], part["day"])
    try:
        days = date(int(part["year"]), int(month), int(day)).toordinal() - _EPOCH_ORDINAL
    except ValueError:
        raise ValueRefusedError(f"{canonical_json(text)} names a day that does not exist") from None
    time_ms = _clock_ms(text, part["hour"], part["minute"], part["second"]) + int(part["fraction"][:3].ljust(3, "0"))
    zone_ms = _clock_ms(text, part["zone_hour"], part["zone_minute"], "0")
    return days * _DAY_MS + time_ms + (zone_ms if match["sign"] == "-" else -zone_ms)


def _clock_ms(text: str, hour: str, minute: str, second: str) -> int:
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        raise ValueRefusedError(f"{canonical_json(text)} names a time that does not exist")
    return (int(hour) * 3_600 + int(minute) * 60 + int(second)) * 1_000


def _integer(value: LiteralValue, scalar: Scalar) -> int:
    if isinstance(value, float) and value.is_integer() and abs(value) <= _WHOLE_FLOAT_MAX:
        return _in_range(int(value), scalar)
    return _in_range(value, scalar)


def _in_range(value: LiteralValue, scalar: Scalar) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong_type(value, scalar)
    low, high = _INTEGER_RANGE[scalar]
    if not low <= value <= high:
        raise ValueRefusedError(f"{value} is out of range for {scalar}, which takes {low} to {high}")
    return value


def _float(value: LiteralValue, scalar: Scalar) -> float:
    if isinstance(value, (bool, str)):
        raise _wrong_type(value, scalar)
    return nearest_float32(float(value)) if scalar is Scalar.F32 else float(value)


def nearest_float32(value: float) -> float:
    """Round to what an `F32` column stores; raise `ValueRefusedError` where only infinity is near enough."""
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        raise ValueRefusedError(f"{value} is out of range for F32") from None
    return float(rounded)


def _bool(value: LiteralValue) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(value, Scalar.BOOL)
    return value


def _text(value: LiteralValue) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value, Scalar.STRING)
    return value


def _wrong_type(value: LiteralValue, scalar: Scalar) -> ValueRefusedError:
    return ValueRefusedError(f"{canonical_json(value)} is not a value of {scalar}")
