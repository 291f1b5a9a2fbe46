"""Where search plugs in: texts that match, and scores of nodes.

The executor asks in terms of one property of one type and of distinct nodes; queries that differ from row to row are
its own business. Whoever implements `Search` decides between an index and reading values.
"""

from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from omnigraph.errors import QueryFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from omnigraph.query.access import Numbers, Ordinals, Truths
    from omnigraph.query.run.bindings import Run
    from omnigraph.query.typed import Ranking, TextMatch


class Ranked(Protocol):
    """Nodes in an order of relevance."""

    keys: "tuple[NDArray[Any], ...]"
    """For each node that was asked about: keys that put the best first when they ascend, the first counting most."""
    is_ranked: "Truths | None"
    """Which of the nodes have a place at all; rows of others are left out. None means all."""


class Search(Protocol):
    """Answers about texts and vectors of one snapshot."""

    def text_matches(
        self, run: "Run", match: "TextMatch", query: str | None, edits: int | None, nodes: "Ordinals | None"
    ) -> "Truths":
        """Return which nodes of the field's type match a query; all by ordinal where no nodes are given."""
        ...

    def scores(self, run: "Run", ranking: "Ranking", queries: tuple[Any, ...], nodes: "Ordinals") -> "Numbers":
        """Return the value of a ranking function for nodes; `queries` has one value per arm, then `k` of a fusion."""
        ...

    def ranked(
        self,
        run: "Run",
        ranking: "Ranking",
        queries: tuple[Any, ...],
        nodes: "Ordinals",
        *,
        descending: bool,
        limit: int | None,
    ) -> Ranked:
        """Put distinct nodes, those of the whole match, in the order of a ranking."""
        ...


class NoSearch:
    """Says that there is no search."""

    def text_matches(
        self, run: "Run", match: "TextMatch", query: str | None, edits: int | None, nodes: "Ordinals | None"
    ) -> "Truths":
        """Refuse."""
        del run, query, edits, nodes
        _refuse(match.function)

    def scores(self, run: "Run", ranking: "Ranking", queries: tuple[Any, ...], nodes: "Ordinals") -> "Numbers":
        """Refuse."""
        del run, queries, nodes
        _refuse(_function(ranking))

    def ranked(
        self,
        run: "Run",
        ranking: "Ranking",
        queries: tuple[Any, ...],
        nodes: "Ordinals",
        *,
        descending: bool,
        limit: int | None,
    ) -> Ranked:
        """Refuse."""
        del run, queries, nodes, descending, limit
        _refuse(_function(ranking))


def _function(ranking: "Ranking") -> str:
    return {"TextScore": "bm25", "VectorDistance": "nearest", "Fusion": "rrf"}[type(ranking).__name__]


def _refuse(function: str) -> NoReturn:
    raise QueryFailed(f"`{function}` is not part of this version yet; queries without search functions can be run.")
