"""The meaning and type of an expression in a pattern, in `return` and in `order`."""

from typing import Final, NoReturn

from omnigraph.base.nearest import listed, nearest
from omnigraph.base.units import counted
from omnigraph.catalog.model import INTEGERS, NUMBERS, EdgeType, EntityType, NodeType, PropertyType, Scalar
from omnigraph.catalog.scalars import traits_of
from omnigraph.language.query.spelling import spell_expression
from omnigraph.language.query.syntax import (
    AccessSyntax,
    AggregateSyntax,
    AliasSyntax,
    CallSyntax,
    ExpressionSyntax,
    NowSyntax,
    VariableSyntax,
)
from omnigraph.language.source import Span
from omnigraph.query.constants import constant, is_text, is_vector_value
from omnigraph.query.mistakes import QueryCode
from omnigraph.query.scopes import Scope
from omnigraph.query.typed import (
    HOPS,
    ID,
    STRING,
    Aggregate,
    Constant,
    Expression,
    Fusion,
    NodeReference,
    Now,
    Parameter,
    PropertyRead,
    TextMatch,
    TextScore,
    VectorDistance,
)

_COUNT_TYPE: Final = PropertyType(scalar=Scalar.I64, nullable=True)
_MEAN_TYPE: Final = PropertyType(scalar=Scalar.F64, nullable=True)
_EDGE_COLUMNS: Final = frozenset({ID, "src", "dst", "from", "to"})
_DEFAULT_K: Final = Constant(value=60, type=PropertyType(scalar=Scalar.I64))
_DEFAULT_EDITS: Final = Constant(value=2, type=PropertyType(scalar=Scalar.I64))


def check_expression(scope: Scope, written: ExpressionSyntax) -> Expression:
    """Resolve an expression; an alias means nothing here and is refused."""
    match written:
        case AccessSyntax():
            return check_access(scope, written)
        case VariableSyntax():
            return _variable(scope, written)
        case NowSyntax():
            return Now()
        case CallSyntax():
            return check_call(scope, written)
        case AggregateSyntax():
            return _aggregate(scope, written)
        case AliasSyntax():
            return _alias(scope, written)
        case _:
            return constant(scope.checking, written)


def _alias(scope: Scope, written: AliasSyntax) -> NoReturn:
    scope.checking.refuse(
        QueryCode.UNKNOWN_NAME,
        written.span,
        f"`{written.name}` is no variable; variables start with `$`, and strings stand in double quotes",
    )


def type_of(expression: Expression) -> str:
    """Spell the type of an expression in a message."""
    return f"node {expression.entity.name}" if isinstance(expression, NodeReference) else str(expression.type)


def check_access(scope: Scope, written: AccessSyntax, *, code: QueryCode = QueryCode.UNKNOWN_NAME) -> PropertyRead:
    """Resolve `$variable.property`; `code` is that of an unknown variable or property."""
    entity = scope.entity(written.variable, code=code)
    variable, name = written.variable.name, written.property.text
    if isinstance(entity, NodeType) and name == ID:
        return PropertyRead(variable=variable, entity=entity, property=ID, type=STRING)
    declared = entity.property_by_name.get(name)
    if declared is None:
        _refuse_property(scope, written, entity, code)
    if declared.type.scalar is Scalar.BLOB:
        scope.checking.refuse(
            QueryCode.BLOB,
            written.span,
            f"`${variable}.{name}` is a Blob, and blobs are not read, ordered or aggregated by queries",
        )
    nullable = declared.stored_nullable
    found = declared.type
    if nullable and not found.nullable:
        found = PropertyType(scalar=found.scalar, nullable=True, dimension=found.dimension)
    return PropertyRead(variable=variable, entity=entity, property=name, type=found)


def _refuse_property(scope: Scope, written: AccessSyntax, entity: EntityType, code: QueryCode) -> NoReturn:
    name, variable = written.property.text, written.variable.name
    if isinstance(entity, EdgeType) and name in _EDGE_COLUMNS:
        scope.checking.refuse(
            QueryCode.EDGE_VARIABLE,
            written.property.span,
            f"`${variable}.{name}` cannot be read: an edge variable shows the properties of {entity.name}, and its "
            "two ends are the variables beside it",
        )
    meant = nearest(name, entity.property_by_name)
    known = listed(entity.property_by_name) or "none"
    hint = f"did you mean `{meant}`?" if meant else f"its properties are {known}"
    scope.checking.refuse(
        code, written.property.span, f"{entity.name} (`${variable}`) has no property `{name}`; {hint}"
    )


def _variable(scope: Scope, written: VariableSyntax) -> NodeReference | Parameter:
    node = scope.node(written.name)
    if node is not None:
        return NodeReference(variable=written.name, entity=node)
    if (what := scope.what_is(written.name)) is not None:
        instead = "one of its properties" if what == "an edge" else f"`${written.name}.{HOPS}`"
        scope.checking.refuse(
            QueryCode.EDGE_VARIABLE, written.span, f"`${written.name}` is {what} and cannot stand alone; read {instead}"
        )
    parameter = scope.checking.parameters.get(written.name)
    if parameter is None:
        scope.refuse_unbound(written)
    if parameter.type.scalar is Scalar.BLOB:
        scope.checking.refuse(
            QueryCode.BLOB, written.span, f"`${written.name}` is a Blob and cannot be read as a value"
        )
    return parameter


def check_call(scope: Scope, written: CallSyntax) -> TextMatch | TextScore | VectorDistance | Fusion:
    """Resolve a search function."""
    for argument in written.arguments:
        if isinstance(argument, AccessSyntax):
            _refuse_edge(scope, argument, written.function)
    match written.function:
        case "nearest":
            return _nearest(scope, written)
        case "rrf":
            return _fusion(scope, written)
        case "bm25":
            return TextScore(field=_field(scope, written), query=_text_argument(scope, written, 1))
        case "fuzzy":
            return TextMatch(
                function="fuzzy",
                field=_field(scope, written),
                query=_text_argument(scope, written, 1),
                edits=_edits(scope, written),
            )
        case function:
            return TextMatch(function=function, field=_field(scope, written), query=_text_argument(scope, written, 1))


def _text_code(written: CallSyntax) -> QueryCode:
    return QueryCode.WRONG_SEARCH if written.function in {"search", "fuzzy"} else QueryCode.WRONG_TEXT_RANKING


def _field(scope: Scope, written: CallSyntax) -> PropertyRead:
    argument = written.arguments[0]
    field = _text_argument(scope, written, 0)
    if not isinstance(field, PropertyRead):
        scope.checking.refuse(
            _text_code(written),
            argument.span,
            f"{written.function} searches a property such as `$s.bio`; {spell_expression(argument)} is "
            f"a {type_of(field)} value",
        )
    return field


def _text_argument(scope: Scope, written: CallSyntax, place: int) -> Expression:
    argument = written.arguments[place]
    found = check_expression(scope, argument)
    if isinstance(found, NodeReference | Aggregate) or not is_text(found.type):
        scope.checking.refuse(
            _text_code(written),
            argument.span,
            f"{written.function} takes String values; {spell_expression(argument)} is {type_of(found)}",
        )
    return found


def _edits(scope: Scope, written: CallSyntax) -> Expression:
    if len(written.arguments) < 3:
        return _DEFAULT_EDITS
    return _integer(scope, written, 2, QueryCode.WRONG_SEARCH, "the edits of fuzzy are")


def _integer(scope: Scope, written: CallSyntax, place: int, code: QueryCode, subject: str) -> Expression:
    argument = written.arguments[place]
    found = check_expression(scope, argument)
    if isinstance(found, NodeReference | Aggregate) or found.type.is_list or found.type.scalar not in INTEGERS:
        scope.checking.refuse(
            code, argument.span, f"{subject} a whole number; {spell_expression(argument)} is {type_of(found)}"
        )
    return found


def _refuse_edge(scope: Scope, access: AccessSyntax, function: str) -> None:
    if (what := scope.what_is(access.variable.name)) is not None:
        scope.checking.refuse(
            QueryCode.EDGE_VARIABLE,
            access.span,
            f"{function} works on properties of nodes, and `${access.variable.name}` is {what}",
        )


def _nearest(scope: Scope, written: CallSyntax) -> VectorDistance:
    access, query_syntax = written.arguments
    if not isinstance(access, AccessSyntax):
        scope.checking.refuse(
            QueryCode.WRONG_HOPS_OR_VECTOR,
            access.span,
            f"nearest compares a vector property such as `$h.vec`, not {spell_expression(access)}",
        )
    field = check_access(scope, access, code=QueryCode.WRONG_HOPS_OR_VECTOR)
    if field.type.scalar is not Scalar.VECTOR:
        scope.checking.refuse(
            QueryCode.WRONG_HOPS_OR_VECTOR,
            access.span,
            f"nearest compares vectors; `${field.variable}.{field.property}` is {field.type}",
        )
    query = check_expression(scope, query_syntax)
    problem = _query_problem(query, field.type)
    if problem is not None:
        scope.checking.refuse(
            QueryCode.WRONG_HOPS_OR_VECTOR,
            query_syntax.span,
            f"`${field.variable}.{field.property}` is {field.type}, {spell_expression(query_syntax)} is {problem}",
        )
    return VectorDistance(field=field, query=query)


def _query_problem(query: Expression, field: PropertyType) -> str | None:
    """Return what the query of `nearest` is instead of a vector of the right length; None if it is one, or a text."""
    if isinstance(query, NodeReference | Aggregate):
        return type_of(query)
    if isinstance(query, Constant) and isinstance(query.value, tuple) and is_vector_value(query):
        return None if len(query.value) == field.dimension else f"a vector of {counted(len(query.value), 'number')}"
    if query.type.scalar is Scalar.VECTOR:
        return None if query.type.dimension == field.dimension else str(query.type)
    return None if is_text(query.type) else f"{query.type}; write a vector or a text"


def _fusion(scope: Scope, written: CallSyntax) -> Fusion:
    first, second = (_arm(scope, argument) for argument in written.arguments[:2])
    if first.field.variable != second.field.variable:
        scope.checking.refuse(
            QueryCode.WRONG_FUSION,
            written.span,
            f"both arms of rrf rank one variable, but they name `${first.field.variable}` and "
            f"`${second.field.variable}`",
        )
    return Fusion(first=first, second=second, k=_k(scope, written))


def _arm(scope: Scope, written: ExpressionSyntax) -> TextScore | VectorDistance:
    if not isinstance(written, CallSyntax) or written.function not in {"nearest", "bm25"}:
        scope.checking.refuse(
            QueryCode.WRONG_FUSION,
            written.span,
            f"an arm of rrf is nearest(…) or bm25(…), not {spell_expression(written)}",
        )
    arm = check_call(scope, written)
    assert isinstance(arm, TextScore | VectorDistance)
    return arm


def _k(scope: Scope, written: CallSyntax) -> Expression:
    if len(written.arguments) < 3:
        return _DEFAULT_K
    found = _integer(scope, written, 2, QueryCode.WRONG_FUSION, "the k of rrf is")
    if isinstance(found, Constant) and isinstance(found.value, int) and found.value < 1:
        scope.checking.refuse(
            QueryCode.WRONG_FUSION, written.arguments[2].span, f"the k of rrf is at least 1, not {found.value}"
        )
    return found


def _aggregate(scope: Scope, written: AggregateSyntax) -> Aggregate:
    argument = check_expression(scope, written.argument)
    if isinstance(argument, Aggregate):
        _refuse_aggregate(scope, written.span, written, "another aggregate")
    if written.function == "count":
        return Aggregate(function="count", argument=argument, type=_COUNT_TYPE)
    if isinstance(argument, NodeReference) or argument.type.is_list:
        _refuse_aggregate(scope, written.span, written, type_of(argument))
    traits = traits_of(argument.type.scalar)
    if not (argument.type.scalar in NUMBERS if written.function in {"sum", "avg"} else traits.is_ordered):
        _refuse_aggregate(scope, written.span, written, type_of(argument))
    if written.function in {"sum", "avg"}:
        return Aggregate(function=written.function, argument=argument, type=_MEAN_TYPE)
    found = argument.type
    nullable = PropertyType(scalar=found.scalar, nullable=True, enum_values=found.enum_values)
    return Aggregate(function=written.function, argument=argument, type=nullable)


def _refuse_aggregate(scope: Scope, span: Span, written: AggregateSyntax, found: str) -> NoReturn:
    takes = "numbers" if written.function in {"sum", "avg"} else "numbers, texts, dates and times"
    if written.function == "count":
        takes = "nodes and values"
    scope.checking.refuse(
        QueryCode.WRONG_AGGREGATE,
        span,
        f"{written.function} takes {takes}; {spell_expression(written.argument)} is {found}",
    )
