"""One property at a time: its name, its type, and what its annotations ask of that type."""

from omnigraph.catalog.model import FLOATS, INTEGERS, LiteralValue, PropertyType, Scalar
from omnigraph.catalog.names import is_reserved
from omnigraph.catalog.scalars import traits_of
from omnigraph.catalog.shape import PropertyShape
from omnigraph.catalog.shaping.annotations import read_property_annotations
from omnigraph.catalog.shaping.constraints import check_member
from omnigraph.catalog.shaping.declared import DeclaredProperty, Owner
from omnigraph.catalog.values import ValueRefusedError, stored_value
from omnigraph.language.problems import Problems
from omnigraph.language.schema.syntax import AnnotationSyntax, PropertySyntax, TypeSyntax, WordSyntax

_DIMENSION_MAX = 2**31 - 1


def declare_properties(
    owner: Owner, written: tuple[PropertySyntax, ...], problems: Problems
) -> tuple[DeclaredProperty, ...]:
    """Check the properties of one body; of two with the same name the first counts."""
    declared: dict[str, DeclaredProperty] = {}
    for syntax in written:
        found = _declare_property(owner, syntax, problems)
        if declared.setdefault(syntax.name.text, found) is not found:
            problems.add(syntax.name.span, f"duplicate property {owner.name}.{syntax.name}")
    return tuple(declared.values())


def check_letter_case(owner: Owner, declared: tuple[DeclaredProperty, ...], problems: Problems) -> None:
    """Refuse names that differ only in letter case: Lance filters could reach one of the two columns only."""
    first_by_folded: dict[str, str] = {}
    for found in declared:
        name = found.shape.name
        first = first_by_folded.setdefault(name.lower(), name)
        if first != name:
            message = f"{owner.name}.{first} and {owner.name}.{name} differ only in letter case"
            problems.add(found.span, message)


def _declare_property(owner: Owner, syntax: PropertySyntax, problems: Problems) -> DeclaredProperty:
    name = syntax.name.text
    target = f"{owner.name}.{name}"
    if is_reserved(name, kind=owner.kind):
        problems.add(syntax.name.span, f"{target}: the property name {name} is reserved")
    declared_type = _property_type(target, syntax.type, problems)
    annotations = read_property_annotations(owner, name, syntax.annotations, problems)
    shape = PropertyShape(
        name=name,
        type=declared_type,
        annotations=annotations.kept,
        default=_default(target, declared_type, annotations.default, problems) if annotations.default else None,
        embed=annotations.embed,
        rename_from=annotations.rename_from,
        property_constraints=annotations.member_kinds,
    )
    spans = {annotation.name.text: annotation.span for annotation in reversed(syntax.annotations)}
    declared = DeclaredProperty(shape=shape, span=syntax.name.span, annotation_spans=spans)
    _check_annotations_fit(owner, declared, problems)
    return declared


def _property_type(target: str, written: TypeSyntax, problems: Problems) -> PropertyType:
    """Return the type even if it is refused, so that the other rules can still be checked against it."""
    if written.enum_values is not None:
        values = [value.text for value in written.enum_values]
        for position, value in enumerate(written.enum_values):
            if value.text in values[:position]:
                problems.add(value.span, f"duplicate enum value {value} of {target}")
        return PropertyType(scalar=Scalar.STRING, nullable=written.nullable, enum_values=tuple(sorted(set(values))))
    if written.dimension is not None:
        if not 1 <= written.dimension <= _DIMENSION_MAX:
            message = f"Vector dimension {written.dimension} of {target} is not between 1 and {_DIMENSION_MAX}"
            problems.add(written.span, message)
        return PropertyType(scalar=Scalar.VECTOR, nullable=written.nullable, dimension=written.dimension)
    scalar = Scalar(written.scalar)
    if written.is_list and not traits_of(scalar).fits_in_lists:
        problems.add(written.span, f"{target} is a list of {scalar}: a list holds any scalar but {scalar}")
    return PropertyType(scalar=scalar, nullable=written.nullable, is_list=written.is_list)


def _default(
    target: str, declared: PropertyType, annotation: AnnotationSyntax, problems: Problems
) -> LiteralValue | None:
    """Return the default as the catalog keeps it: numbers as the type's kind of number, the rest as written."""
    try:
        return _default_literal(declared, annotation)
    except ValueRefusedError as refused:
        problems.add(annotation.span, f"@default of {target} ({declared}): {refused}")
        return None


def _default_literal(declared: PropertyType, annotation: AnnotationSyntax) -> LiteralValue:
    if not declared.is_single:
        raise ValueRefusedError("only scalars and enums can have a default")
    if annotation.value is None:
        raise ValueRefusedError("the value is missing")
    if isinstance(annotation.value, WordSyntax):
        if declared.enum_values is None:
            raise ValueRefusedError(f"the bare word {annotation.value.text} can only be an enum value")
        value: LiteralValue = annotation.value.text
    else:
        value = annotation.value.value
    stored = stored_value(value, declared)
    if declared.scalar in INTEGERS:
        return stored
    # Not rounded to F32 yet: `@default(0.1)` should be shown as it was written.
    return float(value) if declared.scalar in FLOATS else value


def _check_annotations_fit(owner: Owner, declared: DeclaredProperty, problems: Problems) -> None:
    shape = declared.shape
    for kind in shape.property_constraints:
        check_member(kind, owner, shape, declared.span_of(kind), problems)
    if shape.embed is not None and not shape.type.is_vector:
        message = f"@embed on {owner.name}.{shape.name} needs a vector property, not {shape.type}"
        problems.add(declared.span_of("embed"), message)
