"""Compaction in steps of our own: plan, execute elsewhere, commit, and what happens in between.

Pins lance-notes 4, 5, 6, 25 and 26, recovery 15, lessons 35a, 49 and 71.
"""

import json

import lance
import pytest
from lance import LanceOperation
from lance.optimize import Compaction, CompactionTask, RewriteResult

from support.rewrites import task_by_hand


def execute(dataset: lance.LanceDataset, **options: object) -> list[RewriteResult]:
    return [task.execute(dataset) for task in Compaction.plan(dataset, options).tasks]


def moved_to(result: RewriteResult, version: int) -> RewriteResult:
    return RewriteResult.from_json(json.dumps(json.loads(result.json()) | {"read_version": version}))


def unindexed_rows(dataset: lance.LanceDataset, name: str = "id_idx") -> int:
    return dataset.stats.index_stats(name)["num_unindexed_rows"]


def test_tasks_and_results_travel_as_json(table):
    dataset = table.create("ab", "cd")
    tasks = [CompactionTask.from_json(task.json()) for task in Compaction.plan(dataset, {}).tasks]
    results = [RewriteResult.from_json(task.execute(table.open()).json()) for task in tasks]

    Compaction.commit(table.open(), results)

    assert len(table.open().get_fragments()) == 1
    assert table.ids() == "abcd"


def test_executing_a_task_commits_nothing(table):
    dataset = table.create("ab", "cd")

    execute(dataset)

    assert table.open().version == 2


def test_task_made_by_hand_rewrites_the_fragments_we_choose(table):
    dataset = table.create("ab", "cd", "ef")

    Compaction.commit(dataset, [task_by_hand(dataset, [0, 2]).execute(dataset)])

    assert len(table.open().get_fragments()) == 2
    assert table.ids() == "abcdef"


def test_rewrite_rebases_over_a_concurrent_append(table):
    results = execute(table.create("ab", "cd"))
    table.append("ef")

    Compaction.commit(table.open(), results)

    assert len(table.open().get_fragments()) == 2
    assert table.ids() == "abcdef"


@pytest.mark.parametrize("is_indexed", [False, True])
def test_compaction_commits_a_reservation_and_a_rewrite(table, is_indexed):
    dataset = table.create("ab", "cd")
    if is_indexed:
        dataset.create_scalar_index("id", "BTREE")
    before = table.open().version

    Compaction.commit(table.open(), execute(table.open()))

    assert table.open().version == before + 2
    assert type(table.open().read_transaction(before + 1).operation) is LanceOperation.BaseOperation


@pytest.mark.parametrize("is_indexed", [False, True])
def test_rewrite_conflicts_with_a_delete_and_leaves_its_files_and_a_reservation(table, is_indexed):
    dataset = table.create("ab", "cd")
    if is_indexed:
        dataset.create_scalar_index("id", "BTREE")
    results = execute(table.open())
    table.open().delete("id = 'a'")
    before, files = table.open().version, table.files("data/*")

    with pytest.raises(OSError, match="Retryable commit conflict"):
        Compaction.commit(table.open(), results)

    dataset = table.open()
    assert dataset.version == before + 1
    assert type(dataset.read_transaction(before + 1).operation) is LanceOperation.BaseOperation
    assert table.files("data/*") == files
    assert table.ids() == "bcd"


def test_conflict_check_starts_at_the_version_inside_the_result(table):
    results = execute(table.create("ab", "cd"))
    table.open().delete("id = 'a'")

    for handle in (table.open(2), table.open()):
        with pytest.raises(OSError, match="Retryable commit conflict"):
            Compaction.commit(handle, results)


def test_result_moved_past_a_delete_brings_the_deleted_row_back(table):
    results = execute(table.create("ab", "cd"))
    table.open().delete("id = 'a'")

    Compaction.commit(table.open(), [moved_to(result, 3) for result in results])

    assert table.ids() == "abcd"


@pytest.mark.parametrize("step", ["create", "fold"])
def test_index_work_in_between_conflicts_with_the_rewrite(table, step):
    dataset = table.create("ab", "cd")
    if step == "fold":
        dataset.create_scalar_index("id", "BTREE")
        table.append("ef")
    results = execute(table.open())
    if step == "create":
        table.open().create_scalar_index("id", "BTREE")
    else:
        table.open().optimize.optimize_indices()

    with pytest.raises(OSError, match="preempted by concurrent transaction CreateIndex"):
        Compaction.commit(table.open(), results)


def test_planner_separates_covered_from_uncovered_fragments(table):
    table.create("ab", "cd").create_scalar_index("id", "BTREE")
    table.append("ef")
    table.append("gh")

    tasks = Compaction.plan(table.open(), {}).tasks

    assert [[fragment.id for fragment in task.fragments] for task in tasks] == [[0, 1], [2, 3]]


def test_group_that_mixes_covered_and_uncovered_fragments_is_refused(table):
    table.create("ab", "cd").create_scalar_index("id", "BTREE")
    table.append("ef")
    dataset = table.open()
    result = task_by_hand(dataset, [1, 2], has_eager_remappable_index=True).execute(dataset)

    with pytest.raises(OSError, match="split of indexed and non-indexed data"):
        Compaction.commit(table.open(), [result])


def test_group_that_mixes_two_segments_is_refused_although_every_row_is_covered(table):
    table.create("ab", "cd").create_scalar_index("id", "BTREE")
    table.append("ef")
    table.open().optimize.optimize_indices(num_indices_to_merge=0)
    dataset = table.open()
    assert len(dataset.describe_indices()[0].segments) == 2
    result = task_by_hand(dataset, [1, 2], has_eager_remappable_index=True).execute(dataset)

    with pytest.raises(OSError, match="split of indexed and non-indexed data"):
        Compaction.commit(table.open(), [result])


def test_compaction_keeps_the_coverage_of_what_it_rewrote(table):
    table.create("ab", "cd").create_scalar_index("id", "BTREE")

    Compaction.commit(table.open(), execute(table.open()))

    assert unindexed_rows(table.open()) == 0
    assert table.ids(where="id = 'c'") == "c"


@pytest.mark.parametrize(("is_remappable", "uncovered"), [(True, 0), (False, 4)])
def test_btree_keeps_coverage_only_when_the_task_was_told_of_it(table, is_remappable, uncovered):
    table.create("ab", "cd").create_scalar_index("id", "BTREE")
    dataset = table.open()

    result = task_by_hand(dataset, [0, 1], has_eager_remappable_index=is_remappable).execute(dataset)
    Compaction.commit(dataset, [result])

    assert unindexed_rows(table.open()) == uncovered
    assert table.ids(where="id = 'c'") == "c"


def test_hand_made_rewrite_transaction_loses_the_coverage(table):
    table.create("ab", "cd").create_scalar_index("id", "BTREE")
    dataset = table.open()
    (result,) = execute(dataset)
    content = json.loads(result.json())
    old, new = (
        [lance.FragmentMetadata.from_json(json.dumps(fragment)) for fragment in content[key]]
        for key in ("original_fragments", "new_fragments")
    )

    new[0].id = 2
    group = LanceOperation.RewriteGroup(old_fragments=old, new_fragments=new)
    table.commit(dataset.version, LanceOperation.Rewrite(groups=[group], rewritten_indices=[]))

    assert unindexed_rows(table.open()) == 4
    assert table.ids(where="id = 'c'") == "c"


def test_deferred_index_remap_is_refused_with_stable_row_ids(table):
    dataset = table.create("ab", "cd")

    with pytest.raises(OSError, match="stable row IDs"):
        dataset.optimize.compact_files(defer_index_remap=True)


@pytest.mark.parametrize("delete_first", [False, True])
def test_binary_copy_keeps_rows_and_falls_back_where_rows_were_deleted(table, delete_first):
    dataset = table.create("ab", "cd")
    if delete_first:
        dataset.delete("id = 'a'")

    Compaction.commit(table.open(), execute(table.open(), compaction_mode="try_binary_copy"))

    (fragment,) = table.open().get_fragments()
    assert fragment.num_deletions == 0
    assert table.ids() == ("bcd" if delete_first else "abcd")


def test_forced_binary_copy_refuses_deleted_rows(table):
    table.create("ab", "cd").delete("id = 'a'")

    with pytest.raises(OSError, match="binary copy is not supported"):
        execute(table.open(), compaction_mode="force_binary_copy")


def test_fold_then_rewrite_with_moved_read_version_converges_in_one_run(table):
    """The order of maintenance in one run: rewrite without a lock, fold, then commit the rewrite at HEAD."""
    table.create("ab", "cd").create_scalar_index("id", "BTREE")
    table.append("ef")
    table.open().delete("id = 'a'")
    pinned = table.open()
    result = task_by_hand(pinned, [0, 1, 2], has_eager_remappable_index=True).execute(pinned)

    table.open().optimize.optimize_indices(index_names=["id_idx"], num_indices_to_merge=2)
    head = table.open()
    Compaction.commit(head, [moved_to(result, head.version)])

    after = table.open()
    (fragment,) = after.get_fragments()
    (index,) = after.describe_indices()
    assert (fragment.num_deletions, len(index.segments), unindexed_rows(after)) == (0, 1, 0)
    assert Compaction.plan(after, {}).num_tasks() == 0
    assert [table.ids(where=f"id = '{letter}'") for letter in "abcdef"] == ["", *"bcdef"]


@pytest.mark.parametrize(("target", "expected"), [(2, [2, 2, 2]), (6, [6])])
def test_the_target_of_a_task_decides_how_many_fragments_it_makes(table, target, expected):
    dataset = table.create("ab", "cd", "ef")

    result = task_by_hand(dataset, [0, 1, 2], target_rows_per_fragment=target).execute(dataset)

    assert [new["physical_rows"] for new in json.loads(result.json())["new_fragments"]] == expected


def test_new_files_can_be_read_before_any_version_names_them(table):
    """A dataset in memory with the table as a base reads files that lie there: this is how rewrites are verified."""
    dataset = table.create("ab", "cd")
    (new,) = json.loads(task_by_hand(dataset, [0, 1]).execute(dataset).json())["new_fragments"]
    for file in new["files"]:
        file["base_id"] = 1
    fragment = lance.FragmentMetadata.from_json(json.dumps(new | {"row_id_meta": None}))
    base = lance.DatasetBasePath(table.uri, id=1, is_dataset_root=True)
    operation = LanceOperation.Overwrite(dataset.lance_schema, [fragment], initial_bases=[base])

    scratch = lance.LanceDataset.commit("memory://guard-of-bases", operation)

    assert table.ids(scratch) == "abcd"
    assert table.open().version == dataset.version


def test_a_rewrite_may_forget_the_versions_of_its_rows(table):
    table.create("a", "b", "c")
    row_ids = table.row_ids()

    def forget_versions() -> None:
        made = [json.loads(result.json()) for result in execute(table.open())]
        for new in (new for result in made for new in result["new_fragments"]):
            assert new["created_at_version_meta"] is not None
            new |= {"created_at_version_meta": None, "last_updated_at_version_meta": None}
        Compaction.commit(table.open(), [RewriteResult.from_json(json.dumps(result)) for result in made])

    forget_versions()
    assert table.row_ids() == row_ids
    first, second = table.open(), table.open()
    table.upsert(first, "an")
    with pytest.raises(OSError, match="Too many concurrent writers"):
        table.upsert(second, "an")
    forget_versions()

    (fragment,) = table.open().get_fragments()
    assert fragment.metadata.to_json()["created_at_version_meta"] is None
    assert {name: number for name, number in table.row_ids().items() if name in row_ids} == row_ids
    assert table.ids() == "abcn"
