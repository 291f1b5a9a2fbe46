"""The one order of maintenance steps that converges within a run, with every kind of index at once.

Pins lance-notes 25 and 26, lessons 11 and 69. Rewrites and new segments are made at the pin without a lock; then, at
HEAD: fold what knows rows by their ids, one CreateIndex transaction, the rewrite with its read version moved to HEAD,
and last a fold of what knows rows by their addresses. Folding a BTREE first and letting it follow the rewrite works
too; it takes twice as long under the lock.
"""

import json

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance import LanceOperation
from lance.file import LanceFileReader
from lance.optimize import Compaction, RewriteResult

from support.rewrites import task_by_hand

DIMENSION = 8


def rows(first: int, last: int, *, word: str) -> pa.Table:
    count = last - first
    vectors = np.random.default_rng(first).random((count, DIMENSION), dtype=np.float32)
    return pa.table(
        {
            "id": [f"p{number}" for number in range(first, last)],
            "note": [word] * count,
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSION),
        }
    )


def open_fresh(uri: str) -> lance.LanceDataset:
    return lance.dataset(uri, session=lance.Session())


@pytest.fixture(params=["main line", "ref"])
def uri(request, table) -> str:
    """Lay out what optimize meets: three kinds of index, covered and uncovered fragments, updated and deleted rows."""
    options = {"enable_stable_row_ids": True, "data_storage_version": "2.2"}
    lance.write_dataset(rows(0, 300, word="early"), table.uri, **options)
    lance.write_dataset(rows(300, 320, word="early"), table.uri, mode="append")
    dataset = table.open()
    dataset.create_scalar_index("id", "BTREE", name="by_id")
    dataset.create_scalar_index("note", "INVERTED", name="by_note")
    dataset.create_index("vector", "IVF_PQ", name="by_vector", num_partitions=1, num_sub_vectors=2)
    address = table.uri
    if request.param == "ref":
        table.open().create_branch("b", table.open().version)
        address = table.ref_uri("b")
    lance.write_dataset(rows(320, 340, word="late"), address, mode="append")
    update = rows(0, 5, word="late")
    open_fresh(address).merge_insert("id").when_matched_update_all().execute(update)
    open_fresh(address).delete("id IN ('p10', 'p330')")
    return address


@pytest.fixture(params=["fold first", "fold last"])
def follows(request) -> bool:
    """Whether the BTREE is folded before the rewrite and follows it, or loses what was rewritten and is folded last."""
    return request.param == "fold first"


def rewrite(dataset: lance.LanceDataset, *, follows: bool) -> RewriteResult:
    """Rewrite all fragments of the handle's version as one group, whatever covers them."""
    options = {"compaction_mode": "TryBinaryCopy", "has_eager_remappable_index": follows}
    return task_by_hand(dataset, **options).execute(dataset)


def rebuild_text(table, dataset: lance.LanceDataset) -> LanceOperation.CreateIndex:
    """Build the full-text index anew over all fragments of the handle's version, to replace the segments there are."""
    numbers = [fragment.fragment_id for fragment in dataset.get_fragments()]
    built = dataset.create_index_uncommitted("note", "INVERTED", name="by_note", fragment_ids=numbers, replace=True)
    merged = dataset.merge_existing_index_segments([built])
    return LanceOperation.CreateIndex(new_indices=[merged], removed_indices=table.segments(dataset, "by_note"))


def commit_in_order(uri: str, table, text: LanceOperation.CreateIndex, result: RewriteResult, *, follows: bool) -> None:
    first = ["by_id", "by_vector"] if follows else ["by_vector"]
    open_fresh(uri).optimize.optimize_indices(index_names=first, num_indices_to_merge=2)
    change = table.transaction(open_fresh(uri).version, text)
    lance.LanceDataset.commit(uri, change, max_retries=0)
    head = open_fresh(uri)
    moved = json.loads(result.json()) | {"read_version": head.version}
    Compaction.commit(head, [RewriteResult.from_json(json.dumps(moved))])
    if not follows:
        assert open_fresh(uri).stats.index_stats("by_id")["num_indexed_rows"] == 0
        check_answers(open_fresh(uri), live=head.count_rows(), late=head.count_rows("note = 'late'"), is_served=False)
        open_fresh(uri).optimize.optimize_indices(index_names=["by_id"], num_indices_to_merge=2)


def unindexed(dataset: lance.LanceDataset) -> dict[str, int]:
    names = ("by_id", "by_note", "by_vector")
    return {name: dataset.stats.index_stats(name)["num_unindexed_rows"] for name in names}


def check_answers(dataset: lance.LanceDataset, *, live: int, late: int, is_served: bool = True) -> None:
    assert dataset.count_rows() == live
    for number in (0, 4, 10, 100, 310, 330, 339):
        lookup = dataset.scanner(filter=f"id = 'p{number}'", columns=["id"])
        assert ("ScalarIndexQuery" in lookup.explain_plan()) is is_served
        assert lookup.to_table()["id"].to_pylist() == ([] if number in {10, 330} else [f"p{number}"])
    assert dataset.to_table(columns=["id"], full_text_query="late").num_rows == late
    assert dataset.to_table(columns=["id"], full_text_query="early").num_rows == live - late
    query = rows(320, 321, word="")["vector"][0].as_py()
    nearest = {"column": "vector", "q": query, "k": 1, "refine_factor": 50}
    assert dataset.to_table(columns=["id"], nearest=nearest)["id"].to_pylist() == ["p320"]


def entries(dataset: lance.LanceDataset, name: str) -> int:
    """Count what a BTREE holds, in its own file."""
    (segment,) = next(index for index in dataset.describe_indices() if index.name == name).segments
    return LanceFileReader(f"{dataset.uri}/_indices/{segment.uuid}/page_data.lance").metadata().num_rows


def test_one_run_leaves_one_fragment_one_segment_each_and_full_coverage(uri, table, follows):
    pinned = open_fresh(uri)
    result, text = rewrite(pinned, follows=follows), rebuild_text(table, pinned)

    commit_in_order(uri, table, text, result, follows=follows)

    after = open_fresh(uri)
    (fragment,) = after.get_fragments()
    assert fragment.num_deletions == 0
    assert {index.name: len(index.segments) for index in after.describe_indices()} == dict.fromkeys(unindexed(after), 1)
    assert unindexed(after) == {"by_id": 0, "by_note": 0, "by_vector": 0}
    check_answers(after, live=338, late=24)
    assert Compaction.plan(after, {}).num_tasks() == 0


def test_append_between_rewrite_and_commit_stays_separate_and_nothing_is_lost(uri, table, follows):
    pinned = open_fresh(uri)
    result, text = rewrite(pinned, follows=follows), rebuild_text(table, pinned)
    lance.write_dataset(rows(340, 345, word="late"), uri, mode="append")

    commit_in_order(uri, table, text, result, follows=follows)

    after = open_fresh(uri)
    assert len(after.get_fragments()) == 2
    assert unindexed(after) == {"by_id": 0, "by_note": 5, "by_vector": 0}
    check_answers(after, live=343, late=29)


@pytest.mark.parametrize("stays", [False, True], ids=["everything is rewritten", "a fragment stays"])
def test_a_btree_that_is_folded_last_holds_every_live_row_once(table, stays):
    """What it held of the rewritten fragments must go: their addresses mean nothing any more."""
    table.create("abcd", "efg", "hij").create_scalar_index("id", "BTREE", name="by_id")
    table.append("kl")
    table.open().delete("id IN ('b', 'f')")
    dataset = table.open()
    numbers = [fragment.fragment_id for fragment in dataset.get_fragments()][1 if stays else 0 :]
    result = task_by_hand(dataset, numbers, has_eager_remappable_index=False).execute(dataset)

    Compaction.commit(dataset, [result])
    table.open().optimize.optimize_indices(num_indices_to_merge=2)

    after = table.open()
    assert len(after.get_fragments()) == (2 if stays else 1)
    # Of a row that is deleted in a fragment that stays, the entry stays too, and is masked.
    assert entries(after, "by_id") == after.count_rows() + (1 if stays else 0)
    assert after.stats.index_stats("by_id")["num_unindexed_rows"] == 0
    for letter in "abcdefghijkl":
        expected = [] if letter in "bf" else [letter]
        assert after.to_table(filter=f"id = '{letter}'")["id"].to_pylist() == expected


@pytest.mark.parametrize(
    ("kind", "knows_addresses"), [("BTREE", True), ("ZONEMAP", True), ("BLOOMFILTER", True), ("BITMAP", False)]
)
def test_only_indexes_by_row_ids_keep_lance_from_rewriting_what_they_know_in_part(table, kind, knows_addresses):
    table.create("ab").create_scalar_index("age", kind, name="by_age")
    table.append("cd")
    dataset = table.open()
    result = task_by_hand(dataset, has_eager_remappable_index=False).execute(dataset)

    if knows_addresses:
        Compaction.commit(dataset, [result])
        assert len(table.open().get_fragments()) == 1
    else:
        with pytest.raises(OSError, match="a split of indexed and non-indexed data"):
            Compaction.commit(dataset, [result])
    assert table.ids(table.open(), where="age = 0") == "abcd"


def test_a_btree_of_one_piece_is_whole_as_it_is_built(table):
    dataset = table.create("ab", "cd")
    built = dataset.create_index_uncommitted("id", "BTREE", name="by_id", fragment_ids=[0, 1], replace=True)
    table.commit(dataset.version, LanceOperation.CreateIndex(new_indices=[built], removed_indices=[]))
    table.append("ef")
    table.open().optimize.optimize_indices(num_indices_to_merge=2)

    after = table.open()
    assert (entries(after, "by_id"), after.stats.index_stats("by_id")["num_unindexed_rows"]) == (6, 0)
    assert after.to_table(filter="id IN ('a', 'd', 'f')")["id"].to_pylist() == ["a", "d", "f"]


def test_rewriting_first_and_folding_later_leaves_work_for_a_second_run(table):
    table.create("ab", "cd").create_scalar_index("id", "BTREE")
    table.append("ef")
    table.append("gh")

    table.open().optimize.compact_files()
    table.open().optimize.optimize_indices()

    assert len(table.open().get_fragments()) == 2
    assert Compaction.plan(table.open(), {}).num_tasks() == 1
