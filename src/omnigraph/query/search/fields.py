"""One text property of one snapshot: the nodes that match, and how well.

An index answers where there is one, and every text that it finds is looked at again, because an index may remember
words that a row had once. Without one, texts are read. Few nodes are always read: that costs less than a search.
"""

import math
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.query.access import MISSING, NodeAccess, Ordinals, Truths
from omnigraph.storage.searching import SCORE, IndexedTable
from omnigraph.storage.text_analysis import terms_of

_READ_MAX = 512
"""So many texts are taken apart sooner than an index is asked."""
_RESCORED_MAX = 4_096
_SAMPLED = 2_048
"""How many texts tell how long texts are."""
_K1, _B = 1.2, 0.75


class Scored(NamedTuple):
    """Nodes that have at least one of the words, each once, and how well they match."""

    nodes: Ordinals
    scores: NDArray[np.float64]


class TextField:
    """A text property."""

    def __init__(self, name: str, nodes: NodeAccess, indexed: IndexedTable) -> None:
        self._name = name
        self._nodes = nodes
        self._indexed = indexed

    def matching(self, query: str, judge: Callable[[str], bool], nodes: Ordinals | None, *, by_terms: bool) -> Truths:
        """Return which nodes a judge lets through; all by ordinal where none are given."""
        is_few = nodes is not None and len(nodes) <= _READ_MAX
        if is_few or not by_terms or not self._indexed.has_full_text(self._name):
            wanted = self._nodes.ordinals() if nodes is None else nodes
            passes = _judged(self._texts(wanted), judge)
            return passes if nodes is not None else _marked(wanted[passes], self._nodes.size)
        found, texts = self._found(query)
        marked = _marked(found[_judged(texts, judge)], self._nodes.size)
        return marked if nodes is None else marked[nodes]

    def scored(self, query: str) -> Scored:
        """Score all nodes of the type that have a word of the query."""
        terms = frozenset(terms_of(query))
        if not terms:
            return Scored(np.empty(0, np.int32), np.empty(0, np.float64))
        if self._indexed.has_full_text(self._name):
            nodes, texts = self._found(query)
        else:
            nodes = self._nodes.ordinals()
            texts = self._texts(nodes)
        documents = [() if text is None else terms_of(text) for text in texts.to_pylist()]
        matches = np.fromiter((not terms.isdisjoint(words) for words in documents), np.bool_, len(documents))
        matching = [words for words, is_match in zip(documents, matches, strict=True) if is_match]
        return Scored(nodes[matches], self._relevance(terms, matching))

    def best(self, query: str, count: int) -> Scored | None:
        """Return the best nodes of the type, all ties of the last one among them; None where no index knows them all.

        These are the scores of the index, which has counted words already.
        """
        if not self._indexed.has_full_text(self._name, complete=True) or self._nodes.count <= _RESCORED_MAX:
            return None
        terms, asked = frozenset(terms_of(query)), max(4 * count, 64)
        while terms:
            rows = self._indexed.with_any_word(self._name, query, ["id", self._name], limit=asked)
            scores = _floats(rows[SCORE])
            # Ties are broken by ids, and an index breaks them as it likes: all of them have to be here.
            if rows.num_rows < asked or scores[-1] < scores[count - 1]:
                found = self._nodes.find_many(rows["id"].to_pylist())
                is_real = _judged(rows[self._name], lambda text: not terms.isdisjoint(terms_of(text)))
                is_real &= found != MISSING
                return Scored(found[is_real], scores[is_real])
            asked *= 4
        return Scored(np.empty(0, np.int32), np.empty(0, np.float64))

    def _found(self, query: str) -> tuple[Ordinals, pa.ChunkedArray]:
        rows = self._indexed.with_any_word(self._name, query, ["id", self._name])
        found = self._nodes.find_many(rows["id"].to_pylist())
        if (found == MISSING).any():  # a table that was searched beside the one that was read
            rows = rows.filter(pa.array((found != MISSING).tolist()))
            found = found[found != MISSING]
        return found, rows[self._name]

    def _texts(self, nodes: Ordinals) -> pa.Array:
        return self._nodes.column(self._name).take(nodes)

    def _relevance(self, terms: frozenset[str], documents: list[tuple[str, ...]]) -> NDArray[np.float64]:
        """Score documents by BM25; all that have one of the terms are here, so that they can be counted."""
        counts = [Counter(word for word in words if word in terms) for words in documents]
        holders = Counter(term for count in counts for term in count)
        total = self._nodes.count
        weights = {term: math.log(1 + (total - held + 0.5) / (held + 0.5)) for term, held in holders.items()}
        usual = self._usual_length
        scores = [
            sum(
                weights[term] * often * (_K1 + 1) / (often + _K1 * (1 - _B + _B * len(words) / usual))
                for term, often in count.items()
            )
            for count, words in zip(counts, documents, strict=True)
        ]
        return np.array(scores, np.float64)

    @cached_property
    def _usual_length(self) -> float:
        """How many terms a text has, by the first of them that Lance returns: the same for everyone who asks."""
        sample = self._indexed.table.scan([self._name], limit=_SAMPLED).read_all()[self._name].to_pylist()
        lengths = [len(terms_of(text)) for text in sample if text is not None]
        return max(sum(lengths) / len(lengths), 1.0) if lengths else 1.0


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


def _marked(nodes: Ordinals, size: int) -> Truths:
    marked = np.zeros(size, np.bool_)
    marked[nodes] = True
    return marked


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.array(column.to_pylist(), np.float64)
