"""How an executor reads one snapshot: nodes and edges as small integers, their columns, and who is next to whom.

Several structures can answer: the image in memory, look-ups in Lance where a few nodes are asked about, whatever comes
next. They return equal results, so that a plan runs on any of them. Nothing here loads anything; an implementation
reads what it is asked for, when it is first asked, and may be used by several threads.

Ordinals are whole numbers from 0 that stand for the entities of one type and hold within one access. There may be gaps:
an ordinal below `size` need not be in use. Arrays that come out of an access are read-only.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeGuard

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EdgeType, NodeType
from omnigraph.language.query.syntax import Operator
from omnigraph.query.typed import ConstantValue

if TYPE_CHECKING:  # numpy and Arrow are loaded by what computes with them
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Ordinals: TypeAlias = NDArray[np.int32]
    Positions: TypeAlias = NDArray[np.intp]
    """Places in an array that was given, for example in the sources of an expansion."""
    Truths: TypeAlias = NDArray[np.bool_]
else:
    Ordinals = Positions = Truths = Any

MISSING = -1
"""The ordinal of an id that no entity has, and the code of null."""


class Direction(StrEnum):
    """Which end of an edge to start from: `out` goes from its source to its target, `in` the other way."""

    OUT = "out"
    IN = "in"


class Numbers(NamedTuple):
    """Values of a fixed width, and which of them are there; `valid` None means all.

    A Bool is a numpy bool, a Date its days (int32) and a DateTime its milliseconds (int64) since the epoch. What stands
    in the place of a null means nothing.
    """

    values: "NDArray[Any]"
    valid: Truths | None


class Codes(NamedTuple):
    """Strings as places in a dictionary that is sorted by UTF-8 bytes, so that codes compare as the strings do.

    Null is `MISSING`, below all others. The dictionary has no doubles; a word in it need not be in use.
    """

    codes: "NDArray[np.int32]"
    words: "pa.Array"


class Adjacency(NamedTuple):
    """All neighbours by node: those of `n` are `targets[offsets[n]:offsets[n + 1]]`, ascending; `size + 1` offsets.

    `edges` are the ordinals of the edges that lead there, where parallel edges are kept apart, else None.
    """

    offsets: "NDArray[np.int64]"
    targets: Ordinals
    edges: Ordinals | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyTest:
    """`property operator value`, as a condition of a query says it; a null is no match. A list `contains` a value."""

    property: str
    operator: Operator
    value: ConstantValue


class ColumnAccess(Protocol):
    """One property of all entities of a type; `id` is one."""

    def one(self, ordinal: int) -> Any:
        """Return one value, or None: a Date as its days, a DateTime as its milliseconds, a list as a list."""
        ...

    def take(self, ordinals: Ordinals) -> "pa.Array":
        """Return values in the order of the ordinals, in the Arrow type of the declared one; doubles are welcome."""
        ...

    def numbers(self, ordinals: Ordinals | None = None) -> Numbers:
        """Return values of fixed width: those of the ordinals, or all by ordinal. Strings and lists have none."""
        ...

    def codes(self, ordinals: Ordinals | None = None) -> Codes | None:
        """Return strings as codes: those of the ordinals, or all by ordinal; None where there are too many words."""
        ...


class EntityAccess(Protocol):
    """What nodes and edges share."""

    @property
    def count(self) -> int:
        """How many there are; known without reading them."""
        ...

    @property
    def size(self) -> int:
        """One more than the largest ordinal that may be in use: the length of an array by ordinal."""
        ...

    def ordinals(self) -> Ordinals:
        """Return all that exist, ascending."""
        ...

    def column(self, name: str) -> ColumnAccess:
        """Return a property by its name, or `id`; edges have `src` and `dst`, too, as the ids of the nodes."""
        ...

    def id_ranks(self, ordinals: Ordinals | None = None) -> "NDArray[np.int64]":
        """Return numbers that compare as the ids do by their UTF-8 bytes, within one answer; all if none are given."""
        ...

    def select(self, tests: Sequence[PropertyTest]) -> Ordinals | None:
        """Return candidates, ascending, whom the caller tests: all that pass, and maybe others.

        None where columns answer as well as anything else would.
        """
        ...


class NodeAccess(EntityAccess, Protocol):
    """The nodes of one type."""

    def find(self, node_id: str) -> int:
        """Return the ordinal of an id, or `MISSING`."""
        ...

    def find_many(self, node_ids: Sequence[str]) -> Ordinals:
        """Return the ordinals of ids, `MISSING` where there is none."""
        ...


class SearchedColumn(Protocol):
    """A text or vectors to search in, in memory or not."""

    def take(self, ordinals: Ordinals) -> "pa.Array":
        """Return values in the order of the ordinals."""
        ...

    def pieces(self) -> "Iterator[tuple[Ordinals, pa.Array]]":
        """Yield all values with their ordinals, each once, and never more at a time than memory should hold."""
        ...

    def cosines(self, direction: "NDArray[np.float64]") -> "NDArray[np.float32] | None":
        """Return by ordinal the cosine of each vector with a direction, about; None where they are not in memory."""
        ...


class Words(Protocol):
    """The words of a text property of all nodes."""

    @property
    def lengths(self) -> "NDArray[np.int32]":
        """How many words the texts have, by ordinal."""
        ...

    @property
    def usual_length(self) -> float:
        """How many words a text has on average, and 1 at least."""
        ...

    def of(self, term: str) -> "tuple[Ordinals, NDArray[np.int32]]":
        """Return the nodes that have a word, each once, and how often they have it."""
        ...


class SearchedNodes(Protocol):
    """Nodes of which an access knows how to search in them without reading more than memory should hold."""

    def searched(self, name: str, *, is_whole: bool) -> SearchedColumn:
        """Return a text or vectors; `is_whole` if all of them will be looked at, rather than a few."""
        ...

    def words(self, name: str, *, is_indexed: Callable[[], bool]) -> Words | None:
        """Return the words of a text property; None where they are not worth their memory, or an index is cheaper."""
        ...

    def of_row_ids(self, row_ids: "NDArray[np.int64]") -> Ordinals:
        """Return the nodes that the table of the snapshot knows by row ids."""
        ...


def are_searched(nodes: NodeAccess) -> TypeGuard[SearchedNodes]:
    """Whether an access knows how to search in nodes."""
    return hasattr(nodes, "searched")


class EdgeAccess(EntityAccess, Protocol):
    """The edges of one type; a node's ordinal is that of the `NodeAccess` of its type.

    Neighbours are distinct: parallel edges lead to a node once, a self-loop leads to the node itself.
    """

    def neighbours(self, node: int, direction: Direction) -> Ordinals:
        """Return the neighbours of one node, ascending; the fast way for one."""
        ...

    def expand(self, sources: Ordinals, direction: Direction) -> tuple[Positions, Ordinals]:
        """Return a pair of position and neighbour for every neighbour of every source, in the order of the sources.

        The neighbours of one source are ascending. A source that is given twice is answered twice.
        """
        ...

    def expand_edges(self, sources: Ordinals, direction: Direction) -> tuple[Positions, Ordinals, Ordinals]:
        """Return position, neighbour and edge for every edge of every source, in the order of the sources."""
        ...

    def connects(self, sources: Ordinals, targets: Ordinals) -> Truths:
        """Return for every pair whether an edge leads from the one to the other."""
        ...

    def degrees(self, sources: Ordinals | None, direction: Direction, *, distinct: bool) -> "NDArray[np.int64]":
        """Count the neighbours (distinct) or the edges of nodes; without sources of all, by ordinal."""
        ...

    def adjacency(self, direction: Direction, *, distinct: bool) -> Adjacency | None:
        """Return the whole adjacency, for steps over all of a graph; None where it is not at hand in one piece."""
        ...


class GraphAccess(Protocol):
    """One snapshot."""

    def nodes(self, entity: NodeType) -> NodeAccess:
        """Return the nodes of a type."""
        ...

    def edges(self, entity: EdgeType) -> EdgeAccess:
        """Return the edges of a type."""
        ...
