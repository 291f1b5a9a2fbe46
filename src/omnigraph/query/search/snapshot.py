"""Searches of one snapshot, as the executor asks for them."""

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnigraph.catalog.model import NodeType
from omnigraph.errors import QueryExecution
from omnigraph.graphs.snapshot import Snapshot, pinned_state, stored_table
from omnigraph.query.access import NodeAccess, Numbers, Ordinals, Truths
from omnigraph.query.run.arrays import distinct_sorted, is_among, smallest
from omnigraph.query.run.bindings import Run
from omnigraph.query.search.fields import Scored, TextField
from omnigraph.query.search.vectors import Near, VectorField
from omnigraph.query.search.words import judge_of
from omnigraph.query.typed import Fusion, PropertyRead, Ranking, TextMatch, TextScore, VectorDistance
from omnigraph.storage.searching import IndexedTable, indexed_table

_NO_RANK = np.iinfo(np.int64).max


class RankedNodes(NamedTuple):
    """Nodes in an order of relevance; see `run.search.Ranked`."""

    keys: tuple[NDArray[Any], ...]
    is_ranked: Truths | None


class SnapshotSearch:
    """Answers about texts and vectors of one snapshot, for one run of a query."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._indexed: dict[str, IndexedTable] = {}
        self._scored: dict[tuple[str, str, str], Scored] = {}
        self._best: dict[tuple[str, str, str], Scored] = {}
        self._fused: dict[tuple[Any, ...], tuple[Ordinals, NDArray[np.float64]]] = {}
        self._embedded: dict[tuple[str, str], list[float]] = {}
        self._nears: dict[tuple[Any, ...], Near] = {}

    def text_matches(
        self, run: Run, match: TextMatch, query: str | None, edits: int | None, nodes: Ordinals | None
    ) -> Truths:
        """Return which nodes of the field's type match a query; all by ordinal where no nodes are given."""
        access = _nodes(run, match.field)
        if query is None:
            return np.zeros(access.size if nodes is None else len(nodes), np.bool_)
        judge = judge_of(match, query, edits)
        has_all = None if match.function == "fuzzy" else match.function == "match_text"
        return self._texts(run, match.field).matching(query, judge, nodes, has_all=has_all)

    def scores(self, run: Run, ranking: Ranking, queries: tuple[Any, ...], nodes: Ordinals) -> Numbers:
        """Return the value of a ranking function for nodes."""
        match ranking:
            case TextScore():
                return Numbers(self._text_scores(run, ranking, queries[0], nodes, limit=None), None)
            case VectorDistance():
                return self._distances(run, ranking, queries[0], nodes)
            case Fusion():
                known = self._fused.get(_fusion_key(ranking, queries))
                ranked, values = known or self._fuse(run, ranking, queries, distinct_sorted(nodes), limit=None)[:2]
                return Numbers(values[np.searchsorted(ranked, nodes)], None)

    def best(
        self, run: Run, ranking: TextScore | VectorDistance, query: Any, nodes: Ordinals, *, count: int
    ) -> Ordinals | None:
        """Return those of some nodes, ascending, that rank first: so many, and all that equal the last of them."""
        if not len(nodes):
            return nodes
        if isinstance(ranking, VectorDistance):
            wanted = self._vector(ranking, query)
            near = None if wanted is None else self._near(run, ranking, wanted, nodes, count)
            if near is None:
                return None
            found, (keys, valid) = near
            found, keys = (found, keys) if valid is None else (found[valid], keys[valid])
        elif query is None:
            return nodes[:0]
        else:
            access = _nodes(run, ranking.field)
            found, scores = self._found(ranking.field, self._texts(run, ranking.field), query, nodes, access, count)
            keys = -scores
            if len(nodes) < access.count:
                is_asked = is_among(found, nodes)
                found, keys = found[is_asked], keys[is_asked]
        return np.sort(found if len(found) <= count else found[smallest(keys, count)])

    def ranked(
        self,
        run: Run,
        ranking: Ranking,
        queries: tuple[Any, ...],
        nodes: Ordinals,
        *,
        descending: bool,
        limit: int | None,
    ) -> RankedNodes:
        """Put distinct nodes, ascending, in the order of a ranking."""
        match ranking:
            case TextScore():
                scores = self._text_scores(run, ranking, queries[0], nodes, limit=limit if descending else None)
                return RankedNodes((-scores if descending else scores,), scores > 0)
            case VectorDistance():
                found = self._distances(run, ranking, queries[0], nodes, limit=limit)
                return RankedNodes((found.values,), found.valid)
            case Fusion():
                _, scores, first, second = self._fuse(run, ranking, queries, nodes, limit=limit)
                return RankedNodes((-scores if descending else scores, first, second), scores > 0)

    def _text_scores(
        self, run: Run, ranking: TextScore, query: str | None, nodes: Ordinals, *, limit: int | None
    ) -> NDArray[np.float64]:
        access = _nodes(run, ranking.field)
        if query is None or not len(nodes):
            return np.zeros(len(nodes), np.float64)
        found = self._found(ranking.field, self._texts(run, ranking.field), query, nodes, access, limit)
        by_node = np.zeros(access.size, np.float64)
        by_node[found.nodes] = found.scores
        return by_node[nodes]

    def _found(
        self, field: PropertyRead, texts: TextField, query: str, nodes: Ordinals, access: NodeAccess, limit: int | None
    ) -> Scored:
        """Score the nodes of the type, or only the best of them where no others are asked about."""
        key = (field.entity.table_key, field.property, query)
        if key not in self._scored:
            if limit and len(nodes) == access.count:
                best = texts.best(query, limit)
                if best is not None:
                    self._best[key] = best
                    return best
            if key in self._best and is_among(nodes, distinct_sorted(self._best[key].nodes)).all():
                return self._best[key]
            self._scored[key] = texts.scored(query)
        return self._scored[key]

    def _distances(
        self, run: Run, ranking: VectorDistance, query: Any, nodes: Ordinals, *, limit: int | None = None
    ) -> Numbers:
        field = self._vectors(run, ranking.field)
        wanted = self._vector(ranking, query)
        if wanted is None:
            return Numbers(np.zeros(len(nodes), np.float64), np.zeros(len(nodes), np.bool_))
        near = self._near(run, ranking, wanted, nodes, limit) if limit else self._nears.get(_near_key(ranking, wanted))
        if near is None or (not limit and not is_among(nodes, near.nodes).all()):
            return field.distances(wanted, nodes)
        values, valid = np.zeros(len(nodes), np.float64), np.zeros(len(nodes), np.bool_)
        places = np.searchsorted(near.nodes, nodes)
        places[places == len(near.nodes)] = 0
        is_near = near.nodes[places] == nodes
        values[is_near] = near.distances.values[places[is_near]]
        valid[is_near] = True if near.distances.valid is None else near.distances.valid[places[is_near]]
        return Numbers(values, valid)

    def _near(self, run: Run, ranking: VectorDistance, wanted: Any, nodes: Ordinals, count: int) -> Near | None:
        """Find the nearest of some nodes, or know them from before; None where all are to be compared."""
        key = _near_key(ranking, wanted)
        known = self._nears.get(key)
        if known is not None and len(nodes) <= len(known.nodes) and is_among(nodes, known.nodes).all():
            return known
        found = self._vectors(run, ranking.field).near(wanted, count, nodes)
        if found is not None:
            self._nears[key] = found
        return found

    def _fuse(
        self, run: Run, ranking: Fusion, queries: tuple[Any, ...], nodes: Ordinals, *, limit: int | None
    ) -> tuple[Ordinals, NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the nodes, their fused scores, and their rank in each arm."""
        k = queries[2]
        if k is None or k < 1:
            raise QueryExecution(f"query: `rrf` was given k = {'null' if k is None else k}; 1 or more make sense.")
        ranks = [
            self._arm(run, arm, query, nodes, limit=limit)
            for arm, query in zip((ranking.first, ranking.second), queries, strict=False)
        ]
        scores = sum(np.where(rank == _NO_RANK, 0.0, 1.0 / (k + np.minimum(rank, 1 << 40))) for rank in ranks)
        fused = np.asarray(scores, np.float64)
        self._fused[_fusion_key(ranking, queries)] = (nodes, fused)
        return nodes, fused, ranks[0], ranks[1]

    def _arm(
        self, run: Run, arm: TextScore | VectorDistance, query: Any, nodes: Ordinals, *, limit: int | None
    ) -> NDArray[np.int64]:
        """Return the rank of each node in one arm, from 1; equals are ranked by their ids."""
        everyone = np.ones(len(nodes), np.bool_)
        if isinstance(arm, TextScore):
            scores = self._text_scores(run, arm, query, nodes, limit=None)
            keys, is_listed, listed_max = -scores, scores > 0, None
        else:
            found = self._distances(run, arm, query, nodes, limit=limit)
            keys, is_listed, listed_max = found.values, everyone if found.valid is None else found.valid, limit
        listed = np.flatnonzero(is_listed)
        ties = _nodes(run, arm.field).id_ranks(nodes[listed])
        order = listed[np.lexsort((ties, keys[listed]))][:listed_max]
        ranks = np.full(len(nodes), _NO_RANK, np.int64)
        ranks[order] = np.arange(1, len(order) + 1)
        return ranks

    def _vector(self, ranking: VectorDistance, query: Any) -> Any:
        if query is None or not ranking.embeds:
            return query
        field = ranking.field
        key = (f"{field.entity.name}.{field.property}", query)
        if key not in self._embedded:
            from omnigraph.providers.config import EmbedConfig
            from omnigraph.providers.embedder import embed_texts
            from omnigraph.providers.wire import Role

            context, _ = pinned_state(self._snapshot)
            config = EmbedConfig.from_environ(context.embed_environ or os.environ)
            declared = field.entity.property_by_name[field.property]
            config.require_model(declared.embed.model if declared.embed else None, where=key[0])
            dimension = field.type.dimension
            assert dimension is not None
            (vector,) = embed_texts(config, [query], dimension=dimension, role=Role.QUERY).to_pylist()
            self._embedded[key] = vector
        return self._embedded[key]

    def _texts(self, run: Run, field: PropertyRead) -> TextField:
        return TextField(field.property, _nodes(run, field), self._table(field))

    def _vectors(self, run: Run, field: PropertyRead) -> VectorField:
        return VectorField(field.property, _nodes(run, field), self._table(field))

    def _table(self, field: PropertyRead) -> IndexedTable:
        key = field.entity.table_key
        if key not in self._indexed:
            self._indexed[key] = indexed_table(stored_table(self._snapshot, key))
        return self._indexed[key]


def _nodes(run: Run, field: PropertyRead) -> NodeAccess:
    assert isinstance(field.entity, NodeType)  # the checker lets no others through
    return run.access.nodes(field.entity)


def _near_key(ranking: VectorDistance, wanted: Any) -> tuple[Any, ...]:
    return ranking.field.entity.table_key, ranking.field.property, tuple(wanted)


def _fusion_key(ranking: Fusion, queries: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tell fusions apart: the one that orders rows and the one that is returned beside them are equal, not the same."""
    arms = ((type(arm).__name__, arm.field.property) for arm in (ranking.first, ranking.second))
    return (ranking.variable, *arms, repr(queries))
