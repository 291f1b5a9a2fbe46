"""What a picture of a graph holds, before anybody says where it stands and how it looks."""

from collections import Counter
from enum import StrEnum
from typing import NamedTuple

from omnigraph.base.plain_text import printable
from omnigraph.base.units import shorten
from omnigraph.base.values import dataclass

LABEL_CHARACTERS = 32


class NodeKey(NamedTuple):
    """Which node: ids are unique within a type only."""

    type_name: str
    id: str


class Hop(NamedTuple):
    """A way from a node to its neighbours: along an edge type, or against it."""

    edge_type: str
    is_outgoing: bool

    def __str__(self) -> str:
        return f"{self.edge_type} →" if self.is_outgoing else f"← {self.edge_type}"


class Mark(StrEnum):
    """What happened to something since the moment that a picture shows."""

    STAYED = ""
    CAME = "+"
    WENT = "−"


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureNode:
    """One node."""

    key: NodeKey
    label: str
    mark: Mark = Mark.STAYED

    @property
    def shown_label(self) -> str:
        """The label in one line, with the sign of what happened to the node."""
        brief = shorten(printable(self.label), LABEL_CHARACTERS)
        return f"{self.mark} {brief}" if self.mark else brief


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureEdge:
    """That two nodes are connected by edges of a type, be it one or several."""

    type_name: str
    source: NodeKey
    target: NodeKey
    mark: Mark = Mark.STAYED


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """Neighbours that a node has and the picture does not show."""

    owner: NodeKey
    hop: Hop
    more: int

    @property
    def shown_label(self) -> str:
        """How many there are."""
        return f"{self.more:,} more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Nodes and how they are connected; both ends of every edge are among the nodes."""

    nodes: tuple[PictureNode, ...]
    edges: tuple[PictureEdge, ...] = ()
    stubs: tuple[Stub, ...] = ()

    def count_by_type(self) -> dict[str, int]:
        """Return how many nodes of each type there are, by name of the type."""
        return dict(sorted(Counter(node.key.type_name for node in self.nodes).items()))

    def changes(self) -> tuple[int, int]:
        """Return how many nodes and edges came, and how many went."""
        marks = Counter([*(node.mark for node in self.nodes), *(edge.mark for edge in self.edges)])
        return marks[Mark.CAME], marks[Mark.WENT]

    def without_types(self, hidden: frozenset[str]) -> "Picture":
        """Leave nodes of some types out, with what hangs on them."""
        if not hidden:
            return self
        nodes = tuple(node for node in self.nodes if node.key.type_name not in hidden)
        kept = {node.key for node in nodes}
        return Picture(
            nodes=nodes,
            edges=tuple(edge for edge in self.edges if edge.source in kept and edge.target in kept),
            stubs=tuple(stub for stub in self.stubs if stub.owner in kept),
        )
