"""Which single values a property takes, and what its column then stores.

These are the loader's rules: no value is ever coerced to another kind. Dates become days and timestamps milliseconds
since the epoch, in UTC.
"""

import json

from omnigraph.catalog.instants import ValueRefusedError, parse_moment_ms
from omnigraph.catalog.model import PropertyType
from omnigraph.catalog.scalars import LiteralValue, nearest_float32, traits_of

__all__ = ["ValueRefusedError", "nearest_float32", "parse_moment_ms", "stored_value"]


def stored_value(value: LiteralValue, declared: PropertyType) -> LiteralValue:
    """Return what a scalar or enum column stores for `value`; raise `ValueRefusedError` if it takes no such value.

    A Date is stored as days and a DateTime as milliseconds since the epoch; `F32` rounds to the nearest float32.
    """
    literal = traits_of(declared.scalar).literal
    if literal is None:
        raise ValueRefusedError(f"no literal is a value of {declared.scalar}")
    stored = literal(value)
    if declared.enum_values is not None and stored not in declared.enum_values:
        spelled = json.dumps(stored, ensure_ascii=False)
        raise ValueRefusedError(f"{spelled} is not one of {', '.join(declared.enum_values)}")
    return stored
