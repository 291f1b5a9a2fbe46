"""The ordinals of one node type: a dictionary of ids that only grows, for all snapshots and branches of a graph.

Because an id keeps its ordinal for as long as the book lives, an adjacency depends on its edge table alone, and what
was built for one snapshot is right for the next. Whether a node exists is for the rows of a snapshot to say.

Most ids lie in a sealed part: sorted 64-bit hashes with a permutation, 12 bytes per id besides its text, which can be
mapped from a file. New ids go to a small dictionary until there are enough of them to seal again.
"""

from bisect import bisect_left
from itertools import count
from threading import Lock
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.query.access import MISSING, Ordinals
from omnigraph.query.image.buffers import FEW, frozen, indices_of, text_parts, texts_at, whole
from omnigraph.query.image.hashing import hash_text, hash_texts
from omnigraph.query.run.arrays import arrow_of

_TAIL_MIN = 4_096
_TAIL_SHARE = 50
"""Sealed again when one id in so many is in the dictionary: sealing costs a sort of all hashes."""


_FOUND_MAX = 8_192
"""So many ids that were found lately are known by heart: an id keeps its ordinal, so what was found stays right."""

_serials = count()


class KeyIndex(NamedTuple):
    """Hashes of ids, ascending, and the ordinal of each."""

    hashes: NDArray[np.uint64]
    ordinals: Ordinals


class SealedIds:
    """The ids of ordinals from 0, with an index; never changed."""

    def __init__(self, ids: pa.Array, index: KeyIndex | None = None) -> None:
        self.ids = ids
        self.index = index if index is not None else _indexed(ids)
        begins, data = text_parts(ids)
        # Looking at single places of a memoryview is several times as fast as of an array.
        self._begins, self._data = begins.data, data.data
        self._hashes, self._ordinals = self.index.hashes.data, self.index.ordinals.data

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return int(self.ids.nbytes + self.index.hashes.nbytes + self.index.ordinals.nbytes)

    def text(self, ordinal: int) -> str:
        """Return the id of an ordinal."""
        return str(self._data[self._begins[ordinal] : self._begins[ordinal + 1]], "utf-8")

    def texts(self, ordinals: list[int]) -> pa.Array:
        """Return the ids of a few ordinals."""
        return texts_at(self._begins, self._data, ordinals)

    def find(self, text: bytes) -> int:
        """Return the ordinal of an id, or `MISSING`."""
        sought = hash_text(text)
        hashes, begins = self._hashes, self._begins
        place = bisect_left(hashes, sought)
        while place < len(hashes) and hashes[place] == sought:
            ordinal: int = self._ordinals[place]
            if self._data[begins[ordinal] : begins[ordinal + 1]] == text:
                return ordinal
            place += 1
        return MISSING

    def find_all(self, texts: pa.Array) -> Ordinals:
        """Return the ordinals of ids without nulls, `MISSING` where there is none."""
        found = np.full(len(texts), MISSING, np.int32)
        if not len(self) or not len(texts):
            return found
        sought = hash_texts(texts)
        places = np.minimum(np.searchsorted(self.index.hashes, sought), len(self) - 1)
        hits = np.flatnonzero(self.index.hashes[places] == sought)
        candidates = self.index.ordinals[places[hits]]
        is_same = pc.equal(self.ids.take(indices_of(candidates)), texts.take(indices_of(hits)))
        same = np.fromiter(is_same.to_pylist(), np.bool_, len(hits)) if is_same.false_count else None
        if same is None:
            found[hits] = candidates
            return found
        found[hits[same]] = candidates[same]
        for place in hits[~same].tolist():  # Another id has this hash, so the right one may be its neighbour.
            found[place] = self.find(texts[place].as_py().encode())
        return found


class Book:
    """Gives ordinals to ids; several threads may share it."""

    def __init__(self, sealed: SealedIds | None = None) -> None:
        self.serial = next(_serials)
        self._sealed = sealed or SealedIds(pa.array([], pa.string()))
        self._tail: dict[bytes, int] = {}
        self._tail_ids: list[str] = []
        self._found: dict[str, int] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._sealed) + len(self._tail)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return self._sealed.nbytes + 150 * (len(self._tail) + len(self._found))

    def find(self, node_id: str) -> int:
        """Return the ordinal of an id, or `MISSING`."""
        known = self._found.get(node_id)
        if known is not None:
            return known
        text = node_id.encode("utf-8", "surrogatepass")  # what no id is spelled with is found nowhere
        # The dictionary is looked at first: sealing moves ids from it, and only then takes it away.
        ordinal = self._tail.get(text, MISSING)
        if ordinal == MISSING:
            ordinal = self._sealed.find(text)
        if ordinal != MISSING:
            if len(self._found) >= _FOUND_MAX:
                self._found.clear()
            self._found[node_id] = ordinal
        return ordinal

    def find_all(self, texts: pa.Array) -> Ordinals:
        """Return the ordinals of ids, `MISSING` where there is none."""
        tail = self._tail
        found = self._sealed.find_all(texts)
        if tail:
            missing = np.flatnonzero(found == MISSING)
            for place, text in zip(missing.tolist(), texts.take(indices_of(missing)).to_pylist(), strict=True):
                found[place] = tail.get(text.encode(), MISSING)
        return found

    def add_all(self, texts: pa.Array) -> Ordinals:
        """Return the ordinals of ids, and give the next ones to those that have none; repetitions are few or none."""
        found = self.find_all(texts)
        if not (found == MISSING).any():
            return found
        with self._lock:
            found = self.find_all(texts)  # Somebody else may have added them meanwhile.
            missing = np.flatnonzero(found == MISSING)
            if not len(missing):
                return found
            new = texts.take(indices_of(missing)).dictionary_encode()
            start = len(self)
            codes = np.frombuffer(new.indices.buffers()[1], np.int32)[: len(new)]
            found[missing] = codes + np.int32(start)
            self._append(new.dictionary, start)
        return found

    def ids(self) -> pa.Array:
        """Return all ids by ordinal; seals those that are not."""
        if self._tail:
            with self._lock:
                self._seal([])
        return self._sealed.ids

    def ids_of(self, ordinals: Ordinals) -> pa.Array:
        """Return ids by their ordinals."""
        tail, sealed = self._tail_ids, self._sealed
        if len(ordinals) <= FEW:
            few, end = ordinals.tolist(), len(sealed)
            if max(few, default=0) < end:
                return sealed.texts(few)
        is_new = ordinals >= len(sealed)
        if not is_new.any():
            return sealed.ids.take(indices_of(ordinals))
        new = [tail[ordinal] for ordinal in (ordinals[is_new] - len(sealed)).tolist()]
        if is_new.all():
            return pa.array(new, pa.string())
        taken = sealed.ids.take(indices_of(np.minimum(ordinals, len(sealed) - 1)))
        return pc.replace_with_mask(taken, arrow_of(is_new, pa.bool_()), pa.array(new, pa.string()))

    def id_of(self, ordinal: int) -> str:
        """Return the id of an ordinal."""
        tail, sealed = self._tail_ids, self._sealed
        return tail[ordinal - len(sealed)] if ordinal >= len(sealed) else sealed.text(ordinal)

    def parts(self) -> tuple[SealedIds, list[str]]:
        """Return the sealed ids, and those behind them."""
        with self._lock:
            return self._sealed, [*self._tail_ids]

    def sealed(self) -> SealedIds:
        """Return all ids with their index, to be kept on disk."""
        self.ids()
        return self._sealed

    def _append(self, texts: pa.Array, start: int) -> None:
        if not len(self._sealed) or len(self._tail) + len(texts) > max(_TAIL_MIN, len(self._sealed) // _TAIL_SHARE):
            self._seal([texts])
            return
        new = texts.to_pylist()
        self._tail_ids += new  # First: whoever finds an ordinal may ask for its id.
        self._tail |= {text.encode(): start + place for place, text in enumerate(new)}

    def _seal(self, more: list[pa.Array]) -> None:
        tail = pa.array(self._tail_ids, pa.string())
        self._sealed = SealedIds(whole(pa.chunked_array([self._sealed.ids, tail, *more], pa.string())))
        self._tail, self._tail_ids = {}, []


def _indexed(ids: pa.Array) -> KeyIndex:
    hashes = hash_texts(ids)
    order = np.argsort(hashes).astype(np.int32)
    return KeyIndex(frozen(hashes[order]), frozen(order))
