"""The constraints of a type: collected from annotations and body, checked against the properties, folded.

The two spellings of a constraint mean the same, so both end as the same rule and equal rules count once.
"""

from collections.abc import Iterable, Iterator, Mapping

from omnigraph.catalog.canonical import sort_constraints
from omnigraph.catalog.model import (
    Constraint,
    Index,
    Key,
    LiteralValue,
    PatternCheck,
    PropertyType,
    Range,
    Unique,
)
from omnigraph.catalog.scalars import traits_of
from omnigraph.catalog.shape import PropertyShape
from omnigraph.catalog.shaping.declared import DeclaredConstraint, DeclaredProperty, Owner
from omnigraph.catalog.values import stored_value
from omnigraph.language.problems import Problems
from omnigraph.language.schema.syntax import CheckSyntax, ConstraintSyntax, MembersSyntax, RangeSyntax
from omnigraph.language.source import Span

_MEMBER_RULES: dict[str, type[Key | Unique | Index]] = {"key": Key, "unique": Unique, "index": Index}
_ON_EDGES = ("unique", "index")
_ENDPOINTS = ("src", "dst")
_NEEDS = {
    "key": "a scalar or enum property",
    "unique": "a scalar or enum property",
    "index": "a scalar, enum or Vector property",
    "range": "a numeric property",
    "check": "a String or enum property",
}

PropertyByName = Mapping[str, DeclaredProperty]


def check_member(kind: str, owner: Owner, shape: PropertyShape, span: Span, problems: Problems) -> bool:
    """Refuse a property whose type the constraint cannot work on; tell whether it can."""
    offence = _offence(kind, shape.type)
    if offence:
        problems.add(span, f"@{kind} on {owner.name}.{shape.name} needs {_NEEDS[kind]}, not {offence}")
    elif kind == "key" and shape.type.nullable:
        problems.add(span, f"@key on {owner.name}.{shape.name}: a key property cannot be nullable")
    return not offence


def collect_constraints(
    owner: Owner, properties: PropertyByName, body: tuple[ConstraintSyntax, ...], problems: Problems
) -> tuple[Constraint, ...]:
    """Return the rules of a node or edge type, each once and in canonical order."""
    declared = [*_from_annotations(properties.values()), *_from_body(owner, properties, body, problems)]
    keys = [found for found in declared if isinstance(found.rule, Key)]
    for repeated in keys[1:]:
        problems.add(repeated.span, f"{owner} has multiple @key constraints; a node has one key")
    rules = sort_constraints({found.rule for found in declared})
    _check_defaults(owner, properties, rules, problems)
    return rules


def _from_annotations(properties: Iterable[DeclaredProperty]) -> Iterator[DeclaredConstraint]:
    for declared in properties:
        for kind in declared.shape.property_constraints:
            rule = _MEMBER_RULES[kind](properties=(declared.shape.name,))
            yield DeclaredConstraint(rule=rule, span=declared.span_of(kind))


def _from_body(
    owner: Owner, properties: PropertyByName, body: tuple[ConstraintSyntax, ...], problems: Problems
) -> Iterator[DeclaredConstraint]:
    for syntax in body:
        if owner.kind == "edge" and _kind(syntax) not in _ON_EDGES:
            problems.add(syntax.span, f"@{_kind(syntax)} is not allowed on {owner}: edges take @unique and @index")
        elif _members_are_fit(owner, properties, syntax, problems):
            rule = _body_rule(owner, syntax, problems)
            if rule is not None:
                yield DeclaredConstraint(rule=rule, span=syntax.span)


def _members_are_fit(owner: Owner, properties: PropertyByName, syntax: ConstraintSyntax, problems: Problems) -> bool:
    kind = _kind(syntax)
    members = syntax.members if isinstance(syntax, MembersSyntax) else (syntax.property,)
    all_fit = True
    for position, member in enumerate(members):
        if member in members[:position]:
            problems.add(member.span, f"@{kind} on {owner} lists the property {member} twice")
        elif member.text in properties:
            all_fit &= check_member(kind, owner, properties[member.text].shape, member.span, problems)
        elif owner.kind != "edge" or member.text not in _ENDPOINTS:
            problems.add(member.span, f"@{kind} on {owner} names the unknown property {member}")
            all_fit = False
    return all_fit


def _body_rule(owner: Owner, syntax: ConstraintSyntax, problems: Problems) -> Constraint | None:
    """Return the rule, or None for one that nothing can be checked against."""
    match syntax:
        case MembersSyntax():
            members = {member.text for member in syntax.members}
            return _MEMBER_RULES[syntax.kind](properties=tuple(sorted(members)))
        case RangeSyntax():
            low, high = _bound(syntax.low), _bound(syntax.high)
            if low is not None and high is not None and low > high:
                problems.add(syntax.span, f"@range on {owner.name}.{syntax.property} is empty: {low} is above {high}")
                return None
            return Range(property=syntax.property.text, low=low, high=high)
        case CheckSyntax():
            mistake = pattern_mistake(syntax.pattern)
            if mistake:
                target = f"{owner.name}.{syntax.property}"
                message = f"@check on {target}: RE2 does not accept the pattern {syntax.pattern} ({mistake})"
                problems.add(syntax.span, message)
                return None
            return PatternCheck(property=syntax.property.text, pattern=syntax.pattern)


def _bound(written: float | None) -> float | None:
    # 0 and 0.0 bound the same values, so they must not make two schemas.
    return int(written) if isinstance(written, float) and written.is_integer() else written


def _check_defaults(
    owner: Owner, properties: PropertyByName, rules: tuple[Constraint, ...], problems: Problems
) -> None:
    for declared in properties.values():
        for rule in rules:
            complaint = _default_complaint(declared.shape, rule)
            if complaint:
                message = f"@default of {owner.name}.{declared.shape.name} {complaint}"
                problems.add(declared.span_of("default"), message)


def _default_complaint(shape: PropertyShape, rule: Constraint) -> str | None:
    if shape.default is None:
        return None
    # The stored value counts, as in any write: an F32 column rounds 0.1 up, past an upper bound of 0.1.
    stored = stored_value(shape.default, shape.type)
    match rule:
        case Key() if shape.name in rule.properties:
            return "is not allowed: a key value is always given"
        case Range() if rule.property == shape.name and not _is_within(stored, rule):
            return f"breaks its @range: {stored} is outside of {_spell_bounds(rule)}"
        case PatternCheck() if rule.property == shape.name and not pattern_is_found(rule.pattern, str(stored)):
            return f"breaks its @check: {stored} does not match {rule.pattern}"
        case _:
            return None


def _is_within(stored: LiteralValue, rule: Range) -> bool:
    return (
        isinstance(stored, (int, float))
        and (rule.low is None or rule.low <= stored)
        and (rule.high is None or stored <= rule.high)
    )


def _spell_bounds(rule: Range) -> str:
    return f"{'' if rule.low is None else rule.low}..{'' if rule.high is None else rule.high}"


def _kind(syntax: ConstraintSyntax) -> str:
    match syntax:
        case MembersSyntax():
            return syntax.kind
        case RangeSyntax():
            return "range"
        case CheckSyntax():
            return "check"


def _offence(kind: str, declared: PropertyType) -> str | None:
    """Say in a word what is wrong with a type for this kind of constraint, or None."""
    if declared.is_list:
        return "a list"
    traits = traits_of(declared.scalar)
    return None if kind in traits.constraints else traits.called or str(declared)


def pattern_mistake(pattern: str) -> str | None:
    """Return why RE2 does not accept a pattern, or None."""
    import pyarrow as pa

    try:
        # Arrow compiles the pattern with the first value: an empty array would accept anything.
        _search(pattern, [""])
    except pa.ArrowInvalid as refused:
        return str(refused)
    return None


def pattern_is_found(pattern: str, text: str) -> bool:
    """Tell whether `text` contains a match; the search is not anchored."""
    return _search(pattern, [text]) == [True]


def _search(pattern: str, texts: list[str]) -> list[bool]:
    import pyarrow as pa
    import pyarrow.compute as pc

    found: list[bool] = pc.match_substring_regex(pa.array(texts, pa.string()), pattern=pattern).to_pylist()
    return found
