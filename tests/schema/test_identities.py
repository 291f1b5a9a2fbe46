"""Which accepted identity each declaration of a desired schema gets."""

import pytest

from omnigraph.catalog.compile import compile_schema, compile_shape
from omnigraph.catalog.ir import ir_bytes, schema_hash
from omnigraph.catalog.migration import resolve
from omnigraph.errors import UnsupportedSchemaChange

FLEET = """
interface Tagged { tags: [String]? }
node Boat implements Tagged { hull: String @key  crew: I32? }
node Pier { code: String @key }
edge Docks: Boat -> Pier { since: Date? }
"""


def compiled(text):
    return compile_schema(text, source="fleet.pg", identity_domain="01JQ0000000000000000000000")


def resolved(accepted, text):
    return resolve(accepted, compile_shape(text, source="fleet.pg"))


def changed(old, new, text=FLEET):
    assert old in text
    return text.replace(old, new)


def refusal(text, *, accepted=FLEET):
    with pytest.raises(UnsupportedSchemaChange) as caught:
        resolved(compiled(accepted), text)
    assert caught.value.details["rule"] == "OG-BC-101"
    assert str(caught.value).startswith("[OG-BC-101] ")
    return caught.value


def ids_of(owner):
    return {declared.name: declared.property_id for declared in owner.properties}


# --- what continues


def test_an_unchanged_schema_keeps_every_identity_and_the_counter():
    accepted = compiled(FLEET)

    resolution = resolved(accepted, FLEET)

    assert ir_bytes(resolution.catalog) == ir_bytes(accepted)
    assert resolution.diagnostics == ()


def test_a_new_type_takes_new_identities_after_the_counter():
    accepted = compiled(FLEET)

    catalog = resolved(accepted, FLEET + "node Crane { load: F64? }").catalog

    crane = catalog.node_by_name["Crane"]
    first = accepted.next_identity_id
    assert (crane.type_id, crane.properties[0].property_id, crane.table_incarnation_id) == (first, first + 1, first + 2)
    assert catalog.next_identity_id == first + 3
    assert catalog.node_by_name["Boat"] == accepted.node_by_name["Boat"]


def test_a_renamed_node_keeps_its_table_and_its_properties():
    accepted = compiled(FLEET)

    text = changed("node Boat", 'node Ship @rename_from("Boat")').replace("Docks: Boat", "Docks: Ship")
    catalog = resolved(accepted, text).catalog

    ship, boat = catalog.node_by_name["Ship"], accepted.node_by_name["Boat"]
    assert ship.identity == boat.identity
    assert ids_of(ship) == ids_of(boat)
    assert "Boat" not in catalog.node_by_name
    assert catalog.next_identity_id == accepted.next_identity_id


def test_a_renamed_edge_keeps_its_table():
    accepted = compiled(FLEET)

    text = changed("edge Docks: Boat -> Pier", 'edge Moors: Boat -> Pier @rename_from("Docks")')
    (moors,) = resolved(accepted, text).catalog.edges

    assert moors.name == "Moors"
    assert moors.identity == accepted.edges[0].identity
    assert ids_of(moors) == ids_of(accepted.edges[0])


def test_a_renamed_property_keeps_its_identity_in_a_renamed_type():
    accepted = compiled(FLEET)

    text = changed("node Boat", 'node Ship @rename_from("Boat")').replace("Docks: Boat", "Docks: Ship")
    text = changed("crew: I32?", 'sailors: I32? @rename_from("crew")', text)
    ship = resolved(accepted, text).catalog.node_by_name["Ship"]

    assert ids_of(ship)["sailors"] == ids_of(accepted.node_by_name["Boat"])["crew"]


def test_a_renamed_edge_property_keeps_its_identity():
    accepted = compiled(FLEET)

    catalog = resolved(accepted, changed("since: Date?", 'moored: Date? @rename_from("since")')).catalog

    assert ids_of(catalog.edges[0])["moored"] == ids_of(accepted.edges[0])["since"]


def test_a_hint_in_an_interface_renames_what_was_inherited_from_it():
    accepted = compiled(FLEET)

    text = changed("tags: [String]?", 'labels: [String]? @rename_from("tags")')
    text += "node Buoy implements Tagged { }"
    catalog = resolved(accepted, text).catalog

    assert ids_of(catalog.interfaces[0]) == {"labels": ids_of(accepted.interfaces[0])["tags"]}
    assert ids_of(catalog.node_by_name["Boat"])["labels"] == ids_of(accepted.node_by_name["Boat"])["tags"]
    assert ids_of(catalog.node_by_name["Buoy"])["labels"] >= accepted.next_identity_id


def test_an_interface_hint_leaves_a_node_alone_that_inherits_only_now():
    accepted = compiled("interface Named { title: String? } node Boat { title: String? }")

    text = 'interface Named { name: String? @rename_from("title") } node Boat implements Named { title: String? }'
    boat = resolved(accepted, text).catalog.node_by_name["Boat"]

    assert ids_of(boat)["title"] == ids_of(accepted.nodes[0])["title"]
    assert ids_of(boat)["name"] >= accepted.next_identity_id


def test_composite_key_order_survives_a_rename_of_a_member():
    accepted = compiled("node Berth { pier: String  slot: U32  @key(slot, pier) }")

    text = 'node Berth { zone: String @rename_from("pier")  slot: U32  @key(slot, zone) }'
    berth = resolved(accepted, text).catalog.nodes[0]

    assert berth.key.properties == ("zone", "slot")


def test_nodes_edges_and_interfaces_of_one_name_are_different_types():
    accepted = compiled("interface Link { } node Link { } node A { } edge Join: A -> A")

    catalog = resolved(accepted, "interface Link { } node A { } edge Link: A -> A").catalog

    assert catalog.interfaces[0].type_id == accepted.interfaces[0].type_id
    assert catalog.edges[0].type_id >= accepted.next_identity_id


def test_what_was_dropped_comes_back_as_something_new():
    accepted = compiled(FLEET)
    text = changed("crew: I32?", "").replace("edge Docks: Boat -> Pier { since: Date? }", "")
    without = resolved(accepted, text).catalog

    again = resolved(without, FLEET).catalog

    assert schema_hash(again) == schema_hash(accepted)
    assert ids_of(again.node_by_name["Boat"])["crew"] >= accepted.next_identity_id
    assert again.edges[0].type_id >= accepted.next_identity_id
    assert again.edges[0].table_incarnation_id >= accepted.next_identity_id
    assert again.node_by_name["Boat"].identity == accepted.node_by_name["Boat"].identity


# --- hints without effect


def test_an_applied_hint_that_stays_in_the_source_is_ignored_and_reported():
    text = changed("node Pier {", 'node Pier @rename_from("Quay") {').replace(
        "hull: String @key", 'hull: String @key @rename_from("name")'
    )
    accepted = compiled(FLEET)

    resolution = resolved(accepted, text)

    assert resolution.catalog == accepted
    assert [(found.entity, found.hint) for found in resolution.diagnostics] == [
        ("node:Pier", "Quay"),
        ("node:Boat.hull", "name"),
    ]
    assert str(resolution.diagnostics[0]) == (
        '@rename_from("Quay") on node:Pier is ignored: the accepted schema has node:Pier already'
    )


def test_an_ignored_interface_hint_is_reported_once():
    resolution = resolved(compiled(FLEET), changed("tags: [String]?", 'tags: [String]? @rename_from("labels")'))

    assert [found.entity for found in resolution.diagnostics] == ["interface:Tagged.tags"]


def test_two_types_cannot_swap_names():
    accepted = compiled("node A { x: I32? } node B { y: I32? }")

    resolution = resolved(accepted, 'node A @rename_from("B") { x: I32? } node B @rename_from("A") { y: I32? }')

    assert resolution.catalog == accepted
    assert [found.entity for found in resolution.diagnostics] == ["node:A", "node:B"]


# --- hints that cannot be followed


@pytest.mark.parametrize(
    ("change", "entity", "words"),
    [
        pytest.param(
            ("node Pier", 'node Quay @rename_from("Dock") { } node Pier'),
            "node:Quay",
            ['@rename_from("Dock")', "no node Dock"],
            id="no such type",
        ),
        pytest.param(
            ("node Pier", 'node Quay @rename_from("Docks") { } node Pier'),
            "node:Quay",
            ['@rename_from("Docks")', "edge:Docks", "no node of that name"],
            id="only another kind",
        ),
        pytest.param(
            ("edge Docks", 'edge Moors: Boat -> Pier @rename_from("Tagged") edge Docks'),
            "edge:Moors",
            ['@rename_from("Tagged")', "interface:Tagged"],
            id="an interface",
        ),
        pytest.param(
            ("node Pier", 'node Quay @rename_from("Pier") { } node Pier'),
            "node:Quay",
            ['@rename_from("Pier")', "already continues as node:Pier"],
            id="still declared",
        ),
        pytest.param(
            (
                "edge Docks: Boat -> Pier",
                'edge Lands: Boat -> Pier @rename_from("Docks") edge Moors: Boat -> Pier @rename_from("Docks")',
            ),
            "edge:Moors",
            ['@rename_from("Docks")', "already continues as edge:Lands"],
            id="two types claim one",
        ),
        pytest.param(
            ("crew: I32?", 'sailors: I32? @rename_from("hands")'),
            "node:Boat.sailors",
            ['@rename_from("hands")', "node:Boat has no property hands"],
            id="no such property",
        ),
        pytest.param(
            ("crew: I32?", 'number: String? @rename_from("code")'),
            "node:Boat.number",
            ['@rename_from("code")', "node:Boat has no property code", "node:Pier.code"],
            id="property of another type",
        ),
        pytest.param(
            ("crew: I32?", 'crew: I32? sailors: I32? @rename_from("crew")'),
            "node:Boat.sailors",
            ['@rename_from("crew")', "already continues as node:Boat.crew"],
            id="property still declared",
        ),
        pytest.param(
            ("crew: I32?", 'hands: I32? @rename_from("crew") sailors: I32? @rename_from("crew")'),
            "node:Boat.sailors",
            ['@rename_from("crew")', "already continues as node:Boat.hands"],
            id="two properties claim one",
        ),
        pytest.param(
            ("node Pier", 'node Quay { label: String? @rename_from("code") } node Pier'),
            "node:Quay.label",
            ['@rename_from("code")', "node:Quay is new"],
            id="property of a new node",
        ),
        pytest.param(
            ("node Pier", 'interface Named { name: String? @rename_from("tags") } node Pier'),
            "interface:Named.name",
            ['@rename_from("tags")', "interface:Named is new"],
            id="property of a new interface",
        ),
        pytest.param(
            ("interface Tagged { tags: [String]? }", 'interface Tagged { labels: [String]? @rename_from("notes") }'),
            "interface:Tagged.labels",
            ['@rename_from("notes")', "interface:Tagged has no property notes"],
            id="no such interface property",
        ),
    ],
)
def test_a_hint_that_cannot_be_followed_is_refused(change, entity, words):
    refused = refusal(changed(*change))

    assert refused.details["entity"] == entity
    for word in [entity, *words]:
        assert word in str(refused)


def test_a_hint_on_a_renamed_type_looks_among_the_properties_of_the_accepted_one():
    text = 'node Quay @rename_from("Pier") { number: String @key @rename_from("hull") }'

    refused = refusal(text, accepted="node Pier { code: String @key } node Boat { hull: String @key }")

    assert "node:Pier has no property hull" in str(refused)
    assert refused.details["entity"] == "node:Quay.number"


def test_a_node_cannot_keep_what_an_interface_hint_renames():
    text = changed("tags: [String]?", 'labels: [String]? @rename_from("tags")')

    refused = refusal(changed("crew: I32?", "tags: [String]?", text))

    assert refused.details["entity"] == "node:Boat.labels"
    assert "tags already continues as node:Boat.tags" in str(refused)


def test_a_property_inherited_from_two_interfaces_cannot_be_renamed_in_one_of_them():
    accepted = "interface I { x: I32? } interface J { x: I32? } node A implements I, J { }"
    text = 'interface I { y: I32? @rename_from("x") } interface J { x: I32? } node A implements I, J { }'

    refused = refusal(text, accepted=accepted)

    assert refused.details["entity"] == "node:A.y"
    assert "x already continues as node:A.x" in str(refused)


def test_all_unresolved_hints_are_told_at_once():
    text = changed("hull: String @key", 'name: String @key @rename_from("a")')

    refused = refusal(changed("since: Date?", 'moored: Date? @rename_from("b")', text))

    assert [line.split(" cannot")[0] for line in str(refused).splitlines()] == [
        '[OG-BC-101] @rename_from("a") on node:Boat.name',
        '[OG-BC-101] @rename_from("b") on edge:Docks.moored',
    ]
    assert refused.details["entity"] == "node:Boat.name"
