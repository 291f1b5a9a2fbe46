"""Whether a value fits a property: in an inline match, in an assignment, behind `where`.

Literals that do not fit are `T3`, parameters and `now()` are `T7`, as the contract has it.
"""

from enum import Enum
from typing import NoReturn

from omnigraph.base.nearest import nearest
from omnigraph.base.units import counted
from omnigraph.catalog.model import PropertyType, Scalar
from omnigraph.catalog.values import ValueRefusedError, nearest_float32, stored_value
from omnigraph.language.query.spelling import spell_expression
from omnigraph.language.query.syntax import NowSyntax, ValueSyntax, VariableSyntax
from omnigraph.query.constants import (
    constant,
    is_compatible,
    is_exact,
    is_text,
    is_vector_value,
    item_type,
    moment_hint,
)
from omnigraph.query.mistakes import Checking, QueryCode
from omnigraph.query.typed import Constant, Now, Parameter


class Use(Enum):
    """What a value is for."""

    MATCH = "compared with"
    ASSIGNMENT = "assigned to"
    PREDICATE = "compared with "


def fitting_value(
    checking: Checking, written: ValueSyntax, declared: PropertyType, *, name: str, use: Use
) -> Constant | Parameter | Now:
    """Return a value that fits a property of this type; `name` is how messages call the property."""
    if isinstance(written, VariableSyntax):
        return _parameter(checking, written, declared, name, use)
    expected = _expected(declared, use)
    if isinstance(written, NowSyntax):
        now = Now()
        if not is_compatible(expected, now.type):
            checking.refuse(
                QueryCode.INCOMPATIBLE,
                written.span,
                f"now() is DateTime and {_is_of(name, declared)}, so they never agree",
            )
        return now
    value = constant(checking, written)
    reason = _misfit(value, declared, expected, use)
    if reason is not None:
        checking.refuse(
            QueryCode.WRONG_LITERAL,
            written.span,
            f"{_is_of(name, declared)}, {spell_expression(written)} is {value.type}{reason}",
        )
    return value


def declared_parameter(checking: Checking, variable: VariableSyntax) -> Parameter:
    """Return the parameter of this name; in the place of a value nothing else can stand behind a `$`."""
    found = checking.parameters.get(variable.name)
    if found is None:
        meant = nearest(variable.name, checking.parameters)
        hint = (
            f"; did you mean `${meant}`?"
            if meant
            else f"; declare it: query {checking.query_name}(${variable.name}: …)"
        )
        checking.refuse(
            QueryCode.NOT_A_PARAMETER, variable.span, f"`${variable.name}` is not a declared parameter{hint}"
        )
    return found


def _parameter(checking: Checking, variable: VariableSyntax, declared: PropertyType, name: str, use: Use) -> Parameter:
    found = declared_parameter(checking, variable)
    expected = _expected(declared, use)
    if found.type.scalar is Scalar.BLOB and use is not Use.ASSIGNMENT:
        checking.refuse(
            QueryCode.BLOB, variable.span, f"`${found.name}` is a Blob, which cannot be compared with {name}"
        )
    is_blob_text = use is Use.ASSIGNMENT and _is_blob_text(declared, found.type)
    if not is_blob_text and not is_compatible(expected, found.type):
        _refuse_parameter(checking, variable, found, declared, name)
    return found


def _refuse_parameter(
    checking: Checking, variable: VariableSyntax, found: Parameter, declared: PropertyType, name: str
) -> NoReturn:
    hint = moment_hint(declared, found.type) and f"; declare the parameter as {declared.scalar}, or write " + (
        "date(…)" if declared.scalar is Scalar.DATE else "datetime(…)"
    )
    checking.refuse(
        QueryCode.INCOMPATIBLE,
        variable.span,
        f"{_is_of(name, declared)} and the parameter `${found.name}` is {found.type}{hint}",
    )


def _expected(declared: PropertyType, use: Use) -> PropertyType:
    """Return what a value is compared with: of a list its items, because it is matched by membership."""
    return item_type(declared) if use is Use.MATCH and declared.is_list else declared


def _misfit(value: Constant, declared: PropertyType, expected: PropertyType, use: Use) -> str | None:
    """Return why a literal does not fit, to be put behind its type; None if it does."""
    if declared.is_vector:
        return _vector_misfit(value, declared)
    if use is Use.MATCH and declared.is_list and value.type.is_list:
        return "; a list is matched by one of its items"
    if use is Use.ASSIGNMENT and (_is_blob_text(declared, value.type) or (declared.is_list and value.value == ())):
        return None
    if not is_compatible(expected, value.type):
        return moment_hint(expected, value.type)
    if declared.enum_values is not None and value.value not in declared.enum_values:
        return f"; the allowed values are {', '.join(declared.enum_values)}"
    return _unstorable(value, declared) if use is Use.ASSIGNMENT else None


def _numbers(declared: PropertyType) -> str:
    return counted(declared.dimension or 0, "number")


def _vector_misfit(value: Constant, declared: PropertyType) -> str | None:
    if not is_vector_value(value) or not isinstance(value.value, tuple):
        return f"; write a list of {_numbers(declared)}"
    if len(value.value) != declared.dimension:
        return f" of {len(value.value)}; write {_numbers(declared)}"
    try:
        for number in value.value:
            nearest_float32(float(number))
    except ValueRefusedError as refused:
        return f"; {refused}"
    return None


def _unstorable(value: Constant, declared: PropertyType) -> str | None:
    if not is_exact(declared, value.type):
        return "; a number with a fraction is never stored as a whole one"
    values = value.value if isinstance(value.value, tuple) else (value.value,)
    try:
        for item in values:
            stored_value(item, declared)
    except ValueRefusedError as refused:
        return f"; {refused}"
    return None


def _is_blob_text(declared: PropertyType, value: PropertyType) -> bool:
    return declared.scalar is Scalar.BLOB and is_text(value)


def _is_of(name: str, declared: PropertyType) -> str:
    return f"{name} is {declared}"
