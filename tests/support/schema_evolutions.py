"""Generated schemas, and evolutions of a schema that a graph with data can follow."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from hypothesis import strategies as st

# --- schemas as values, so that they can be changed before they are written


@dataclass(frozen=True, kw_only=True)
class Prop:
    """A property; `origin` is the name it had in the schema that an evolution started from."""

    name: str
    type: str
    notes: tuple[str, ...] = ()
    origin: str | None = None
    hint: str | None = None

    def __str__(self):
        return " ".join([f"{self.name}: {self.type}", *self.notes, *_hint(self)])


@dataclass(frozen=True, kw_only=True)
class Owner:
    """A type; `rules` are lists of members behind `@key`, `@unique`, `@index`."""

    kind: str
    name: str
    props: tuple[Prop, ...] = ()
    notes: tuple[str, ...] = ()
    implements: tuple[str, ...] = ()
    rules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    ends: tuple[str, str] | None = None
    origin: str | None = None
    hint: str | None = None

    def __str__(self):
        ends = f": {' -> '.join(self.ends)}" if self.ends else ""
        implements = f"implements {', '.join(self.implements)}" if self.implements else ""
        rules = [f"@{kind}({', '.join(members)})" for kind, members in self.rules]
        header = [f"{self.kind} {self.name}{ends}", *self.notes, *_hint(self), implements]
        return " ".join([*header, "{", *map(str, self.props), *rules, "}"])


def _hint(declared):
    hint = declared.hint or (declared.origin if declared.origin != declared.name else None)
    return [f'@rename_from("{hint}")'] if hint else []


def text_of(owners):
    return "\n".join(map(str, owners))


# --- generators

NOTES = ["@index", "@unique", '@description("d")', "@level(1)", "@level(true)"]
TYPES = {
    "String": [*NOTES, '@default("d")'],
    "String?": NOTES,
    "I32": [*NOTES, "@default(7)"],
    "I64?": [*NOTES, "@default(8)"],
    "F64?": [*NOTES, "@default(0.0)", "@default(-0.0)"],
    "enum(a, b)": [*NOTES, "@default(a)"],
    "enum(a, b, c)": [*NOTES, "@default(b)"],
    "enum(b, a)?": NOTES,
    "[String]?": ['@description("l")'],
    "Vector(2)?": ["@index"],
    "Vector(3)": [],
}
INDEXABLE = {kind for kind in TYPES if "@index" in TYPES[kind] and "Vector" not in kind}


def props(names, *, hints=()):
    """Generate some properties with these names, which may claim any of `hints`."""
    return st.lists(st.sampled_from(names), unique=True).flatmap(
        lambda chosen: st.tuples(*(prop(name, hints=hints) for name in sorted(chosen)))
    )


def _seldom(hints):
    # One hint that leads nowhere spoils a whole schema.
    return st.sampled_from([*[None] * 20, *hints])


@st.composite
def prop(draw, name, *, hints=()):
    kind = draw(st.sampled_from(sorted(TYPES)))
    note = draw(st.sampled_from(["", *TYPES[kind]]))
    hint = draw(_seldom(hints))
    return Prop(name=name, type=kind, notes=(note,) if note else (), hint=hint)


@st.composite
def owners(draw, *, hints=False):
    """Generate a schema from few names, so that two of them have much in common."""
    # Interfaces that share a property must declare it alike, so that is drawn once.
    promises = draw(props(["i", "j"], hints=("i", "k") if hints else ()))
    interfaces = [
        Owner(kind="interface", name=name, props=tuple(found for found in promises if draw(st.booleans())))
        for name in draw(st.lists(st.sampled_from(["I", "J"]), unique=True))
    ]
    names = sorted(draw(st.sets(st.sampled_from(["A", "B", "C"]), min_size=1)))
    nodes = [draw(_node(name, interfaces, hints=hints)) for name in names]
    edges = [draw(_edge(name, names, hints=hints)) for name in sorted(draw(st.sets(st.sampled_from(["E", "F"]))))]
    return [*interfaces, *nodes, *edges]


@st.composite
def _node(draw, name, interfaces, *, hints):
    implemented = [interface for interface in interfaces if draw(st.booleans())]
    own = list(draw(props(["p", "q", "r"], hints=("p", "q", "i") if hints else ())))
    inherited = {found.name: found.type for interface in implemented for found in interface.props}
    own += [Prop(name=found, type=inherited[found]) for found in sorted(inherited) if draw(st.booleans())]
    return Owner(
        kind="node",
        name=name,
        props=(*own, *draw(st.sampled_from([(), (Prop(name="key", type="String", notes=("@key",)),)]))),
        notes=draw(st.sampled_from([(), ('@description("n")',), ('@instruction("n")', "@level(2)")])),
        implements=tuple(interface.name for interface in implemented),
        rules=_rules(draw, own),
        hint=draw(_seldom(["A", "B", "D", "E"] if hints else [])),
    )


@st.composite
def _edge(draw, name, node_names, *, hints):
    plain = draw(props(["p", "q"], hints=("p",) if hints else ()))
    return Owner(
        kind="edge",
        name=name,
        props=plain,
        notes=draw(st.sampled_from([(), ("@card(0..1)",), ('@description("e")',)])),
        ends=(draw(st.sampled_from(node_names)), draw(st.sampled_from(node_names))),
        rules=(*_rules(draw, plain), *draw(st.sampled_from([(), (("unique", ("src", "dst")),)]))),
        hint=draw(_seldom(["E", "F", "A"] if hints else [])),
    )


def _rules(draw, properties):
    fit = [found.name for found in properties if found.type in INDEXABLE]
    members = st.lists(st.sampled_from(fit), min_size=1, unique=True).map(tuple)
    return tuple(draw(st.lists(st.tuples(st.sampled_from(["unique", "index"]), members), max_size=2))) if fit else ()


# --- evolutions: changes that a graph with data can follow


def _swap(schema, old, new):
    return [new if owner is old else owner for owner in schema]


def add_property(draw, schema, fresh):
    owner = draw(st.sampled_from(schema))
    added = draw(st.sampled_from(["I32?", "String?", "enum(x)?", "Vector(4)?"]))
    notes = draw(st.sampled_from([(), ("@index",), ('@description("new")',)]))
    return _swap(schema, owner, replace(owner, props=(*owner.props, Prop(name=fresh, type=added, notes=notes))))


def add_property_with_default(draw, schema, fresh):
    owner = draw(st.sampled_from(schema))
    added = Prop(name=fresh, type="I32", notes=("@default(3)",))
    return _swap(schema, owner, replace(owner, props=(*owner.props, added)))


def rename_property(draw, schema, fresh):
    owner, old = draw(st.sampled_from(_properties(schema)))
    return _swap(schema, owner, _with_property(owner, old, replace(old, name=fresh)))


def extend_enum(draw, schema, fresh):
    owner, old = draw(st.sampled_from(_properties(schema)))
    if "enum" not in old.type:
        return schema
    return _swap(schema, owner, _with_property(owner, old, replace(old, type=old.type.replace("(", f"({fresh}, "))))


def describe_property(draw, schema, fresh):
    owner, old = draw(st.sampled_from(_properties(schema)))
    kept = [note for note in old.notes if "description" not in note]
    return _swap(schema, owner, _with_property(owner, old, replace(old, notes=(*kept, f'@description("{fresh}")'))))


def add_index(draw, schema, fresh):
    owner, old = draw(st.sampled_from(_properties(schema)))
    if owner.kind == "interface" or old.type not in INDEXABLE:
        return schema
    return _swap(schema, owner, replace(owner, rules=(*owner.rules, ("index", (old.name,)))))


def drop_property(draw, schema, fresh):
    owner, old = draw(st.sampled_from(_properties(schema)))
    if "@key" in old.notes:
        return schema
    rules = tuple((kind, members) for kind, members in owner.rules if old.name not in members)
    kept = tuple(found for found in owner.props if found is not old)
    return _swap(schema, owner, replace(owner, props=kept, rules=rules))


def rename_type(draw, schema, fresh):
    owner = draw(st.sampled_from(schema))
    if owner.kind == "interface":
        return schema
    name = fresh.upper()
    renamed = _swap(schema, owner, replace(owner, name=name))
    if owner.kind == "edge":
        return renamed
    return [
        replace(found, ends=tuple(name if end == owner.name else end for end in found.ends)) if found.ends else found
        for found in renamed
    ]


def add_type(draw, schema, fresh):
    kind = draw(st.sampled_from(["interface", "node"]))
    return [*schema, Owner(kind=kind, name=fresh.upper(), props=(Prop(name="x", type="String"),))]


def describe_type(draw, schema, fresh):
    owner = draw(st.sampled_from(schema))
    if owner.kind == "interface":
        return schema
    kept = [note for note in owner.notes if "description" not in note]
    return _swap(schema, owner, replace(owner, notes=(*kept, f'@description("{fresh}")')))


def drop_type(draw, schema, fresh):
    owner = draw(st.sampled_from(schema))
    is_needed = any(owner.name in (found.ends or ()) for found in schema)
    if owner.kind == "interface" or (owner.kind == "node" and is_needed):
        return schema
    return [found for found in schema if found is not owner]


CHANGES_OF_PROPERTIES: list[Callable] = [rename_property, extend_enum, describe_property, add_index, drop_property]
CHANGES: list[Callable] = [add_property, add_property_with_default, rename_type, add_type, describe_type, drop_type]


def _properties(schema):
    return [(owner, found) for owner in schema for found in owner.props]


def _with_property(owner, old, new):
    rules = tuple(
        (kind, tuple(new.name if name == old.name else name for name in members)) for kind, members in owner.rules
    )
    return replace(owner, props=tuple(new if found is old else found for found in owner.props), rules=rules)


def _settled(schema):
    """Forget where things came from: this is the accepted schema now."""
    return [
        replace(owner, origin=owner.name, props=tuple(replace(found, origin=found.name) for found in owner.props))
        for owner in schema
    ]


def _names_are_told_once(schema):
    """Tell whether a node gets each property from one place, so that changing that place is all there is to do."""
    promised = [found.name for owner in schema if owner.kind == "interface" for found in owner.props]
    own = {found.name for owner in schema if owner.kind == "node" for found in owner.props}
    return len(set(promised)) == len(promised) and own.isdisjoint(promised)


@st.composite
def evolutions(draw, schema, *, prefix):
    """Change a settled schema a few times, always in a way that is supported; `prefix` starts every new name."""
    fresh = (f"{prefix}{number}" for number in count())
    for _ in range(draw(st.integers(0, 6))):
        possible = CHANGES + (CHANGES_OF_PROPERTIES if _properties(schema) else []) if schema else [add_type]
        schema = draw(st.sampled_from(possible))(draw, schema, next(fresh))
    return schema


@st.composite
def histories(draw):
    """Generate an accepted schema and two evolutions, one after the other."""
    first = _settled(draw(owners().filter(_names_are_told_once)))
    second = draw(evolutions(first, prefix="s"))
    third = draw(evolutions(_settled(second), prefix="t"))
    return first, second, third
