"""Laws that hold for every schema, checked on generated ones."""

import json

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.catalog.arrow import table_schema
from omnigraph.catalog.compile import compile_schema
from omnigraph.catalog.indexes import index_intents
from omnigraph.catalog.ir import catalog_from_ir, ir_bytes, ir_hash, schema_hash
from omnigraph.language.schema import format_schema, parse_schema

DOMAIN = "01JQ0000000000000000000000"
ENUM = "enum(new, in-service, 2nd)"
# Each type with what may follow it; a line is one choice.
PLAIN = {
    "String": ["", "@index", "@unique", '@default("d")', '@description("x") @note(word, size=2)'],
    "I32": ["", "@index", "@default(7)", "@unique @index"],
    "U64?": ["", "@default(18446744073709551615)", "@unique"],
    "F32": ["", "@default(0.5)", "@index"],
    "Bool": ["", "@default(true)"],
    "Date?": ["", '@default("2031-07-15")', "@index"],
    "DateTime": ["", '@default("2031-07-15T06:30:00Z")'],
    ENUM: ["", "@default(in-service)", "@index"],
    "[String]?": ["", '@description("list")'],
}
NODE_ONLY = {"Blob?": [""], "Vector(3)": ["", "@index"], "Vector(2)?": ["@index", "@other(1.5)"]}


def properties(prefix, choices):
    written = st.sampled_from([(kind, annotation) for kind in choices for annotation in choices[kind]])
    return st.lists(written, max_size=4).map(
        lambda found: [f"{prefix}{position}: {kind} {note}" for position, (kind, note) in enumerate(found)]
    )


@st.composite
def declarations(draw):
    interfaces = [
        f"interface I{number} {{ {' '.join(draw(properties(f'i{number}_', PLAIN | NODE_ONLY)))} }}"
        for number in range(draw(st.integers(0, 2)))
    ]
    nodes = [_node(draw, number, len(interfaces)) for number in range(draw(st.integers(1, 3)))]
    edges = [_edge(draw, number, len(nodes)) for number in range(draw(st.integers(0, 3)))]
    return [*interfaces, *nodes, *edges]


def _node(draw, number, interface_count):
    implemented = draw(st.lists(st.sampled_from(range(interface_count)), unique=True)) if interface_count else []
    implements = f"implements {', '.join(f'I{found}' for found in implemented)}" if implemented else ""
    header = draw(st.sampled_from(["", '@description("n")', '@instruction("i") @custom(true)']))
    key = draw(st.sampled_from(["", "k1: String @key", "k2: U32 k1: String @key(k2, k1)", "k1: I64 @key @unique"]))
    rules = draw(st.sampled_from(["", "r: F64 @range(r, 0..9.5)", 'c: String @check(c, "^a") @index(c)']))
    body = draw(st.permutations([key, rules, *draw(properties("p", PLAIN | NODE_ONLY))]))
    return f"node N{number} {header} {implements} {{ {' '.join(body)} }}"


def _edge(draw, number, node_count):
    ends = [f"N{draw(st.integers(0, node_count - 1))}" for _ in range(2)]
    header = draw(st.sampled_from(["", "@card(0..1)", '@card(1..) @description("e")']))
    rules = draw(st.sampled_from(["", "@unique(src, dst)", "w: I32 @index(dst, w)"]))
    body = " ".join([*draw(properties("p", PLAIN)), rules])
    return f"edge E{number}: {' -> '.join(ends)} {header} {{ {body} }}"


def compiled(written):
    return compile_schema("\n".join(written), source="generated.pg", identity_domain=DOMAIN)


@given(declarations(), st.randoms(use_true_random=False))
def test_declaration_order_means_nothing(written, random):
    shuffled = random.sample(written, len(written))

    assert compiled(shuffled) == compiled(written)
    assert ir_hash(compiled(shuffled)) == ir_hash(compiled(written))


@given(declarations())
def test_canonical_spelling_compiles_to_the_same_catalog(written):
    printed = format_schema(parse_schema("\n".join(written), source="generated.pg"))

    assert compiled([printed]) == compiled(written)


@given(declarations())
def test_stored_form_reads_back_as_the_same_catalog(written):
    catalog = compiled(written)
    read = catalog_from_ir(json.loads(ir_bytes(catalog)))

    assert read == catalog
    assert ir_bytes(read) == ir_bytes(catalog)
    assert schema_hash(read) == schema_hash(catalog)


@given(declarations())
def test_identities_are_dense_and_used_once(written):
    catalog = compiled(written)
    identities = [
        *(owner.type_id for owner in (*catalog.interfaces, *catalog.entity_types())),
        *(found.property_id for owner in (*catalog.interfaces, *catalog.entity_types()) for found in owner.properties),
        *(entity.table_incarnation_id for entity in catalog.entity_types()),
    ]

    assert sorted(identities) == list(range(1, catalog.next_identity_id))


@given(declarations())
def test_columns_and_indexes_follow_the_catalog(written):
    for entity in compiled(written).entity_types():
        columns = table_schema(entity).names
        intents = index_intents(entity)

        assert columns[-len(entity.properties) :] == sorted(entity.property_by_name) or not entity.properties
        assert len({intent.name for intent in intents}) == len(intents)
        assert {intent.column for intent in intents} <= set(columns)
