import lance
import pyarrow as pa
import pytest

from omnigraph.catalog.arrow import property_field, table_schema
from omnigraph.catalog.compile import compile_schema


def catalog_of(text):
    return compile_schema(text, source="art.pg", identity_domain="01JQ0000000000000000000000")


def field_of(written):
    (node,) = catalog_of(f"node A {{ {written} t: String }}").nodes
    return property_field(node.property_by_name["x"])


def as_lance_sees_it(schema):
    """Give extension types their Python classes, as a schema has them that comes back from Lance."""
    return pa.ipc.read_schema(schema.serialize())


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("String", pa.string()),
        ("enum(a, b)", pa.string()),
        ("Bool", pa.bool_()),
        ("I32", pa.int32()),
        ("I64", pa.int64()),
        ("U32", pa.uint32()),
        ("U64", pa.uint64()),
        ("F32", pa.float32()),
        ("F64", pa.float64()),
        ("Date", pa.date32()),
        ("DateTime", pa.timestamp("ms", tz="UTC")),
        ("Vector(3)", pa.list_(pa.field("item", pa.float32(), nullable=True), 3)),
        ("[DateTime]", pa.list_(pa.field("item", pa.timestamp("ms", tz="UTC"), nullable=True))),
        ("[U64]", pa.list_(pa.field("item", pa.uint64(), nullable=True))),
    ],
)
def test_column_types(written, expected):
    required, nullable = field_of(f"x: {written}"), field_of(f"x: {written}?")

    assert required.type == expected
    assert (required.nullable, nullable.nullable) == (False, True)


def test_required_embed_vector_is_stored_nullable():
    assert field_of("x: Vector(3) @embed(t)").nullable


def test_node_columns_in_order():
    (node,) = catalog_of("node A { zeta: String alpha: I32? Mid: I32 }".replace("Mid", "mid")).nodes

    schema = table_schema(node)

    assert schema.names == ["id", "alpha", "mid", "zeta"]
    assert schema.field("id") == pa.field("id", pa.string(), nullable=False)
    assert schema.field("id").metadata == {b"lance-schema:unenforced-primary-key": b"true"}
    assert schema.field("alpha").metadata == {b"omnigraph:property_id": b"2"}


def test_edge_columns_in_order():
    (edge,) = catalog_of("node A {} edge E: A -> A { weight: F64 }").edges

    schema = table_schema(edge)

    assert schema.names == ["id", "src", "dst", "weight"]
    assert not any(schema.field(name).nullable for name in schema.names)
    assert schema.field("src").metadata is None


@pytest.mark.parametrize("nullable", [True, False])
def test_blob_field_equals_the_field_that_lance_makes(nullable):
    ours = as_lance_sees_it(pa.schema([field_of(f"x: Blob{'?' if nullable else ''}")])).field("x")
    theirs = lance.blob_field("x", nullable=nullable)

    assert ours == theirs
    assert ours.type == theirs.type
    assert ours.type.storage_type == theirs.type.storage_type
    assert ours.nullable == theirs.nullable
    assert ours.metadata == {b"omnigraph:property_id": b"3"}


def test_lance_keeps_the_whole_schema(tmp_path):
    (node,) = catalog_of(
        "node A { s: String n: I32? f: F32 d: Date t: DateTime v: Vector(2) b: Blob? l: [String]? e: enum(a) }"
    ).nodes
    schema = table_schema(node)

    created = lance.write_dataset(
        schema.empty_table(), tmp_path / "table", enable_stable_row_ids=True, data_storage_version="2.2"
    )

    for stored, declared in zip(created.schema, as_lance_sees_it(schema), strict=True):
        assert stored == declared
        assert stored.metadata == declared.metadata


def test_blobs_are_written_as_plain_structs(tmp_path):
    (node,) = catalog_of("node A { b: Blob? }").nodes
    schema = table_schema(node)
    rows = [
        {"id": "bytes", "b": {"data": b"abc"}},
        {"id": "empty", "b": {"data": b""}},
        {"id": "null", "b": None},
    ]

    table = lance.write_dataset(
        pa.Table.from_pylist(rows, schema=schema),
        tmp_path / "table",
        enable_stable_row_ids=True,
        data_storage_version="2.2",
    )

    assert [blob.readall() for blob in table.take_blobs("b", indices=[0, 1])] == [b"abc", b""]
    assert table.to_table(columns=["b"])["b"].is_null().to_pylist() == [False, False, True]
