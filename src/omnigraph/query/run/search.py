"""Where search plugs in: texts that match, and scores of nodes.

The executor asks in terms of one property of one type and of distinct nodes; queries that differ from row to row are
its own business. Whoever implements `Search` decides between an index and reading values.
"""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.query.access import Numbers, Ordinals, Truths
    from omnigraph.query.run.bindings import Run
    from omnigraph.query.typed import Ranking, TextMatch, TextScore, VectorDistance


class Ranked(Protocol):
    """Nodes in an order of relevance."""

    @property
    def keys(self) -> "tuple[NDArray[Any], ...]":
        """Keys of each node that was asked about; they ascend from the best, and the first counts most."""
        ...

    @property
    def is_ranked(self) -> "Truths | None":
        """Which of the nodes have a place at all; rows of others are left out. None means all."""
        ...


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

    def best(
        self, run: "Run", ranking: "TextScore | VectorDistance", query: Any, nodes: "Ordinals", *, count: int
    ) -> "Ordinals | None":
        """Return those of distinct nodes, ascending, that rank first: so many, and all that equal the last of them.

        Fewer are all that have a place. None means that nothing but ranking all of them tells.
        """
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


class LazySearch:
    """Searches one snapshot; what it takes is loaded by the first query that does."""

    def __init__(self, snapshot: "Snapshot | None") -> None:
        self._snapshot = snapshot
        self._found: Search | None = None

    def text_matches(
        self, run: "Run", match: "TextMatch", query: str | None, edits: int | None, nodes: "Ordinals | None"
    ) -> "Truths":
        """Return which nodes of the field's type match a query; all by ordinal where no nodes are given."""
        return self._search.text_matches(run, match, query, edits, nodes)

    def scores(self, run: "Run", ranking: "Ranking", queries: tuple[Any, ...], nodes: "Ordinals") -> "Numbers":
        """Return the value of a ranking function for nodes."""
        return self._search.scores(run, ranking, queries, nodes)

    def best(
        self, run: "Run", ranking: "TextScore | VectorDistance", query: Any, nodes: "Ordinals", *, count: int
    ) -> "Ordinals | None":
        """Return those of distinct nodes that rank first."""
        return self._search.best(run, ranking, query, nodes, count=count)

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
        """Put distinct nodes in the order of a ranking."""
        return self._search.ranked(run, ranking, queries, nodes, descending=descending, limit=limit)

    @property
    def _search(self) -> Search:
        if self._found is None:
            from omnigraph.query.search.snapshot import SnapshotSearch

            assert self._snapshot is not None, "only reads that search may ask"
            self._found = SnapshotSearch(self._snapshot)
        return self._found


NO_SEARCH = LazySearch(None)
"""For reads that have no search function."""
