"""The meaning of `match` and of `not`: variables, traversals and conditions, checked in written order."""

from typing import NoReturn, assert_never

from omnigraph.base.nearest import nearest
from omnigraph.catalog.model import EdgeType, NodeType, PropertyType, Scalar
from omnigraph.language.query.spelling import spell_expression, spell_hops
from omnigraph.language.query.syntax import (
    ANONYMOUS,
    AggregateSyntax,
    BindingSyntax,
    CallSyntax,
    ClauseSyntax,
    ExpressionSyntax,
    FilterSyntax,
    MatchSyntax,
    NegationSyntax,
    TextClauseSyntax,
    TraversalSyntax,
    VariableSyntax,
)
from omnigraph.query.constants import is_compatible, is_scalar, is_text, item_type, moment_hint
from omnigraph.query.expressions import check_call, check_expression, type_of
from omnigraph.query.fitting import Use, fitting_value
from omnigraph.query.mistakes import Checking, QueryCode
from omnigraph.query.scopes import Scope
from omnigraph.query.typed import (
    HOPS,
    ID,
    STRING,
    Aggregate,
    Condition,
    Constant,
    Expression,
    NodeReference,
    PathType,
    Pattern,
    PropertyRead,
    TextMatch,
    Travel,
    Traversal,
)

_RANKINGS = frozenset({"nearest", "bm25", "rrf"})


def check_match(scope: Scope, clauses: tuple[ClauseSyntax, ...]) -> Pattern:
    """Check the clauses of one `match` or `not`; its variables are in the scope afterwards."""
    return _PatternCheck(scope).check(clauses)


class _PatternCheck:
    """One pattern while its clauses are read."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._checking: Checking = scope.checking
        self._traversals: list[Traversal] = []
        self._conditions: list[Condition | TextMatch] = []
        self._negations: list[Pattern] = []

    def check(self, clauses: tuple[ClauseSyntax, ...]) -> Pattern:
        for clause in clauses:
            self._clause(clause)
        return Pattern(
            nodes=self._scope.nodes,
            edges=self._scope.edges,
            paths=self._scope.paths,
            traversals=tuple(self._traversals),
            conditions=tuple(self._conditions),
            negations=tuple(self._negations),
            outer=frozenset(self._scope.outer),
        )

    def _clause(self, clause: ClauseSyntax) -> None:
        match clause:
            case BindingSyntax():
                self._binding(clause)
            case TraversalSyntax():
                self._traversal(clause)
            case FilterSyntax():
                self._conditions.append(self._filter(clause))
            case TextClauseSyntax():
                found = check_call(self._scope, clause.call)
                assert isinstance(found, TextMatch)
                self._conditions.append(found)
            case NegationSyntax():
                self._negation(clause)
            case _ as never:
                assert_never(never)

    def _negation(self, negation: NegationSyntax) -> None:
        inner = Scope(self._checking, self._scope)
        pattern = check_match(inner, negation.clauses)
        if not pattern.outer:
            self._checking.refuse(
                QueryCode.NOT_GROUPED,
                negation.span,
                "this `not` uses no variable from outside, so it would hold for all rows or for none; "
                "connect it with one",
            )
        self._negations.append(pattern)

    # --- bindings

    def _binding(self, binding: BindingSyntax) -> None:
        entity = self._node_type(binding)
        variable = self._bind(binding.variable, entity)
        for match in binding.matches:
            self._conditions.append(self._match(variable, entity, match))

    def _node_type(self, binding: BindingSyntax) -> NodeType:
        name = binding.type_name.text
        found = self._checking.catalog.node_by_name.get(name)
        if found is None:
            self._checking.refuse(
                QueryCode.UNKNOWN_NODE_TYPE,
                binding.type_name.span,
                f"there is no node type {name}{self._instead_of_node(name)}",
            )
        return found

    def _instead_of_node(self, name: str) -> str:
        catalog = self._checking.catalog
        if name.casefold() in catalog.edge_by_folded_name:
            word = name[0].lower() + name[1:]
            return f"; {name} is an edge type, which is matched between two nodes: `$a $m:{word} $b`"
        if any(interface.name == name for interface in catalog.interfaces):
            return f"; {name} is an interface, which has no nodes of its own"
        meant = nearest(name, catalog.node_by_name)
        return f"; did you mean {meant}?" if meant else ""

    def _bind(self, variable: VariableSyntax, entity: NodeType) -> str:
        """Give a node variable its type, or see that it has it already."""
        name = variable.name
        if name == ANONYMOUS:
            name = self._checking.fresh_variable()
            self._scope.nodes[name] = entity
            return name
        self._refuse_foreign(variable, "a node")
        known = self._scope.node(name)
        if known is None:
            self._scope.nodes[name] = entity
        elif known is not entity:
            self._checking.refuse(
                QueryCode.REBOUND, variable.span, f"`${name}` is a {known.name} and cannot be a {entity.name} as well"
            )
        return name

    def _refuse_foreign(self, variable: VariableSyntax, what: str) -> None:
        """Refuse a name that stands for something else than a node."""
        if variable.name in self._checking.parameters:
            self._checking.refuse(
                QueryCode.WRONG_PARAMETER,
                variable.span,
                f"`${variable.name}` is a parameter, so no variable of the match can have its name",
            )
        if (found := self._scope.what_is(variable.name)) is not None:
            self._checking.refuse(
                QueryCode.EDGE_VARIABLE, variable.span, f"`${variable.name}` is {found} and cannot be used as {what}"
            )

    def _match(self, variable: str, entity: NodeType, match: MatchSyntax) -> Condition:
        name = match.property.text
        declared = STRING if name == ID else None
        if declared is None:
            found = entity.property_by_name.get(name)
            if found is None:
                meant = nearest(name, entity.property_by_name)
                hint = f"; did you mean `{meant}`?" if meant else ""
                self._checking.refuse(
                    QueryCode.UNKNOWN_MATCH_PROPERTY,
                    match.property.span,
                    f"{entity.name} has no property `{name}`{hint}",
                )
            declared = found.type
        if declared.scalar is Scalar.BLOB:
            self._checking.refuse(
                QueryCode.WRONG_LITERAL,
                match.property.span,
                f"{entity.name}.{name} is {declared}, and a Blob cannot be matched with "
                f"{spell_expression(match.value)}",
            )
        value = fitting_value(self._checking, match.value, declared, name=f"{entity.name}.{name}", use=Use.MATCH)
        return Condition(
            left=PropertyRead(variable=variable, entity=entity, property=name, type=declared),
            operator="contains" if declared.is_list else "=",
            right=value,
        )

    # --- traversals

    def _traversal(self, traversal: TraversalSyntax) -> None:
        edge = self._edge_type(traversal)
        hops_min, hops_max = self._hops(traversal)
        for end in (traversal.left, traversal.right):
            if end.name != ANONYMOUS:
                self._refuse_foreign(end, "an end of a traversal")
        travel = self._travel(traversal, edge)
        # Seen from the left: along the edge, or against it.
        ends = (edge.to_type, edge.from_type) if travel is Travel.IN else (edge.from_type, edge.to_type)
        nodes = self._checking.catalog.node_by_name
        left = self._end(traversal.left, nodes[ends[0]], edge)
        right = self._end(traversal.right, nodes[ends[1]], edge)
        name = self._own_variable(traversal)
        if name is not None and traversal.is_shortest:
            self._scope.paths[name] = PathType.along(edge, hops_max)
        elif name is not None:
            self._scope.edges[name] = edge
        self._traversals.append(
            Traversal(
                left=left,
                right=right,
                edge=edge,
                travel=travel,
                hops_min=hops_min,
                hops_max=hops_max,
                edge_variable=None if traversal.is_shortest else name,
                path_variable=name if traversal.is_shortest else None,
            )
        )

    def _edge_type(self, traversal: TraversalSyntax) -> EdgeType:
        word = traversal.edge.text
        edges = self._checking.catalog.edge_by_folded_name
        edge = edges.get(word.casefold())
        if edge is None:
            meant = nearest(word, [found.name[0].lower() + found.name[1:] for found in edges.values()])
            hint = f"; did you mean `{meant}`?" if meant else ""
            self._checking.refuse(QueryCode.UNKNOWN_EDGE, traversal.edge.span, f"there is no edge `{word}`{hint}")
        if traversal.is_undirected and edge.from_type != edge.to_type:
            self._checking.refuse(
                QueryCode.UNDIRECTED_BETWEEN_TYPES,
                traversal.edge.span,
                f"{edge.name} goes from {edge.from_type} to {edge.to_type}, and only an edge between nodes of one "
                f"type can be walked in both directions; write `{word}` without `<>`",
            )
        return edge

    def _hops(self, traversal: TraversalSyntax) -> tuple[int, int]:
        hops = traversal.hops
        if hops is None:
            if traversal.is_shortest:
                self._checking.refuse(
                    QueryCode.WRONG_HOPS_OR_VECTOR,
                    traversal.edge.span,
                    f"`shortest {traversal.edge}` needs hop bounds that say how far to look, such as "
                    f"`{traversal.edge}{{1,6}}`",
                )
            return 1, 1
        if hops.high is None or not 1 <= hops.low <= hops.high:
            reason = (
                "an end is needed, such as `{1,3}`"
                if hops.high is None
                else "the first is at least 1"
                if hops.low < 1
                else "the first is not above the second"
            )
            self._checking.refuse(
                QueryCode.WRONG_HOPS_OR_VECTOR, hops.span, f"hop bounds {spell_hops(hops)} are not possible: {reason}"
            )
        bound = traversal.edge_variable
        is_edge = bound is not None and bound.name != ANONYMOUS and not traversal.is_shortest
        if bound is not None and is_edge and (hops.low, hops.high) != (1, 1):
            self._checking.refuse(
                QueryCode.EDGE_VARIABLE,
                hops.span,
                f"`${bound.name}` stands for one edge, so the hop bounds {spell_hops(hops)} do not fit; leave out the "
                f"bounds or the variable, or write `${bound.name}:shortest {traversal.edge}` to read "
                f"`${bound.name}.{HOPS}`",
            )
        return hops.low, hops.high

    def _travel(self, traversal: TraversalSyntax, edge: EdgeType) -> Travel:
        if traversal.is_undirected:
            return Travel.BOTH
        left, right = (None if end.name == ANONYMOUS else self._scope.node(end.name) for end in self._ends(traversal))
        if left is not None:
            is_backward = left.name != edge.from_type and left.name == edge.to_type
        else:
            is_backward = right is not None and right.name != edge.to_type and right.name == edge.from_type
        return Travel.IN if is_backward else Travel.OUT

    @staticmethod
    def _ends(traversal: TraversalSyntax) -> tuple[VariableSyntax, VariableSyntax]:
        return traversal.left, traversal.right

    def _end(self, variable: VariableSyntax, entity: NodeType, edge: EdgeType) -> str:
        if variable.name != ANONYMOUS:
            known = self._scope.node(variable.name)
            if known is not None and known is not entity:
                self._checking.refuse(
                    QueryCode.WRONG_ENDPOINT,
                    variable.span,
                    f"`${variable.name}` is a {known.name}, which does not fit here: {edge.name} goes from "
                    f"{edge.from_type} to {edge.to_type}",
                )
        return self._bind(variable, entity)

    def _own_variable(self, traversal: TraversalSyntax) -> str | None:
        variable = traversal.edge_variable
        if variable is None or variable.name == ANONYMOUS:
            return None
        name = variable.name
        if name in self._checking.parameters:
            self._refuse_foreign(variable, "an edge")
        if self._scope.node(name) is not None or self._scope.edge(name) is not None:
            self._checking.refuse(
                QueryCode.EDGE_VARIABLE, variable.span, f"`${name}` is bound already; give the edge a name of its own"
            )
        return name

    # --- filters

    def _filter(self, written: FilterSyntax) -> Condition:
        left = self._operand(written.left, written)
        right = self._operand(written.right, written)
        for expression, operand in ((written.left, left), (written.right, right)):
            if isinstance(operand, NodeReference):
                self._checking.refuse(
                    QueryCode.INCOMPATIBLE,
                    expression.span,
                    f"{spell_expression(expression)} is a {type_of(operand)}, and nodes are not compared; compare "
                    "their properties, such as id",
                )
        assert not isinstance(left, NodeReference)
        assert not isinstance(right, NodeReference)
        if not _agree(written.operator, left, right):
            self._refuse_filter(written, left.type, right.type)
        return Condition(left=left, operator=written.operator, right=right)

    def _operand(self, written: ExpressionSyntax, clause: FilterSyntax) -> Expression:
        if isinstance(written, AggregateSyntax) or (isinstance(written, CallSyntax) and written.function in _RANKINGS):
            self._checking.refuse(
                QueryCode.INCOMPATIBLE,
                written.span,
                f"{spell_expression(written)} cannot be compared with `{clause.operator}`: {written.function} belongs "
                "in return and order",
            )
        return check_expression(self._scope, written)

    def _refuse_filter(self, written: FilterSyntax, left: PropertyType, right: PropertyType) -> NoReturn:
        sides = (
            f"{spell_expression(written.left)} ({left}) {written.operator} {spell_expression(written.right)} ({right})"
        )
        if written.operator == "contains":
            hint = "`contains` takes a list and one of its items, or two texts"
        elif written.operator == "starts_with":
            hint = "`starts_with` takes two texts"
        elif not (is_scalar(left) and is_scalar(right)):
            hint = "lists and vectors are not compared"
            if left.is_list or right.is_list:
                hint += "; ask for an item with `contains`"
        else:
            hint = "the two types are not compared"
        self._checking.refuse(
            QueryCode.INCOMPATIBLE, written.span, f"{sides} cannot be true: {hint}{moment_hint(left, right)}"
        )


def _agree(operator: str, left: Expression, right: Expression) -> bool:
    assert not isinstance(left, NodeReference | Aggregate)
    assert not isinstance(right, NodeReference | Aggregate)
    if operator == "starts_with":
        return is_text(left.type) and is_text(right.type)
    if operator != "contains":
        return is_scalar(left.type) and is_scalar(right.type) and is_compatible(left.type, right.type)
    if not left.type.is_list:
        return is_text(left.type) and is_text(right.type)
    if isinstance(left, Constant) and left.value == ():
        return is_scalar(right.type)
    return is_scalar(right.type) and is_compatible(item_type(left.type), right.type)
