"""Which types two snapshots may differ in: decided from pins and schemas, before any table is opened."""

from dataclasses import replace
from typing import Any

import pytest

from omnigraph.catalog.model import Catalog, EdgeType, EntityType, NodeType, Property, PropertyType, Scalar
from omnigraph.changes.filters import ChangesRequest, opaque_type_id, resolve_selection
from omnigraph.changes.pairs import PinnedType, TypePair, pair_types
from omnigraph.errors import EntityNotFound, InvalidTarget, SchemaBoundary
from omnigraph.manifest.snapshot import TablePin

AGE = Property(name="age", property_id=11, type=PropertyType(scalar=Scalar.I32, nullable=True))
SAILOR = NodeType(name="Sailor", type_id=1, table_incarnation_id=2, properties=(AGE,))
SHIP = NodeType(name="Ship", type_id=3, table_incarnation_id=4, properties=())
SERVES = EdgeType(name="Anchors", type_id=5, table_incarnation_id=6, properties=(), from_type="Sailor", to_type="Ship")
CATALOG = Catalog(identity_domain="domain", next_identity_id=20, interfaces=(), nodes=(SAILOR, SHIP), edges=(SERVES,))


def pinned(
    entity: EntityType, version: int = 1, *, ref: str | None = None, rows: int = 1, next_identity_id: int = 20
) -> dict[Any, PinnedType]:
    pin = TablePin(
        table_key=entity.table_key,
        identity=entity.identity,
        location=f"nodes/{entity.identity}",
        ref=ref,
        version=version,
        row_count=rows,
    )
    return {entity.identity: PinnedType(pin=pin, entity=entity, next_identity_id=next_identity_id)}


def pair(before: dict[Any, PinnedType], after: dict[Any, PinnedType]) -> tuple[TypePair, ...]:
    return pair_types(before, after, catalog=CATALOG, commit_id="C")


def test_equal_pins_are_no_pair_and_a_pin_is_a_ref_and_a_version():
    assert pair(pinned(SAILOR, 3), pinned(SAILOR, 3)) == ()
    assert len(pair(pinned(SAILOR, 3), pinned(SAILOR, 4))) == 1
    assert len(pair(pinned(SAILOR, 3), pinned(SAILOR, 3, ref="review"))) == 1


def test_nodes_come_before_edges_and_types_by_name():
    after = {**pinned(SERVES), **pinned(SHIP), **pinned(SAILOR)}

    assert [found.table_key for found in pair({}, after)] == ["node:Sailor", "node:Ship", "edge:Anchors"]


def test_a_renamed_type_keeps_its_id_and_shows_its_new_name():
    renamed = replace(SAILOR, name="Mariner")

    (found,) = pair(pinned(SAILOR, 1), pinned(renamed, 2))

    assert found.type.name == "Mariner"
    assert found.type.type_id == opaque_type_id(CATALOG, SAILOR)


def test_a_recreated_type_is_another_type():
    recreated = replace(SAILOR, table_incarnation_id=9)

    (found,) = pair(pinned(SAILOR, rows=0), pinned(recreated))[1:]

    assert found.before is None or found.after is None
    assert opaque_type_id(CATALOG, SAILOR) != opaque_type_id(CATALOG, recreated)


@pytest.mark.parametrize(
    "changed",
    [
        (),
        (AGE, replace(AGE, name="height", property_id=12)),
        (replace(AGE, name="height", property_id=21),),
        (replace(AGE, name="years"),),
        (replace(AGE, property_id=12),),
        (replace(AGE, type=PropertyType(scalar=Scalar.I64, nullable=True)),),
        (replace(AGE, type=PropertyType(scalar=Scalar.I32, is_list=True)),),
    ],
    ids=["dropped", "brought back", "dropped beside one that came later", "renamed", "recreated", "widened", "listed"],
)
def test_a_change_of_columns_is_a_boundary(changed: tuple[Property, ...]):
    with pytest.raises(SchemaBoundary) as refused:
        pair(pinned(SAILOR, 1), pinned(replace(SAILOR, properties=changed), 2))

    assert refused.value.details == {"reason": "schema_boundary", "graph_commit_id": "C", "type_name": "Sailor"}


def test_a_property_that_came_later_is_filled_on_the_older_side_in_both_directions():
    height = replace(AGE, name="height", property_id=21)
    newer = replace(SAILOR, properties=(AGE, height))

    (forward,) = pair(pinned(SAILOR, 1), pinned(newer, 2, next_identity_id=22))
    (backward,) = pair(pinned(newer, 2, next_identity_id=22), pinned(SAILOR, 1))

    assert forward.before is not None
    assert forward.after is not None
    assert (forward.before.filled, forward.after.filled) == ((height,), ())
    assert forward.before.entity.properties == (AGE, height)
    assert backward.after == forward.before


def test_a_rule_or_a_default_is_no_boundary():
    relaxed = replace(AGE, default=18, type=PropertyType(scalar=Scalar.I32, nullable=False))

    assert len(pair(pinned(SAILOR, 1), pinned(replace(SAILOR, properties=(relaxed,)), 2))) == 1


def test_a_type_that_went_with_its_entities_is_a_boundary_and_an_empty_one_is_not():
    with pytest.raises(SchemaBoundary):
        pair(pinned(SHIP, rows=1), {})

    assert len(pair(pinned(SHIP, rows=0), {})) == 1
    assert len(pair({}, pinned(SHIP, rows=5))) == 1


def test_types_are_named_by_name_table_key_or_id():
    ids = {
        resolve_selection([CATALOG], ChangesRequest(types=[name])).type_ids
        for name in ("Sailor", "node:Sailor", opaque_type_id(CATALOG, SAILOR))
    }

    assert ids == {frozenset({opaque_type_id(CATALOG, SAILOR)})}
    with pytest.raises(EntityNotFound, match="Whale"):
        resolve_selection([CATALOG], ChangesRequest(types=["Whale"]))
    with pytest.raises(InvalidTarget, match="insert, update, delete"):
        resolve_selection([CATALOG], ChangesRequest(ops=["upsert"]))


def test_the_order_of_filters_does_not_matter_to_a_cursor_and_their_meaning_does():
    one = resolve_selection([CATALOG], ChangesRequest(types=["Sailor", "Ship"], ops=["insert", "delete"]))
    same = resolve_selection(
        [CATALOG], ChangesRequest(types=["Ship", "node:Sailor"], ops=["delete", "insert", "delete"])
    )
    other = resolve_selection([CATALOG], ChangesRequest(types=["Ship"], ops=["delete", "insert"]))

    assert one.digest == same.digest != other.digest


def test_a_type_that_is_left_out_is_left_out_whatever_else_is_asked_for():
    selection = resolve_selection([CATALOG], ChangesRequest(types=["Sailor", "Ship"], exclude_types=["node:Ship"]))

    assert [entity.name for entity in CATALOG.entity_types() if selection.takes(CATALOG, entity)] == ["Sailor"]
    assert selection.digest != resolve_selection([CATALOG], ChangesRequest(types=["Sailor", "Ship"])).digest
    with pytest.raises(EntityNotFound, match="did you mean Ship"):
        resolve_selection([CATALOG], ChangesRequest(exclude_types=["Shop"]))
