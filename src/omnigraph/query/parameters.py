"""The values that come with a run, checked against the declared parameters before anything is read.

They are those of one JSON object. A program may give dates, times, bytes and what numpy and pandas hold, which are
taken as JSON would spell them.
"""

import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from typing import NoReturn

from omnigraph.base.nearest import nearest
from omnigraph.base.plain_text import is_unicode
from omnigraph.base.units import counted, shorten
from omnigraph.catalog.model import PropertyType, Scalar
from omnigraph.catalog.scalars import Family, traits_of
from omnigraph.catalog.values import ValueRefusedError, stored_value
from omnigraph.errors import ParamError, Usage
from omnigraph.query.typed import CheckedQuery, CheckedRead, ConstantValue, Parameter
from omnigraph.records.spelling import spell_json

_INTEGER = re.compile(r"-?[0-9]{1,40}")
_SHOWN_MAX = 60
_PLAIN = frozenset({str, int, float, bool, type(None)})
_BITS_MAX = 128
"""More than any column has; Python refuses to spell whole numbers of some thousand digits."""


def bind_parameters(query: CheckedQuery, given: Mapping[str, object]) -> dict[str, ConstantValue | None]:
    """Return the value of every declared parameter, as a column would store it; None is null.

    Raises `ParamError`, which names the parameter, for a value that is missing, unknown or of another type.
    """
    declared = {parameter.name: parameter for parameter in query.parameters}
    for name in given:
        if name not in declared:
            meant = nearest(str(name), declared)
            hint = f"; did you mean `${meant}`?" if meant else "; it declares none" if not declared else ""
            raise ParamError(
                f"The query `{query.name}` declares no parameter `${name}`{hint}.", param=str(name), expected=None
            )
    return {name: _bound(query, parameter, given) for name, parameter in declared.items()}


def _bound(query: CheckedQuery, parameter: Parameter, given: Mapping[str, object]) -> ConstantValue | None:
    value = _as_json(parameter, given.get(parameter.name))
    is_limit = isinstance(query, CheckedRead) and query.limit == parameter
    if value is None:
        if is_limit and parameter.type.nullable:
            _refuse(parameter, "is null, and a limit needs a number")
        if not parameter.type.nullable:
            _refuse(parameter, "is null" if parameter.name in given else "is missing")
        return None
    found = _list(parameter, value) if _takes_list(parameter.type) else _single(parameter, value, parameter.type)
    if is_limit and isinstance(found, int) and found < 0:
        _refuse(parameter, f"is {found}, and a limit is not negative")
    return found


def _as_json(parameter: Parameter, value: object) -> object:
    """Take what a program holds as JSON has it: dates as text, bytes as base64, numpy's numbers as numbers."""
    if type(value) in _PLAIN or (isinstance(value, list | tuple) and _PLAIN.issuperset(map(type, value))):
        return value
    try:
        return json.loads(spell_json(value))
    except Usage as error:
        _refuse(parameter, f"got something else: {str(error).removesuffix('.')}")
    except (ValueError, RecursionError):  # digits without number, or an array that holds itself
        _refuse(parameter, f"got {_shown(value)}, which JSON cannot spell")


def _takes_list(declared: PropertyType) -> bool:
    return declared.is_sequence


def _list(parameter: Parameter, value: object) -> tuple[str | int | float | bool, ...]:
    if not isinstance(value, list | tuple):
        _refuse(parameter, f"got {_shown(value)}, which is no array")
    declared = parameter.type
    if declared.dimension is not None and len(value) != declared.dimension:
        _refuse(parameter, f"got an array of {counted(len(value), 'number')} instead of {declared.dimension}")
    if declared.is_vector:
        singles = _singles(value)
        if singles is not None:
            return singles
    # A vector holds single floats, and no array holds null.
    item = PropertyType(scalar=Scalar.F32 if declared.is_vector else declared.scalar)
    return tuple(_single(parameter, each, item) for each in value)


def _singles(values: Sequence[object]) -> tuple[float, ...] | None:
    """Round floats to single ones all at once; None where one of them has to be looked at."""
    if {*map(type, values)} != {float}:
        return None
    layout = f"<{len(values)}f"
    try:
        rounded: tuple[float, ...] = struct.unpack(layout, struct.pack(layout, *values))
    except OverflowError:
        return None
    return rounded if all(map(math.isfinite, rounded)) else None


def _single(parameter: Parameter, value: object, declared: PropertyType) -> str | int | float | bool:
    try:
        return _stored(value, declared)
    except ValueRefusedError as refused:
        _refuse(parameter, f"got {_shown(value)}: {refused}")


def _stored(value: object, declared: PropertyType) -> str | int | float | bool:
    traits = traits_of(declared.scalar)
    if traits.is_text_in_json:
        text = _text(value, declared)
        return text if traits.literal is None else stored_value(text, declared)
    match traits.family:
        case Family.INTEGER:
            return _integer(value, declared)
        case Family.FLOAT:
            return _float(value, declared)
        case Family.TRUTH:
            return value if isinstance(value, bool) else _wrong(value, declared)
        case _:
            return _wrong(value, declared)


def _text(value: object, declared: PropertyType) -> str:
    if not isinstance(value, str):
        return _wrong(value, declared)
    if not is_unicode(value):
        raise ValueRefusedError("half of a surrogate pair is not a character")
    return value


def _integer(value: object, declared: PropertyType) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return _wrong(value, declared)
    if value.bit_length() > _BITS_MAX:
        raise ValueRefusedError(f"it is out of range for {declared.scalar}")
    return int(stored_value(value, declared))


def _float(value: object, declared: PropertyType) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _wrong(value, declared)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueRefusedError(f"it is not finite, or out of range for {declared.scalar}")
    return float(stored_value(number, declared))


def _wrong(value: object, declared: PropertyType) -> NoReturn:
    raise ValueRefusedError(f"{_shown(value)} is not a value of {declared.scalar}")


def _shown(value: object) -> str:
    try:
        return shorten(ascii(value) if isinstance(value, str) else repr(value), _SHOWN_MAX)
    except (ValueError, RecursionError):  # digits without number, or arrays in arrays without end
        return "a value too long to show"


def _refuse(parameter: Parameter, reason: str) -> NoReturn:
    raise ParamError(
        f"The parameter `${parameter.name}` ({parameter.type}) {reason}.",
        param=parameter.name,
        expected=str(parameter.type),
    )
