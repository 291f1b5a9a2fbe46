"""Ghosts in full text: which ways of extending an index find words that updated rows no longer have.

Pins lance-notes 27, recovery 4.3, lessons 35b and 72. The index stores row ids, and an updated row keeps its id.
"""

import pyarrow as pa
import pytest
from lance import LanceOperation


def words(table, text: str) -> str:
    return "".join(sorted(table.open().to_table(full_text_query=text)["id"].to_pylist()))


def indexed_text(table) -> None:
    table.create("ab")
    table.upsert(table.open(), "ab", note="old")
    table.open().create_scalar_index("note", "INVERTED", name="n")
    table.upsert(table.open(), "a", note="new")


def test_default_fold_forgets_the_old_words_of_updated_rows(table):
    indexed_text(table)

    table.open().optimize.optimize_indices()

    assert (words(table, "old"), words(table, "new")) == ("b", "a")


def test_second_full_text_segment_finds_the_old_words_and_no_later_merge_heals_it(table):
    indexed_text(table)

    table.open().optimize.optimize_indices(num_indices_to_merge=0)
    ghosts = words(table, "old")
    table.open().optimize.optimize_indices(num_indices_to_merge=5)
    after_merge = words(table, "old")
    table.open().create_scalar_index("note", "INVERTED", name="n", replace=True)

    assert ghosts == "ab"
    assert after_merge == "ab"
    assert words(table, "old") == "b"


@pytest.mark.parametrize("merge_with_old", [False, True])
def test_segment_over_the_moved_rows_added_by_hand_finds_the_old_words(table, merge_with_old):
    indexed_text(table)
    dataset = table.open()
    (old,) = dataset.read_transaction(3).operation.new_indices
    moved = max(fragment.fragment_id for fragment in dataset.get_fragments())
    new = dataset.create_index_uncommitted("note", "INVERTED", name="n", fragment_ids=[moved], replace=True)

    merged = dataset.merge_existing_index_segments([old, new] if merge_with_old else [new])
    removed = [old] if merge_with_old else []
    table.commit(dataset.version, LanceOperation.CreateIndex(new_indices=[merged], removed_indices=removed))

    assert words(table, "old") == "ab"


def test_pieces_of_one_version_that_are_merged_forget_the_old_words(table):
    """One piece has the fragment that the updated row left, the other the one that it moved to."""
    indexed_text(table)
    table.append("cd", note="old")
    dataset = table.open()
    first, *others = [fragment.fragment_id for fragment in dataset.get_fragments()]
    pieces = [
        dataset.create_index_uncommitted("note", "INVERTED", name="n", fragment_ids=some, replace=True)
        for some in ([first], others)
    ]

    merged = dataset.merge_existing_index_segments(pieces)
    removed = table.segments(dataset, "n")
    table.commit(dataset.version, LanceOperation.CreateIndex(new_indices=[merged], removed_indices=removed))

    assert (words(table, "old"), words(table, "new")) == ("bcd", "a")
    table.upsert(table.open(), "c", note="new")
    assert (words(table, "old"), words(table, "new")) == ("bd", "ac")


def test_build_over_all_fragments_forgets_the_old_words(table):
    indexed_text(table)
    dataset = table.open()
    numbers = [fragment.fragment_id for fragment in dataset.get_fragments()]
    built = dataset.create_index_uncommitted("note", "INVERTED", name="n", fragment_ids=numbers, replace=True)

    dataset.commit_existing_index_segments("n", "note", [dataset.merge_existing_index_segments([built])])

    assert (words(table, "old"), words(table, "new")) == ("b", "a")


def test_btree_shows_no_ghosts_with_a_second_segment(table):
    table.create("ab").create_scalar_index("age", "BTREE", name="i")
    table.upsert(table.open(), "a", age=7)

    table.open().optimize.optimize_indices(num_indices_to_merge=0)

    assert len(table.segments(table.open(), "i")) == 2
    assert table.ids(where="age = 0") == "b"
    assert table.ids(where="age = 7") == "a"


def test_unmerged_full_text_segment_commits_and_then_cannot_be_read(table):
    table.create("ab")
    table.append("cd", note="some words")
    dataset = table.open()
    segment = dataset.create_index_uncommitted("note", "INVERTED", name="n", fragment_ids=[0, 1])

    table.commit(2, LanceOperation.CreateIndex(new_indices=[segment], removed_indices=[]))

    with pytest.raises(pa.ArrowInvalid, match="Not found"):
        words(table, "words")
