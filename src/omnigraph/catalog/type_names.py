"""How people name types: `Person`, or `node:Person` where a node and an edge type share a name.

Every command and every Python call that takes a type resolves it here, so that all of them accept the same spellings
and answer a misspelled one alike.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from omnigraph.base.nearest import listed, nearest
from omnigraph.catalog.model import Catalog, EntityType, TableKey
from omnigraph.errors import EntityNotFound, InvalidTarget

_EDGE = "edge:"


def keys_named(name: str, known: Iterable[TableKey]) -> tuple[TableKey, ...]:
    """Return the types that a name means: none, one, or a node and an edge type that share it."""
    if not isinstance(name, str):
        raise InvalidTarget(f"A type is named by text such as 'Person' or 'node:Person', not by {name!r}.")
    return tuple(key for key in known if name in (key, bare_name(key)))


def find_type(name: str, known: Iterable[TableKey], *, what: str = "type") -> TableKey:
    """Return the one type that a name means; raise `EntityNotFound` for none, `InvalidTarget` for two."""
    known = tuple(known)
    return only_one(name, keys_named(name, known), known, what=what)


def only_one(name: str, found: Sequence[TableKey], known: Iterable[TableKey], *, what: str = "type") -> TableKey:
    """Return the one type that was found for a name among the known ones, or raise as `find_type` does."""
    if not found:
        raise no_such_type(name, known, what=what)
    if len(found) > 1:
        raise InvalidTarget(f"{name!r} is a node and an edge type; say {' or '.join(nodes_first(found))}.")
    return found[0]


def find_entity(catalog: Catalog, name: str) -> EntityType:
    """Return the one type of a catalog that a name means, or raise as `find_type` does."""
    return catalog.type_by_table_key[find_type(name, catalog.type_by_table_key)]


def find_types(
    names: Iterable[str],
    known: Iterable[TableKey],
    *,
    what: str = "type",
    look_up: Callable[[str], Collection[TableKey]] | None = None,
) -> tuple[TableKey, ...]:
    """Return all types that any of the names means, nodes first; a name that means none raises `EntityNotFound`.

    `look_up` finds what a name means where more is known than the names of now.
    """
    known = tuple(known)
    found: set[TableKey] = set()
    for name in each_name(names):
        keys = look_up(name) if look_up is not None else keys_named(name, known)
        if not keys:
            raise no_such_type(name, known, what=what)
        found.update(keys)
    return nodes_first(found)


def each_name(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of a list; a text alone is one name, not a list of letters."""
    return (names,) if isinstance(names, str) else tuple(names)


def no_such_type(name: str, known: Iterable[str], *, what: str = "type") -> EntityNotFound:
    """Say that a name means no type, which one comes nearest, and which there are."""
    keys = tuple(known)
    # Compared without its prefix too: `node:Persn` is meant as `node:Person`, and `Persn` as `Person`.
    meant = nearest(name, keys if ":" in name else {bare_name(key): key for key in keys})
    hint = f"did you mean {meant}? It has" if meant is not None else "it has"
    return EntityNotFound(
        f"There is no {what} {name!r} in this graph; {hint} {listed(nodes_first(keys))}.", selector=name
    )


def bare_name(table_key: str) -> str:
    """Return a type's name without its kind."""
    return table_key.rpartition(":")[2]


def nodes_first(keys: Iterable[str]) -> tuple[TableKey, ...]:
    """Order table keys as people read them: nodes before edges, each by name."""
    return tuple(TableKey(key) for key in sorted(set(keys), key=lambda key: (key.startswith(_EDGE), key)))
