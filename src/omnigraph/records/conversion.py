"""One typed Arrow column → the stored type of a property, or the rows that would change on the way.

Integers convert where they fit, floats where they stay what they are, timestamps are cut to milliseconds; nothing else
about a value may change. Text stands for a date, a time or a blob as it would in a record.
"""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.units import counted, shorten
from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import arrow_form
from omnigraph.catalog.model import PropertyType
from omnigraph.catalog.scalars import FLOATS, Scalar, traits_of
from omnigraph.records.offences import Code, Rejected
from omnigraph.records.scalar_forms import form_of, read_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """Rows of a column that do not fit, and why; the message leaves out the `Type.property` in front."""

    code: Code
    rows: pa.Array
    describe: Callable[[int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The column in its stored type, null where a value does not fit, and what does not fit."""

    column: pa.Array
    misfits: tuple[Misfit, ...] = ()


def convert_column(column: pa.Array, declared: PropertyType, stored: pa.DataType) -> Converted:
    """Convert a column; null stays null, and whether null is allowed is not decided here."""
    column = _plain(column)
    if pa.types.is_null(column.type):
        return Converted(column=pa.nulls(len(column), stored))
    if declared.is_vector:
        return _convert_vectors(column, declared, stored)
    if declared.is_list:
        return _convert_lists(column, declared, stored)
    return _convert_scalars(column, declared, stored)


def _plain(column: pa.Array) -> pa.Array:
    """Take off the encodings that say nothing about the values."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(column.storage)
    if pa.types.is_dictionary(kind):
        return _plain(column.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(column))
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.utf8())
    return column


def _convert_scalars(column: pa.Array, declared: PropertyType, stored: pa.DataType) -> Converted:
    if declared.scalar is Scalar.BLOB and _is_blob_parts(column.type):
        return _convert_blob_parts(column, declared, stored)
    if not _can_hold(column.type, declared.scalar):
        return _refused(column, stored, lambda _: f"expects {_spelled(declared)}, got a column of {column.type}")
    if pa.types.is_string(column.type):
        return _convert_texts(column, declared, stored)
    if pa.types.is_floating(column.type):
        return _convert_floats(column, declared, stored)
    try:
        return Converted(column=form_of(declared.scalar).from_typed(column, stored))
    except pa.ArrowInvalid:
        return _without_misfits(column, declared, stored)


def _can_hold(kind: pa.DataType, scalar: Scalar) -> bool:
    """Tell whether values of an Arrow type may stand for a scalar at all; single values may still not fit."""
    return traits_of(scalar).is_text_in_json if pa.types.is_string(kind) else form_of(scalar).can_hold(kind)


def _is_blob_parts(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind)) and {"data", "uri"} <= {field.name for field in kind}


def _convert_blob_parts(column: pa.Array, declared: PropertyType, stored: pa.DataType) -> Converted:
    """Take blobs as Lance spells them: content, or the address of an object, of which no part can be meant."""
    for name in {"position", "size"} & {field.name for field in column.type}:
        part = pc.indices_nonzero(pc.is_valid(pc.struct_field(column, name)))
        if len(part):
            return _refused(column, stored, lambda _: "refers to a part of an object", rows=part, code=Code.BAD_BLOB)
    contents = _convert_scalars(_plain(pc.struct_field(column, "data")), declared, stored)
    references = _convert_scalars(_plain(pc.struct_field(column, "uri")), declared, stored)
    return Converted(
        column=pc.coalesce(references.column, contents.column), misfits=(*contents.misfits, *references.misfits)
    )


def _convert_floats(column: pa.Array, declared: PropertyType, stored: pa.DataType) -> Converted:
    numbers = column.cast(stored, safe=False)
    if not pc.all(pc.is_finite(numbers), min_count=0).as_py():
        is_wrong = pc.invert(pc.is_finite(numbers))
        return _refused(
            column,
            stored,
            lambda row: f"is out of range for {_spelled(declared)}: {column[row].as_py()!r}",
            rows=pc.indices_nonzero(is_wrong),
            code=Code.OUT_OF_RANGE,
        )
    changed = pc.indices_nonzero(pc.not_equal(numbers.cast(pa.float64()), column.cast(pa.float64())))
    if len(changed) == 0:
        return Converted(column=numbers)
    return _refused(
        column,
        stored,
        lambda row: (
            f"expects {_spelled(declared)}, got {column[row].as_py()!r} in a column of {column.type}, which would be "
            f"rounded; cast the column to {stored} first"
        ),
        rows=changed,
    )


def _convert_texts(column: pa.Array, declared: PropertyType, stored: pa.DataType) -> Converted:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return _refused(column, stored, lambda _: "is not UTF-8", rows=_not_utf8(column), code=Code.INVALID_UTF8)
    read_all = form_of(declared.scalar).from_texts
    if read_all is not None:
        try:
            found = read_all(column)
        except pa.ArrowInvalid:
            found = None  # a day that does not exist; found below
        if found is not None:
            return Converted(column=found)
    return _read_texts(column, declared, stored)


def _not_utf8(column: pa.Array) -> pa.Array:
    def is_wrong(text: bytes | None) -> bool:
        try:
            (text or b"").decode()
        except UnicodeDecodeError:
            return True
        return False

    return pc.indices_nonzero(pa.array([is_wrong(text) for text in column.cast(pa.binary(), safe=False).to_pylist()]))


def _read_texts(column: pa.Array, declared: PropertyType, stored: pa.DataType) -> Converted:
    """Read every text as the JSON string it would be in a record."""
    carrier = arrow_form(declared.scalar).carrier or stored
    values: list[object] = []
    rejections: dict[int, Rejected] = {}
    for row, text in enumerate(column.to_pylist()):
        try:
            values.append(None if text is None else read_value(text, declared))
        except Rejected as exc:
            rejections[row] = exc
            values.append(None)
    return Converted(
        column=pa.array(values, carrier).cast(stored),
        misfits=tuple(
            Misfit(
                code=code,
                rows=pa.array([row for row, found in rejections.items() if found.code is code], pa.uint64()),
                describe=lambda row: str(rejections[row]),
            )
            for code in sorted({found.code for found in rejections.values()})
        ),
    )


def _without_misfits(column: pa.Array, declared: PropertyType, stored: pa.DataType) -> Converted:
    """Find the values that Arrow refuses to cast, and say whether they are too large or would be rounded."""
    rows = pa.array(_refused_rows(column, lambda part: form_of(declared.scalar).from_typed(part, stored)), pa.uint64())

    def spelled(row: int) -> str:
        carrier = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        return shorten(carrier.slice(row, 1).cast(pa.utf8())[0].as_py())

    if declared.scalar in FLOATS:
        return _refused(
            column,
            stored,
            lambda row: f"expects {_spelled(declared)}, got {spelled(row)}, which would be rounded",
            rows=rows,
        )
    return _refused(
        column,
        stored,
        lambda row: f"is out of range for {_spelled(declared)}: {spelled(row)}",
        rows=rows,
        code=Code.OUT_OF_RANGE,
    )


def _refused_rows(column: pa.Array, cast: Callable[[pa.Array], pa.Array], offset: int = 0) -> list[int]:
    """Return the rows that a cast refuses; halves that pass are not looked into, so a few are found quickly."""
    try:
        cast(column)
    except pa.ArrowInvalid:
        if len(column) == 1:
            return [offset]
        half = len(column) // 2
        return [
            *_refused_rows(column.slice(0, half), cast, offset),
            *_refused_rows(column.slice(half), cast, offset + half),
        ]
    return []


def _convert_lists(column: pa.Array, declared: PropertyType, stored: pa.DataType) -> Converted:
    items = _items(column)
    if items is None:
        return _refused(column, stored, lambda _: f"expects {_spelled(declared)}, got a column of {column.type}")
    values, parents, lengths = items
    item = replace(declared, is_list=False)
    converted = convert_column(values, item, stored.value_type)
    misfits = [_in_rows(misfit, parents, lengths) for misfit in converted.misfits]
    if values.null_count:
        nulls = pc.indices_nonzero(pc.is_null(values))
        missing = Misfit(code=Code.WRONG_TYPE, rows=nulls, describe=lambda _: f"expects {_spelled(declared)}, got null")
        misfits.append(_in_rows(missing, parents, lengths))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    rebuilt = pa.ListArray.from_arrays(offsets, converted.column, type=stored, mask=pc.is_null(column))
    return Converted(column=rebuilt, misfits=tuple(misfits))


def _convert_vectors(column: pa.Array, declared: PropertyType, stored: pa.DataType) -> Converted:
    items = _items(column)
    if items is None:
        return _refused(column, stored, lambda _: f"expects {_spelled(declared)}, got a column of {column.type}")
    values, parents, lengths = items
    if not _can_hold(values.type, Scalar.VECTOR) and not pa.types.is_null(values.type):
        return _refused(
            column, stored, lambda _: f"elements must be numeric, got a column of {column.type}", code=Code.BAD_VECTOR
        )
    is_short = pc.and_(pc.is_valid(column), pc.not_equal(lengths, declared.dimension))
    if pc.any(is_short, min_count=0).as_py():
        return _refused(
            column,
            stored,
            lambda row: f"expects {counted(declared.dimension or 0, 'number')}, got {lengths[row].as_py()}",
            rows=pc.indices_nonzero(is_short),
            code=Code.BAD_VECTOR,
        )
    converted = convert_column(values, PropertyType(scalar=Scalar.F32), pa.float32())
    misfits = [_in_rows(replace(misfit, code=Code.BAD_VECTOR), parents, lengths) for misfit in converted.misfits]
    if values.null_count:
        nulls = Misfit(
            code=Code.BAD_VECTOR,
            rows=pc.indices_nonzero(pc.is_null(values)),
            describe=lambda _: "elements must be numeric, got null",
        )
        misfits.append(_in_rows(nulls, parents, lengths))
    vectors = pa.FixedSizeListArray.from_arrays(converted.column, type=stored)
    # The vectors of the rows that have one, spread over all rows.
    places = pc.subtract(pc.cumulative_sum(pc.is_valid(column).cast(pa.int64())), 1)
    return Converted(
        column=vectors.take(pc.if_else(pc.is_valid(column), places, pa.scalar(None, pa.int64()))),
        misfits=tuple(misfits),
    )


def _items(column: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array] | None:
    """Return the items of all lists, the row each belongs to, and the length of each list; None for other columns."""
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        column = column.cast(pa.list_(kind.value_type))
    elif pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        column = column.cast(pa.large_list(kind.value_type))
    elif not pa.types.is_list(kind) and not pa.types.is_large_list(kind):
        return None
    lengths = pc.fill_null(pc.list_value_length(column), 0).cast(pa.int64())
    return column.flatten(), pc.list_parent_indices(column).cast(pa.int64()), lengths


def _in_rows(misfit: Misfit, parents: pa.Array, lengths: pa.Array) -> Misfit:
    """Turn a misfit of items into one of their rows; the first bad item of a row speaks for it."""
    first: dict[int, int] = {}
    for item in misfit.rows.to_pylist():
        first.setdefault(parents[item].as_py(), item)
    starts = pc.subtract(pc.cumulative_sum(lengths), lengths)

    def describe(row: int) -> str:
        item = first[row]
        return f"{misfit.describe(item)} at item {item - starts[row].as_py() + 1}"

    return Misfit(code=misfit.code, rows=pa.array(list(first), pa.uint64()), describe=describe)


def _refused(
    column: pa.Array,
    stored: pa.DataType,
    describe: Callable[[int], str],
    *,
    rows: pa.Array | None = None,
    code: Code = Code.WRONG_TYPE,
) -> Converted:
    """Refuse some rows, or every row that has a value."""
    refused = rows if rows is not None else pc.indices_nonzero(pc.is_valid(column))
    return Converted(
        column=pa.nulls(len(column), stored), misfits=(Misfit(code=code, rows=refused, describe=describe),)
    )


def _spelled(declared: PropertyType) -> str:
    return str(replace(declared, nullable=False))
