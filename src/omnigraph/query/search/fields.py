"""One text property of one snapshot: the nodes that match, and how well.

Its words answer where they are in memory. Otherwise an index does where there is one, and every text that it finds is
looked at again, because an index may remember words that a row had once. Without either, texts are read, some at a
time. Few nodes are always read: that costs less than a search.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.query.access import NodeAccess, Ordinals, Truths, Words
from omnigraph.query.run.arrays import distinct_sorted
from omnigraph.query.search.reading import columns_to_find, nodes_found, searched_column, words_in_memory
from omnigraph.storage.searching import SCORE, IndexedTable
from omnigraph.storage.text_analysis import terms_of

_READ_MAX = 512
"""So many texts are taken apart sooner than an index is asked."""
_RESCORED_MAX = 4_096
_SAMPLED = 2_048
"""How many texts tell how long texts are."""
_DENSE_SHARE = 16
"""Where one in so many nodes has a word, scores are added up by node rather than by search."""
_K1, _B = 1.2, 0.75


class Scored(NamedTuple):
    """Nodes that have at least one of the words, each once, and how well they match."""

    nodes: Ordinals
    scores: NDArray[np.float64]


_NOTHING = Scored(np.empty(0, np.int32), np.empty(0, np.float64))


class TextField:
    """A text property."""

    def __init__(self, name: str, nodes: NodeAccess, indexed: IndexedTable) -> None:
        self._name = name
        self._nodes = nodes
        self._indexed = indexed

    def matching(
        self, query: str, judge: Callable[[str], bool], nodes: Ordinals | None, *, has_all: bool | None
    ) -> Truths:
        """Return which nodes a judge lets through; all by ordinal where none are given.

        `has_all` says whether the judge asks for all terms of the query or for one of them; None if for neither.
        """
        if nodes is not None and len(nodes) <= _READ_MAX:
            return _judged(searched_column(self._nodes, self._name, is_whole=False).take(nodes), judge)
        words = self._words if has_all is not None else None
        if words is not None:
            matching = [_having(words, frozenset(terms_of(query)), has_all=bool(has_all))]
        else:
            by_index = has_all is not None and self._indexed.has_full_text(self._name)
            pieces = [self._found(query)] if by_index else self._all_texts()
            matching = [found[_judged(texts, judge)] for found, texts in pieces]
        # Nodes that were met by this have places only now.
        marked = np.zeros(self._nodes.size, np.bool_)
        for found in matching:
            marked[found] = True
        return marked if nodes is None else marked[nodes]

    def scored(self, query: str) -> Scored:
        """Score all nodes of the type that have a word of the query."""
        terms = frozenset(terms_of(query))
        if not terms:
            return _NOTHING
        words = self._words
        if words is not None:
            return _scored_by_words(words, terms, self._nodes.count)
        nodes: list[Ordinals] = [np.empty(0, np.int32)]
        matching: list[tuple[Counter[str], int]] = []
        by_index = self._indexed.has_full_text(self._name)
        for found, texts in [self._found(query)] if by_index else self._all_texts():
            counted = [_counted(terms, text) for text in texts.to_pylist()]
            nodes.append(found[np.fromiter((each is not None for each in counted), np.bool_, len(counted))])
            matching += [each for each in counted if each is not None]
        return Scored(np.concatenate(nodes), self._relevance(matching))

    def best(self, query: str, count: int) -> Scored | None:
        """Return the best nodes of the type, all ties of the last one among them; None where no index knows them all.

        These are the scores of the index, which has counted words already.
        """
        if self._words is not None or self._nodes.count <= _RESCORED_MAX:
            return None
        if not self._indexed.has_full_text(self._name, complete=True):
            return None
        terms, asked = frozenset(terms_of(query)), max(4 * count, 64)
        columns = columns_to_find(self._nodes, self._name)
        while terms:
            rows = self._indexed.with_any_word(self._name, query, columns, limit=asked)
            scores = _floats(rows[SCORE])
            found, is_real = nodes_found(self._nodes, rows)
            is_real &= _judged(rows[self._name], lambda text: not terms.isdisjoint(terms_of(text)))
            real = scores[is_real]
            # Ties are broken by ids, and an index breaks them as it likes: all of them have to be here.
            if rows.num_rows < asked or (len(real) >= count and scores[-1] < real[count - 1]):
                return Scored(found[is_real], real)
            asked *= 4
        return _NOTHING

    @cached_property
    def _words(self) -> Words | None:
        return words_in_memory(self._nodes, self._name, is_indexed=lambda: self._indexed.has_full_text(self._name))

    def _found(self, query: str) -> tuple[Ordinals, pa.ChunkedArray]:
        rows = self._indexed.with_any_word(self._name, query, columns_to_find(self._nodes, self._name))
        found, is_there = nodes_found(self._nodes, rows)
        if not is_there.all():  # a table that was searched beside the one that was read
            rows = rows.filter(pa.array(is_there.tolist()))
            found = found[is_there]
        return found, rows[self._name]

    def _all_texts(self) -> Iterable[tuple[Ordinals, pa.Array]]:
        return searched_column(self._nodes, self._name, is_whole=True).pieces()

    def _relevance(self, documents: list[tuple[Counter[str], int]]) -> NDArray[np.float64]:
        """Score documents by BM25; all that have one of the terms are here, so that they can be counted."""
        holders = Counter(term for counts, _ in documents for term in counts)
        weights = {term: _weight(held, self._nodes.count) for term, held in holders.items()}
        usual = self._usual_length
        scores = [
            sum(
                weights[term] * often * (_K1 + 1) / (often + _K1 * (1 - _B + _B * length / usual))
                for term, often in counts.items()
            )
            for counts, length in documents
        ]
        return np.array(scores, np.float64)

    @cached_property
    def _usual_length(self) -> float:
        """How many terms a text has, by the first of them that Lance returns: the same for everyone who asks."""
        sample = self._indexed.table.scan([self._name], limit=_SAMPLED).read_all()[self._name].to_pylist()
        lengths = [len(terms_of(text)) for text in sample if text is not None]
        return max(sum(lengths) / len(lengths), 1.0) if lengths else 1.0


def _counted(terms: frozenset[str], text: str | None) -> tuple[Counter[str], int] | None:
    """Count the terms in a text, and its words; None where none of the terms is there."""
    words = () if text is None else terms_of(text)
    return None if terms.isdisjoint(words) else (Counter(word for word in words if word in terms), len(words))


def _weight(held: int, total: int) -> float:
    """Return how much a term counts that so many of all nodes have."""
    return math.log(1 + (total - held + 0.5) / (held + 0.5))


def _scored_by_words(words: Words, terms: frozenset[str], total: int) -> Scored:
    held = [words.of(term) for term in sorted(terms)]
    lengths, usual = words.lengths, words.usual_length
    is_dense = sum(len(nodes) for nodes, _ in held) * _DENSE_SHARE > len(lengths)
    everyone = None if is_dense else _either([nodes for nodes, _ in held])
    scores = np.zeros(len(lengths) if everyone is None else len(everyone), np.float64)
    for nodes, often in held:
        usually = _K1 * (1 - _B + _B * lengths[nodes] / usual)
        places = nodes if everyone is None else np.searchsorted(everyone, nodes)
        scores[places] += _weight(len(nodes), total) * often * (_K1 + 1) / (often + usually)
    if everyone is not None:
        return Scored(everyone, scores)
    found = np.flatnonzero(scores)
    return Scored(found.astype(np.int32), scores[found])


def _having(words: Words, terms: frozenset[str], *, has_all: bool) -> Ordinals:
    """Return the nodes that have all terms, or one of them; where there are none, nobody."""
    held = sorted((words.of(term)[0] for term in terms), key=len)
    if not has_all:
        return _either(held)
    found = held[0] if held else _NOTHING.nodes
    for some in held[1:]:
        found = np.intersect1d(found, some, assume_unique=True)
    return found


def _either(held: Sequence[Ordinals]) -> Ordinals:
    if not held:
        return _NOTHING.nodes
    return distinct_sorted(np.concatenate(held)) if len(held) > 1 else np.sort(held[0])


def _judged(texts: pa.Array | pa.ChunkedArray, judge: Callable[[str], bool]) -> Truths:
    """Ask about every text, once where it is repeated; null never passes."""
    known: dict[str, bool] = {}
    passes = np.zeros(len(texts), np.bool_)
    for place, text in enumerate(texts.to_pylist()):
        if text is None:
            continue
        if text not in known:
            known[text] = judge(text)
        passes[place] = known[text]
    return passes


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.array(column.to_pylist(), np.float64)
