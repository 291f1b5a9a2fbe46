"""Which variables can be seen where: those of a match, and inside `not` also those of the patterns around it."""

from typing import NoReturn

from omnigraph.base.nearest import nearest
from omnigraph.catalog.model import EdgeType, EntityType, NodeType
from omnigraph.language.query.syntax import ANONYMOUS, VariableSyntax
from omnigraph.query.mistakes import Checking, QueryCode
from omnigraph.query.typed import PathType


class Scope:
    """The variables of one pattern; `outer` collects those of patterns around it that it uses directly."""

    def __init__(self, checking: Checking, parent: "Scope | None" = None) -> None:
        self.checking = checking
        self.nodes: dict[str, NodeType] = {}
        self.edges: dict[str, EdgeType] = {}
        self.paths: dict[str, PathType] = {}
        self.outer: set[str] = set()
        self._parent = parent

    def node(self, name: str) -> NodeType | None:
        """Return the type of a node variable that can be seen here."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.nodes:
                self._note(name, scope)
                return scope.nodes[name]
            scope = scope._parent  # noqa: SLF001  # a scope walks up its own kind
        return None

    def edge(self, name: str) -> EdgeType | PathType | None:
        """Return the type of a variable between two ends, an edge or a path, that can be seen here."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.edges.get(name) or scope.paths.get(name)
            if found is not None:
                self._note(name, scope)
                return found
            scope = scope._parent  # noqa: SLF001  # the same
        return None

    def what_is(self, name: str) -> str | None:
        """Say what a variable between two ends is; None for every other name."""
        found = self.edge(name)
        return None if found is None else "a path" if isinstance(found, PathType) else "an edge"

    def entity(self, variable: VariableSyntax, *, code: QueryCode = QueryCode.UNKNOWN_NAME) -> EntityType:
        """Return the type of a variable that must be bound."""
        found = self.node(variable.name) or self.edge(variable.name)
        if found is None:
            self.refuse_unbound(variable, code=code)
        return found

    def refuse_unbound(self, variable: VariableSyntax, *, code: QueryCode = QueryCode.UNKNOWN_NAME) -> NoReturn:
        """Say that a variable is not bound, and which one may be meant."""
        name = variable.name
        if name == ANONYMOUS:
            message = "`$_` stands for any node and has no name by which it can be read; give the variable a name"
        elif name in self.checking.parameters:
            message = f"`${name}` is a parameter and has no properties"
        else:
            meant = nearest(name, {*self._seen(), *self.checking.parameters})
            hint = f"; did you mean `${meant}`?" if meant else ""
            message = f"`${name}` is not bound by any clause before this{hint}"
        self.checking.refuse(code, variable.span, message)

    def _seen(self) -> set[str]:
        outer = self._parent._seen() if self._parent is not None else set()  # noqa: SLF001  # the same
        return {*self.nodes, *self.edges, *self.paths, *outer}

    def _note(self, name: str, found_in: "Scope") -> None:
        if found_in is not self:
            self.outer.add(name)
