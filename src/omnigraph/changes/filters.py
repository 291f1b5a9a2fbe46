"""Which changes somebody wants to see: of which kinds, types and operations."""

import hashlib
from collections.abc import Callable, Sequence
from typing import get_args

from omnigraph.base.values import dataclass
from omnigraph.catalog.canonical import canonical_json
from omnigraph.catalog.model import Catalog, EntityKind, EntityType
from omnigraph.catalog.type_names import each_name, keys_named, no_such_type
from omnigraph.changes.compare import Op
from omnigraph.errors import InvalidTarget


def opaque_type_id(catalog: Catalog, entity: EntityType) -> str:
    """Name a type for consumers of changes: the name survives renames, and a re-created type has another."""
    return hashlib.sha256(f"{catalog.identity_domain}/{entity.identity}".encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesRequest:
    """Which changes somebody asks for, as they wrote it; what is left out selects everything."""

    kinds: Sequence[str] = ()
    types: Sequence[str] = ()
    """Each is named as in any schema that the changes belong to, by table key or by opaque id."""
    ops: Sequence[str] = ()
    exclude_types: Sequence[str] = ()
    """Named in the same ways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFilter:
    """Filters, resolved; an empty set selects everything."""

    kinds: frozenset[str] = frozenset()
    type_ids: frozenset[str] = frozenset()
    ops: frozenset[Op] = frozenset()
    excluded_ids: frozenset[str] = frozenset()

    def takes(self, catalog: Catalog, entity: EntityType) -> bool:
        """Whether changes of this type are wanted."""
        type_id = opaque_type_id(catalog, entity)
        is_wanted = (not self.kinds or entity.kind in self.kinds) and (not self.type_ids or type_id in self.type_ids)
        return is_wanted and type_id not in self.excluded_ids

    @property
    def digest(self) -> str:
        """What cursors and page tokens remember of the filters."""
        members = [sorted(self.kinds), sorted(self.type_ids), sorted(self.ops)]
        if self.excluded_ids:  # else as cursors had it before there were exclusions
            members.append(sorted(self.excluded_ids))
        return hashlib.sha256(canonical_json(members).encode()).hexdigest()[:24]


def resolve_selection(
    catalogs: Sequence[Catalog], request: ChangesRequest, *, earlier: Callable[[], Sequence[Catalog]] = tuple
) -> ChangeFilter:
    """Understand filters as they were written; a type is named as in any of the catalogs, by table key or opaque id.

    What is left out may be named as in `earlier` ones too, and so may a type that none of the catalogs knows.
    """
    kinds, ops, excluded = each_name(request.kinds), each_name(request.ops), request.exclude_types
    _refuse_unknown("kind", kinds, get_args(EntityKind))
    _refuse_unknown("operation", ops, [op.value for op in Op])
    return ChangeFilter(
        kinds=frozenset(kinds),
        type_ids=_type_ids(catalogs, request.types, earlier),
        ops=frozenset(Op(op) for op in ops),
        excluded_ids=_type_ids([*catalogs, *earlier()], excluded) if excluded else frozenset(),
    )


def _type_ids(
    catalogs: Sequence[Catalog], names: Sequence[str], earlier: Callable[[], Sequence[Catalog]] = tuple
) -> frozenset[str]:
    found: set[str] = set()
    for name in each_name(names):
        type_ids = _named(catalogs, name) or _named(all_known := [*catalogs, *earlier()], name)
        if not type_ids:
            raise no_such_type(name, {entity.table_key for known in all_known for entity in known.entity_types()})
        found |= type_ids
    return frozenset(found)


def _named(catalogs: Sequence[Catalog], name: str) -> set[str]:
    known = {(opaque_type_id(catalog, entity), entity) for catalog in catalogs for entity in catalog.entity_types()}
    keys = keys_named(name, {entity.table_key for _, entity in known})
    return {type_id for type_id, entity in known if type_id == name or entity.table_key in keys}


def _refuse_unknown(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    for word in given:
        if word not in known:
            raise InvalidTarget(f"{word!r} is no {what} of changes; use {', '.join(known)}.")
