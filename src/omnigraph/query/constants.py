"""Literals as typed constants, and which types go together."""

from omnigraph.catalog.model import FLOATS, NUMBERS, PropertyType, Scalar
from omnigraph.catalog.scalars import Family, traits_of
from omnigraph.catalog.values import ValueRefusedError, stored_value
from omnigraph.language.query.spelling import spell_expression
from omnigraph.language.query.syntax import ConstantSyntax, ListSyntax, LiteralSyntax, MomentSyntax
from omnigraph.query.mistakes import Checking, QueryCode
from omnigraph.query.typed import BOOL, DATETIME, F64, STRING, Constant

I64 = PropertyType(scalar=Scalar.I64)
U64 = PropertyType(scalar=Scalar.U64)
DATE = PropertyType(scalar=Scalar.DATE)
_I64_MAX = 2**63 - 1


def constant(checking: Checking, written: ConstantSyntax) -> Constant:
    """Give a literal its type and the value that a column of the type stores."""
    if isinstance(written, LiteralSyntax):
        return Constant(value=written.value, type=_type_of(written.value))
    if isinstance(written, MomentSyntax):
        return _moment(checking, written)
    return _list(checking, written)


def is_compatible(left: PropertyType, right: PropertyType) -> bool:
    """Tell whether values of two types can be compared or assigned; whether they can be null does not matter."""
    if left.is_list != right.is_list or left.dimension != right.dimension:
        return False
    return left.scalar is right.scalar or (left.scalar in NUMBERS and right.scalar in NUMBERS)


def is_text(declared: PropertyType) -> bool:
    """Tell whether a type is a single string; an enum is one."""
    return declared.scalar is Scalar.STRING and not declared.is_list


def is_scalar(declared: PropertyType) -> bool:
    """Tell whether values of a type can be compared: no lists, vectors or blobs."""
    return declared.is_single


def is_vector_value(value: Constant) -> bool:
    """Tell whether a constant is a list of numbers, which stands for a vector."""
    return value.type.is_list and value.type.scalar in NUMBERS


def item_type(declared: PropertyType) -> PropertyType:
    """Return the type of the items of a list."""
    return PropertyType(scalar=declared.scalar)


def moment_hint(left: PropertyType, right: PropertyType) -> str:
    """Say how a date is written, where a text meets one."""
    scalars = {left.scalar, right.scalar}
    if Scalar.STRING not in scalars or not any(traits_of(found).family is Family.MOMENT for found in scalars):
        return ""
    if Scalar.DATE in scalars:
        return '; a date is written date("2026-02-14")'
    return '; a time is written datetime("2026-02-14T10:00:00Z")'


def _type_of(value: str | float | bool) -> PropertyType:
    if isinstance(value, str):
        return STRING
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, float):
        return F64
    return I64 if value <= _I64_MAX else U64


def _moment(checking: Checking, written: MomentSyntax) -> Constant:
    declared = DATE if written.kind == "date" else DATETIME
    try:
        return Constant(value=stored_value(written.text, declared), type=declared)
    except ValueRefusedError as refused:
        checking.refuse(
            QueryCode.WRONG_LITERAL, written.span, f"{written.kind}(…) cannot be read as {declared}: {refused}"
        )


def _list(checking: Checking, written: ListSyntax) -> Constant:
    items = []
    for item in written.items:
        if isinstance(item, ListSyntax):
            checking.refuse(QueryCode.MIXED_LIST, item.span, "a list cannot hold another list")
        items.append(constant(checking, item))
        if not is_compatible(items[0].type, items[-1].type):
            checking.refuse(
                QueryCode.MIXED_LIST,
                item.span,
                f"a list holds values of one type: {spell_expression(written.items[0])} is {items[0].type}, "
                f"{spell_expression(item)} is {items[-1].type}",
            )
    scalar = _common(items)
    values = tuple(item.value for item in items if not isinstance(item.value, tuple))
    if scalar is Scalar.F64:
        values = tuple(map(float, values))
    return Constant(value=values, type=PropertyType(scalar=scalar, is_list=True))


def _common(items: list[Constant]) -> Scalar:
    """Return the scalar that holds all values, whose types go together."""
    scalars = {item.type.scalar for item in items}
    if Scalar.U64 in scalars and any(isinstance(item.value, int) and item.value < 0 for item in items):
        return Scalar.F64  # no whole numbers reach from below zero to that far above it
    for wider in (Scalar.F64, Scalar.U64):
        if wider in scalars:
            return wider
    return items[0].type.scalar if items else Scalar.STRING


def is_exact(declared: PropertyType, value: PropertyType) -> bool:
    """Tell whether a number can be stored without becoming another: a float never becomes an integer."""
    return declared.scalar not in NUMBERS or declared.scalar in FLOATS or value.scalar not in FLOATS
