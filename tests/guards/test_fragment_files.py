"""Files of fragments as the mark of shared rows: what `storage/row_changes.py` relies on."""

from typing import Any

import lance
from lance import LanceOperation


def forms(dataset: lance.LanceDataset) -> list[tuple[Any, ...]]:
    """Describe fragments by their data files and deletion files, whatever tree these lie in."""
    return [
        (
            tuple((file.path, tuple(file.fields), tuple(file.column_indices)) for file in fragment.metadata.files),
            fragment.metadata.deletion_file and fragment.metadata.deletion_file.id,
        )
        for fragment in dataset.get_fragments()
    ]


def test_a_ref_names_inherited_files_like_its_parent(table):
    table.create("ab", "c")
    table.open().delete("id = 'a'")
    table.open().create_branch("b", 3)

    assert forms(table.open_ref("b")) == forms(table.open())
    assert all(deletion or files for files, deletion in forms(table.open()))


def test_a_restore_brings_the_same_files_back(table):
    table.create("ab", "c")
    before = forms(table.open())
    table.open().delete("id = 'a'")
    table.commit(3, LanceOperation.Restore(2))

    assert forms(table.open()) == before


def test_equal_rows_written_on_two_refs_lie_in_files_of_different_names(table):
    table.create("a").create_branch("b", 1)
    table.append("c")
    table.append("c", ref="b")

    (shared, main), (inherited, branch) = forms(table.open()), forms(table.open_ref("b"))
    assert shared == inherited
    assert main != branch


def test_equal_deletions_on_two_refs_have_different_ids(table):
    table.create("abc").create_branch("b", 1)
    table.open().delete("id = 'a'")
    table.open_ref("b").delete("id = 'a'")

    ((main_files, main),), ((branch_files, branch),) = forms(table.open()), forms(table.open_ref("b"))
    assert main_files == branch_files
    assert main is not None
    assert branch is not None
    assert main != branch


def test_an_update_and_a_compaction_write_files_of_new_names(table):
    table.create("abc", "d")
    before = {files for files, _ in forms(table.open())}
    table.upsert(table.open(), "a", age=5)
    updated = {files for files, _ in forms(table.open())}
    table.open().optimize.compact_files()
    compacted = {files for files, _ in forms(table.open())}

    assert before < updated
    assert not compacted & updated


def test_a_scan_of_some_fragments_by_row_version_finds_what_they_hold(table):
    table.create("abc", "d")
    table.upsert(table.open(), "ae", age=5)
    dataset = table.open()

    written = dataset.scanner(
        columns=["id"], fragments=dataset.get_fragments()[2:], filter="_row_last_updated_at_version > 2"
    ).to_table()
    none = dataset.scanner(
        columns=["id"], fragments=dataset.get_fragments()[:2], filter="_row_last_updated_at_version > 2"
    ).to_table()

    assert sorted(written["id"].to_pylist()) == ["a", "e"]
    assert none.num_rows == 0
