"""How records spell every scalar: one entry per scalar, and no other place decides by which scalar a value is.

Reading one JSON value, reading a column of them at once, taking typed Arrow columns, and writing: what a new scalar
needs of each stands here together. A scalar without an entry is an error at the first question.
"""

from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import arrow_form
from omnigraph.catalog.blob_cells import content_cells
from omnigraph.catalog.instants import DAY_MS
from omnigraph.catalog.model import PropertyType
from omnigraph.catalog.scalars import Scalar, known, traits_of
from omnigraph.records import arrow_columns as typed
from omnigraph.records import json_patterns as patterns
from omnigraph.records import json_texts as texts
from omnigraph.records import value_readers as values
from omnigraph.records.json_patterns import ENDS_WITH_ZONE, MOMENT_BY_SCALAR
from omnigraph.records.offences import Rejected
from omnigraph.records.strict_json import Json, Number
from omnigraph.records.value_readers import Stored, wrong_type

_TEXT: Final = pa.utf8()
_WHOLE_FLOAT = r"^(-?[0-9]{1,15})\.0+$"
"""As dataframe libraries write nullable integers; more digits are left to a closer look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarForm:
    """How records spell a scalar."""

    read: Callable[[Json, PropertyType], Stored]
    """One JSON value, not null, as it is stored; raises `Rejected`."""
    json_kind: type | None
    """The kind of JSON values whose columns are read at once; None if each needs a look."""
    at_once: Callable[[pa.Array, pa.DataType], pa.Array | None] | None = None
    """A column of such values, numbers and texts as texts; None or `ArrowInvalid` if each needs a look."""
    pattern: str
    """What an ordinary line has for it, see `patterns.py`."""
    ordinary: pa.DataType | None = None
    """How Arrow's reader of JSON takes it, where it cannot give the stored type at once."""
    from_ordinary: Callable[[pa.Array, pa.DataType], pa.Array]
    """What Arrow's reader gave, as it is stored; raises `ValueError` for a doubt."""
    can_hold: Callable[[pa.DataType], bool]
    """Whether typed columns of an Arrow type, other than text, may stand for it; single values may still not fit."""
    from_typed: Callable[[pa.Array, pa.DataType], pa.Array] = typed.cast
    """A typed column as it is stored; raises `ArrowInvalid` if a value does not fit."""
    from_texts: Callable[[pa.Array], pa.Array | None] | None = None
    """A column of texts at once; None or `ArrowInvalid` if each needs a look. Without it, each gets one."""
    is_number_in_cells: bool = False
    """Whether a cell of digits is the number that is stored."""
    render: Callable[[pa.Array], pa.Array]
    """A column as JSON texts; null stays null."""


def form_of(scalar: Scalar) -> ScalarForm:
    """Return how records spell a scalar."""
    return known(FORMS, scalar, "records/scalar_forms.py")


def _whole_numbers(tokens: pa.Array, stored: pa.DataType) -> pa.Array:
    return pc.replace_substring_regex(tokens, _WHOLE_FLOAT, r"\1").cast(stored)


def _finite_numbers(tokens: pa.Array, stored: pa.DataType) -> pa.Array | None:
    numbers = tokens.cast(stored)
    return numbers if pc.all(pc.is_finite(numbers), min_count=0).as_py() else None


def _as_it_is(column: pa.Array, _: pa.DataType) -> pa.Array:
    return column


def _same(column: pa.Array) -> pa.Array:
    return column


def _integers(pattern: str, ordinary: pa.DataType | None = None) -> ScalarForm:
    return ScalarForm(
        read=values.read_integer,
        json_kind=Number,
        at_once=_whole_numbers,
        pattern=pattern,
        ordinary=ordinary,
        from_ordinary=typed.cast,
        can_hold=typed.is_whole,
        render=texts.plain,
    )


def _floats(read: Callable[[Json, PropertyType], Stored]) -> ScalarForm:
    return ScalarForm(
        read=read,
        json_kind=Number,
        at_once=_finite_numbers,
        pattern=patterns.NUMBER,
        from_ordinary=typed.cast_finite,
        can_hold=typed.is_number,
        render=texts.floats,
    )


def _moments(
    scalar: Scalar,
    *,
    can_hold: Callable[[pa.DataType], bool],
    from_typed: Callable[[pa.Array, pa.DataType], pa.Array],
    render: Callable[[pa.Array], pa.Array],
) -> ScalarForm:
    return ScalarForm(
        read=values.read_moment,
        json_kind=str,
        at_once=lambda column, _: read_common_moments(column, scalar),
        pattern=f'"{patterns.MOMENT_BY_SCALAR[scalar]}"',
        ordinary=_TEXT,
        from_ordinary=lambda column, stored: typed.of_items(column, lambda items: read_moments(items, scalar)).cast(
            stored
        ),
        can_hold=can_hold,
        from_typed=from_typed,
        from_texts=lambda column: read_common_moments(column, scalar),
        is_number_in_cells=True,
        render=render,
    )


FORMS: Final[Mapping[Scalar, ScalarForm]] = {
    Scalar.STRING: ScalarForm(
        read=values.read_string,
        json_kind=str,
        at_once=_as_it_is,
        pattern=patterns.STRING,
        from_ordinary=typed.cast,
        can_hold=lambda _: False,
        from_texts=_same,
        render=texts.strings,
    ),
    Scalar.BOOL: ScalarForm(
        read=values.read_bool,
        json_kind=bool,
        pattern="(?:true|false)",
        from_ordinary=typed.cast,
        can_hold=lambda kind: bool(pa.types.is_boolean(kind)),
        render=texts.plain,
    ),
    # Dataframe libraries write `30.0` into nullable integer columns, and Arrow reads that into floats only.
    Scalar.I32: _integers(f"-?{patterns.WHOLE}", pa.float64()),
    Scalar.I64: _integers(patterns.INTEGER),
    Scalar.U32: _integers(patterns.WHOLE, pa.float64()),
    Scalar.U64: _integers(patterns.NATURAL),
    Scalar.F32: _floats(values.read_float),
    Scalar.F64: _floats(values.read_float),
    Scalar.DATE: _moments(Scalar.DATE, can_hold=typed.can_be_days, from_typed=typed.cast_to_days, render=texts.dates),
    Scalar.DATETIME: _moments(
        Scalar.DATETIME, can_hold=typed.can_be_times, from_typed=typed.cast_to_times, render=texts.times
    ),
    Scalar.BLOB: ScalarForm(
        read=values.read_blob,
        json_kind=None,
        pattern='"base64:[A-Za-z0-9+/]*={0,2}"',
        ordinary=_TEXT,
        from_ordinary=values.decoded_blobs,
        can_hold=typed.is_binary,
        from_typed=lambda column, stored: content_cells(typed.cast(column, stored)),
        render=texts.blobs,
    ),
    # A vector is read as a whole and written number by number.
    Scalar.VECTOR: ScalarForm(
        read=values.read_vector,
        json_kind=None,
        pattern=patterns.NUMBER,
        ordinary=pa.float32(),
        from_ordinary=typed.cast_finite,
        can_hold=typed.is_number,
        render=texts.floats,
    ),
}


def are_common_moments(texts: pa.Array, scalar: Scalar) -> bool:
    """Tell whether `read_moments` may be asked: other spellings are right, but Arrow does not know them."""
    matches = pc.match_substring_regex(texts, f"^(?:{MOMENT_BY_SCALAR[scalar]})$")
    return bool(pc.all(matches, min_count=0).as_py())


def read_common_moments(texts: pa.Array, scalar: Scalar) -> pa.Array | None:
    """Convert a column of common spellings; None if it has others, ValueError if one does not exist."""
    return read_moments(texts, scalar) if are_common_moments(texts, scalar) else None


def read_moments(texts: pa.Array, scalar: Scalar) -> pa.Array:
    """Convert common spellings to dates or to timestamps of milliseconds; raise ValueError if one does not exist."""
    stored = arrow_form(scalar).stored
    if traits_of(scalar).unit_ms == DAY_MS:
        return texts.cast(stored)
    in_utc = pc.binary_join_element_wise(texts, "Z", "")
    zoned = pc.if_else(pc.match_substring_regex(texts, ENDS_WITH_ZONE), texts, in_utc)
    # Arrow's cast to a coarser unit would cut toward zero, and a time before 1970 is cut toward the past.
    moments = pc.floor_temporal(zoned.cast(pa.timestamp("us", "UTC")), unit="millisecond")
    return moments.cast(stored)


def read_value(value: Json, declared: PropertyType) -> Stored:
    """Convert a non-null value to its stored form; raise `Rejected` with the code and the reason otherwise."""
    if not declared.is_list:
        return _read_scalar(value, declared)
    if not isinstance(value, list):
        raise wrong_type(value, declared)
    return [_read_item(item, declared, place=place) for place, item in enumerate(value, start=1)]


def _read_item(item: Json, declared: PropertyType, *, place: int) -> Stored:
    try:
        return _read_scalar(item, declared)
    except Rejected as exc:
        raise Rejected(exc.code, f"{exc} at item {place}") from exc


def _read_scalar(value: Json, declared: PropertyType) -> Stored:
    return form_of(declared.scalar).read(value, declared)
