"""The steps of a plan: each takes rows, in which some variables have values, and gives rows in which more of them have.

Whoever reads only these classes knows what a query does. Nothing here runs.
"""

from typing import TypeAlias

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import NodeType
from omnigraph.query.typed import (
    CheckedRead,
    Condition,
    Constant,
    Fusion,
    Now,
    Parameter,
    TextMatch,
    TextScore,
    Traversal,
    VectorDistance,
)

AnyCondition: TypeAlias = Condition | TextMatch


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """Find the one node that has a key; the variable is one node or there are no rows."""

    variable: str
    entity: NodeType
    property: str
    key: Constant | Parameter | Now
    estimate: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Take all nodes of a type that pass conditions; every row that was there before meets each of them."""

    variable: str
    entity: NodeType
    conditions: tuple[AnyCondition, ...]
    estimate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Expand:
    """Go from a variable that has a value along a traversal to one that has none; `source` is either of its ends."""

    traversal: Traversal
    source: str
    target: str
    estimate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """Keep the rows whose two ends are connected as a traversal says; with an edge variable, once per edge."""

    traversal: Traversal
    estimate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Keep the rows that pass conditions."""

    conditions: tuple[AnyCondition, ...]
    estimate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Negate:
    """Keep the rows for which inner steps, started with these variables, find nothing."""

    seeds: tuple[str, ...]
    steps: "tuple[Step, ...]"
    estimate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Weigh:
    """Let each row stand for as many as inner steps find, started with these variables; none drops the row.

    The variables that the inner steps bind are needed for nothing but their number, so nobody lists them.
    """

    seeds: tuple[str, ...]
    steps: "tuple[Step, ...]"
    estimate: float


Step: TypeAlias = LookUp | Scan | Expand | Close | Filter | Negate | Weigh


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a read is answered: the steps that make rows, then its columns, its order and its limit."""

    read: CheckedRead
    steps: tuple[Step, ...]
    named: tuple[str, ...]
    """The variables that break ties, in the order in which they do."""

    @property
    def has_ranking(self) -> bool:
        """Whether the order leaves out rows that have no place in it."""
        return any(isinstance(key.expression, TextScore | VectorDistance | Fusion) for key in self.read.order)
