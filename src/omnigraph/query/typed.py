"""A checked query: every name is resolved and every expression has a type, so that a planner need not look anything up.

The clauses of a match say what must hold, not in which order, so a pattern is sets: the variables it introduces, the
edges between them, conditions, and patterns that must have no solution. A value is what a column stores: a Date is
days and a DateTime milliseconds since the epoch.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EdgeType, EntityType, NodeType, Property, PropertyType, Scalar
from omnigraph.language.query.syntax import AggregateFunction, Comparison, Operator

ID = "id"
FROM, TO = "from", "to"
HOPS = "hops"
STRING = PropertyType(scalar=Scalar.STRING)
BOOL = PropertyType(scalar=Scalar.BOOL)
F64 = PropertyType(scalar=Scalar.F64)
NULLABLE_F64 = PropertyType(scalar=Scalar.F64, nullable=True)
DATETIME = PropertyType(scalar=Scalar.DATETIME)

ConstantValue = str | int | float | bool | tuple[str | int | float | bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A literal; the type of an empty list is `[String]`, and it fits every list."""

    value: ConstantValue
    type: PropertyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A declared parameter, whose value comes with each run."""

    name: str
    type: PropertyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """The time of the run, the same for all of its occurrences."""

    type: PropertyType = DATETIME


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReference:
    """A node as a whole."""

    variable: str
    entity: NodeType


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyRead:
    """A property of a node, of a bound edge or of a path; `id` of a node is one."""

    variable: str
    entity: EntityType
    property: str
    type: PropertyType


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMatch:
    """`search`, `match_text` or `fuzzy`; only `fuzzy` has edits, 2 where nothing was written."""

    function: Literal["search", "match_text", "fuzzy"]
    field: PropertyRead
    query: "Expression"
    edits: "Expression | None" = None
    type: PropertyType = BOOL


@dataclass(frozen=True, slots=True, kw_only=True)
class TextScore:
    """`bm25`."""

    field: PropertyRead
    query: "Expression"
    type: PropertyType = F64


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorDistance:
    """`nearest`; a query of type `String` is embedded when it runs."""

    field: PropertyRead
    query: "Expression"
    type: PropertyType = NULLABLE_F64

    @property
    def embeds(self) -> bool:
        """Whether the query is a text that a provider must embed first."""
        return not isinstance(self.query, NodeReference) and self.query.type.scalar is Scalar.STRING


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """`rrf`: both arms rank the same variable; 60 where no `k` was written."""

    first: TextScore | VectorDistance
    second: TextScore | VectorDistance
    k: "Expression"
    type: PropertyType = F64

    @property
    def variable(self) -> str:
        """The variable whose entities are ranked."""
        return self.first.field.variable


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """An aggregate over the rows of a group."""

    function: AggregateFunction
    argument: "Expression"
    type: PropertyType


Ranking = TextScore | VectorDistance | Fusion
Expression = Constant | Parameter | Now | NodeReference | PropertyRead | TextMatch | Ranking | Aggregate


class Travel(StrEnum):
    """Which way the edges of a traversal point, seen from its left variable as written."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


@dataclass(frozen=True, kw_only=True)
class PathType(EntityType):
    """What `shortest` binds: a way along edges of one type. It is stored nowhere and has one property, its hops."""

    hops_max: int

    @classmethod
    def along(cls, edge: EdgeType, hops_max: int) -> "PathType":
        """Describe ways along an edge type of at most so many hops."""
        hops = Property(name=HOPS, property_id=0, type=PropertyType(scalar=Scalar.I64))
        return cls(
            name=f"Path along {edge.name}", type_id=0, table_incarnation_id=0, properties=(hops,), hops_max=hops_max
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Traversal:
    """`right` is within reach of `left`; with an edge variable, once per edge.

    A path variable has how many hops `right` is away: the fewest within the bounds.
    """

    left: str
    right: str
    edge: EdgeType
    travel: Travel
    hops_min: int = 1
    hops_max: int = 1
    edge_variable: str | None = None
    path_variable: str | None = None

    @property
    def own_variable(self) -> str | None:
        """The variable that stands for what is between its ends, if it has one."""
        return self.edge_variable or self.path_variable


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A comparison that must be true; null on either side is never."""

    left: Expression
    operator: Operator
    right: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What a match or a negation asks for; `nodes`, `edges` and `paths` are the variables it introduces, as written."""

    nodes: Mapping[str, NodeType]
    edges: Mapping[str, EdgeType]
    paths: Mapping[str, PathType]
    traversals: tuple[Traversal, ...]
    conditions: tuple[Condition | TextMatch, ...]
    negations: "tuple[Pattern, ...]"
    outer: frozenset[str] = frozenset()
    """Variables of the patterns around it that it uses directly; a match has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a result."""

    name: str
    expression: Expression

    @property
    def nullable(self) -> bool:
        """Whether a row may have no value here."""
        if isinstance(self.expression, NodeReference):
            return False
        return isinstance(self.expression, Aggregate) or self.expression.type.nullable


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderKey:
    """One key of an order; `column` is the position of the column that it repeats or names, if there is one."""

    expression: Expression
    descending: bool
    column: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRead:
    """A read that fits the schema."""

    name: str
    parameters: tuple[Parameter, ...]
    pattern: Pattern
    columns: tuple[Column, ...]
    order: tuple[OrderKey, ...]
    limit: int | Parameter | None

    @property
    def is_aggregate(self) -> bool:
        """Whether rows are grouped: by all columns that are no aggregates."""
        return any(isinstance(column.expression, Aggregate) for column in self.columns)


AssignedValue = Constant | Parameter | Now | None
"""None is `null`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A value for a property, or for `from` and `to` of an edge."""

    property: str
    type: PropertyType
    value: AssignedValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """Which entities a statement changes; `property` may be `id`, and `from` and `to` of an edge."""

    property: str
    type: PropertyType
    operator: Comparison
    value: Constant | Parameter | Now


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """Put one entity into the graph; a node with a key replaces the one that has it."""

    entity: EntityType
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Change the assigned properties of all matching nodes."""

    entity: NodeType
    assignments: tuple[Assignment, ...]
    predicate: Predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Remove all matching entities, and with nodes the edges that touch them."""

    entity: EntityType
    predicate: Predicate


Statement = Insert | Update | Delete


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedMutation:
    """A mutation that fits the schema; its statements see each other's effects and commit together."""

    name: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]


CheckedQuery = CheckedRead | CheckedMutation
