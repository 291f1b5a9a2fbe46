"""Conditions and values as SQL that means exactly what the language says: numbers by value, null never a match."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import FLOATS, INTEGERS, NUMBERS, PropertyType, Scalar
from omnigraph.catalog.scalars import Family, traits_of
from omnigraph.errors import QueryFailed
from omnigraph.query.run.exact import COMPARE, MIRRORED, rounded_to_single
from omnigraph.query.sql.dialects import Dialect
from omnigraph.query.typed import Condition, Constant, Expression, Now, Parameter, PropertyRead
from omnigraph.records.value_readers import whole_bounds

NEVER = "FALSE"
_WIDE = "DECIMAL(38, 0)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What expressions are worth in one run, and how columns are called."""

    dialect: Dialect
    parameters: Mapping[str, Any]
    now_ms: int
    column: Callable[[PropertyRead], str]

    def condition(self, condition: Condition) -> str:
        """Spell a comparison; it is never null."""
        left, right = condition.left, condition.right
        if any(self.is_null(side) for side in (left, right)):
            return NEVER
        match condition.operator:
            case "contains":
                return self._contains(left, right)
            case "starts_with":
                return f"coalesce({self.dialect.has_prefix}({self.value(left)}, {self.value(right)}), FALSE)"
            case operator:
                return f"coalesce({self._compared(left, operator, right)}, FALSE)"

    def is_null(self, expression: Expression) -> bool:
        """Whether an expression is the same null for all rows."""
        return isinstance(expression, Parameter) and self.parameters[expression.name] is None

    def value(self, expression: Expression) -> str:
        """Spell a value: a Date is its days, a DateTime its milliseconds."""
        if isinstance(expression, PropertyRead):
            return self.column(expression)
        if isinstance(expression, Constant | Parameter | Now):
            return self.literal(self.constant(expression), expression.type)
        raise QueryFailed(
            "Search functions run in this process and not in SQL; leave out the engine, or the search function."
        )

    def constant(self, expression: Constant | Parameter | Now) -> Any:
        """Return the value that an expression has for all rows."""
        if isinstance(expression, Constant):
            return expression.value
        return self.now_ms if isinstance(expression, Now) else self.parameters[expression.name]

    def literal(self, value: Any, kind: PropertyType) -> str:
        """Spell a constant in its type."""
        if kind.is_list or kind.scalar is Scalar.VECTOR:
            scalar = PropertyType(scalar=Scalar.F32 if kind.scalar is Scalar.VECTOR else kind.scalar)
            items = [] if value is None else [self.literal(item, scalar) for item in value]
            array = f"CAST({self.dialect.array(items)} AS {self.list_type(scalar.scalar)})"
            return "NULL" if value is None else array
        if value is None:
            return f"CAST(NULL AS {self.dialect.type_of(kind.scalar)})"
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return self.dialect.text(value)
        spelled = repr(float(value)) if kind.scalar in FLOATS else str(value)
        return f"CAST({spelled} AS {self.dialect.type_of(kind.scalar)})"

    def list_type(self, scalar: Scalar) -> str:
        """Spell the type of a list."""
        item = self.dialect.type_of(scalar)
        return f"{item}[]" if self.dialect.quote == '"' else f"ARRAY<{item}>"

    def _contains(self, left: Expression, right: Expression) -> str:
        kind = left.type  # type: ignore[union-attr]  # a node is compared with nothing
        if not kind.is_list:
            return f"coalesce({self.dialect.has_substring}({self.value(left)}, {self.value(right)}), FALSE)"
        wanted = right.type  # type: ignore[union-attr]  # the same
        if isinstance(left, PropertyRead) and traits_of(kind.scalar).family is Family.MOMENT:
            # A single one is a number by now; those in a stored list are as they were.
            moment = self.dialect.moment(self.value(right), kind.scalar)
            return f"coalesce({self.dialect.has_member}({self.value(left)}, {moment}), FALSE)"
        if wanted.scalar is kind.scalar or not (_is_number(wanted) and _is_number(kind)):
            return f"coalesce({self.dialect.has_member}({self.value(left)}, {self.value(right)}), FALSE)"
        if isinstance(right, PropertyRead):
            # Numbers of two kinds meet as floats: exact up to 2^53, and nothing is above it in practice.
            listed = f"CAST({self.value(left)} AS {self.list_type(Scalar.F64)})"
            return f"coalesce({self.dialect.has_member}({listed}, CAST({self.value(right)} AS DOUBLE)), FALSE)"
        number = self.constant(right)  # type: ignore[arg-type]  # the others are no operands
        fitting = _fitting(number, kind.scalar)
        if fitting is None:
            return NEVER
        spelled = self.literal(fitting, PropertyType(scalar=kind.scalar))
        return f"coalesce({self.dialect.has_member}({self.value(left)}, {spelled}), FALSE)"

    def _compared(self, left: Expression, operator: str, right: Expression) -> str:
        kinds = (left.type, right.type)  # type: ignore[union-attr]  # a node is compared with nothing
        if not all(_is_number(kind) for kind in kinds):
            return f"{self.value(left)} {_sign(operator)} {self.value(right)}"
        is_fixed = [isinstance(side, Constant | Parameter | Now) for side in (left, right)]
        if all(is_fixed):
            return str(bool(COMPARE[operator](self.constant(left), self.constant(right)))).upper()  # type: ignore[arg-type]
        if is_fixed[0]:
            return self._with_number(right, MIRRORED[operator], self.constant(left))  # type: ignore[arg-type]
        if is_fixed[1]:
            return self._with_number(left, operator, self.constant(right))  # type: ignore[arg-type]
        return self._two_columns(left, operator, right, kinds)

    def _with_number(self, side: Expression, operator: str, number: float) -> str:
        column, kind = self.value(side), side.type.scalar  # type: ignore[union-attr]
        if kind in FLOATS:
            return _float_with(f"CAST({column} AS DOUBLE)", operator, _rounded(number, kind))
        return _whole_with(f"CAST({column} AS {_WIDE})", operator, number)

    def _two_columns(
        self, left: Expression, operator: str, right: Expression, kinds: tuple[PropertyType, PropertyType]
    ) -> str:
        are_whole = [kind.scalar in INTEGERS for kind in kinds]
        one, other = self.value(left), self.value(right)
        if all(are_whole):
            return f"CAST({one} AS {_WIDE}) {_sign(operator)} CAST({other} AS {_WIDE})"
        if not any(are_whole):
            return f"CAST({one} AS DOUBLE) {_sign(operator)} CAST({other} AS DOUBLE)"
        if are_whole[1]:
            one, other, operator = other, one, MIRRORED[operator]
        # A whole number that is rounded to the float it is compared with still has to be compared with it.
        wide, near, number = f"CAST({one} AS {_WIDE})", f"CAST({one} AS DOUBLE)", f"CAST({other} AS DOUBLE)"
        exact = f"try_cast({number} AS {_WIDE})"
        order = (
            f"CASE WHEN {near} < {number} THEN -1 WHEN {near} > {number} THEN 1 "
            f"WHEN {wide} < {exact} THEN -1 WHEN {wide} > {exact} THEN 1 WHEN {near} = {number} THEN 0 END"
        )
        return f"{order} {_sign(operator)} 0"


def _sign(operator: str) -> str:
    return "<>" if operator == "!=" else operator


def _is_number(kind: PropertyType) -> bool:
    """Whether a type is one of numbers, or of lists of them."""
    return kind.scalar in NUMBERS


def _rounded(number: float, kind: Scalar) -> float:
    """Round a number as it is before it meets an F32."""
    return rounded_to_single(number) if kind is Scalar.F32 else number


def _known(operator: str, column: str, *, is_above: bool) -> str:
    """All values lie on one side; only null is neither."""
    holds = bool(COMPARE[operator](0, 1 if is_above else -1))
    return f"{column} IS NOT NULL" if holds else NEVER


def _whole_with(column: str, operator: str, number: float) -> str:
    if isinstance(number, float):
        if not math.isfinite(number):
            return _known(operator, column, is_above=number > 0)
        whole = math.floor(number)
        if whole != number:
            if operator in ("=", "!="):
                return f"{column} IS NOT NULL" if operator == "!=" else NEVER
            operator = {"<": "<=", ">=": ">"}.get(operator, operator)
        number = whole
    if abs(number) > 1 << 65:
        return _known(operator, column, is_above=number > 0)
    return f"{column} {_sign(operator)} CAST({number} AS {_WIDE})"


def _float_with(column: str, operator: str, number: float) -> str:
    try:
        near = float(number)
    except OverflowError:
        return _known(operator, column, is_above=number > 0)
    if math.isinf(near):
        return _known(operator, column, is_above=near > 0)
    spelled = f"CAST({near!r} AS DOUBLE)"
    if near == number:
        return f"{column} {_sign(operator)} {spelled}"
    if operator in ("=", "!="):
        return f"{column} IS NOT NULL" if operator == "!=" else NEVER
    is_below = near < number
    sign = ("<=" if is_below else "<") if operator in ("<", "<=") else (">" if is_below else ">=")
    return f"{column} {sign} {spelled}"


def _fitting(number: float, scalar: Scalar) -> float | None:
    """Return a number as a list of another kind could hold it; None if it could not."""
    if scalar in FLOATS:
        try:
            near = _rounded(float(number), scalar)
        except OverflowError:
            return None
        return near if math.isfinite(near) and (scalar is Scalar.F32 or near == number) else None
    if isinstance(number, float) and not number.is_integer():
        return None
    low, high = whole_bounds(scalar)
    return int(number) if low <= number <= high else None
