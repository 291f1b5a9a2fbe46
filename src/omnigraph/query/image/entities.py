"""The image of one snapshot, as executors read it (`query/access.py`)."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.catalog.model import EdgeType, EntityType, NodeType
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.reclaimed import telling_reclaimed
from omnigraph.query.access import (
    MISSING,
    Adjacency,
    Codes,
    ColumnAccess,
    Direction,
    Numbers,
    Ordinals,
    Positions,
    PropertyTest,
    SearchedColumn,
    Truths,
    Words,
)
from omnigraph.query.image.adjacency import Csr, gather, pairs_in
from omnigraph.query.image.book import Book
from omnigraph.query.image.images import AnyCsr, Images
from omnigraph.query.image.patches import degrees_of
from omnigraph.query.image.scanning import FarColumn, row_ids_in
from omnigraph.query.image.states import State
from omnigraph.query.lookups.pushed import filter_of_tests

_OUT = Direction.OUT


class IdColumn:
    """The ids of nodes, which their book knows."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def one(self, ordinal: int) -> str:
        """Return one id."""
        return self._book.id_of(ordinal)

    def take(self, ordinals: Ordinals) -> pa.Array:
        """Return ids in the order of the ordinals."""
        return self._book.ids_of(ordinals)

    def numbers(self, ordinals: Ordinals | None = None) -> Numbers:  # noqa: ARG002 — as every column has it
        """Ids are no numbers."""
        raise TypeError("ids are strings")

    def codes(self, ordinals: Ordinals | None = None) -> Codes | None:  # noqa: ARG002 — as every column has it
        """Every id is a word of its own."""
        return None


class EntityImage:
    """What nodes and edges share."""

    def __init__(self, images: Images, context: GraphContext, state: State, entity: EntityType) -> None:
        self._entity = entity
        self._images = images
        self._context = context
        self.state = state
        self.count = state.rows.count
        self.size = state.rows.size
        self._at_hand = images.shelf.new_shortcuts()

    def ordinals(self) -> Ordinals:
        """Return all that exist, ascending."""
        return self.state.rows.ordinals

    def column(self, name: str) -> ColumnAccess:
        """Return a property by its name."""
        found: ColumnAccess | None = self._at_hand.get(name)
        if found is None:
            found = self._images.shelf.keep_at_hand(
                self._at_hand, name, lambda: self._images.column(self._context, self.state, name)
            )
        return found

    def select(self, tests: Sequence[PropertyTest]) -> Ordinals | None:
        """Leave tests to the columns, which are in memory; long texts are not, and Lance looks through them faster."""
        far = [test for test in tests if isinstance(self.column(test.property), FarColumn)]
        where, _ = filter_of_tests(self._entity, far)
        if where is None:
            return None
        with telling_reclaimed(self._context, [self.state.pin]):
            found = self.of_row_ids(row_ids_in(self.state.table.scan([], where=where, with_row_ids=True).read_all()))
        return np.sort(found[found != MISSING])

    def row_ids(self, ordinals: Ordinals) -> NDArray[np.int64]:
        """Return the row ids by which the table of the snapshot knows entities."""
        return self.state.rows.row_ids_of(ordinals)

    def of_row_ids(self, row_ids: NDArray[np.int64]) -> Ordinals:
        """Return the entities that the table of the snapshot knows by row ids."""
        return self.state.rows.ordinals_of(row_ids)


class NodeImage(EntityImage):
    """The nodes of one type in one snapshot."""

    def __init__(self, images: Images, context: GraphContext, state: State, entity: NodeType) -> None:
        super().__init__(images, context, state, entity)
        (self._book,) = state.books
        self._ids = IdColumn(self._book)
        self._has_all = self.count == self.size
        """Whether every ordinal is in use, as nearly always: then only newer ones are of nobody."""

    def find(self, node_id: str) -> int:
        """Return the ordinal of an id, or `MISSING`."""
        ordinal = self._book.find(node_id)
        if self._has_all:
            return ordinal if ordinal < self.size else MISSING
        return ordinal if ordinal != MISSING and self.state.rows.has(ordinal) else MISSING

    def find_many(self, node_ids: Sequence[str]) -> Ordinals:
        """Return the ordinals of ids, `MISSING` where there is none."""
        found = np.fromiter(map(self._book.find, node_ids), np.int32, len(node_ids))
        return np.where(self.state.rows.is_there(found), found, np.int32(MISSING))

    def column(self, name: str) -> ColumnAccess:
        """Return a property by its name, or `id`."""
        if name == "id":
            return self._ids
        found: ColumnAccess | None = self._at_hand.get(name)
        return super().column(name) if found is None else found

    def searched(self, name: str, *, is_whole: bool) -> SearchedColumn:
        """Return a text or vectors to search in."""
        return self._images.searched(self._context, self.state, name, is_whole=is_whole)

    def words(self, name: str, *, is_indexed: Callable[[], bool]) -> Words | None:
        """Return the words of a text property."""
        return self._images.words(self._context, self.state, name, is_indexed=is_indexed)

    def id_ranks(self, ordinals: Ordinals | None = None) -> NDArray[np.int64]:
        """Return numbers that compare as the ids do by their UTF-8 bytes."""
        ranks = self._images.node_ranks(self._book)
        return ranks[: self.size] if ordinals is None else ranks.take(ordinals)


class EdgeImage(EntityImage):
    """The edges of one type in one snapshot."""

    def __init__(
        self,
        images: Images,
        context: GraphContext,
        state: State,
        entity: EdgeType,
        *,
        from_nodes: NodeImage,
        to_nodes: NodeImage,
    ) -> None:
        super().__init__(images, context, state, entity)
        self._from_nodes = from_nodes
        self._to_nodes = to_nodes
        self._lists_at_hand = images.shelf.new_shortcuts()

    def id_ranks(self, ordinals: Ordinals | None = None) -> NDArray[np.int64]:
        """Return numbers that compare as the ids do by their UTF-8 bytes."""
        ranks = self._images.edge_ranks(self._context, self.state).by_ordinal
        return ranks if ordinals is None else ranks.take(ordinals)

    def neighbours(self, node: int, direction: Direction) -> Ordinals:
        """Return the neighbours of one node, ascending."""
        lists: AnyCsr = self._lists_at_hand.get(direction is _OUT) or self._lists(direction)
        return lists.neighbours(node)

    def expand(self, sources: Ordinals, direction: Direction) -> tuple[Positions, Ordinals]:
        """Return position and neighbour for every neighbour of every source."""
        return self._lists(direction).expand(sources)

    def expand_edges(self, sources: Ordinals, direction: Direction) -> tuple[Positions, Ordinals, Ordinals]:
        """Return position, neighbour and edge for every edge of every source."""
        lists = self._lists(direction)
        if not isinstance(lists, Csr):
            return lists.expand_edges(sources)
        positions, places = gather(lists.all.offsets, sources)
        return positions, lists.all.targets[places], lists.edges[places]

    def connects(self, sources: Ordinals, targets: Ordinals) -> Truths:
        """Return for every pair whether an edge leads from the one to the other."""
        lists = self._lists(Direction.OUT)
        return (
            pairs_in(lists.distinct, sources, targets) if isinstance(lists, Csr) else lists.connects(sources, targets)
        )

    def degrees(self, sources: Ordinals | None, direction: Direction, *, distinct: bool) -> NDArray[np.int64]:
        """Count the neighbours or the edges of nodes."""
        lists = self._lists(direction)
        nodes = np.arange(self._near(direction).size, dtype=np.int32) if sources is None else sources
        if isinstance(lists, Csr):
            return degrees_of(lists.distinct if distinct else lists.all, nodes)
        return lists.degrees(nodes, distinct=distinct)

    def adjacency(self, direction: Direction, *, distinct: bool) -> Adjacency | None:
        """Return the whole adjacency."""
        size = self._near(direction).size
        csr = self._images.whole_adjacency(self._context, self.state, direction)
        offsets, targets = csr.distinct if distinct else csr.all
        if len(offsets) < size + 1:
            offsets = np.concatenate([offsets, np.full(size + 1 - len(offsets), offsets[-1])])
        return Adjacency(offsets[: size + 1], targets, None if distinct else csr.edges)

    def _near(self, direction: Direction) -> NodeImage:
        return self._from_nodes if direction is Direction.OUT else self._to_nodes

    def _lists(self, direction: Direction) -> AnyCsr:
        is_out = direction is _OUT
        found: AnyCsr | None = self._lists_at_hand.get(is_out)
        if found is None:
            found = self._images.shelf.keep_at_hand(
                self._lists_at_hand, is_out, lambda: self._images.adjacency(self._context, self.state, direction)
            )
        return found
