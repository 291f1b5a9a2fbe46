"""A syntax tree as text, each query on one line: what `fmt` lays out, and what plans and messages show.

Parsing the text again gives an equal tree.
"""

from typing import assert_never

from omnigraph.language.literals import spell_literal
from omnigraph.language.query.syntax import (
    AccessSyntax,
    AggregateSyntax,
    AliasSyntax,
    AssignmentSyntax,
    BindingSyntax,
    CallSyntax,
    ClauseSyntax,
    DeleteSyntax,
    ExpressionSyntax,
    FilterSyntax,
    HopsSyntax,
    InsertSyntax,
    ListSyntax,
    LiteralSyntax,
    MatchSyntax,
    MomentSyntax,
    NegationSyntax,
    NowSyntax,
    NullSyntax,
    OrderingSyntax,
    ParameterSyntax,
    ParameterTypeSyntax,
    PredicateSyntax,
    ProjectionSyntax,
    QueryFileSyntax,
    QuerySyntax,
    ReadSyntax,
    StatementSyntax,
    TextClauseSyntax,
    TraversalSyntax,
    UpdateSyntax,
    VariableSyntax,
)


def spell_queries(file: QueryFileSyntax) -> str:
    """Spell all queries of a file, one line each."""
    return "".join(f"{_query(query)}\n" for query in file.queries)


def spell_expression(expression: ExpressionSyntax) -> str:
    """Spell an expression."""
    match expression:
        case LiteralSyntax():
            return spell_literal(expression.value)
        case MomentSyntax():
            return f"{expression.kind}({spell_literal(expression.text)})"
        case ListSyntax():
            return f"[{', '.join(map(spell_expression, expression.items))}]"
        case NowSyntax():
            return "now()"
        case VariableSyntax():
            return f"${expression.name}"
        case AccessSyntax():
            return f"${expression.variable.name}.{expression.property}"
        case AliasSyntax():
            return expression.name
        case CallSyntax():
            return f"{expression.function}({', '.join(map(spell_expression, expression.arguments))})"
        case AggregateSyntax():
            return f"{expression.function}({spell_expression(expression.argument)})"
        case _ as never:
            assert_never(never)


def _query(query: QuerySyntax) -> str:
    if query.is_bare and isinstance(query.body, ReadSyntax):
        return _read(query.body)
    parameters = ", ".join(map(_parameter, query.parameters))
    annotations = "".join(
        f" @{name}({spell_literal(text)})"
        for name, text in (("description", query.description), ("instruction", query.instruction))
        if text is not None
    )
    body = query.body
    spelled = _read(body) if isinstance(body, ReadSyntax) else " ".join(map(_statement, body.statements))
    return f"query {query.name}({parameters}){annotations} {{ {spelled} }}"


def _parameter(parameter: ParameterSyntax) -> str:
    return f"${parameter.variable.name}: {spell_parameter_type(parameter.type)}"


def spell_parameter_type(written: ParameterTypeSyntax) -> str:
    """Spell the type of a parameter as it was written."""
    core = written.scalar if written.dimension is None else f"{written.scalar}({written.dimension})"
    return (f"[{core}]" if written.is_list else core) + ("?" if written.nullable else "")


def _read(read: ReadSyntax) -> str:
    parts = [
        f"match {{ {' '.join(map(_clause, read.clauses))} }}",
        f"return {{ {', '.join(map(_projection, read.projections))} }}",
    ]
    if read.orderings:
        parts.append(f"order {{ {', '.join(map(_ordering, read.orderings))} }}")
    if read.limit is not None:
        parts.append(f"limit {spell_expression(read.limit)}")
    return " ".join(parts)


def _clause(clause: ClauseSyntax) -> str:
    match clause:
        case NegationSyntax():
            return f"not {{ {' '.join(map(_clause, clause.clauses))} }}"
        case BindingSyntax():
            matches = f" {{ {', '.join(map(_match, clause.matches))} }}" if clause.matches else ""
            return f"${clause.variable.name}: {clause.type_name}{matches}"
        case TraversalSyntax():
            return _traversal(clause)
        case FilterSyntax():
            return f"{spell_expression(clause.left)} {clause.operator} {spell_expression(clause.right)}"
        case TextClauseSyntax():
            return spell_expression(clause.call)
        case _ as never:
            assert_never(never)


def _traversal(traversal: TraversalSyntax) -> str:
    edge_variable = f"${traversal.edge_variable.name}:" if traversal.edge_variable else ""
    shortest = "shortest " if traversal.is_shortest else ""
    edge = f"<{traversal.edge}>" if traversal.is_undirected else str(traversal.edge)
    hops = spell_hops(traversal.hops) if traversal.hops else ""
    return f"${traversal.left.name} {edge_variable}{shortest}{edge}{hops} ${traversal.right.name}"


def spell_hops(hops: HopsSyntax) -> str:
    """Spell hop bounds."""
    return f"{{{hops.low},{'' if hops.high is None else hops.high}}}"


def _match(match: MatchSyntax) -> str:
    return f"{match.property}: {spell_expression(match.value)}"


def _projection(projection: ProjectionSyntax) -> str:
    return spell_expression(projection.expression) + (f" as {projection.alias}" if projection.alias else "")


def _ordering(ordering: OrderingSyntax) -> str:
    return spell_expression(ordering.expression) + (f" {ordering.direction}" if ordering.direction else "")


def _statement(statement: StatementSyntax) -> str:
    match statement:
        case InsertSyntax():
            return f"insert {statement.type_name} {_assignments(statement.assignments)}"
        case UpdateSyntax():
            assignments = _assignments(statement.assignments)
            return " ".join(("update", statement.type_name.text, "set", assignments, _where(statement.predicate)))
        case DeleteSyntax():
            return f"delete {statement.type_name} {_where(statement.predicate)}"
        case _ as never:
            assert_never(never)


def _assignments(assignments: tuple[AssignmentSyntax, ...]) -> str:
    return f"{{ {', '.join(map(_assignment, assignments))} }}" if assignments else "{}"


def _assignment(assignment: AssignmentSyntax) -> str:
    value = assignment.value
    return f"{assignment.property}: {'null' if isinstance(value, NullSyntax) else spell_expression(value)}"


def _where(predicate: PredicateSyntax) -> str:
    return f"where {predicate.property} {predicate.operator} {spell_expression(predicate.value)}"
