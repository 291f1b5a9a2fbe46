import pytest

from omnigraph.catalog.compile import compile_schema, compile_shape
from omnigraph.catalog.model import (
    Annotation,
    Cardinality,
    EmbedSource,
    Index,
    Key,
    PatternCheck,
    PropertyType,
    Range,
    Scalar,
    Unique,
)
from omnigraph.catalog.numbering import IDENTITY_MAX, Identities, PropertyName, TypeName, number_shape
from omnigraph.errors import ResourceLimit

DOMAIN = "01JQ0000000000000000000000"


def compiled(text):
    return compile_schema(text, source="art.pg", identity_domain=DOMAIN)


def node_of(text):
    return compiled(text).node_by_name["A"]


def property_of(written):
    return node_of(f"node A {{ {written} }}").property_by_name["x"]


# --- types


@pytest.mark.parametrize(
    "written",
    [
        "String",
        "Bool?",
        "I32",
        "I64?",
        "U32",
        "U64",
        "F32",
        "F64?",
        "Date",
        "DateTime?",
        "Blob",
        "[String]",
        "[I32]?",
        "[DateTime]",
        "Vector(768)?",
        "Vector(2147483647)",
        "enum(a)?",
    ],
)
def test_types_are_displayed_as_they_are_written(written):
    assert str(property_of(f"x: {written}").type) == written


def test_enum_values_are_sorted_by_bytes():
    declared = property_of("x: enum(open, closed, Zed, in-progress, 2fa, _z)")

    assert declared.type.enum_values == ("2fa", "Zed", "_z", "closed", "in-progress", "open")


def test_node_and_edge_and_interface_namespaces_are_separate():
    catalog = compiled("interface A {} node A {} edge A: A -> A")

    assert [len(kind) for kind in (catalog.interfaces, catalog.nodes, catalog.edges)] == [1, 1, 1]


def test_edges_may_come_before_their_node_types():
    (edge,) = compiled("edge E: A -> B node B {} node A {}").edges

    assert (edge.from_type, edge.to_type) == ("A", "B")


# --- interfaces


def test_interface_key_becomes_the_key_of_the_node():
    node = node_of("interface K { slug: String @key } node A implements K {}")

    assert node.key == Key(properties=("slug",))
    assert not node.property_by_name["slug"].declared_directly


def test_redeclaring_a_property_drops_the_annotations_of_the_interface():
    catalog = compiled('interface K { slug: String @key @description("k") } node A implements K { slug: String }')

    assert catalog.nodes[0].key is None
    assert catalog.nodes[0].properties[0].annotations == ()
    assert catalog.nodes[0].properties[0].declared_directly
    assert catalog.nodes[0].properties[0].satisfies == (catalog.interfaces[0].properties[0].property_id,)


def test_injected_property_brings_everything_it_was_declared_with():
    node = node_of(
        'interface I { t: String @unique @index @default("d") @description("text") @x  v: Vector(2) @embed(t) @index }'
        "node A implements I {}"
    )

    assert node.constraints == (
        Index(properties=("t",)),
        Index(properties=("v",)),
        Unique(properties=("t",)),
    )
    assert node.property_by_name["t"].default == "d"
    assert node.property_by_name["t"].annotations == (
        Annotation(name="description", value="text"),
        Annotation(name="x"),
    )
    assert node.property_by_name["v"].embed == EmbedSource(source="t")


def test_listing_an_interface_twice_counts_once():
    node = node_of("interface I { x: I32 } node A implements I, I {}")

    assert node.implements == ("I",)
    assert len(node.properties[0].satisfies) == 1


def test_one_property_may_satisfy_two_interfaces():
    catalog = compiled("interface P { x: I32 @index } interface Q { x: I32 @index } node A implements Q, P {}")

    promised = tuple(interface.properties[0].property_id for interface in catalog.interfaces)
    assert catalog.nodes[0].properties[0].satisfies == promised
    assert catalog.nodes[0].constraints == (Index(properties=("x",)),)


def test_body_constraints_may_name_injected_properties():
    node = node_of("interface I { x: I32 } node A implements I { @range(x, 0..9) @index(x) }")

    assert node.constraints == (Index(properties=("x",)), Range(property="x", low=0, high=9))


def test_embed_source_may_be_inherited():
    assert node_of("interface I { t: String } node A implements I { v: Vector(2) @embed(t) }")


# --- constraints


@pytest.mark.parametrize(
    ("annotated", "in_body"),
    [
        ("x: String @key", "x: String @key(x)"),
        ("x: String @unique", "x: String @unique(x)"),
        ("x: Vector(2) @index", "x: Vector(2) @index(x)"),
        ("x: String @unique @index", "x: String @index(x) @unique(x)"),
    ],
)
def test_annotation_and_body_spelling_are_the_same(annotated, in_body):
    assert compiled(f"node A {{ {annotated} }}") == compiled(f"node A {{ {in_body} }}")


@pytest.mark.parametrize("repeated", ["x: I32 @index @index(x)", "x: I32 @index(x) @index(x)", "x: I32 @index"])
def test_repeated_constraint_counts_once(repeated):
    assert node_of(f"node A {{ {repeated} }}").constraints == (Index(properties=("x",)),)


def test_constraints_have_a_canonical_order():
    node = node_of(
        "node A { b: String a: I32 @unique(b, a) @index(b) @range(a, 1..) @range(a, ..3)"
        ' @check(b, "x") @index(a) @key(b, a) }'
    )

    assert node.constraints == (
        PatternCheck(property="b", pattern="x"),
        Index(properties=("a",)),
        Index(properties=("b",)),
        Key(properties=("a", "b")),
        Range(property="a", low=1, high=None),
        Range(property="a", low=None, high=3),
        Unique(properties=("a", "b")),
    )


def test_edge_constraints_may_name_the_endpoints():
    (edge,) = compiled("node A {} edge E: A -> A { since: Date @unique(src, since) @index(dst) }").edges

    assert edge.constraints == (Index(properties=("dst",)), Unique(properties=("since", "src")))


def test_whole_float_bounds_equal_integer_bounds():
    assert compiled("node A { x: F64 @range(x, 0.0..1.5) }") == compiled("node A { x: F64 @range(x, 0..1.5) }")


@pytest.mark.parametrize("pattern", ["^a+$", "(?i)x", "\\\\d{2}", "\\\\p{Greek}"])
def test_re2_patterns_are_accepted(pattern):
    assert node_of(f'node A {{ x: String @check(x, "{pattern}") }}')


@pytest.mark.parametrize(
    ("written", "cardinality"),
    [
        ("", Cardinality()),
        ("@card(0..)", Cardinality()),
        ("@card(1..1)", Cardinality(low=1, high=1)),
        ('@description("x") @card(2..)', Cardinality(low=2)),
    ],
)
def test_cardinality(written, cardinality):
    assert compiled(f"node A {{}} edge E: A -> A {written}").edges[0].cardinality == cardinality


# --- annotations


def test_descriptions_and_instructions_are_carried():
    catalog = compiled(
        'node A @instruction("do") @description("a") { x: I32 @description("b") } edge E: A -> A @instruction("e")'
    )

    assert catalog.nodes[0].annotations == (
        Annotation(name="description", value="a"),
        Annotation(name="instruction", value="do"),
    )
    assert catalog.nodes[0].properties[0].annotations == (Annotation(name="description", value="b"),)
    assert catalog.edges[0].annotations == (Annotation(name="instruction", value="e"),)


@pytest.mark.parametrize("source", ["t", '"t"'])
def test_embed_source_may_be_quoted_or_bare(source):
    declared = property_of(f'x: Vector(2) @embed({source}, model="m") t: String?')

    assert declared.embed == EmbedSource(source="t", model="m")
    assert declared.stored_nullable


def test_rename_hints_live_in_the_shape_only():
    text = 'node B @rename_from("A") { y: I32 @rename_from("x") } edge F: B -> B @rename_from(E)'
    shape = compile_shape(text, source="art.pg")

    assert shape.nodes[0].rename_from == "A"
    assert shape.nodes[0].properties[0].rename_from == "x"
    assert shape.edges[0].rename_from == "E"
    assert compiled(text) == compiled("node B { y: I32 } edge F: B -> B")


def test_hint_on_an_interface_property_reaches_the_injected_one():
    shape = compile_shape('interface I { y: I32 @rename_from("x") } node A implements I {}', source="art.pg")

    assert shape.nodes[0].properties[0].rename_from == "x"


@pytest.mark.parametrize(
    ("written", "default"),
    [
        ("x: I32 @default(30.0)", 30),
        ("x: F64 @default(1)", 1.0),
        ("x: F32 @default(0.1)", 0.1),
        ("x: Bool @default(false)", False),
        ('x: String @default("")', ""),
        ("x: enum(in-progress, done) @default(in-progress)", "in-progress"),
        ('x: enum(a, 2fa) @default("2fa")', "2fa"),
        ('x: Date @default("2031-7-15")', "2031-7-15"),
        ("x: Date? @default(22475)", 22475),
        ("x: I32 @default(3) @range(x, 3..3)", 3),
        ('x: String @default("abc") @check(x, "b")', "abc"),
    ],
)
def test_defaults_are_kept_as_numbers_of_the_type_or_as_written(written, default):
    kept = property_of(written).default

    assert kept == default
    assert type(kept) is type(default)


# --- identities

BOATS = [
    "interface Tagged { tags: [String]? }",
    "node Boat implements Tagged { hull: String @key }",
    "node Pier { code: String @key }",
    "edge Docks: Boat -> Pier",
]


@pytest.mark.parametrize("text", ["\n".join(BOATS), "\n".join(reversed(BOATS))])
def test_identities_of_a_new_graph(text):
    catalog = compiled(text)

    assert {found.name: found.type_id for found in (*catalog.interfaces, *catalog.nodes, *catalog.edges)} == {
        "Tagged": 1,
        "Boat": 2,
        "Pier": 3,
        "Docks": 4,
    }
    assert catalog.interfaces[0].properties[0].property_id == 5
    boat, pier = catalog.nodes
    assert [(found.name, found.property_id) for found in boat.properties] == [("hull", 6), ("tags", 7)]
    assert [(found.name, found.property_id) for found in pier.properties] == [("code", 8)]
    assert [found.table_incarnation_id for found in (boat, pier, catalog.edges[0])] == [9, 10, 11]
    assert catalog.next_identity_id == 12
    assert catalog.identity_domain == DOMAIN


def test_known_identities_are_kept_and_only_new_names_are_numbered():
    shape = compile_shape("node Berth { zone: String slot: U32 note: String? @key(slot, zone) }", source="art.pg")
    berth = TypeName("node", "Berth")
    known = Identities(
        type_ids={berth: 1},
        property_ids={PropertyName(berth, "slot"): 3, PropertyName(berth, "zone"): 2},
        incarnation_ids={berth: 4},
        next_identity_id=5,
    )

    catalog = number_shape(shape, identity_domain=DOMAIN, known=known)

    (node,) = catalog.nodes
    assert {found.name: found.property_id for found in node.properties} == {"note": 5, "slot": 3, "zone": 2}
    assert catalog.next_identity_id == 6
    # The key keeps the order of its ids although the renamed member now sorts last.
    assert node.key == Key(properties=("zone", "slot"))


def test_interfaces_are_listed_by_identity_not_by_name():
    shape = compile_shape("interface A { x: I32 } interface B { y: I32 } node N implements A, B {}", source="art.pg")
    known = Identities(type_ids={TypeName("interface", "B"): 1}, next_identity_id=2)

    assert number_shape(shape, identity_domain=DOMAIN, known=known).nodes[0].implements == ("B", "A")


def test_exhausted_counter_is_an_error():
    shape = compile_shape("node A {}", source="art.pg")

    with pytest.raises(ResourceLimit) as refused:
        number_shape(shape, identity_domain=DOMAIN, known=Identities(next_identity_id=IDENTITY_MAX - 1))

    assert refused.value.details["limit"] == IDENTITY_MAX


def test_vector_type_holds_its_dimension():
    assert property_of("x: Vector(3)").type == PropertyType(scalar=Scalar.VECTOR, dimension=3)
