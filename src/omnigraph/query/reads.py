"""The meaning of a read: its pattern, its columns, its order and its limit."""

from typing import NoReturn

from omnigraph.base.nearest import nearest
from omnigraph.catalog.model import INTEGERS
from omnigraph.language.query.spelling import spell_expression
from omnigraph.language.query.syntax import (
    AccessSyntax,
    AggregateSyntax,
    AliasSyntax,
    CallSyntax,
    ExpressionSyntax,
    NowSyntax,
    OrderingSyntax,
    ProjectionSyntax,
    ReadSyntax,
    VariableSyntax,
)
from omnigraph.query.constants import is_scalar
from omnigraph.query.expressions import check_expression, type_of
from omnigraph.query.fitting import declared_parameter
from omnigraph.query.mistakes import Checking, QueryCode
from omnigraph.query.patterns import check_match
from omnigraph.query.scopes import Scope
from omnigraph.query.typed import (
    Aggregate,
    CheckedRead,
    Column,
    Constant,
    Expression,
    Fusion,
    NodeReference,
    Now,
    OrderKey,
    Parameter,
    PropertyRead,
    TextScore,
    VectorDistance,
)


def check_read(checking: Checking, read: ReadSyntax) -> CheckedRead:
    """Check a read against the schema."""
    scope = Scope(checking)
    pattern = check_match(scope, read.clauses)
    columns = _columns(scope, read.projections)
    limit = _limit(checking, read)
    order = _Ordering(scope, read, columns).keys()
    return CheckedRead(
        name=checking.query_name,
        parameters=tuple(checking.parameters.values()),
        pattern=pattern,
        columns=columns,
        order=order,
        limit=limit,
    )


def _columns(scope: Scope, projections: tuple[ProjectionSyntax, ...]) -> tuple[Column, ...]:
    columns: dict[str, Column] = {}
    for projection in projections:
        expression = check_expression(scope, projection.expression)
        name = projection.alias.text if projection.alias else _default_name(projection.expression)
        if name in columns:
            scope.checking.refuse(
                QueryCode.REPEATED_COLUMN,
                projection.span,
                f"there are two columns called `{name}`; give one another name with `as`",
            )
        columns[name] = Column(name=name, expression=expression)
    found = tuple(columns.values())
    if any(isinstance(column.expression, Aggregate) for column in found):
        _refuse_ungrouped(scope.checking, projections, found)
    return found


def _refuse_ungrouped(
    checking: Checking, projections: tuple[ProjectionSyntax, ...], columns: tuple[Column, ...]
) -> None:
    for projection, column in zip(projections, columns, strict=True):
        if not isinstance(column.expression, Aggregate | PropertyRead | NodeReference):
            checking.refuse(
                QueryCode.NOT_GROUPED,
                projection.span,
                f"{spell_expression(projection.expression)} cannot stand beside an aggregate: rows are grouped by "
                "properties and nodes only",
            )


def _default_name(written: ExpressionSyntax) -> str:
    match written:
        case AccessSyntax():
            return f"{written.variable.name}.{written.property}"
        case VariableSyntax() | AliasSyntax():
            return written.name
        case NowSyntax():
            return "now"
        case CallSyntax():
            return written.function
        case AggregateSyntax():
            return f"{written.function}({_default_name(written.argument)})"
        case _:
            return "literal"


def _limit(checking: Checking, read: ReadSyntax) -> int | Parameter | None:
    if read.limit is None:
        return None
    if not isinstance(read.limit, VariableSyntax):
        assert isinstance(read.limit.value, int)
        return read.limit.value
    parameter = declared_parameter(checking, read.limit)
    if parameter.type.is_list or parameter.type.scalar not in INTEGERS:
        checking.refuse(
            QueryCode.INCOMPATIBLE,
            read.limit.span,
            f"a limit is a whole number, and the parameter `${parameter.name}` is {parameter.type}; declare it as I64",
        )
    return parameter


class _Ordering:
    """The order of one read, which looks at its columns and at its limit."""

    def __init__(self, scope: Scope, read: ReadSyntax, columns: tuple[Column, ...]) -> None:
        self._scope = scope
        self._checking = scope.checking
        self._read = read
        self._columns = columns
        self._aliases = {
            projection.alias.text: place
            for place, projection in enumerate(read.projections)
            if projection.alias is not None
        }
        self._is_aggregate = any(isinstance(column.expression, Aggregate) for column in columns)

    def keys(self) -> tuple[OrderKey, ...]:
        keys = tuple(map(self._key, self._read.orderings))
        self._refuse_without_limit(keys)
        if any(isinstance(key.expression, VectorDistance) for key in keys):
            self._refuse_aliases(keys)
        return keys

    def _key(self, ordering: OrderingSyntax) -> OrderKey:
        written = ordering.expression
        if isinstance(written, AliasSyntax):
            place: int | None = self._aliased(written)
            expression = self._columns[place].expression if place is not None else None
            assert expression is not None
        else:
            expression = check_expression(self._scope, written)
            place = next((place for place, column in enumerate(self._columns) if column.expression == expression), None)
        self._refuse_unsortable(ordering, expression, place)
        if isinstance(expression, VectorDistance) and ordering.direction is not None:
            self._refuse(ordering, "`nearest` always puts the smallest distance first and takes no direction")
        # What ranks best comes first, unless the other way round is asked for.
        is_best_first = isinstance(expression, TextScore | Fusion)
        descending = is_best_first if ordering.direction is None else ordering.direction == "desc"
        return OrderKey(expression=expression, descending=descending, column=place)

    def _aliased(self, written: AliasSyntax) -> int:
        place = self._aliases.get(written.name)
        if place is None:
            meant = nearest(written.name, self._aliases)
            hint = (
                f"; did you mean `{meant}`?" if meant else "; name a column with `as`, or order by `$variable.property`"
            )
            self._checking.refuse(
                QueryCode.NOT_SORTABLE, written.span, f"there is no column called `{written.name}`{hint}"
            )
        return place

    def _refuse_unsortable(self, ordering: OrderingSyntax, expression: Expression, place: int | None) -> None:
        shown = spell_expression(ordering.expression)
        if isinstance(expression, NodeReference):
            self._refuse(ordering, f"{shown} is a {type_of(expression)}, which has no order; order by a property")
        if isinstance(expression, Constant | Parameter | Now):
            self._refuse(ordering, f"{shown} is the same for every row and orders nothing")
        if not is_scalar(expression.type):
            self._refuse(ordering, f"{shown} is {expression.type}, which has no order")
        if self._is_aggregate and place is None:
            self._refuse(
                ordering, f"{shown} is not available: with aggregates, order by columns that return has as well"
            )
        if isinstance(expression, Aggregate) and place is None:
            self._refuse(ordering, f"{shown} is not among the columns of return")

    def _refuse(self, ordering: OrderingSyntax, message: str) -> NoReturn:
        self._checking.refuse(QueryCode.NOT_SORTABLE, ordering.span, message)

    def _refuse_without_limit(self, keys: tuple[OrderKey, ...]) -> None:
        if self._read.limit is not None:
            return
        for ordering, key in zip(self._read.orderings, keys, strict=True):
            if isinstance(key.expression, VectorDistance):
                self._checking.refuse(
                    QueryCode.NEAREST_WITHOUT_LIMIT,
                    ordering.span,
                    "an order by `nearest` needs a limit, such as `limit 10`",
                )
            if isinstance(key.expression, Fusion):
                self._checking.refuse(
                    QueryCode.WRONG_FUSION, ordering.span, "an order by `rrf` needs a limit, such as `limit 10`"
                )

    def _refuse_aliases(self, keys: tuple[OrderKey, ...]) -> None:
        for ordering, key in zip(self._read.orderings, keys, strict=True):
            if isinstance(ordering.expression, AliasSyntax) and not isinstance(key.expression, VectorDistance):
                self._checking.refuse(
                    QueryCode.ALIAS_BESIDE_NEAREST,
                    ordering.span,
                    f"`{ordering.expression.name}` is the name of a column, and beside `nearest` only properties "
                    "break ties; write the property itself",
                )
