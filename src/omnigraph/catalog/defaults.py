"""The default of a property as Arrow stores it."""

import pyarrow as pa

from omnigraph.catalog.arrow import arrow_type
from omnigraph.catalog.model import Property
from omnigraph.catalog.values import stored_value


def default_scalar(declared: Property) -> pa.Scalar | None:
    """Return what a write stores that leaves the property out; None if the property has no default."""
    if declared.default is None:
        return None
    return pa.scalar(stored_value(declared.default, declared.type), arrow_type(declared.type))
