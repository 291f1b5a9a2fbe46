"""Which changes somebody wants to see: of which kinds, types and operations."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from omnigraph.catalog.canonical import canonical_json
from omnigraph.catalog.model import Catalog, EntityKind, EntityType
from omnigraph.catalog.type_names import each_name, find_types
from omnigraph.changes.compare import Op
from omnigraph.errors import InvalidTarget


def opaque_type_id(catalog: Catalog, entity: EntityType) -> str:
    """Name a type for consumers of changes: the name survives renames, and a re-created type has another."""
    return hashlib.sha256(f"{catalog.identity_domain}/{entity.identity}".encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Filters, resolved; an empty set selects everything."""

    kinds: frozenset[str] = frozenset()
    type_ids: frozenset[str] = frozenset()
    ops: frozenset[Op] = frozenset()

    def takes(self, catalog: Catalog, entity: EntityType) -> bool:
        """Whether changes of this type are wanted."""
        return (not self.kinds or entity.kind in self.kinds) and (
            not self.type_ids or opaque_type_id(catalog, entity) in self.type_ids
        )

    @property
    def digest(self) -> str:
        """What cursors and page tokens remember of the filters."""
        members = [sorted(self.kinds), sorted(self.type_ids), sorted(self.ops)]
        return hashlib.sha256(canonical_json(members).encode()).hexdigest()[:24]


def resolve_selection(
    catalogs: Sequence[Catalog], *, kinds: Sequence[str] = (), types: Sequence[str] = (), ops: Sequence[str] = ()
) -> Selection:
    """Understand filters as they were written; a type is named as in any of the catalogs, by table key or opaque id."""
    _refuse_unknown("kind", kinds, get_args(EntityKind))
    _refuse_unknown("operation", ops, [op.value for op in Op])
    return Selection(
        kinds=frozenset(kinds),
        type_ids=frozenset(type_id for name in each_name(types) for type_id in _type_ids(catalogs, name)),
        ops=frozenset(Op(op) for op in ops),
    )


def _type_ids(catalogs: Sequence[Catalog], name: str) -> set[str]:
    known = {(opaque_type_id(catalog, entity), entity) for catalog in catalogs for entity in catalog.entity_types()}
    if any(name == type_id for type_id, _ in known):
        return {name}
    keys = find_types([name], {entity.table_key for _, entity in known})
    return {type_id for type_id, entity in known if entity.table_key in keys}


def _refuse_unknown(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    for word in given:
        if word not in known:
            raise InvalidTarget(f"{word!r} is not a {what} of changes; use {', '.join(known)}.")
