import copy
import json

import pytest

from omnigraph.catalog.compile import compile_schema, compile_shape
from omnigraph.catalog.ir import catalog_from_ir, ir_bytes, ir_document, ir_hash, schema_hash
from omnigraph.catalog.model import Key
from omnigraph.catalog.numbering import Identities, PropertyName, TypeName, number_shape
from omnigraph.errors import GraphCorrupt

DOMAIN = "01JQ0000000000000000000000"
TEXT = """
interface Tagged { tags: [String]? @description("words") }
interface Titled { title: String @index  vec: Vector(3) @embed(body) }
node Boat @description("floats") @note(1, b=2) implements Titled, Tagged {
    hull: String  slot: U32 @key(slot, hull)  body: String  length: F64 @default(1)
    state: enum(new, sunk) @default(new)  @range(length, 0..9.5)  @check(hull, "^[A-Z]")
}
node Pier { code: String @key }
edge Docks: Boat -> Pier @card(0..1) { since: Date? @unique(src, since) }
"""


def compiled(text, domain=DOMAIN):
    return compile_schema(text, source="art.pg", identity_domain=domain)


@pytest.fixture
def document():
    return json.loads(ir_bytes(compiled(TEXT)))


def refusal(document):
    with pytest.raises(GraphCorrupt) as refused:
        catalog_from_ir(document)
    return refused.value.message


# --- the document


def test_document_holds_ids_and_names_side_by_side(document):
    assert {name: document[name] for name in ("ir_version", "schema_identity_domain", "next_identity_id")} == {
        "ir_version": 1,
        "schema_identity_domain": DOMAIN,
        "next_identity_id": 22,
    }
    boat, edge = document["nodes"][0], document["edges"][0]
    assert boat["implements"] == [{"type_id": 1, "name": "Tagged"}, {"type_id": 2, "name": "Titled"}]
    assert edge["from_type"] == {"type_id": 3, "name": "Boat"}
    assert edge["cardinality"] == {"min": 0, "max": 1}
    assert edge["constraints"] == [
        {"kind": "unique", "fields": [{"property_id": 18, "name": "since"}, {"system": "src"}]}
    ]


def test_properties_are_spelled_out(document):
    boat = {found["name"]: found for found in document["nodes"][0]["properties"]}

    assert boat["state"] == {
        "name": "state",
        "property_id": 13,
        "type": {"scalar": "String", "dim": None, "list": False, "nullable": False, "enum_values": ["new", "sunk"]},
        "annotations": [],
        "default": "new",
        "embed_source": None,
        "declared_directly": True,
        "satisfies": [],
    }
    assert boat["length"]["default"] == 1.0
    assert boat["vec"]["embed_source"] == {"source": {"property_id": 9, "name": "body"}, "model": None}
    assert boat["vec"]["declared_directly"] is False
    assert boat["vec"]["satisfies"] == [{"property_id": 8, "name": "vec"}]


def test_interface_properties_carry_their_own_constraints(document):
    title, vec = document["interfaces"][1]["properties"]

    assert (title["property_constraints"], vec["property_constraints"]) == (["index"], [])
    # The source belongs to the node, so the interface has a name for it and no id.
    assert vec["embed_source"] == {"source": {"property_id": None, "name": "body"}, "model": None}
    assert "declared_directly" not in title


def test_constraints_of_every_kind(document):
    assert document["nodes"][0]["constraints"] == [
        {"kind": "check", "field": {"property_id": 10, "name": "hull"}, "pattern": "^[A-Z]"},
        {"kind": "index", "fields": [{"property_id": 15, "name": "title"}]},
        {"kind": "key", "fields": [{"property_id": 10, "name": "hull"}, {"property_id": 12, "name": "slot"}]},
        {"kind": "range", "field": {"property_id": 11, "name": "length"}, "min": 0, "max": 9.5},
    ]


def test_relational_annotations_and_hints_are_not_annotations():
    catalog = compiled(
        'node A @rename_from("B") @x { k: String @key @rename_from("q")'
        ' t: String @index @unique @default("d") v: Vector(2) @embed(t) }'
    )
    (node,) = ir_document(catalog)["nodes"]

    assert [found["name"] for found in node["annotations"]] == ["x"]
    assert [found["annotations"] for found in node["properties"]] == [[], [], []]


def test_bytes_are_canonical_json():
    stored = ir_bytes(compiled('node A @description("é") {}'))

    assert "é".encode() in stored
    assert b" " not in stored
    assert json.dumps(json.loads(stored), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() == stored


def test_reading_undoes_writing():
    catalog = compiled(TEXT)

    assert catalog_from_ir(json.loads(ir_bytes(catalog))) == catalog


def test_key_order_survives_a_rename_of_its_member():
    shape = compile_shape("node Berth { zone: String slot: U32 @key(slot, zone) }", source="art.pg")
    berth = TypeName("node", "Berth")
    known = Identities(
        property_ids={PropertyName(berth, "zone"): 2, PropertyName(berth, "slot"): 3}, next_identity_id=4
    )
    renamed = number_shape(shape, identity_domain=DOMAIN, known=known)

    read = catalog_from_ir(json.loads(ir_bytes(renamed)))

    assert read.nodes[0].key == Key(properties=("zone", "slot"))
    fields = ir_document(read)["nodes"][0]["constraints"][0]["fields"]
    assert [found["name"] for found in fields] == ["slot", "zone"]


# --- refused documents


def node(document, name="Boat"):
    return next(found for found in document["nodes"] if found["name"] == name)


def prop(document, name):
    return next(found for found in node(document)["properties"] if found["name"] == name)


DAMAGE = {
    "another version": lambda ir: ir.update(ir_version=2),
    "missing version": lambda ir: ir.pop("ir_version"),
    "a boolean as version": lambda ir: ir.update(ir_version=True),
    "zero id": lambda ir: node(ir).update(type_id=0),
    "negative id": lambda ir: prop(ir, "slot").update(property_id=-1),
    "id given twice": lambda ir: node(ir).update(table_incarnation_id=node(ir)["type_id"]),
    "id not below the counter": lambda ir: ir.update(next_identity_id=21),
    "counter beyond 64 bits": lambda ir: ir.update(next_identity_id=2**63),
    "unsorted types": lambda ir: ir["nodes"].reverse(),
    "unsorted properties": lambda ir: node(ir)["properties"].reverse(),
    "unsorted constraints": lambda ir: node(ir)["constraints"].reverse(),
    "unsorted enum values": lambda ir: prop(ir, "state")["type"]["enum_values"].reverse(),
    "unsorted annotations": lambda ir: node(ir)["annotations"].reverse(),
    "unsorted interfaces of a node": lambda ir: node(ir)["implements"].reverse(),
    "unsorted members": lambda ir: node(ir)["constraints"][2]["fields"].reverse(),
    "duplicate type": lambda ir: ir["nodes"][1].update(name="Boat"),
    "duplicate property": lambda ir: prop(ir, "slot").update(name="length"),
    "property differing in case": lambda ir: prop(ir, "slot").update(name="lEngth"),
    "endpoint with another name": lambda ir: ir["edges"][0]["from_type"].update(name="Pier"),
    "endpoint with another id": lambda ir: ir["edges"][0]["from_type"].update(type_id=4),
    "endpoint that does not exist": lambda ir: ir["edges"][0]["to_type"].update(name="Ghost"),
    "member with another id": lambda ir: node(ir)["constraints"][1]["fields"][0].update(property_id=9),
    "member that does not exist": lambda ir: node(ir)["constraints"][1]["fields"][0].update(name="ghost"),
    "endpoint of an edge on a node": lambda ir: node(ir)["constraints"][1].update(fields=[{"system": "src"}]),
    "unknown system field": lambda ir: ir["edges"][0]["constraints"][0].update(fields=[{"system": "id"}]),
    "embed source with another id": lambda ir: prop(ir, "vec")["embed_source"]["source"].update(property_id=10),
    "embed source that does not exist": lambda ir: prop(ir, "vec")["embed_source"]["source"].update(name="ghost"),
    "interface with another id": lambda ir: node(ir)["implements"][0].update(type_id=2),
    "interface that does not exist": lambda ir: node(ir)["implements"][0].update(name="Ghost"),
    "inherited from nowhere": lambda ir: prop(ir, "slot").update(declared_directly=False),
    "promise not kept": lambda ir: prop(ir, "tags").update(satisfies=[], declared_directly=True),
    "promise kept with another type": lambda ir: prop(ir, "tags")["type"].update(nullable=False),
    "promise of another property": lambda ir: prop(ir, "tags").update(satisfies=[{"property_id": 7, "name": "tags"}]),
    "promise under another name": lambda ir: prop(ir, "tags")["satisfies"][0].update(name="tag"),
    "promise of an interface not implemented": lambda ir: node(ir)["implements"].pop(),
    "interface listed twice": lambda ir: node(ir)["implements"].append(node(ir)["implements"][-1]),
    "promise kept twice": lambda ir: prop(ir, "tags")["satisfies"].append(prop(ir, "tags")["satisfies"][0]),
    "constraint listed twice": lambda ir: node(ir)["constraints"].insert(1, node(ir)["constraints"][1]),
    "member listed twice": lambda ir: node(ir)["constraints"][1]["fields"].append(
        node(ir)["constraints"][1]["fields"][0]
    ),
    "second key": lambda ir: node(ir)["constraints"].insert(2, node(ir)["constraints"][1] | {"kind": "key"}),
    "reserved name": lambda ir: prop(ir, "slot").update(name="_rowid"),
    "unknown scalar": lambda ir: prop(ir, "slot")["type"].update(scalar="Text"),
    "vector without dimension": lambda ir: prop(ir, "vec")["type"].update(dim=None),
    "dimension of a string": lambda ir: prop(ir, "body")["type"].update(dim=3),
    "enum of numbers": lambda ir: prop(ir, "slot")["type"].update(enum_values=["a"]),
    "list of vectors": lambda ir: prop(ir, "vec")["type"].update(list=True),
    "default outside of the enum": lambda ir: prop(ir, "state").update(default="lost"),
    "default of a vector": lambda ir: prop(ir, "vec").update(default=1),
    "default that is no literal": lambda ir: prop(ir, "state").update(default=[]),
    "unknown kind of constraint": lambda ir: node(ir)["constraints"][0].update(kind="maybe"),
    "unknown property constraint": lambda ir: ir["interfaces"][1]["properties"][0].update(property_constraints=["x"]),
    "unknown member": lambda ir: prop(ir, "slot").update(colour="red"),
    "missing member": lambda ir: node(ir).pop("constraints"),
    "null for an array": lambda ir: ir.update(edges=None),
    "number for a name": lambda ir: node(ir).update(name=5),
    "text for a number": lambda ir: ir.update(next_identity_id="22"),
    "number for a flag": lambda ir: prop(ir, "slot")["type"].update(nullable=0),
    "array for an object": lambda ir: node(ir)["annotations"][0].update(kwargs=[]),
    "boolean for a bound": lambda ir: ir["edges"][0]["cardinality"].update(max=True),
    "float for a bound that is whole": lambda ir: ir["edges"][0]["cardinality"].update(min=0.0),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_document_is_refused(document, damage):
    intact = copy.deepcopy(document)
    damage(document)
    assert document != intact or json.dumps(document) != json.dumps(intact)

    assert "damaged at" in refusal(document)


@pytest.mark.parametrize("other", [None, [], "IR", 5, {}])
def test_other_json_is_refused(other):
    assert "damaged at" in refusal(other)


def test_refusal_names_the_place(document):
    node(document)["constraints"][1]["fields"][0].update(property_id=9)

    assert "IR.nodes[0].constraints[1].fields[0].property_id" in refusal(document)


# --- hashes


@pytest.mark.parametrize(
    "same",
    [
        "// comment\nnode A { y: String  x: I32 @index }\nedge E: A -> A",
        "edge E: A -> A { } node A { x: I32 y: String @index(x) }",
        'node A @rename_from("B") { x: I32 @index @rename_from("z") y: String } edge E: A -> A @card(0..)',
    ],
)
def test_sources_that_say_the_same_have_equal_hashes(same):
    one, other = compiled("node A { x: I32 @index y: String } edge E: A -> A"), compiled(same)

    assert schema_hash(one) == schema_hash(other)
    assert ir_hash(one) == ir_hash(other)


@pytest.mark.parametrize(
    "changed",
    [
        "node A { x: I32 @index y: String? } edge E: A -> A",
        "node A { x: I32 y: String } edge E: A -> A",
        "node A { x: I32 @index z: String } edge E: A -> A",
        'node A { x: I32 @index y: String @default("") } edge E: A -> A',
        "node A @note { x: I32 @index y: String } edge E: A -> A",
        "node A { x: I32 @index y: String } edge E: A -> A @card(0..1)",
        "node A { x: I32 @index y: String } edge F: A -> A",
        "node A { x: I32 @index y: String } edge E: A -> A interface I {}",
        "interface I { y: String } node A implements I { x: I32 @index } edge E: A -> A",
    ],
)
def test_sources_that_differ_have_different_hashes(changed):
    one, other = compiled("node A { x: I32 @index y: String } edge E: A -> A"), compiled(changed)

    assert schema_hash(one) != schema_hash(other)
    assert ir_hash(one) != ir_hash(other)


def test_schema_hash_ignores_identities_and_ir_hash_does_not():
    shape = compile_shape(TEXT, source="art.pg")
    titled = TypeName("interface", "Titled")
    renumbered = number_shape(
        shape, identity_domain=DOMAIN, known=Identities(type_ids={titled: 1}, next_identity_id=50)
    )

    assert schema_hash(renumbered) == schema_hash(compiled(TEXT))
    assert ir_hash(renumbered) != ir_hash(compiled(TEXT))
    assert ir_hash(compiled(TEXT, domain="01JQ0000000000000000000001")) != ir_hash(compiled(TEXT))


def test_hashes_are_part_of_the_format():
    """Stored objects are named by these; a change of either is a change of format, not a refactoring."""
    catalog = compiled(TEXT)

    assert schema_hash(catalog) == "fa6893a343349fdc54b68ae6a9af9bd62896ef418decbca1bce61b9c8187d8a9"
    assert ir_hash(catalog) == "1df0b4d01d3ed72adf2cbd38ee658d7e929a1fa8e3b03be75c0e79b65ef64a91"
