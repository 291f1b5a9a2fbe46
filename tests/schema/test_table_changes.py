"""What a schema change means for tables and manifest, worked out from two catalogs: pure, no disk."""

from omnigraph.catalog.compile import compile_schema, compile_shape
from omnigraph.catalog.migration import resolve
from omnigraph.catalog.model import Catalog, TableKey
from omnigraph.evolution.changes import SchemaChange, schema_change
from omnigraph.manifest.commits import CommitId
from omnigraph.manifest.rows import location_of
from omnigraph.manifest.snapshot import GraphSnapshot, SchemaRef, TablePin

FIRST = """
node Job { slug: String @key  state: enum(done, new)  note: String? }
node Team { name: String @key }
edge Owns: Team -> Job { since: Date? }
"""
REFERENCE = SchemaRef(schema_hash="shape", ir_hash="ir", source_sha256="text", identity_domain="domain")


def snapshot_of(catalog: Catalog) -> GraphSnapshot:
    pins = {
        key: TablePin(
            table_key=key,
            identity=entity.identity,
            location=location_of(key, entity.identity),
            ref=None,
            version=5,
            row_count=2,
        )
        for key, entity in catalog.type_by_table_key.items()
    }
    return GraphSnapshot(
        branch="main", incarnation="main", graph_version=3, commit_id=CommitId("head"), schema=REFERENCE, pins=pins
    )


def change_to(text: str, *, is_hard: bool = False) -> SchemaChange:
    accepted = compile_schema(FIRST, source="first.pg", identity_domain="domain")
    desired = resolve(accepted, compile_shape(text, source="second.pg")).catalog
    return schema_change(snapshot_of(accepted), accepted, desired, REFERENCE, is_hard=is_hard)


def keys(registrations: tuple[object, ...]) -> list[TableKey]:
    return [found.table_key for found in registrations]


def test_metadata_enums_indexes_and_defaults_touch_no_table() -> None:
    change = change_to(
        FIRST.replace("node Job", 'node Job @description("d")')
        .replace("enum(done, new)", "enum(done, new, held) @default(new)")
        .replace("note: String?", "note: String? @index")
    )

    assert (change.reshaped, change.created, change.purges) == ((), (), ())
    assert change.manifest.schema == REFERENCE
    assert (change.manifest.register, change.manifest.rename, change.manifest.tombstone) == ((), (), ())


def test_a_rename_of_a_type_moves_nothing_but_its_name() -> None:
    change = change_to(FIRST.replace("node Job", 'node Task @rename_from("Job")').replace("-> Job", "-> Task"))

    assert change.reshaped == ()
    assert keys(change.manifest.rename) == ["node:Task"]
    assert change.manifest.rename[0].location.startswith("nodes/0000000000000001-")


def test_columns_are_kept_by_identity_filled_by_default_and_otherwise_new() -> None:
    change = change_to(
        FIRST.replace("state: enum", "phase: enum")
        .replace("(done, new)", '(done, new) @rename_from("state")')
        .replace("note: String?", "cost: F64 @default(0.5)  extra: [String]?")
    )

    ((pin, entity, reshape),) = change.reshaped
    assert (pin.table_key, entity.table_key) == ("node:Job", "node:Job")
    assert reshape.kept == {"id": "id", "slug": "slug", "phase": "state"}
    assert {name: value.as_py() for name, value in reshape.filled.items()} == {"cost": 0.5}
    assert reshape.schema.names == ["id", "cost", "extra", "phase", "slug"]


def test_the_columns_of_an_edge_keep_its_ends() -> None:
    ((_, _, reshape),) = change_to(FIRST.replace("since: Date?", "weight: I32?")).reshaped

    assert reshape.kept == {"id": "id", "src": "src", "dst": "dst"}


def test_added_types_are_registered_where_their_identity_says_and_dropped_ones_end() -> None:
    change = change_to("node Job { slug: String @key state: enum(done, new) note: String? } node Site {}")

    ((registration, entity),) = change.created
    assert change.manifest.register == (registration,)
    assert registration.location == location_of(entity.table_key, entity.identity)
    assert keys(change.manifest.tombstone) == ["edge:Owns", "node:Team"]
    assert change.purges == ()


def test_only_a_hard_change_gives_anything_up_and_exactly_what_it_drops() -> None:
    text = "node Job { slug: String @key state: enum(done, new) }  node Team { name: String @key }"

    soft, hard = change_to(text), change_to(text, is_hard=True)

    assert soft.purges == ()
    assert [(purge.table_key, purge.property_ids is None) for purge in hard.purges] == [
        ("edge:Owns", True),
        ("node:Job", False),
    ]
    accepted = compile_schema(FIRST, source="first.pg", identity_domain="domain")
    assert hard.purges[1].property_ids == (accepted.node_by_name["Job"].property_by_name["note"].property_id,)
