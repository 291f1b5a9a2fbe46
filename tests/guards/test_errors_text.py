"""The exception types and phrases by which Lance signals conflict, incompatibility, absence and existence.

Pins storage 17, lessons 58. `storage/lance_errors.py` is the only code that matches these texts; every phrase it knows
is provoked here.
"""

import shutil
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceOperation
from lance.commit import CommitConflictError
from lance.fragment import write_fragments
from lance.optimize import Compaction


def raised(exception: type[BaseException], call) -> BaseException:
    """Return what `call` raises; the type must match exactly, not by inheritance."""
    with pytest.raises(exception) as caught:
        call()
    assert caught.type is exception
    return caught.value


# Conflict: somebody else was first; re-reading and trying again may be right.


def test_upsert_that_lost_says_too_many_concurrent_writers(table):
    table.create("a")
    first, second = table.open(), table.open()
    table.upsert(first, "n")

    error = raised(OSError, lambda: table.upsert(second, "n"))

    assert "Too many concurrent writers. Attempted 0 retries." in str(error)


def test_staged_change_of_a_touched_fragment_says_retryable_commit_conflict(table):
    dataset = table.create("abc")
    fragment = dataset.get_fragment(0).delete("id = 'a'")
    table.open().delete("id = 'b'")

    error = raised(CommitConflictError, lambda: table.commit(1, LanceOperation.Delete([fragment], [], "")))

    assert "Retryable commit conflict for version 2" in str(error)
    assert error.retryable


@pytest.mark.parametrize("rival", ["CreateIndex", "Delete"])
def test_preempted_compaction_says_retryable_commit_conflict(table, rival):
    dataset = table.create("ab", "c")
    results = [task.execute(dataset) for task in Compaction.plan(dataset, {}).tasks]
    if rival == "CreateIndex":
        table.open().create_scalar_index("id", "BTREE")
    else:
        table.open().delete("id = 'a'")

    error = raised(OSError, lambda: Compaction.commit(table.open(), results))

    assert "Retryable commit conflict for version 3" in str(error)
    assert f"preempted by concurrent transaction {rival}" in str(error)


def test_stale_overwrite_says_commit_conflict_and_calls_it_retryable(table):
    table.create("a")
    staged = write_fragments(table.rows("z"), table.uri, mode="overwrite")
    table.append("b")

    error = raised(CommitConflictError, lambda: table.commit(1, LanceOperation.Overwrite(table.schema, staged)))

    assert "Commit conflict for version 2: Failed to commit the transaction after 0 retries." in str(error)
    assert error.retryable


# Incompatible: somebody else's commit makes this transaction meaningless.


def test_append_after_a_restore_says_incompatible_transaction(table):
    table.create("a", "b")
    staged = table.stage("c")
    table.commit(2, LanceOperation.Restore(1))

    error = raised(CommitConflictError, lambda: table.commit(2, LanceOperation.Append(staged)))

    assert "Incompatible transaction" in str(error)
    assert not error.retryable


def test_append_after_an_overwrite_says_incompatible_transaction(table):
    table.create("a")
    staged = table.stage("c")
    lance.write_dataset(table.rows("z"), table.uri, mode="overwrite")

    error = raised(CommitConflictError, lambda: table.commit(1, LanceOperation.Append(staged)))

    assert "Incompatible transaction" in str(error)
    assert not error.retryable


def test_racing_config_updates_say_incompatible_transaction(table):
    table.create("a")
    first, second = table.open(), table.open()
    first.update_config({"x": "1"})

    error = raised(OSError, lambda: second.update_config({"x": "2"}))

    assert "Incompatible transaction" in str(error)


# Not found: the table, version, ref or file is absent. Three classes, always with "not found" in some letter case.


def test_missing_table_version_and_ref_say_was_not_found_on_open(table):
    table.create("a")

    for call in (
        lambda: lance.dataset(f"{table.uri}-elsewhere"),
        lambda: table.open(77),
        lambda: table.open_ref("nowhere"),
    ):
        assert "was not found" in str(raised(ValueError, call))


def test_missing_version_and_branch_say_was_not_found_on_checkout(table):
    dataset = table.create("a")

    for reference in (77, ("nowhere", 1)):
        assert "was not found" in str(raised(OSError, lambda at=reference: dataset.checkout_version(at)))


def test_commit_onto_a_missing_table_or_version_says_was_not_found(table):
    table.create("a")
    append = LanceOperation.Append(table.stage("b"))

    elsewhere = raised(OSError, lambda: lance.LanceDataset.commit(f"{table.uri}-elsewhere", append, read_version=1))
    future = raised(OSError, lambda: table.commit(77, append))

    assert "was not found: The dataset must already exist" in str(elsewhere)
    assert "was not found" in str(future)


def test_new_table_over_an_existing_one_says_was_not_found_not_exists(table):
    """Version 0 is what Lance misses; nobody may take this answer for "the table is gone"."""
    table.create("a")

    error = raised(OSError, lambda: table.commit(0, LanceOperation.Overwrite(table.schema, [])))

    assert "_versions/0.manifest was not found" in str(error)


def test_restore_to_a_missing_version_says_not_found(table):
    table.create("a")

    error = raised(OSError, lambda: table.commit(1, LanceOperation.Restore(77)))

    assert "Not found" in str(error)


def test_missing_branch_says_not_found_on_delete(table):
    dataset = table.create("a")

    error = raised(ValueError, lambda: dataset.branches.delete("nowhere"))

    assert "Ref not found error: Branch nowhere does not exist" in str(error)


def test_missing_index_says_not_found(table):
    dataset = table.create("a")

    error = raised(RuntimeError, lambda: dataset.drop_index("nothing"))

    assert "index not found" in str(error)


def test_missing_data_file_says_not_found(table):
    dataset = table.create("a")
    shutil.rmtree(f"{table.uri}/data")

    assert "Not found" in str(raised(pa.ArrowInvalid, dataset.to_table))
    assert "Not found" in str(raised(OSError, lambda: dataset.count_rows("id = 'a'")))


# Exists.


def test_creating_an_existing_table_says_already_exists(table):
    table.create("a")

    error = raised(OSError, lambda: lance.write_dataset(table.rows("b"), table.uri, mode="create"))

    assert "Dataset already exists" in str(error)


@pytest.mark.parametrize("is_leftover", [False, True])
def test_creating_an_existing_branch_says_internal_error_as_does_a_leftover_tree(table, is_leftover):
    """The same words for a live branch and for the remains of one: look at the branch list, not at the text."""
    table.create("a").create_branch("b")
    if is_leftover:
        Path(table.uri, "_refs/branches/b.json").unlink()

    error = raised(OSError, lambda: table.open().create_branch("b"))

    assert "internal error" in str(error)


# Wrong requests, which are none of the above.


def test_unknown_column_in_a_filter_says_invalid_user_input(table):
    dataset = table.create("a")

    assert "Invalid user input" in str(raised(ValueError, lambda: dataset.to_table(filter="nobody = 1")))


def test_repeated_source_key_says_ambiguous(table):
    table.create("a")

    assert "Ambiguous merge inserts" in str(raised(OSError, lambda: table.upsert(table.open(), "aa")))


def test_changed_key_annotation_says_reserved(table):
    dataset = table.create("a")

    error = raised(OSError, lambda: dataset.update_field_metadata({"id": {table.key: "false"}}))

    assert "the unenforced primary key is a reserved key and cannot be changed once set" in str(error)


def test_reserved_branch_name_says_ref_is_invalid(table):
    dataset = table.create("a")

    for name in ("main", "a b"):
        assert "Ref is invalid" in str(raised(OSError, lambda bad=name: dataset.create_branch(bad)))
