"""Rows as other libraries have them. Both are optional: who has neither reads Arrow."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnigraph.errors import MissingPackage

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


def as_pandas(rows: "pa.Table") -> Any:
    """Return rows as a pandas frame; a whole number or a truth value that may be missing stays one."""
    import pyarrow as pa

    pandas = _optional("pandas")
    # Without these, a column with one null in it would come out as floats.
    nullable = {
        pa.int8(): pandas.Int8Dtype(),
        pa.int16(): pandas.Int16Dtype(),
        pa.int32(): pandas.Int32Dtype(),
        pa.int64(): pandas.Int64Dtype(),
        pa.uint8(): pandas.UInt8Dtype(),
        pa.uint16(): pandas.UInt16Dtype(),
        pa.uint32(): pandas.UInt32Dtype(),
        pa.uint64(): pandas.UInt64Dtype(),
        pa.bool_(): pandas.BooleanDtype(),
    }
    required = {field.name: field.type.to_pandas_dtype() for field in rows.schema if not field.nullable}
    plain = {name: kind for name, kind in required.items() if rows.schema.field(name).type in nullable}
    return rows.to_pandas(types_mapper=nullable.get).astype(plain)


def as_polars(rows: "pa.Table") -> "pl.DataFrame":
    """Return rows as a polars frame."""
    frame: pl.DataFrame = _optional("polars").from_arrow(rows)
    return frame


def _optional(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(
            f"{name} is not installed, and rows cannot be had as its frame without it. "
            f"Run `pip install 'omnigraph[{name}]'`, or take Arrow.",
            package=name,
            extra=name,
        ) from error
