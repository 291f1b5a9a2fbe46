"""Numbers that compare as ids do by their UTF-8 bytes, for ties in an order; new ids fit between the old ones."""

from bisect import bisect_left

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.query.access import Ordinals
from omnigraph.query.image.book import SealedIds
from omnigraph.query.image.buffers import frozen, numbers_of

_GAP_BITS = 24
"""So many new ids fit between two old ones."""


class Ranks:
    """The ranks of ids by ordinal; never changed."""

    def __init__(self, order: Ordinals) -> None:
        """Take ordinals in the order of their ids."""
        self.order = order
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(1, len(order) + 1, dtype=np.int64) << _GAP_BITS
        self.by_ordinal = frozen(ranks)

    @classmethod
    def of_ids(cls, ids: pa.Array) -> "Ranks":
        """Take ids by ordinal; null is nobody, and its rank means nothing."""
        return cls(numbers_of(pc.sort_indices(ids)).values.astype(np.int32))

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return self.by_ordinal.nbytes + self.order.nbytes

    def with_more(self, sealed: SealedIds, more: list[str]) -> NDArray[np.int64]:
        """Return the ranks by ordinal, also of new ids behind the old ones."""
        if not more:
            return self.by_ordinal
        order = self.order.data
        ranks = np.empty(len(more), np.int64)
        by_bytes = sorted(range(len(more)), key=lambda place: more[place].encode())
        for nth, place in enumerate(by_bytes):
            below = bisect_left(order, more[place].encode(), key=lambda ordinal: sealed.text(ordinal).encode())
            ranks[place] = (below << _GAP_BITS) + 1 + nth
        return np.concatenate([self.by_ordinal, ranks])
