"""Which types two snapshots may differ in, decided from pins and schemas alone; opens no table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from omnigraph.catalog.model import Catalog, EntityType, TableIdentity, TableKey
from omnigraph.changes.entities import ChangedType
from omnigraph.changes.selection import Selection, opaque_type_id
from omnigraph.errors import SchemaBoundary
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedType:
    """A type as one snapshot has it."""

    pin: TablePin
    entity: EntityType

    @property
    def columns(self) -> frozenset[tuple[object, ...]]:
        """What decides whether images compare: which properties there are, what they are called and hold.

        Rules such as `@range`, defaults and nullability do not: they change no image.
        """
        return frozenset(
            (declared.property_id, declared.name, declared.type.scalar, declared.type.is_list, declared.type.dimension)
            for declared in self.entity.properties
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TypePair:
    """One type whose pins differ; None is a snapshot that does not have it."""

    type: ChangedType
    table_key: TableKey
    identity: TableIdentity
    before: PinnedType | None
    after: PinnedType | None


def pinned_types(snapshot: GraphSnapshot, catalog: Catalog, selection: Selection) -> Mapping[TableIdentity, PinnedType]:
    """Return the selected types of a snapshot by identity."""
    return {
        pin.identity: PinnedType(pin=pin, entity=entity)
        for pin in snapshot.pins.values()
        if selection.takes(catalog, entity := catalog.type_by_identity[pin.identity])
    }


def pair_types(
    before: Mapping[TableIdentity, PinnedType],
    after: Mapping[TableIdentity, PinnedType],
    *,
    catalog: Catalog,
    commit_id: str,
) -> tuple[TypePair, ...]:
    """Pair types by identity, nodes first and by name, leaving out those whose pins agree.

    Raises `SchemaBoundary` for a type whose columns differ, and for one that went away with its entities: what a
    migration did to them is not told by images. An added type is only inserts.
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
        if was is not None and _is_boundary(was, now):
            raise SchemaBoundary(
                f"The columns of {shown.entity.table_key} changed up to commit {commit_id}, so its entities cannot be "
                "compared across it. Leave the type out, or take a baseline behind the change.",
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
