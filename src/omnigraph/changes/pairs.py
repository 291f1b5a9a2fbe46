"""Which types two snapshots may differ in, decided from pins and schemas alone; opens no table."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EntityType, Property, TableIdentity, TableKey
from omnigraph.changes.entities import ChangedType
from omnigraph.changes.filters import ChangeFilter, opaque_type_id
from omnigraph.errors import SchemaBoundary
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedType:
    """A type as one snapshot has it."""

    pin: TablePin
    entity: EntityType
    next_identity_id: int = 0
    """Of the schema that the snapshot has: a property with this number or a higher one came later."""
    filled: tuple[Property, ...] = ()
    """Properties that came later and are read as what their migration gave to the rows of that time."""

    @property
    def columns(self) -> frozenset[tuple[object, ...]]:
        """What decides whether images compare: which properties there are, what they are called and hold.

        Rules such as `@range`, defaults and nullability do not: they change no image.
        """
        return frozenset(
            (declared.property_id, declared.name, declared.type.scalar, declared.type.is_list, declared.type.dimension)
            for declared in self.entity.properties
        )

    def seen_from(self, other: "PinnedType") -> "PinnedType":
        """Return the type with the properties that only the other snapshot has, if they came later than this one.

        A property that was there once and was dropped, renamed or declared anew stays missing.
        """
        known = {declared.property_id for declared in self.entity.properties}
        later = [
            declared
            for declared in other.entity.properties
            if declared.property_id not in known and declared.property_id >= self.next_identity_id > 0
        ]
        if not later:
            return self
        properties = sorted([*self.entity.properties, *later], key=lambda declared: declared.name)
        return replace(self, entity=replace(self.entity, properties=tuple(properties)), filled=tuple(later))


@dataclass(frozen=True, slots=True, kw_only=True)
class TypePair:
    """One type whose pins differ; None is a snapshot that does not have it."""

    type: ChangedType
    table_key: TableKey
    identity: TableIdentity
    before: PinnedType | None
    after: PinnedType | None


def pinned_types(
    snapshot: GraphSnapshot, catalog: Catalog, selection: ChangeFilter, *, besides: Container[TableIdentity] = ()
) -> Mapping[TableIdentity, PinnedType]:
    """Return the selected types of a snapshot by identity, besides some."""
    return {
        pin.identity: PinnedType(pin=pin, entity=entity, next_identity_id=catalog.next_identity_id)
        for pin in snapshot.pins.values()
        if pin.identity not in besides and selection.takes(catalog, entity := catalog.type_by_identity[pin.identity])
    }


def unmoved(before: GraphSnapshot, after: GraphSnapshot) -> frozenset[TableIdentity]:
    """Return the types whose pins agree; of most commits these are nearly all."""
    state_by_identity = {pin.identity: (pin.address, pin.version) for pin in before.pins.values()}
    return frozenset(
        pin.identity
        for key, pin in after.pins.items()
        if pin is before.pins.get(key) or state_by_identity.get(pin.identity) == (pin.address, pin.version)
    )


def pair_types(
    before: Mapping[TableIdentity, PinnedType],
    after: Mapping[TableIdentity, PinnedType],
    *,
    catalog: Catalog,
    commit_id: str,
) -> tuple[TypePair, ...]:
    """Pair types by identity, nodes first and by name, leaving out those whose pins agree.

    Raises `SchemaBoundary` for a type whose columns differ, and for one that went away with its entities: what a
    migration did to them is not told by images. An added type is only inserts, and an added property reads on the older
    side as what rows of that time got.
    """
    return tuple(
        sorted(
            _differing(before, after, catalog=catalog, commit_id=commit_id),
            key=lambda pair: (pair.type.kind != "node", pair.type.name, str(pair.identity)),
        )
    )


def _differing(
    before: Mapping[TableIdentity, PinnedType],
    after: Mapping[TableIdentity, PinnedType],
    *,
    catalog: Catalog,
    commit_id: str,
) -> Iterator[TypePair]:
    for identity in {**before, **after}:
        was, now = before.get(identity), after.get(identity)
        shown = now or was
        if shown is None or (was is not None and now is not None and _state(was) == _state(now)):
            continue
        if was is not None and now is not None:
            was, now = was.seen_from(now), now.seen_from(was)
        if was is not None and _is_boundary(was, now):
            raise SchemaBoundary(
                f"The columns of {shown.entity.table_key} changed up to commit {commit_id}, so its entities cannot be "
                f"compared across it. Leave the type out with --exclude-type {shown.entity.name} (exclude_types in "
                "Python), or take a baseline behind the change.",
                reason="schema_boundary",
                graph_commit_id=commit_id,
                type_name=shown.entity.name,
            )
        yield TypePair(
            type=ChangedType(
                kind=shown.entity.kind, type_id=opaque_type_id(catalog, shown.entity), name=shown.entity.name
            ),
            table_key=shown.entity.table_key,
            identity=identity,
            before=was,
            after=now,
        )


def _state(pinned: PinnedType) -> tuple[object, ...]:
    return pinned.pin.address, pinned.pin.version


def _is_boundary(was: PinnedType, now: PinnedType | None) -> bool:
    return was.pin.row_count > 0 if now is None else was.columns != now.columns
