"""`implements`: which properties a node takes over from interfaces, and whether it keeps their promises."""

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.catalog.shape import PropertyShape
from omnigraph.catalog.shaping.declared import DeclaredProperty, Owner
from omnigraph.language.problems import Problems
from omnigraph.language.source import Name

InterfaceByName = Mapping[str, tuple[DeclaredProperty, ...]]


def add_interface_properties(
    owner: Owner,
    own: tuple[DeclaredProperty, ...],
    implements: tuple[Name, ...],
    interfaces: InterfaceByName,
    problems: Problems,
) -> tuple[DeclaredProperty, ...]:
    """Return the effective properties of a node: its own ones first, then those that interfaces inject.

    A property in the node's body must have the interface's type; its annotations are the node's alone.
    """
    effective = {declared.shape.name: declared for declared in own}
    for name in _known_once(owner, implements, interfaces, problems):
        for promised in interfaces[name.text]:
            present = effective.get(promised.shape.name)
            if present is None:
                effective[promised.shape.name] = _inject(promised.shape, name)
            elif complaint := _complaint(owner, present.shape, promised.shape, name.text):
                problems.add(present.span if present.shape.declared_directly else name.span, complaint)
            else:
                effective[promised.shape.name] = _satisfy(present, name.text)
    return tuple(effective.values())


def _known_once(
    owner: Owner, implements: tuple[Name, ...], interfaces: InterfaceByName, problems: Problems
) -> tuple[Name, ...]:
    for name in implements:
        if name.text not in interfaces:
            problems.add(name.span, f"{owner} implements the unknown interface {name}")
    return tuple(dict.fromkeys(name for name in implements if name.text in interfaces))


def _inject(promised: PropertyShape, interface: Name) -> DeclaredProperty:
    shape = replace(promised, declared_directly=False, satisfies=(interface.text,))
    return DeclaredProperty(shape=shape, span=interface.span)


def _satisfy(present: DeclaredProperty, interface: str) -> DeclaredProperty:
    satisfies = tuple(sorted((*present.shape.satisfies, interface)))
    return replace(present, shape=replace(present.shape, satisfies=satisfies))


def _complaint(owner: Owner, present: PropertyShape, promised: PropertyShape, interface: str) -> str | None:
    target = f"{owner.name}.{present.name}"
    if present.declared_directly:
        if present.type == promised.type:
            return None
        return f"{target} is {present.type}, but interface {interface} declares it as {promised.type}"
    if replace(present, declared_directly=True, satisfies=()) == promised:
        return None
    earlier = present.satisfies[0]
    return f"{target} is declared differently by the interfaces {earlier} and {interface}; declare it in {owner}"
