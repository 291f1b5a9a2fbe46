"""One property of all entities of a type, by ordinal, and the same after commits have changed a few of them."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.query.access import MISSING, Codes, Numbers, Ordinals
from omnigraph.query.image.buffers import FEW, frozen, indices_of, is_fixed, numbers_of, text_parts, texts_at
from omnigraph.query.image.directions import Cosines, Directions
from omnigraph.query.run.arrays import arrow_of

PIECE_ROWS = 1 << 14
_WORDS_MIN = 4_096
_WORDS_SHARE = 4
"""Strings get codes where one in so many entities, or fewer, has a word of its own."""


class ImageColumn:
    """Values by ordinal, null where there is no entity; never changed."""

    def __init__(self, values: pa.Array) -> None:
        self.values = values
        self.type = values.type
        self.is_fixed = is_fixed(values.type)
        self.is_text = pa.types.is_string(values.type)
        self._is_bit = pa.types.is_boolean(values.type)
        self._is_vector = pa.types.is_fixed_size_list(values.type)
        self._has_texts = self.is_text and not values.null_count
        if self._has_texts:
            self._begins, self._data = (part.data for part in text_parts(values))

    @property
    def nbytes(self) -> int:
        """How much memory it takes, with the codes of texts and the lengths of vectors."""
        more = 4 if self.is_text else 5 if self._is_vector else 0
        return int(self.values.nbytes) + more * len(self.values)

    def one(self, ordinal: int) -> Any:
        """Return one value, or None."""
        if self.is_fixed:
            values, valid = self._numbers
            return values.item(ordinal) if valid is None or valid[ordinal] else None
        if self._has_texts:
            return str(self._data[self._begins[ordinal] : self._begins[ordinal + 1]], "utf-8")
        return plain_value(self.values, ordinal)

    def take(self, ordinals: Ordinals) -> pa.Array:
        """Return values in the order of the ordinals."""
        if self.is_fixed:  # several times as fast for a few
            values, valid = self._numbers
            if valid is None and not self._is_bit:
                taken = pa.py_buffer(values.take(ordinals))
                return pa.Array.from_buffers(self.type, len(ordinals), [None, taken], 0)
            return arrow_of(values.take(ordinals), self.type, None if valid is None else valid.take(ordinals))
        if len(ordinals) <= FEW and self._has_texts:
            return texts_at(self._begins, self._data, ordinals.tolist())
        return self.values.take(indices_of(ordinals))

    def numbers(self, ordinals: Ordinals | None = None) -> Numbers:
        """Return values of fixed width."""
        values, valid = self._numbers
        if ordinals is None:
            return Numbers(values, valid)
        return Numbers(values.take(ordinals), None if valid is None else valid.take(ordinals))

    def codes(self, ordinals: Ordinals | None = None) -> Codes | None:
        """Return strings as codes, or None where there are too many words."""
        codes = self._codes
        if codes is None or ordinals is None:
            return codes
        return Codes(codes.codes.take(ordinals), codes.words)

    def pieces(self) -> Iterator[tuple[Ordinals, pa.Array]]:
        """Yield values with their ordinals, some at a time."""
        for start in range(0, len(self.values), PIECE_ROWS):
            values = self.values.slice(start, PIECE_ROWS)
            yield np.arange(start, start + len(values), dtype=np.int32), values

    def cosines(self, direction: NDArray[np.float64]) -> Cosines | None:
        """Return how near vectors are to a direction, about; see `Directions`."""
        return self._directions.cosines(direction)

    @cached_property
    def _directions(self) -> Directions:
        return Directions(self.values)

    @cached_property
    def _numbers(self) -> Numbers:
        return numbers_of(self.values)

    @cached_property
    def _codes(self) -> Codes | None:
        if not self.is_text:
            return None
        encoded = self.values.dictionary_encode()
        words = encoded.dictionary
        if len(words) > max(_WORDS_MIN, len(self.values) // _WORDS_SHARE):
            return None
        order = numbers_of(pc.sort_indices(words)).values.astype(np.int64)
        return Codes(frozen(_renumbered(_codes_of(encoded), order)), words.take(indices_of(order)))


class PatchedColumn:
    """A column and the values of the few ordinals that are not as in it any more; never changed."""

    def __init__(self, base: ImageColumn, ordinals: Ordinals, values: pa.Array, *, size: int) -> None:
        """Take the changed ordinals, ascending, with a value or null for each."""
        self._base = base
        self.parts = (base,)
        """What it needs that is on the shelf."""
        self._ordinals = ordinals
        self._patch = ImageColumn(values)
        self._place_by_ordinal = {ordinal: place for place, ordinal in enumerate(ordinals.tolist())}
        self._size = size

    @property
    def nbytes(self) -> int:
        """How much memory it takes beside the base; whole arrays that are made of it count too."""
        whole = self._base.nbytes if "_numbers" in self.__dict__ or "_codes" in self.__dict__ else 0
        return self._patch.nbytes + 120 * len(self._ordinals) + whole

    def one(self, ordinal: int) -> Any:
        """Return one value, or None."""
        place = self._place_by_ordinal.get(ordinal)
        return self._base.one(ordinal) if place is None else self._patch.one(place)

    def take(self, ordinals: Ordinals) -> pa.Array:
        """Return values in the order of the ordinals."""
        if len(ordinals) <= FEW and self._place_by_ordinal.keys().isdisjoint(ordinals.tolist()):
            return self._base.take(ordinals)
        is_new, places = self._split(ordinals)
        if not is_new.any():
            return self._base.take(ordinals)
        changed = self._patch.take(places[is_new].astype(np.int32))
        if is_new.all():
            return changed
        # One array that has what is needed of both, since a take from chunks would copy all of them.
        both = pa.concat_arrays([self._base.take(ordinals[~is_new]), changed])
        order = np.empty(len(ordinals), np.int32)
        order[~is_new] = np.arange(len(ordinals) - len(changed))
        order[is_new] = np.arange(len(ordinals) - len(changed), len(ordinals))
        return both.take(indices_of(order))

    def numbers(self, ordinals: Ordinals | None = None) -> Numbers:
        """Return values of fixed width."""
        if ordinals is None:
            return self._numbers
        is_new, places = self._split(ordinals)
        if not is_new.any():
            return self._base.numbers(ordinals)
        values, valid = (
            self._base.numbers(np.where(is_new, np.int32(0), ordinals))
            if len(self._base.values)
            else (
                np.zeros(len(ordinals), self._patch.numbers().values.dtype),
                None,
            )
        )
        return _overlaid(np.array(values), valid, is_new, self._patch.numbers(places[is_new].astype(np.int32)))

    def codes(self, ordinals: Ordinals | None = None) -> Codes | None:
        """Return strings as codes, or None where there are too many words."""
        codes = self._codes
        if codes is None or ordinals is None:
            return codes
        return Codes(codes.codes.take(ordinals), codes.words)

    def pieces(self) -> Iterator[tuple[Ordinals, pa.Array]]:
        """Yield values with their ordinals, some at a time."""
        for start in range(0, self._size, PIECE_ROWS):
            ordinals = np.arange(start, min(start + PIECE_ROWS, self._size), dtype=np.int32)
            yield ordinals, self.take(ordinals)

    def cosines(self, direction: NDArray[np.float64]) -> Cosines | None:
        """Return how near vectors are to a direction, about; see `Directions`."""
        base, patch = self._base.cosines(direction), self._patch.cosines(direction)
        if base is None or patch is None:
            return None
        found = np.full(self._size, -np.inf, np.float32)
        found[: len(base)] = base
        found[self._ordinals] = patch
        return found

    def _split(self, ordinals: Ordinals) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        places = np.minimum(np.searchsorted(self._ordinals, ordinals), len(self._ordinals) - 1)
        return self._ordinals[places] == ordinals, places

    @cached_property
    def _numbers(self) -> Numbers:
        base, valid = self._base.numbers()
        values = np.zeros(self._size, base.dtype)
        values[: len(base)] = base
        if valid is not None:
            padded = np.zeros(self._size, np.bool_)
            padded[: len(base)] = valid
            valid = padded
        return _overlaid(values, valid, self._ordinals, self._patch.numbers())

    @cached_property
    def _codes(self) -> Codes | None:
        base, patch = self._base.codes(), self._patch.codes()
        if base is None or patch is None:
            return None
        together = pa.concat_arrays([base.words, patch.words]).dictionary_encode()
        order = numbers_of(pc.sort_indices(together.dictionary)).values.astype(np.int64)
        new_code = _renumbered(_codes_of(together), order)
        codes = np.full(self._size, MISSING, np.int32)
        codes[: len(base.codes)] = _mapped(base.codes, new_code[: len(base.words)])
        codes[self._ordinals] = _mapped(patch.codes, new_code[len(base.words) :])
        return Codes(frozen(codes), together.dictionary.take(indices_of(order)))


def plain_value(values: pa.Array, place: int) -> Any:
    """Return one value as plain Python; dates and times are the numbers that are stored, also in lists."""
    kind = values.type
    if pa.types.is_list(kind) and pa.types.is_temporal(kind.value_type):
        stored = pa.int32() if pa.types.is_date32(kind.value_type) else pa.int64()
        return values.slice(place, 1).cast(pa.list_(stored))[0].as_py()
    return values[place].as_py()


def _codes_of(encoded: pa.DictionaryArray) -> NDArray[np.int32]:
    codes, valid = numbers_of(encoded.indices)
    return codes if valid is None else np.where(valid, codes, np.int32(MISSING))


def _renumbered(codes: NDArray[np.int32], order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return codes as they are after the words have been put into an order."""
    new_code = np.empty(len(order), np.int32)
    new_code[order] = np.arange(len(order), dtype=np.int32)
    return _mapped(codes, new_code)


def _mapped(codes: NDArray[np.int32], new_code: NDArray[np.int32]) -> NDArray[np.int32]:
    if not len(new_code):
        return codes
    return np.where(codes == MISSING, np.int32(MISSING), new_code[codes])


def _overlaid(values: NDArray[Any], valid: NDArray[np.bool_] | None, places: NDArray[Any], patch: Numbers) -> Numbers:
    values[places] = patch.values
    if valid is None and patch.valid is None:
        return Numbers(frozen(values), None)
    mask = np.ones(len(values), np.bool_) if valid is None else np.array(valid)
    mask[places] = True if patch.valid is None else patch.valid
    return Numbers(frozen(values), frozen(mask))


def column_by_ordinal(pieces: list[pa.Array], ordinals: Ordinals, *, size: int, kind: pa.DataType) -> ImageColumn:
    """Put values that were read in the order of a scan into the order of their ordinals."""
    values = pa.concat_arrays([pa.array([], kind), *pieces])
    if len(ordinals) == size and bool((ordinals == np.arange(size, dtype=np.int32)).all()):
        return ImageColumn(values)
    places = np.full(size, MISSING, np.int64)
    places[ordinals] = np.arange(len(ordinals))
    return ImageColumn(values.take(arrow_of(np.maximum(places, 0), pa.int64(), places != MISSING)))
