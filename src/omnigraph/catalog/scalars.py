"""The scalar types of the schema language, and what each of them is: the one place where a scalar is declared.

Everything above asks these traits instead of comparing with members of the enum. Two tables go with them because they
need Arrow, which a check of a schema or a query does without: `catalog/arrow.py` says how a column stores a scalar, and
`records/scalar_forms.py` how records spell it. A scalar that a table does not know is an error at the first question.
"""

import json
import struct
from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from typing import Final, TypeAlias, TypeVar

from omnigraph.base.values import dataclass
from omnigraph.catalog.index_kinds import IndexKind
from omnigraph.catalog.instants import DAY_MS, ValueRefusedError, parse_moment_ms
from omnigraph.errors import Internal

LiteralValue: TypeAlias = str | int | float | bool

# Above 2^53 a float no longer tells whole numbers apart, so a token such as 1e17 does not name one.
_WHOLE_FLOAT_MAX = float(2**53)

_Trait = TypeVar("_Trait")


class Scalar(StrEnum):
    """The scalar types of the schema language, spelled as in `.pg` sources; an enum is a `String` with values."""

    STRING = "String"
    BOOL = "Bool"
    I32 = "I32"
    I64 = "I64"
    U32 = "U32"
    U64 = "U64"
    F32 = "F32"
    F64 = "F64"
    DATE = "Date"
    DATETIME = "DateTime"
    BLOB = "Blob"
    VECTOR = "Vector"


class Family(Enum):
    """What values of a scalar are, where only that matters."""

    TEXT = "text"
    TRUTH = "truth value"
    INTEGER = "whole number"
    FLOAT = "number"
    MOMENT = "date or time"
    BYTES = "bytes"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarTraits:
    """What a scalar is and what may be done with it."""

    family: Family
    column_kind: str
    """What clients are told that a column of a result is; `int` has 32 bits, `bigint` 64."""
    literal: Callable[[LiteralValue], LiteralValue] | None
    """What a column stores for a literal, or `ValueRefusedError`; None for a scalar that no literal is of."""
    constraints: frozenset[str]
    """The kinds of constraint that can stand on it; none stands on a list."""
    index_kinds: tuple[IndexKind, ...] = ()
    """The kinds of index that answer questions about it, in the order in which they are built."""
    bounds: tuple[int, int] | None = None
    """The smallest and the largest number, for what is stored as a whole number."""
    unit_ms: int | None = None
    """How many milliseconds a stored unit of a date or a time is."""
    is_single: bool = True
    """Whether it is one value that can be compared, rather than content or a row of numbers."""
    is_ordered: bool = True
    """Whether one value can be less than another."""
    is_text_in_json: bool = False
    """Whether records, parameters and cells write it as a text."""
    fits_in_lists: bool = True
    called: str | None = None
    """How messages about constraints call a property of it; by its type, if None."""


def traits_of(scalar: Scalar) -> ScalarTraits:
    """Return what a scalar is."""
    return known(SCALARS, scalar, "catalog/scalars.py")


def known(table: Mapping[Scalar, _Trait], scalar: Scalar, where: str) -> _Trait:
    """Return what a table of all scalars says about one; raise `Internal` if it was forgotten there."""
    found = table.get(scalar)
    if found is None:
        raise Internal(f"{where} does not say what the scalar {scalar} is")
    return found


def nearest_float32(value: float) -> float:
    """Round to what an `F32` column stores; raise `ValueRefusedError` where only infinity is near enough."""
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        raise ValueRefusedError(f"{value} is out of range for F32") from None
    return float(rounded)


def _integers(scalar: Scalar, low: int, high: int, column_kind: str) -> ScalarTraits:
    def literal(value: LiteralValue) -> int:
        if isinstance(value, float) and value.is_integer() and abs(value) <= _WHOLE_FLOAT_MAX:
            value = int(value)
        return _in_range(value, scalar, (low, high))

    return ScalarTraits(
        family=Family.INTEGER,
        column_kind=column_kind,
        literal=literal,
        constraints=_ON_NUMBERS,
        index_kinds=(IndexKind.BTREE,),
        bounds=(low, high),
    )


def _floats(scalar: Scalar, rounded: Callable[[float], float]) -> ScalarTraits:
    def literal(value: LiteralValue) -> float:
        if isinstance(value, (bool, str)):
            raise _wrong_type(value, scalar)
        return rounded(float(value))

    return ScalarTraits(
        family=Family.FLOAT,
        column_kind="float",
        literal=literal,
        constraints=_ON_NUMBERS,
        index_kinds=(IndexKind.BTREE,),
    )


def _moments(scalar: Scalar, bits: int, unit_ms: int, column_kind: str) -> ScalarTraits:
    bounds = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    def literal(value: LiteralValue) -> int:
        return parse_moment_ms(value) // unit_ms if isinstance(value, str) else _in_range(value, scalar, bounds)

    return ScalarTraits(
        family=Family.MOMENT,
        column_kind=column_kind,
        literal=literal,
        constraints=_ON_VALUES,
        index_kinds=(IndexKind.BTREE,),
        bounds=bounds,
        unit_ms=unit_ms,
        is_text_in_json=True,
    )


def _in_range(value: LiteralValue, scalar: Scalar, bounds: tuple[int, int]) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong_type(value, scalar)
    low, high = bounds
    if not low <= value <= high:
        raise ValueRefusedError(f"{value} is out of range for {scalar}, which takes {low} to {high}")
    return value


def _truth(value: LiteralValue) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(value, Scalar.BOOL)
    return value


def _text(value: LiteralValue) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value, Scalar.STRING)
    return value


def _wrong_type(value: LiteralValue, scalar: Scalar) -> ValueRefusedError:
    return ValueRefusedError(f"{json.dumps(value, ensure_ascii=False)} is not a value of {scalar}")


_ON_VALUES = frozenset({"index", "key", "unique"})
_ON_NUMBERS = _ON_VALUES | {"range"}

SCALARS: Final[Mapping[Scalar, ScalarTraits]] = {
    Scalar.STRING: ScalarTraits(
        family=Family.TEXT,
        column_kind="string",
        literal=_text,
        constraints=_ON_VALUES | {"check"},
        index_kinds=(IndexKind.BTREE, IndexKind.FTS),
        is_text_in_json=True,
    ),
    Scalar.BOOL: ScalarTraits(
        family=Family.TRUTH,
        column_kind="bool",
        literal=_truth,
        constraints=_ON_VALUES,
        index_kinds=(IndexKind.BTREE,),
        is_ordered=False,
    ),
    Scalar.I32: _integers(Scalar.I32, -(2**31), 2**31 - 1, "int"),
    Scalar.I64: _integers(Scalar.I64, -(2**63), 2**63 - 1, "bigint"),
    Scalar.U32: _integers(Scalar.U32, 0, 2**32 - 1, "int"),
    Scalar.U64: _integers(Scalar.U64, 0, 2**64 - 1, "bigint"),
    Scalar.F32: _floats(Scalar.F32, nearest_float32),
    Scalar.F64: _floats(Scalar.F64, float),
    Scalar.DATE: _moments(Scalar.DATE, 32, DAY_MS, "date"),
    Scalar.DATETIME: _moments(Scalar.DATETIME, 64, 1, "datetime"),
    Scalar.BLOB: ScalarTraits(
        family=Family.BYTES,
        column_kind="blob",
        literal=None,
        constraints=frozenset(),
        is_text_in_json=True,
        is_single=False,
        is_ordered=False,
        fits_in_lists=False,
        called="a blob",
    ),
    Scalar.VECTOR: ScalarTraits(
        family=Family.VECTOR,
        column_kind="vector",
        literal=None,
        constraints=frozenset({"index"}),
        index_kinds=(IndexKind.VECTOR,),
        is_single=False,
        is_ordered=False,
        fits_in_lists=False,
        called="a vector",
    ),
}


def _of(*families: Family) -> frozenset[Scalar]:
    return frozenset(scalar for scalar, traits in SCALARS.items() if traits.family in families)


INTEGERS: Final = _of(Family.INTEGER)
FLOATS: Final = _of(Family.FLOAT)
NUMBERS: Final = INTEGERS | FLOATS
