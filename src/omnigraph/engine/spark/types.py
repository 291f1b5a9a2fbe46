"""What Arrow's types are in Spark: the one map, for frames that users read and for what engine and workers exchange."""

from typing import Final

import pyarrow as pa

_SIGNED: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}


def spark_type(kind: pa.DataType) -> pa.DataType:
    """Return the nearest type that Spark has: no unsigned numbers, no fixed lists, microseconds."""
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(spark_type(kind.value_type))
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_large_binary(kind):
        return pa.binary()
    return _SIGNED.get(kind, kind)


def spark_schema(schema: pa.Schema) -> pa.Schema:
    """Return columns in types that Spark has."""
    return pa.schema([pa.field(field.name, spark_type(field.type), field.nullable) for field in schema])
