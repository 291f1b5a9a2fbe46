"""Changing columns in one transaction: the numbers of Lance's fields, and what a `Merge` keeps.

Everything that a schema change does to a table rests on these facts.
"""

import pyarrow as pa
import pytest
from lance import LanceOperation
from lance.fragment import write_fragments
from lance.schema import LanceSchema

from omnigraph.storage.field_ids import flat_field_ids, numbered_schema, unused_field_ids


def fragments_of(dataset):
    return [fragment.metadata for fragment in dataset.get_fragments()]


def numbers(dataset):
    return flat_field_ids(dataset.lance_schema.fields())


def without(table, *names):
    return pa.schema([field for field in table.schema if field.name not in names], metadata=table.schema.metadata)


def test_a_schema_pickles_to_messages_whose_numbers_can_be_set_and_nothing_else_changes(table):
    nested = pa.schema([*table.schema, pa.field("l", pa.list_(pa.field("item", pa.int32())), metadata={"k": "v"})])

    renumbered = numbered_schema(nested, [7, 3, 9, 20, 21])

    assert flat_field_ids(renumbered.fields()) == [7, 3, 9, 20, 21]
    assert renumbered.to_pyarrow().equals(LanceSchema.from_pyarrow(nested).to_pyarrow(), check_metadata=True)


def test_one_merge_renames_drops_and_adds_and_keeps_row_ids_and_the_index_of_a_renamed_column(table):
    dataset = table.create("ab", "c")
    dataset.create_scalar_index("age", "BTREE")
    dataset = table.open()
    dataset.delete("id = 'b'")
    dataset = table.open()
    row_ids = table.row_ids(dataset)
    desired = pa.schema([table.schema.field("id"), pa.field("years", pa.int64()), pa.field("extra", pa.string())])

    after = table.commit(
        dataset.version, LanceOperation.Merge(fragments_of(dataset), numbered_schema(desired, [0, 1, 3]))
    )

    assert after.version == dataset.version + 1
    assert after.to_table().to_pylist() == [
        {"id": "a", "years": 0, "extra": None},
        {"id": "c", "years": 0, "extra": None},
    ]
    assert table.row_ids(after) == row_ids
    assert "ScalarIndexQuery" in after.scanner(filter="years = 0").explain_plan()


def test_the_index_of_a_dropped_column_goes_with_it(table):
    dataset = table.create("ab")
    dataset.create_scalar_index("note", "BTREE")
    dataset = table.open()

    schema = numbered_schema(without(table, "note"), [0, 1])
    after = table.commit(dataset.version, LanceOperation.Merge(fragments_of(dataset), schema))

    assert after.describe_indices() == []


def test_lance_and_we_agree_on_unused_numbers_after_the_highest_was_dropped(table):
    dataset = table.create("ab")
    after = table.commit(
        1, LanceOperation.Merge(fragments_of(dataset), numbered_schema(without(table, "note"), [0, 1]))
    )

    _, schema = after.get_fragments()[0].merge_columns(
        lambda batch: pa.record_batch([pa.array([1] * batch.num_rows)], ["new"]), columns=["id"]
    )

    assert schema.field("new").id() == next(unused_field_ids(after)) == 3


def test_columns_are_filled_in_fragments_with_deleted_rows(table):
    dataset = table.create("abc")
    dataset.delete("id = 'b'")
    dataset = table.open()
    metadata, schema = dataset.get_fragments()[0].merge_columns(
        lambda batch: pa.record_batch([pa.array([7] * batch.num_rows, pa.int32())], ["new"]), columns=["id"]
    )

    after = table.commit(dataset.version, LanceOperation.Merge([metadata], schema))

    assert after.to_table(columns=["id", "new"]).to_pylist() == [{"id": "a", "new": 7}, {"id": "c", "new": 7}]


def test_an_empty_table_takes_a_merge_without_fragments(table):
    table.create("")
    desired = pa.schema([*table.schema, pa.field("more", pa.int32(), nullable=False)], metadata=table.schema.metadata)
    dataset = table.open()

    after = table.commit(
        dataset.version, LanceOperation.Merge(fragments_of(dataset), numbered_schema(desired, [0, 1, 2, 3]))
    )

    assert after.schema.names == ["id", "age", "note", "more"]


def test_an_overwrite_with_an_arrow_schema_does_not_fit_the_files_of_a_changed_table(table):
    """Why a replacement passes Lance's own form of the schema; once this reads right, that is no longer needed."""
    dataset = table.create("ab")
    desired = pa.schema([table.schema.field("id"), pa.field("extra", pa.string()), table.schema.field("age")])
    changed = table.commit(1, LanceOperation.Merge(fragments_of(dataset), numbered_schema(desired, [0, 3, 1])))
    rows = pa.table({"id": ["z"], "extra": ["x"], "age": [5]}, schema=changed.schema)
    staged = write_fragments(rows, table.uri, mode="append", enable_stable_row_ids=True)

    right = table.commit(2, LanceOperation.Overwrite(changed.lance_schema, staged))
    assert right.to_table().to_pylist() == rows.to_pylist()
    assert numbers(right) == [0, 3, 1]

    wrong = table.commit(3, LanceOperation.Overwrite(changed.schema, staged))
    assert numbers(wrong) == [0, 1, 2]
    with pytest.raises((OSError, pa.ArrowInvalid, AssertionError)):
        assert wrong.to_table().to_pylist() == rows.to_pylist()
