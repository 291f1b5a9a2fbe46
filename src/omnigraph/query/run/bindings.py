"""What comes with one run of a plan: the snapshot, the values of parameters, the time, and who searches."""

from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import EdgeType, NodeType
from omnigraph.query.access import EntityAccess, GraphAccess
from omnigraph.query.typed import Constant, ConstantValue, Now, Parameter, PathType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.query.access import Ordinals
    from omnigraph.query.run.search import Search
    from omnigraph.query.run.trace import Trace
    from omnigraph.query.typed import Expression


class TooManyRows(Exception):
    """A run that was to be short reaches more rows than it may; nothing has been made of them."""


class Run:
    """One run; every query makes one, so it is no dataclass that refuses changes. Nobody changes it."""

    __slots__ = ("access", "catalog", "now_ms", "parameters", "rows_max", "search", "trace")

    def __init__(
        self,
        *,
        access: GraphAccess,
        catalog: "Catalog",
        parameters: "Mapping[str, ConstantValue | None]",
        now_ms: int,
        search: "Search",
        trace: "Trace | None" = None,
        rows_max: int | None = None,
    ) -> None:
        self.access = access
        self.catalog = catalog
        self.parameters = parameters
        self.now_ms = now_ms
        self.search = search
        self.trace = trace
        self.rows_max = rows_max
        """How many rows a hop may lead to, where others wait for this run: `TooManyRows` is raised above."""

    def over(self, access: GraphAccess) -> "Run":
        """Return the same run over another access to the same snapshot."""
        return Run(
            access=access,
            catalog=self.catalog,
            parameters=self.parameters,
            now_ms=self.now_ms,
            search=self.search,
            trace=self.trace,
            rows_max=self.rows_max,
        )

    def constant(self, expression: "Constant | Parameter | Now") -> ConstantValue | None:
        """Return the value of an expression that is the same for all rows; None is null."""
        if isinstance(expression, Constant):
            return expression.value
        if isinstance(expression, Parameter):
            return self.parameters[expression.name]
        return self.now_ms

    def node_size(self, type_name: str) -> int:
        """Return how long an array by ordinal of a node type is."""
        return self.access.nodes(self.catalog.node_by_name[type_name]).size

    def entities(self, entity: "EntityType") -> EntityAccess:
        """Return the nodes or the edges of a type; a path is a number of hops, and looked up nowhere."""
        if isinstance(entity, NodeType):
            return self.access.nodes(entity)
        if isinstance(entity, EdgeType):
            return self.access.edges(entity)
        from omnigraph.query.run.paths import PathAccess

        assert isinstance(entity, PathType)
        return PathAccess(entity.hops_max)


def is_constant(expression: "Expression | Any") -> bool:
    """Whether an expression has one value for all rows."""
    return isinstance(expression, (Constant, Parameter, Now))


def wanted_of(entities: EntityAccess, ordinals: "Ordinals") -> "Ordinals | None":
    """Return what to ask a column for: nothing in particular where all ordinals are wanted, in their order.

    Who has taken all entities of a type has the very array that says which there are.
    """
    return None if entities.count == entities.size and ordinals is entities.ordinals() else ordinals
