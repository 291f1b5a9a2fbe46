"""Columns of dates and timestamps written as text, for the spellings that Arrow and the catalog read alike."""

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.arrow import arrow_form
from omnigraph.catalog.instants import DAY_MS
from omnigraph.catalog.scalars import Scalar, traits_of
from omnigraph.records.json_patterns import ENDS_WITH_ZONE, MOMENT_BY_SCALAR


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
