import pytest

from omnigraph.catalog.compile import compile_schema
from omnigraph.catalog.indexes import IndexIntent, IndexKind, index_intents


def catalog_of(text):
    return compile_schema(text, source="art.pg", identity_domain="01JQ0000000000000000000000")


def kinds_on_node(body):
    return [(intent.column, intent.kind.value) for intent in index_intents(catalog_of(f"node A {{ {body} }}").nodes[0])]


def kinds_on_edge(body):
    catalog = catalog_of(f"node A {{}} edge E: A -> A {{ {body} }}")
    return [(intent.column, intent.kind.value) for intent in index_intents(catalog.edges[0])]


def test_system_columns_are_always_indexed():
    assert kinds_on_node("x: I32 y: String") == [("id", "btree")]
    assert kinds_on_edge("x: I32 y: String") == [("id", "btree"), ("src", "btree"), ("dst", "btree")]


@pytest.mark.parametrize("scalar", ["enum(a)", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime"])
@pytest.mark.parametrize("constraint", ["@index", "@key", "@unique"])
def test_plain_values_get_a_btree(scalar, constraint):
    assert kinds_on_node(f"x: {scalar} {constraint}")[1:] == [("x", "btree")]
    if constraint != "@key":
        assert kinds_on_edge(f"x: {scalar} {constraint}")[3:] == [("x", "btree")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x: String @index", [("x", "btree"), ("x", "fts")]),
        ("x: String @index @unique", [("x", "btree"), ("x", "fts")]),
        ("x: String y: I32 @key(x, y)", [("x", "btree"), ("x", "fts"), ("y", "btree")]),
        ("x: String @key", [("x", "fts")]),
        ("x: String @key @unique @index", [("x", "fts")]),
        ("x: String @unique", [("x", "btree")]),
        ("x: Vector(2) @index", [("x", "vector")]),
        ("x: [String]", []),
        ("x: Blob", []),
        ("x: String y: I32 @index(x, y)", [("x", "btree"), ("x", "fts"), ("y", "btree")]),
        ("x: I32 @range(x, 0..)", []),
    ],
)
def test_node_properties(body, expected):
    assert kinds_on_node(body)[1:] == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x: String @index", [("x", "btree")]),
        ("x: String @unique", [("x", "btree")]),
        ("x: Vector(2) @index", []),
        ("x: I32 @unique(src, x) @index(dst)", [("x", "btree")]),
    ],
)
def test_edge_properties(body, expected):
    assert kinds_on_edge(body)[3:] == expected


def test_names_hold_column_or_property_id():
    (node,) = catalog_of("node A { v: Vector(2) @index text: String @index key: I64 @key }").nodes

    assert index_intents(node) == (
        IndexIntent(name="og_btree_id", column="id", kind=IndexKind.BTREE),
        IndexIntent(name="og_btree_2", column="key", kind=IndexKind.BTREE),
        IndexIntent(name="og_btree_3", column="text", kind=IndexKind.BTREE),
        IndexIntent(name="og_fts_3", column="text", kind=IndexKind.FTS),
        IndexIntent(name="og_vec_4", column="v", kind=IndexKind.VECTOR),
    )
