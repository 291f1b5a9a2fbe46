"""Differences between the constraints of a type that stays.

Accepted constraints are compared under the desired names of their members. One that mentions a dropped property goes
with it: that is part of the drop, not a step of its own.
"""

from collections.abc import Iterator, Mapping

from omnigraph.catalog.canonical import CONSTRAINT_KINDS, sort_constraints
from omnigraph.catalog.migration.codes import ChangeCode
from omnigraph.catalog.migration.properties import surviving_names
from omnigraph.catalog.migration.steps import AddConstraint, MigrationStep, UnsupportedChange, entity_name
from omnigraph.catalog.model import Constraint, EdgeType, EntityType, Index, Key, PatternCheck, Range, Unique
from omnigraph.catalog.numbering import TypeName


def constraint_steps(owner: TypeName, accepted: EntityType, desired: EntityType) -> Iterator[MigrationStep]:
    """Yield the steps of all constraints that differ, by kind and members."""
    name_after = surviving_names(accepted, desired)
    if isinstance(accepted, EdgeType):
        name_after |= {"src": "src", "dst": "dst"}
    before = {kept for rule in accepted.constraints if (kept := _kept(rule, name_after)) is not None}
    after = set(desired.constraints)
    gained = after - before
    for rule in sort_constraints(before ^ after):
        if rule in gained:
            yield _added(owner, desired, rule)
        elif not any(_replaces(other, rule) for other in gained):
            yield _removed(owner, desired, rule)


def _kept(rule: Constraint, name_after: Mapping[str, str]) -> Constraint | None:
    """Return an accepted constraint under the desired names, or None if it goes with a dropped property."""
    surviving = tuple(name_after[name] for name in _members(rule) if name in name_after)
    match rule:
        case Key():
            # The dropped members are refused on their own, so only the others are still to be compared.
            return Key(properties=surviving) if surviving else None
        case _ if len(surviving) < len(_members(rule)):
            return None
        case Unique():
            return Unique(properties=tuple(sorted(surviving)))
        case Index():
            return Index(properties=tuple(sorted(surviving)))
        case Range():
            return Range(property=surviving[0], low=rule.low, high=rule.high)
        case PatternCheck():
            return PatternCheck(property=surviving[0], pattern=rule.pattern)


def _replaces(gained: Constraint, lost: Constraint) -> bool:
    """Tell whether a constraint was changed into another one, so that one step says it all.

    Indexes are never changed: a new one can be added, an old one cannot be removed.
    """
    if type(gained) is not type(lost) or isinstance(lost, Index):
        return False
    return isinstance(lost, Key) or not set(_members(lost)).isdisjoint(_members(gained))


def _added(owner: TypeName, desired: EntityType, rule: Constraint) -> MigrationStep:
    match rule:
        case Index():
            return AddConstraint(type_kind=owner.kind, type_name=owner.name, constraint=rule)
        case Key():
            code, reason = ChangeCode.KEY_CHANGED, "its ids are made from the key it has"
        case Unique():
            code, reason = ChangeCode.UNIQUE_ADDED, "existing entities may share values"
        case Range() | PatternCheck():
            code, reason = ChangeCode.VALUE_CONSTRAINT_ADDED, "existing values may break it"
    return _unsupported(owner, desired, rule, code, f"cannot get {spell_constraint(rule)}: {reason}")


def _removed(owner: TypeName, desired: EntityType, rule: Constraint) -> UnsupportedChange:
    code = ChangeCode.KEY_CHANGED if isinstance(rule, Key) else ChangeCode.CONSTRAINT_REMOVED
    return _unsupported(owner, desired, rule, code, f"cannot lose {spell_constraint(rule)}")


def _unsupported(
    owner: TypeName, desired: EntityType, rule: Constraint, code: ChangeCode, reason: str
) -> UnsupportedChange:
    member = next(iter(_members(rule)))
    is_about_one_property = len(_members(rule)) == 1 and member in desired.property_by_name
    entity = entity_name(owner, member if is_about_one_property else None)
    return UnsupportedChange(entity=entity, reason=f"{owner.name} {reason}", code=code)


def spell_constraint(rule: Constraint) -> str:
    """Spell a constraint by its kind and members, e.g. `@index(note)`."""
    return f"@{CONSTRAINT_KINDS[type(rule)]}({', '.join(_members(rule))})"


def _members(rule: Constraint) -> tuple[str, ...]:
    return (rule.property,) if isinstance(rule, (Range, PatternCheck)) else rule.properties
