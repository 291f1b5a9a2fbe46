"""Rewrites as values: what travels to workers, what is checked, and what is refused at the commit."""

import json
import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

from omnigraph.catalog.index_kinds import IndexKind
from omnigraph.graph import Graph
from omnigraph.storage.access import TableAccess
from omnigraph.storage.compaction import (
    RewriteTask,
    commit_rewrites,
    new_files,
    run_rewrite,
    unchanged,
)
from omnigraph.storage.index_kinds import lance_index
from omnigraph.storage.indexing import IndexTask, run_index_build
from omnigraph.storage.row_comparison import changed_columns
from omnigraph.storage.tables import Table
from omnigraph.storage.transactions import CommitInterleaved
from support import harbor, library
from support.library import BOOK


def pinned(graph: Graph) -> Table:
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == BOOK]
    return graph._context.store.tables.open(pin.address, pin.version)


def task_for(graph: Graph, *, verify: bool = False, not_after_us: int | None = None) -> RewriteTask:
    table, layout = pinned(graph), library.layout(graph)
    return RewriteTask(
        key="all",
        access=TableAccess.to(graph._context.store, table),
        fragment_ids=tuple(fragment.fragment_id for fragment in layout.fragments),
        live_rows=layout.rows,
        batch_rows=100,
        verify=verify,
        not_after_us=not_after_us,
    )


def test_tasks_and_outcomes_travel_pickled_and_show_no_credentials(store_root):
    graph = library.library(store_root, loads=2)
    task = task_for(graph, verify=True)
    lance_type, parameters = lance_index(IndexKind.BTREE).choose(0, 0)
    index = IndexTask(
        key="i",
        access=task.access,
        name="og_btree_id",
        column="id",
        lance_type=lance_type,
        fragment_ids=(0, 1),
        parameters=parameters,
    )

    rewritten = pickle.loads(pickle.dumps(run_rewrite(pickle.loads(pickle.dumps(task)))))
    built = pickle.loads(pickle.dumps(run_index_build(pickle.loads(pickle.dumps(index)))))

    assert (rewritten.key, rewritten.error, rewritten.fragments_added) == ("all", None, 1)
    assert (built.error, sorted(built.segment.fragment_ids)) == (None, [0, 1])
    assert b"test-secret" not in pickle.dumps(task)
    assert graph.snapshot().graph_version == 4, "nothing was committed"


def test_a_worker_that_is_too_late_leaves_the_task_alone(local_root):
    graph = library.library(local_root, loads=1)
    files = harbor.files_of(graph)

    outcome = run_rewrite(task_for(graph, not_after_us=1))

    assert (outcome.result, outcome.error) == (None, None)
    assert harbor.files_of(graph) == files


def test_a_rewrite_that_lost_rows_is_an_error(local_root):
    task = task_for(library.library(local_root, loads=2))

    outcome = run_rewrite(replace(task, live_rows=task.live_rows + 1))

    assert outcome.error == f"the rewrite wrote {task.live_rows} rows where {task.live_rows + 1} were live"


def test_verifying_names_the_columns_whose_values_differ(local_root):
    """Pass the rewrite of one state off as that of another, in which one title has changed."""
    graph = library.library(local_root, loads=2)
    made = json.loads(run_rewrite(task_for(graph)).result)
    with graph.write() as batch:
        batch.update("Book", {"title": "a forged edition"}, ids=["b0"])
    after = json.loads(run_rewrite(task_for(graph)).result)
    table = pinned(graph)
    access = TableAccess.to(graph._context.store, table)

    same = changed_columns(table.dataset, access, after, batch_rows=2)
    other = changed_columns(table.dataset, access, after | {"new_fragments": made["new_fragments"]}, batch_rows=2)

    assert same == []
    assert {"title", "id"} <= set(other), "the updated row has moved to the end"


def test_values_are_compared_bit_for_bit():
    from omnigraph.storage.row_comparison import _are_same

    nan, zero = float("nan"), 0.0
    assert _are_same(pa.array([nan, 1.0]), pa.array([nan, 1.0]))
    assert not _are_same(pa.array([zero]), pa.array([-zero]))
    assert _are_same(pa.array([[nan], None, []]), pa.array([[nan], None, []]))
    assert not _are_same(pa.array([[1.0], None]), pa.array([[1.0], []]))
    assert not _are_same(pa.array([b"", None]), pa.array([None, b""]))


def test_a_rewrite_is_refused_once_a_row_of_it_was_deleted(local_root):
    graph = library.library(local_root, loads=2)
    result = run_rewrite(task_for(graph)).result
    with graph.write() as batch:
        batch.delete("Book", ids=["b0"])
    table = pinned(graph)

    assert unchanged([result], table) == (False,)
    with pytest.raises(CommitInterleaved):
        commit_rewrites(graph._context.store.tables.fresh_head(table.address), [result])

    assert graph._context.store.tables.fresh_head(table.address).version == table.version


def test_new_files_are_named_where_they_lie(local_root):
    graph = library.library(local_root, loads=1)

    names = new_files(run_rewrite(task_for(graph)).result)

    paths = harbor.files_of(graph)
    assert [f"{pinned(graph).address.path}/data/{name}" in paths for name in names] == [True]


@pytest.mark.parametrize(
    ("vectors", "dimension", "expected"),
    [
        (256, 8, ("IVF_FLAT", 1)),
        (40_960, 1536, ("IVF_FLAT", 10)),
        (100_000, 1536, ("IVF_PQ", 24)),
        (100_000, 7, ("IVF_FLAT", 24)),
    ],
)
def test_the_vector_index_is_chosen_by_how_many_vectors_there_are(vectors, dimension, expected):
    lance_type, parameters = lance_index(IndexKind.VECTOR).choose(vectors, dimension)

    assert (lance_type, parameters["num_partitions"]) == expected
    assert dimension % parameters.get("num_sub_vectors", 1) == 0
