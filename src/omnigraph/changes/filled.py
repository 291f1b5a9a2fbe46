"""Properties that came later: rows that were written before a property existed, read as if it had.

An added property changed no row that was there. It is null in them, or holds the default that the migration wrote, so
the older side of a comparison reads it as just that, and only entities that were given a value since differ.
"""

from collections.abc import Sequence

import pyarrow as pa

from omnigraph.catalog.arrow import default_scalar, held_type
from omnigraph.catalog.model import Property


def with_filled(rows: pa.Table, filled: Sequence[Property]) -> pa.Table:
    """Add the columns of properties that the rows do not have."""
    for declared in filled:
        rows = rows.append_column(declared.name, _column(declared, rows.num_rows))
    return rows


def _column(declared: Property, rows: int) -> pa.Array:
    value = default_scalar(declared)
    if value is not None:
        return pa.repeat(value, rows)
    return pa.nulls(rows, held_type(declared.type))
