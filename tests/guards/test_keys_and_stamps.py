"""The key annotation and the stamp in the schema metadata: how they are set, what keeps them, what drops them.

Pins storage 3.4, 15.3 and 18, lessons 30.
"""

import lance
import pyarrow as pa
import pytest
from lance import LanceOperation


def bare(schema: pa.Schema) -> pa.Schema:
    """Return the schema without key annotation and stamp, the id still required."""
    return schema.set(0, pa.field("id", pa.string(), nullable=False)).remove_metadata()


def key_of(dataset: lance.LanceDataset) -> bytes | None:
    return (dataset.schema.field("id").metadata or {}).get(b"lance-schema:unenforced-primary-key")


def test_creating_commit_carries_key_and_stamp(table):
    dataset = table.create("a")

    assert dataset.version == 1
    assert key_of(dataset) == b"true"
    assert dataset.schema.metadata[b"stamp"] == b"4"
    assert not dataset.schema.field("id").nullable


def test_key_and_several_metadata_maps_go_in_one_update_config_commit(table):
    dataset = table.create("a", schema=bare(table.schema))

    after = table.commit(
        1,
        LanceOperation.UpdateConfig(
            schema_metadata_updates=LanceOperation.UpdateMap({"stamp": "2", "migrating_from": "1"}),
            field_metadata_updates={0: LanceOperation.UpdateMap({table.key: "true"})},
        ),
    )

    assert key_of(dataset) is None
    assert after.version == 2
    assert key_of(after) == b"true"
    assert after.schema.metadata == {b"stamp": b"2", b"migrating_from": b"1"}


def test_key_added_later_guards_from_then_on(table):
    table.create("a", schema=bare(table.schema))
    table.open().update_field_metadata({"id": {table.key: "true"}})
    first, second = table.open(), table.open()

    table.upsert(first, "n")
    with pytest.raises(OSError, match="Too many concurrent writers"):
        table.upsert(second, "n")

    assert table.ids() == "an"


@pytest.mark.parametrize("value", ["false", None])
def test_key_cannot_be_changed_or_removed(table, value):
    dataset = table.create("a")

    with pytest.raises(OSError, match="cannot be changed once set"):
        dataset.update_field_metadata({"id": {table.key: value}})

    assert key_of(table.open()) == b"true"


def test_nullable_column_is_refused_as_key(table):
    dataset = table.create("a", schema=bare(table.schema))

    with pytest.raises(OSError, match="must not be nullable"):
        dataset.update_field_metadata({"age": {table.key: "true"}})

    assert table.open().version == 1


def test_racing_stamp_changes_conflict(table):
    table.create("a")
    first, second = table.open(), table.open()

    first.update_schema_metadata({"stamp": "5"})
    with pytest.raises(OSError, match="Incompatible transaction"):
        second.update_schema_metadata({"stamp": "6"})

    assert table.open().schema.metadata[b"stamp"] == b"5"


def test_branch_inherits_the_stamp_and_then_has_its_own(table):
    branch = table.create("a").create_branch("b")

    branch.update_schema_metadata({"stamp": "5"})

    assert table.open_ref("b", 1).schema.metadata[b"stamp"] == b"4"
    assert table.open_ref("b").schema.metadata[b"stamp"] == b"5"
    assert table.open().schema.metadata[b"stamp"] == b"4"


def test_compaction_keeps_stamp_and_key(table):
    dataset = table.create("a", "b")

    dataset.optimize.compact_files()

    assert table.open().schema.metadata[b"stamp"] == b"4"
    assert key_of(table.open()) == b"true"


def test_overwrite_with_a_bare_schema_drops_key_nullability_and_stamp(table):
    table.create("a")

    lance.write_dataset(pa.table({"id": ["b"], "age": [1], "note": [""]}), table.uri, mode="overwrite")

    after = table.open()
    assert key_of(after) is None
    assert after.schema.field("id").nullable
    assert b"stamp" not in (after.schema.metadata or {})


def test_append_and_upsert_keep_stamp_and_key(table):
    table.create("a")

    lance.write_dataset(table.rows("b").replace_schema_metadata(None), table.uri, mode="append")
    table.upsert(table.open(), "c")

    assert table.open().schema.metadata[b"stamp"] == b"4"
    assert key_of(table.open()) == b"true"


def test_appends_updates_compaction_indexes_and_restores_keep_the_schema_metadata(table):
    """A table's identity lives there, and it is compared whenever the table is opened through a pin."""
    table.create("ab", "cd")
    table.append("e")
    table.upsert(table.open(), "a", age=7)
    table.open().delete("id = 'b'")
    table.open().create_scalar_index("id", "BTREE")
    table.open().optimize.compact_files()
    table.open().optimize.optimize_indices()
    compacted = table.open()
    table.open(2).restore()

    assert compacted.schema.metadata == {b"stamp": b"4"}
    assert table.open().schema.metadata == {b"stamp": b"4"}


def test_a_branch_inherits_the_schema_metadata_and_writes_to_it_keep_it(table):
    table.create("ab").create_branch("review", 1)

    assert table.append("c", ref="review").schema.metadata == {b"stamp": b"4"}
    assert table.open_ref("review").schema.metadata == {b"stamp": b"4"}


def test_a_merge_transaction_replaces_the_schema_metadata_by_what_it_carries(table):
    dataset = table.create("ab")
    fragments = [fragment.metadata for fragment in dataset.get_fragments()]

    kept = table.commit(1, LanceOperation.Merge(fragments, table.schema))
    dropped = table.commit(2, LanceOperation.Merge(fragments, table.schema.remove_metadata()))

    assert kept.schema.metadata == {b"stamp": b"4"}
    assert not dropped.schema.metadata
