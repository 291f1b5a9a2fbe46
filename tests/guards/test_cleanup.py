"""Removing old versions: the preview is exact, chosen versions go, staged and referenced files stay.

Pins lance-notes 15, recovery 15, maintenance 4, lessons 8, 51, 61 and 62.
"""

import os
from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceOperation


def bytes_on_disk(table) -> int:
    return sum(Path(table.uri, path).stat().st_size for path in table.files("**/*"))


def history(table, *, ref: str | None = None) -> lance.LanceDataset:
    """Make a table with appends, upserts, a delete and a compaction behind it."""
    table.create("ab", "c")
    if ref:
        table.open().create_branch(ref, 2)
    handle = (lambda: table.open_ref(ref)) if ref else table.open
    table.upsert(handle(), "a", age=5)
    handle().delete("id = 'b'")
    handle().optimize.compact_files()
    table.append("d", ref=ref)
    return handle()


FORMS = {
    "retain_versions": {"retain_versions": 2},
    "older_than": {"older_than": timedelta(microseconds=1)},
    "both": {"retain_versions": 3, "older_than": timedelta(microseconds=1)},
    "versions": {"versions": [3, 4]},
}


@pytest.mark.parametrize("ref", [None, "b"])
@pytest.mark.parametrize("form", FORMS)
def test_preview_equals_what_cleanup_then_reports_and_frees(table, form, ref):
    dataset = history(table, ref=ref)
    before = bytes_on_disk(table)

    preview = dataset.explain_cleanup_old_versions(**FORMS[form]).stats
    untouched = bytes_on_disk(table)
    result = dataset.cleanup_old_versions(**FORMS[form])

    fields = [
        "bytes_removed",
        "old_versions",
        "data_files_removed",
        "transaction_files_removed",
        "deletion_files_removed",
    ]
    assert [getattr(preview, field) for field in fields] == [getattr(result, field) for field in fields]
    assert untouched == before
    assert before - bytes_on_disk(table) == result.bytes_removed > 0


def test_preview_names_the_branches_that_refer_to_a_version(table):
    table.create("a", "b", "c").create_branch("b", 2)

    preview = table.open().explain_cleanup_old_versions(retain_versions=1)

    assert [(branch.name, branch.referenced_version) for branch in preview.referenced_branches] == [("b", 2)]


def test_only_what_is_outside_both_limits_goes(table):
    table.create("a", "b", "c")

    table.open().cleanup_old_versions(retain_versions=1, older_than=timedelta(hours=1))

    assert table.versions() == [1, 2, 3]


def test_chosen_versions_go_and_the_latest_is_skipped_without_a_word(table):
    table.create("a", "b", "c", "d")

    result = table.open().cleanup_old_versions(versions=[2, 4])

    assert result.old_versions == 1
    assert table.versions() == [1, 3, 4]


def test_empty_list_of_versions_is_refused(table):
    dataset = table.create("a", "b")

    with pytest.raises(OSError, match="versions must not be empty"):
        dataset.cleanup_old_versions(versions=[])


def test_chosen_version_that_a_branch_refers_to_loses_only_its_transaction_file(table):
    table.create("a", "b", "c").create_branch("b", 2)
    before = table.files("**/*")

    result = table.open().cleanup_old_versions(versions=[2])

    gone = before - table.files("**/*")
    assert result.old_versions == 0
    assert [path.split("/")[0] for path in gone] == ["_transactions"]
    assert table.ids(table.open_ref("b")) == "ab"


def test_rows_of_kept_versions_stay_readable(table):
    history(table)

    table.open().cleanup_old_versions(versions=[1, 3])

    assert table.ids(table.open(2)) == "abc"
    assert table.ids() == "acd"


def test_staged_files_survive_a_default_cleanup(table):
    table.create("a", "b")
    staged = table.stage("c")

    table.open().cleanup_old_versions(retain_versions=1)
    table.commit(2, LanceOperation.Append(staged))

    assert table.ids() == "abc"


def test_staged_files_die_with_delete_unverified(table):
    table.create("a", "b")
    (staged,) = table.stage("c")

    table.open().cleanup_old_versions(retain_versions=1, delete_unverified=True)

    assert not Path(table.uri, "data", staged.files[0].path).exists()


def test_unreferenced_files_older_than_a_week_go_even_when_every_version_is_kept(table):
    table.create("a", "b")
    (old,), (young,) = table.stage("c"), table.stage("d")
    os.utime(f"{table.uri}/data/{old.files[0].path}", (1, 1))

    result = table.open().cleanup_old_versions(retain_versions=1_000)

    assert (result.old_versions, result.data_files_removed) == (0, 1)
    assert not Path(table.uri, "data", old.files[0].path).exists()
    assert Path(table.uri, "data", young.files[0].path).exists()


def test_open_reader_of_a_cleaned_version_fails_instead_of_reading_other_rows(table):
    table.create("ab")
    reader = table.open()
    lance.write_dataset(table.rows("xy"), table.uri, mode="overwrite")
    table.open().cleanup_old_versions(retain_versions=1)

    with pytest.raises(pa.ArrowInvalid, match="Not found"):
        reader.to_table()
