"""The words of a text property: which nodes have each of them, how often, and how many words a text has.

Built once from the texts and never changed. After a commit, the nodes whose texts have changed have postings of their
own beside the others, and what the others say about them does not count.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.query.access import Ordinals
from omnigraph.query.image.buffers import frozen
from omnigraph.query.image.shelf import DoesNotFit
from omnigraph.query.run.arrays import numbers_of, valid_of
from omnigraph.storage.text_analysis import terms_of_words

_NODE_BITS = np.uint64(32)
_NODE_MASK = np.uint64((1 << 32) - 1)
_BUILD_FACTOR = 3
"""How many times the numbers of all words building takes at its highest."""
_TERM_BYTES = 160


class Holders(NamedTuple):
    """The nodes that have a word, each once, and how often they have it."""

    nodes: Ordinals
    counts: NDArray[np.int32]


_NOBODY = Holders(np.zeros(0, np.int32), np.zeros(0, np.int32))


class _Lengths:
    """How many words the texts have, by ordinal; below 0 where there is no text."""

    lengths: NDArray[np.int32]

    @cached_property
    def usual_length(self) -> float:
        """How many words a text has on average, and 1 at least."""
        known = self.lengths[self.lengths >= 0]
        return max(float(known.mean()), 1.0) if len(known) else 1.0


class Postings(_Lengths):
    """Postings of the texts of all nodes, or of those that a commit has changed."""

    def __init__(
        self, terms: dict[str, int], offsets: NDArray[np.int64], holders: Holders, lengths: NDArray[np.int32]
    ) -> None:
        """Take for each term the number of its list, where the lists begin, the lists, and the words of each node."""
        self.terms = terms
        self.offsets = offsets
        self.holders = holders
        self.lengths = lengths

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        arrays = (self.offsets, *self.holders, self.lengths)
        return _TERM_BYTES * len(self.terms) + sum(array.nbytes for array in arrays)

    def of(self, term: str) -> Holders:
        """Return who has a word."""
        number = self.terms.get(term)
        if number is None:
            return _NOBODY
        here = slice(self.offsets[number], self.offsets[number + 1])
        return Holders(self.holders.nodes[here], self.holders.counts[here])

    def packed(self) -> NDArray[np.uint64]:
        """Return the number of the list and the node of each posting as one number."""
        lists = np.repeat(np.arange(len(self.terms)), np.diff(self.offsets))
        return _packed(lists, self.holders.nodes)


class PatchedPostings(_Lengths):
    """Postings, and those of the few nodes whose texts are not as in them any more; never changed."""

    def __init__(self, base: Postings, changed: Ordinals, texts: pa.Array, *, size: int) -> None:
        """Take the changed ordinals, ascending, with a text or null for each."""
        self._base = base
        self._patch = build_postings([(changed, texts)], size=size)
        self._is_changed = np.zeros(size, np.bool_)
        self._is_changed[changed] = True
        lengths = np.full(size, -1, np.int32)
        lengths[: len(base.lengths)] = base.lengths
        lengths[changed] = self._patch.lengths[changed]
        self.lengths = frozen(lengths)

    @property
    def nbytes(self) -> int:
        """How much memory they take beside the base."""
        return self._patch.nbytes + self.lengths.nbytes + self._is_changed.nbytes

    @property
    def base_bytes(self) -> int:
        """How much memory the base takes."""
        return self._base.nbytes

    def of(self, term: str) -> Holders:
        """Return who has a word."""
        nodes, counts = self._base.of(term)
        stay = ~self._is_changed[nodes]
        more = self._patch.of(term)
        return Holders(
            np.concatenate((nodes[stay], more.nodes)),
            np.concatenate((counts[stay], more.counts)),
        )

    def folded(self) -> Postings:
        """Return the same as postings of all nodes."""
        base, patch = self._base, self._patch
        terms = dict(base.terms)
        number = np.fromiter((terms.setdefault(term, len(terms)) for term in patch.terms), np.uint64, len(patch.terms))
        stay = ~self._is_changed[base.holders.nodes]
        new = patch.packed()
        new = number[(new >> _NODE_BITS).astype(np.int64)] << _NODE_BITS | new & _NODE_MASK
        packed = np.concatenate((base.packed()[stay], new))
        order = np.argsort(packed)
        counts = np.concatenate((base.holders.counts[stay], patch.holders.counts))[order]
        return _postings(terms, packed[order], counts, self.lengths)


AnyPostings = Postings | PatchedPostings


def build_postings(pieces: Iterable[tuple[Ordinals, pa.Array]], *, size: int, bytes_max: int | None = None) -> Postings:
    """Take texts apart, some at a time; raises `DoesNotFit` where the result would take more than allowed."""
    terms: dict[str, int] = {}
    has_text = np.zeros(size, np.bool_)
    packed = [np.zeros(0, np.uint64)]
    taken = 0
    for ordinals, texts in pieces:
        valid = valid_of(texts)
        has_text[ordinals if valid is None else ordinals[valid]] = True
        numbers, places = _numbered_terms(texts, terms)
        packed.append(_packed(numbers, ordinals[places]))
        taken += packed[-1].nbytes
        if bytes_max is not None and _BUILD_FACTOR * taken + _TERM_BYTES * len(terms) > bytes_max:
            raise DoesNotFit("the words of all texts need more memory than images may take")
    words = np.concatenate(packed)
    del packed
    words.sort()
    is_new = np.ones(len(words), np.bool_)
    is_new[1:] = words[1:] != words[:-1]
    starts = np.flatnonzero(is_new)
    counts = np.diff(np.append(starts, len(words))).astype(np.int32)
    lengths = np.bincount((words & _NODE_MASK).astype(np.int32), minlength=size).astype(np.int32)
    lengths[~has_text] = -1
    return _postings(terms, words[starts], counts, frozen(lengths))


def _packed(numbers: NDArray[np.int64], nodes: Ordinals) -> NDArray[np.uint64]:
    return numbers.astype(np.uint64) << _NODE_BITS | nodes.astype(np.uint64)


def _postings(
    terms: dict[str, int], packed: NDArray[np.uint64], counts: NDArray[np.int32], lengths: NDArray[np.int32]
) -> Postings:
    """Take all postings, ascending."""
    lists = (packed >> _NODE_BITS).astype(np.int64)
    offsets = np.zeros(len(terms) + 1, np.int64)
    np.cumsum(np.bincount(lists, minlength=len(terms)), out=offsets[1:])
    nodes = (packed & _NODE_MASK).astype(np.int32)
    return Postings(terms, frozen(offsets), Holders(frozen(nodes), frozen(counts)), lengths)


def _numbered_terms(texts: pa.Array, terms: dict[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of all terms of some texts, and the place of each one's text; new terms get the next numbers.

    White space separates words whatever is done with them, so that each of these is taken apart once.
    """
    split = pc.ascii_split_whitespace(texts)
    encoded = pc.list_flatten(split).dictionary_encode()
    text_of_word = numbers_of(pc.list_parent_indices(split).cast(pa.int64())).values
    found = terms_of_words(encoded.dictionary.to_pylist())
    terms_per_word = np.fromiter(map(len, found), np.int64, len(found))
    numbers = np.fromiter(
        (terms.setdefault(term, len(terms)) for word in found for term in word), np.int64, int(terms_per_word.sum())
    )
    begins = np.cumsum(terms_per_word) - terms_per_word
    words = numbers_of(encoded.indices).values
    counts = terms_per_word[words]
    ends = np.cumsum(counts)
    places = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(begins[words] - (ends - counts), counts)
    return numbers[places], np.repeat(text_of_word, counts)
