"""Restore: how far back it goes, what it overrides, what refuses to follow it.

Pins lance-notes 13, recovery 8 and 15, storage 16.7, lessons 4 and 14.
"""

import lance
import pytest
from lance import LanceOperation
from lance.commit import CommitConflictError


def test_restore_makes_a_new_version_with_the_old_content(table):
    table.create("a", "b")

    after = table.commit(2, LanceOperation.Restore(1))

    assert after.version == 3
    assert table.ids() == "a"
    assert table.ids(table.open(2)) == "ab"


def test_restore_carries_our_uuid_and_properties(table):
    table.create("a", "b")
    change = table.transaction(2, LanceOperation.Restore(1), operation_id="op-1")

    after = lance.LanceDataset.commit(table.uri, change, max_retries=0)

    recorded = after.read_transaction(3)
    assert (recorded.uuid, recorded.transaction_properties) == (change.uuid, {"operation_id": "op-1"})
    assert recorded.operation == LanceOperation.Restore(1)


def test_restore_overrides_an_append_that_landed_since_it_was_planned(table):
    table.create("a", "b")
    table.append("c")

    after = table.commit(2, LanceOperation.Restore(1))

    assert after.version == 4
    assert table.ids() == "a"


def test_staged_append_planned_before_a_restore_is_refused(table):
    table.create("a", "b")
    staged = table.stage("c")
    table.commit(2, LanceOperation.Restore(1))

    with pytest.raises(CommitConflictError, match="Incompatible transaction"):
        table.commit(2, LanceOperation.Append(staged))

    assert table.ids() == "a"


def test_restore_reverts_schema_metadata_config_and_indexes(table):
    dataset = table.create("a")
    dataset.update_schema_metadata({"stamp": "5"})
    dataset.update_config({"lance.auto_cleanup.interval": "1000"})
    dataset.create_scalar_index("id", "BTREE")

    table.commit(table.open().version, LanceOperation.Restore(1))

    after = table.open()
    assert after.schema.metadata[b"stamp"] == b"4"
    assert "lance.auto_cleanup.interval" not in after.config()
    assert after.describe_indices() == []


def test_restore_brings_a_stripped_config_back(table):
    dataset = table.create("a")
    dataset.update_config({"lance.auto_cleanup.interval": "1000"})
    dataset.delete_config_keys(["lance.auto_cleanup.interval"])

    after = table.commit(3, LanceOperation.Restore(2))

    assert after.config()["lance.auto_cleanup.interval"] == "1000"


def test_restore_reverts_row_versions(table):
    dataset = table.create("ab")
    table.upsert(dataset, "a", age=5)

    after = table.commit(2, LanceOperation.Restore(1))

    updated_at = after.to_table(columns=["_row_last_updated_at_version"]).column(0).to_pylist()
    assert updated_at == [1, 1]


def test_row_ids_handed_out_after_the_restored_version_are_not_used_again(table):
    table.create("a", "bc")
    table.commit(2, LanceOperation.Restore(1))

    table.append("d")

    assert table.row_ids() == {"a": 0, "d": 3}


def test_staged_update_after_a_restore_is_refused(table):
    dataset = table.create("a", "b")
    change, _ = dataset.merge_insert("id").when_matched_update_all().execute_uncommitted(table.rows("a", age=5))
    table.commit(2, LanceOperation.Restore(1))

    with pytest.raises(CommitConflictError):
        lance.LanceDataset.commit(table.uri, change, max_retries=0)

    assert table.ids(where="age = 5") == ""


def test_restore_of_a_state_with_auto_cleanup_settings_deletes_versions_in_its_own_commit(table):
    dataset = table.create("a")
    dataset.update_config({"lance.auto_cleanup.interval": "4", "lance.auto_cleanup.older_than": "0s"})
    dataset.delete("true")

    table.commit(3, LanceOperation.Restore(2))

    assert 1 not in table.versions()


def test_restore_of_a_detached_twin_without_the_settings_deletes_none(table):
    dataset = table.create("a")
    dataset.update_config({"lance.auto_cleanup.interval": "4", "lance.auto_cleanup.older_than": "0s"})
    dataset.delete("true")
    strip = LanceOperation.UpdateMap(updates=dict.fromkeys(table.open(2).config()), replace=False)
    change = table.transaction(2, LanceOperation.UpdateConfig(config_updates=strip))

    twin = lance.LanceDataset.commit(table.open(2), change, detached=True, max_retries=5)
    restored = table.commit(3, LanceOperation.Restore(twin.version))

    assert twin.version >= 2**63
    assert restored.config() == {}
    assert table.ids() == "a"
    assert table.versions() == [1, 2, 3, 4]
