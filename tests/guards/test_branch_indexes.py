"""Indexes that a ref inherits from its parent: readable for generations, broken by the wrong compaction.

Pins lance-notes 14 and 25, branching 9, lessons 11.
"""

import pyarrow as pa
import pytest


@pytest.mark.parametrize("generation", [1, 2, 3])
def test_indexes_inherited_over_generations_are_readable(table, generation):
    dataset = table.create(["alpha", "beta"])
    table.upsert(dataset, ["alpha"], note="quick fox")
    dataset = table.open()
    dataset.create_scalar_index("id", "BTREE")
    dataset.create_scalar_index("note", "INVERTED")

    parent, name = None, ""
    for level in range(generation):
        name = f"g{level}"
        handle = table.open_ref(parent) if parent else table.open()
        handle.create_branch(name, (parent, handle.version))
        parent = name

    branch = table.open_ref(name)
    lookup = branch.scanner(filter="id = 'beta'")
    assert "ScalarIndexQuery" in lookup.explain_plan()
    assert lookup.to_table()["id"].to_pylist() == ["beta"]
    assert branch.to_table(full_text_query="fox")["id"].to_pylist() == ["alpha"]


def inherited_index(table) -> None:
    """Make three fragments that one BTREE segment covers, and a branch that inherits all of it."""
    dataset = table.create("ab", "cd", "ef")
    dataset.create_scalar_index("id", "BTREE")
    dataset = table.open()
    dataset.create_branch("b", dataset.version)


def test_inherited_segment_carries_a_base_id(table):
    inherited_index(table)

    (main,), (branch,) = (handle.describe_indices() for handle in (table.open(), table.open_ref("b")))

    assert [segment.base_id for segment in main.segments] == [None]
    assert [segment.base_id for segment in branch.segments] == [0]


def test_compacting_inherited_covered_fragments_on_a_ref_breaks_lookups_and_a_fold_does_not_heal(table):
    inherited_index(table)
    table.open_ref("b").optimize.compact_files()

    with pytest.raises(pa.ArrowInvalid, match=r"Not found: .*/table/_indices/"):
        table.ids(table.open_ref("b"), where="id = 'c'")
    table.open_ref("b").optimize.optimize_indices()
    with pytest.raises(pa.ArrowInvalid, match=r"Not found: .*/table/_indices/"):
        table.ids(table.open_ref("b"), where="id = 'c'")

    table.open_ref("b").create_scalar_index("id", "BTREE", name="id_idx", replace=True)
    assert table.ids(table.open_ref("b"), where="id = 'c'") == "c"


def test_rebuilding_on_the_ref_before_compacting_keeps_lookups_right(table):
    inherited_index(table)

    table.open_ref("b").create_scalar_index("id", "BTREE", name="id_idx", replace=True)
    table.open_ref("b").optimize.compact_files()

    branch = table.open_ref("b")
    assert len(branch.get_fragments()) == 1
    assert [table.ids(branch, where=f"id = '{letter}'") for letter in "abcdef"] == list("abcdef")


def test_fold_gives_the_ref_its_own_segment_only_when_there_is_something_to_fold(table):
    inherited_index(table)

    table.open_ref("b").optimize.optimize_indices(num_indices_to_merge=2)
    (covered,) = table.open_ref("b").describe_indices()
    table.append("g", ref="b")
    table.open_ref("b").optimize.optimize_indices(num_indices_to_merge=2)
    (folded,) = table.open_ref("b").describe_indices()
    table.open_ref("b").optimize.compact_files()

    assert [segment.base_id for segment in covered.segments] == [0]
    assert [segment.base_id for segment in folded.segments] == [None]
    assert [table.ids(table.open_ref("b"), where=f"id = '{letter}'") for letter in "abcdefg"] == list("abcdefg")


def test_excluding_inherited_covered_fragments_from_compaction_keeps_lookups_right(table):
    inherited_index(table)
    for letter in "gh":
        table.append(letter, ref="b")

    branch = table.open_ref("b")
    covered = sorted(branch.describe_indices()[0].segments[0].fragment_ids)
    branch.optimize.compact_files(excluded_fragment_ids=covered)

    branch = table.open_ref("b")
    assert covered == [0, 1, 2]
    assert len(branch.get_fragments()) == 4
    assert [table.ids(branch, where=f"id = '{letter}'") for letter in "abcdefgh"] == list("abcdefgh")


def test_inherited_full_text_segment_survives_compaction_on_the_ref(table):
    table.create("ab", "cd")
    table.upsert(table.open(), "ac", note="fox")
    dataset = table.open()
    dataset.create_scalar_index("note", "INVERTED")
    table.open().create_branch("b", table.open().version)

    table.open_ref("b").optimize.compact_files()

    branch = table.open_ref("b")
    assert len(branch.get_fragments()) == 1
    assert sorted(branch.to_table(full_text_query="fox")["id"].to_pylist()) == ["a", "c"]


def test_folding_leaves_a_fully_covered_inherited_full_text_index_with_the_parent(table):
    table.create("ab").create_scalar_index("note", "INVERTED")
    table.open().create_branch("b", table.open().version)

    table.open_ref("b").optimize.optimize_indices(num_indices_to_merge=2)

    (index,) = table.open_ref("b").describe_indices()
    assert [segment.base_id for segment in index.segments] == [0]
