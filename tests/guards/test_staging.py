"""Staged transactions: files first, one commit later, under a uuid of our choice.

Pins lance-notes 12, 29 and 31, recovery 3, 4.3, 4.7 and 15, storage 16.6, lessons 3, 5, 17, 29, 68 and 77.
"""

import json
from contextlib import contextmanager

import lance
import pyarrow as pa
import pytest
from lance import FragmentMetadata, LanceOperation
from lance.commit import CommitConflictError
from lance.fragment import RowIdSequence, write_fragments


def created_at(dataset: lance.LanceDataset) -> dict[str, int]:
    found = dataset.to_table(columns=["id", "_row_created_at_version"])
    return dict(zip(found["id"].to_pylist(), found["_row_created_at_version"].to_pylist(), strict=True))


def delta_ids(dataset: lance.LanceDataset, since: int) -> tuple[list[str], list[str], list[int]]:
    """Return inserted ids, updated ids and deleted row ids between `since` and the handle's version."""
    delta = dataset.delta(compared_against=since)
    inserted = delta.get_inserted_rows().read_all()["id"].to_pylist()
    updated = delta.get_updated_rows().read_all()["id"].to_pylist()
    deleted = delta.get_deleted_row_ids().read_all().column(0).to_pylist()
    return sorted(inserted), sorted(updated), sorted(deleted)


def test_fragment_metadata_travels_as_json_and_row_ids_are_given_at_commit(table):
    table.create("ab")
    staged = [FragmentMetadata.from_json(json.dumps(fragment.to_json())) for fragment in table.stage("c")]

    after = table.commit(1, LanceOperation.Append(staged))

    assert after.version == 2
    assert table.row_ids(after) == {"a": 0, "b": 1, "c": 2}


def test_commit_records_our_uuid_and_properties(table):
    table.create("a")
    change = table.transaction(1, LanceOperation.Append(table.stage("b")), operation_id="op-1")

    after = lance.LanceDataset.commit(table.uri, change, max_retries=0)

    recorded = after.read_transaction(2)
    assert (recorded.uuid, recorded.read_version) == (change.uuid, 1)
    assert recorded.transaction_properties == {"operation_id": "op-1"}


def test_staging_commits_nothing(table):
    dataset = table.create("ab")

    table.stage("c")
    dataset.merge_insert("id").when_matched_update_all().execute_uncommitted(table.rows("a", age=5))
    dataset.get_fragment(0).delete("id = 'a'")

    assert table.open().version == 1
    assert table.ids() == "ab"


def test_stale_append_is_rebased_and_lands_further_on_even_without_retries(table):
    table.create("a")
    staged = table.stage("c")
    table.append("b")

    after = table.commit(1, LanceOperation.Append(staged))

    assert after.version == 3
    assert after.read_transaction(3).read_version == 1
    assert table.ids() == "abc"


def test_committing_one_transaction_twice_writes_its_rows_twice(table):
    table.create("a")
    change = table.transaction(1, LanceOperation.Append(table.stage("b")))

    for _ in range(2):
        lance.LanceDataset.commit(table.uri, change, max_retries=0)

    assert table.open().version == 3
    assert table.ids() == "abb"
    assert {table.open().read_transaction(version).uuid for version in (2, 3)} == {change.uuid}


def test_staged_update_is_refused_when_its_fragment_was_touched(table):
    dataset = table.create("ab")
    change, _ = dataset.merge_insert("id").when_matched_update_all().execute_uncommitted(table.rows("a", age=5))
    table.open().delete("id = 'b'")

    with pytest.raises(OSError, match="Retryable commit conflict"):
        lance.LanceDataset.commit(table.uri, change, max_retries=0)

    assert table.ids() == "a"


def test_staged_delete_is_refused_when_its_fragment_was_touched(table):
    dataset = table.create("abc")
    fragment = dataset.get_fragment(0).delete("id = 'a'")
    table.open().delete("id = 'b'")

    with pytest.raises(OSError, match="Retryable commit conflict"):
        table.commit(1, LanceOperation.Delete([fragment], [], "id = 'a'"))

    assert table.ids() == "ac"


def test_staged_update_from_a_stale_base_lands_when_no_fragment_is_shared(table):
    dataset = table.create("ab", "cd")
    change, _ = dataset.merge_insert("id").when_matched_update_all().execute_uncommitted(table.rows("a", age=5))
    table.open().delete("id = 'd'")

    after = lance.LanceDataset.commit(table.uri, change, max_retries=0)

    assert (change.read_version, after.version) == (2, 4)
    assert table.ids(where="age = 5") == "a"


def test_stale_overwrite_without_retries_is_refused(table):
    table.create("a")
    staged = write_fragments(table.rows("z"), table.uri, mode="overwrite")
    table.append("b")

    with pytest.raises(CommitConflictError):
        table.commit(1, LanceOperation.Overwrite(table.schema, staged))

    assert table.ids() == "ab"


def test_overwrite_through_a_stale_handle_wins_silently(table):
    table.create("a")
    stale = table.open()
    table.append("b")

    lance.write_dataset(table.rows("z"), stale, mode="overwrite")

    assert table.ids() == "z"


def test_overwrite_with_no_fragment_leaves_an_empty_table_with_the_whole_schema(table):
    table.create("ab")

    after = table.commit(1, LanceOperation.Overwrite(table.schema, []))

    assert after.count_rows() == 0
    assert after.schema.equals(table.schema, check_metadata=True)


def test_new_table_is_an_overwrite_from_version_zero(table):
    staged = write_fragments(table.rows("ab"), table.uri, mode="create", data_storage_version="2.2")
    change = table.transaction(0, LanceOperation.Overwrite(table.schema, staged))

    after = lance.LanceDataset.commit(table.uri, change, max_retries=0, enable_stable_row_ids=True)

    assert (after.version, after.has_stable_row_ids, after.data_storage_version) == (1, True, "2.2")
    assert after.read_transaction(1).uuid == change.uuid


def test_new_table_over_an_existing_one_is_refused_as_if_version_zero_were_missing(table):
    table.create("a")

    with pytest.raises(OSError, match="was not found"):
        table.commit(0, LanceOperation.Overwrite(table.schema, []))

    assert table.ids() == "a"


def test_delete_that_matches_nothing_still_commits_a_version(table):
    dataset = table.create("a")

    dataset.delete("id = 'nobody'")

    assert table.open().version == 2


def test_fragment_delete_without_a_match_leaves_the_deletion_file_as_it_was(table):
    dataset = table.create("ab", "cd")
    dataset.delete("id = 'c'")

    untouched, deleted_before = (fragment.delete("id = 'a' AND id = 'b'") for fragment in table.open().get_fragments())

    assert untouched.deletion_file is None
    assert deleted_before.deletion_file.num_deleted_rows == 1
    assert deleted_before.deletion_file.id == table.open().get_fragment(1).metadata.deletion_file.id


def test_fragment_delete_of_all_rows_returns_none(table):
    dataset = table.create("ab")

    assert dataset.get_fragment(0).delete("id != ''") is None


def test_fragment_delete_rows_takes_offsets(table):
    dataset = table.create("abc")
    fragment = dataset.get_fragment(0).delete_rows([0, 2])

    table.commit(1, LanceOperation.Delete([fragment], [], ""))

    assert table.ids() == "b"


def test_mixed_change_lands_as_one_update_with_row_ids_and_created_at_kept(table):
    """Remove one fragment whole, delete in another, rewrite rows with their ids first, add new rows after them."""
    dataset = table.create("ab", "cd", "ef")
    before = table.row_ids(dataset)
    remaining = dataset.get_fragment(1).delete("id = 'd'")
    (moved,) = table.stage("abn", age=9)
    moved.row_id_meta = RowIdSequence([before["a"], before["b"]]).to_inline_metadata()

    change = table.transaction(
        3,
        LanceOperation.Update(removed_fragment_ids=[0], updated_fragments=[remaining], new_fragments=[moved]),
        operation_id="op-2",
    )
    after = lance.LanceDataset.commit(table.uri, change, max_retries=0)

    assert after.version == 4
    assert after.read_transaction(4).uuid == change.uuid
    assert table.row_ids(after) == {"a": 0, "b": 1, "c": 2, "e": 4, "f": 5, "n": 6}
    assert created_at(after) == {"a": 1, "b": 1, "c": 2, "e": 3, "f": 3, "n": 4}
    assert delta_ids(after, since=3) == (["n"], ["a", "b"], [before["d"]])


def test_update_without_row_ids_turns_into_delete_and_insert_in_history(table):
    dataset = table.create("ab")
    (moved,) = table.stage("ab", age=9)

    after = table.commit(1, LanceOperation.Update(removed_fragment_ids=[0], new_fragments=[moved]))

    assert table.row_ids(after) == {"a": 2, "b": 3}
    assert delta_ids(after, since=dataset.version) == (["a", "b"], [], [0, 1])


def test_mixed_change_keeps_btree_and_full_text_right(table):
    dataset = table.create("ab", "cd")
    dataset.create_scalar_index("id", "BTREE")
    dataset.create_scalar_index("note", "INVERTED")
    dataset = table.open()
    before = table.row_ids(dataset)
    (moved,) = table.stage("abn", note="fresh words")
    moved.row_id_meta = RowIdSequence([before["a"], before["b"]]).to_inline_metadata()

    table.commit(dataset.version, LanceOperation.Update(removed_fragment_ids=[0], new_fragments=[moved]))

    for maintain in (lambda _: None, lambda d: d.optimize.optimize_indices(), lambda d: d.optimize.compact_files()):
        maintain(table.open())
        assert table.ids(where="id IN ('a', 'd', 'n')") == "adn"
        assert sorted(table.open().to_table(full_text_query="fresh")["id"].to_pylist()) == ["a", "b", "n"]


def test_first_touch_stages_into_a_ref_that_does_not_exist_yet(table):
    dataset = table.create("a")
    staged = write_fragments(
        table.rows("b"), table.ref_uri("b"), schema=table.schema, mode="create", data_storage_version="2.2"
    )

    dataset.create_branch("b", 1)
    after = table.commit(1, LanceOperation.Append(staged), ref="b")

    assert after.version == 2
    assert table.ids(table.open_ref("b")) == "ab"
    assert table.ids() == "a"


def test_files_staged_beside_the_parent_are_not_found_from_the_ref(table):
    dataset = table.create("a")
    staged = table.stage("b")
    dataset.create_branch("b", 1)

    table.commit(1, LanceOperation.Append(staged), ref="b")

    with pytest.raises(pa.ArrowInvalid, match="Not found"):
        table.open_ref("b").to_table()


def test_commit_lock_can_veto(table):
    table.create("a")

    @contextmanager
    def veto(version):
        raise CommitConflictError(f"version {version} is taken")
        yield

    with pytest.raises(OSError, match="version 2 is taken"):
        lance.LanceDataset.commit(
            table.uri, LanceOperation.Append(table.stage("b")), read_version=1, commit_lock=veto, max_retries=0
        )

    assert table.ids() == "a"
