"""New ids for whole columns."""

from functools import cache
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base import ids


def mint_ids(count: int) -> pa.Array:
    """Return `count` distinct new ULIDs in ascending order."""
    runs = [_spelled(prefix, length) for prefix, length in ids.new_ulid_runs(count)]
    return pa.concat_arrays(runs) if runs else pa.array([], pa.string())


def fill_missing_ids(given: pa.Array) -> pa.Array:
    """Return the ids with a new one wherever there is none."""
    if given.null_count == 0:
        return given
    minted = mint_ids(given.null_count)
    return minted if given.null_count == len(given) else pc.replace_with_mask(given, pc.is_null(given), minted)


def _spelled(prefix: str, length: int) -> pa.Array:
    pairs = _pairs()
    counted = pc.indices_nonzero(pa.repeat(pa.scalar(value=True), length))
    upper = pc.shift_right(counted, pa.scalar(10, pa.uint64()))
    lower = pc.bit_wise_and(counted, pa.scalar(1023, pa.uint64()))
    return pc.binary_join_element_wise(prefix, pairs.take(upper), pairs.take(lower), "")


@cache
def _pairs() -> pa.Array:
    return pa.array(["".join(pair) for pair in product(ids.CROCKFORD, repeat=ids.ULID_ENDING_LENGTH // 2)], pa.string())
