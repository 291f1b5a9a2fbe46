"""Optimize next to live readers and writers: nothing is lost, nothing comes back, nobody sees a half-done state."""

import json
import subprocess
import sys
from threading import Event, Thread

import pytest

import omnigraph
from omnigraph.base import clock
from omnigraph.cli.optimize_view import optimize_text
from omnigraph.errors import MaintenanceContention
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.storage.compaction import RewriteOutcome
from support import harbor, library
from support.library import BOOK, CITES, after_last_task
from support.library_writes import WRITES, append, row_of
from support.processes import child_environment


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_between_rewriting_and_committing_is_kept_as_it_is(local_root, write):
    graph = library.library(local_root, loads=3)
    written = []

    def write_meanwhile():
        write(omnigraph.open(local_root))
        written.append(harbor.content(graph))

    result = graph.optimize(events=after_last_task(write_meanwhile))

    assert [harbor.content(graph)] == written
    assert row_of(result, BOOK).error is None
    assert harbor.pins_equal_heads(graph)
    library.lookups_agree(graph)
    graph.optimize()
    assert [harbor.content(graph)] == written
    assert library.fragments(graph) == 1
    library.lookups_agree(graph)


def test_an_append_leaves_the_rewritten_fragments_as_they_were_planned(local_root):
    graph = library.library(local_root, loads=3)

    result = graph.optimize(events=after_last_task(lambda: append(omnigraph.open(local_root))))

    found = row_of(result, BOOK)
    assert (found.fragments_removed, found.fragments_added) == (4, 1)
    assert library.fragments(graph) == 2


def test_a_table_that_writers_never_leave_alone_is_contended_and_the_others_go_on(local_root):
    graph = library.library(local_root, loads=3)
    turn = iter(range(100))

    def touch():
        with omnigraph.open(local_root).write() as batch:
            batch.update("Book", {"year": 1}, ids=[f"b{3 * next(turn)}"])

    result = graph.optimize(reindex=False, events=after_last_task(touch, times=9))

    assert row_of(result, BOOK).skipped == "Contended"
    assert row_of(result, CITES).committed
    assert result.failure is None
    assert next(turn) == 3
    assert library.fragments(graph, CITES) == 1


def test_a_reader_sees_the_same_rows_all_the_time(local_root):
    graph = library.library(local_root)
    before = harbor.content(graph)
    seen, stop = [], Event()

    def poll():
        reader = omnigraph.open(local_root, read_only=True)
        while not stop.is_set():
            seen.append(harbor.content(reader))

    reader = Thread(target=poll)
    reader.start()
    try:
        assert clock.wait_until(lambda: len(seen) > 0, timeout_seconds=60)
        graph.optimize()
        polled = len(seen)
        assert clock.wait_until(lambda: len(seen) > polled + 1, timeout_seconds=60)
    finally:
        stop.set()
        reader.join()

    assert set(seen) == {before}


def test_old_snapshots_stay_readable(local_root):
    graph = library.library(local_root, loads=3)
    before = [harbor.content(graph, version=version) for version in (2, 3)]

    graph.optimize()

    assert [harbor.content(graph, version=version) for version in (2, 3)] == before


def test_writers_that_are_always_faster_leave_an_internal_table_as_it_is_and_say_so(local_root, monkeypatch):
    graph = library.library(local_root, loads=3)
    graph.optimize(tables=[BOOK, CITES])
    writer = omnigraph.open(local_root)
    turn = iter(range(100))
    run_rewrite = omnigraph.maintenance.optimize.internal.run_rewrite

    def publish_first(task):
        outcome = run_rewrite(task)
        with writer.write() as batch:
            batch.update("Book", {"year": next(turn)}, ids=["b0"])
        return outcome

    monkeypatch.setattr("omnigraph.maintenance.optimize.internal.run_rewrite", publish_first)

    result = graph.optimize(tables=["__manifest"])

    assert isinstance(result.failure, MaintenanceContention)
    assert result.failure.details == {"table": "__manifest", "attempts": 5}
    assert [(row.table_key, row.skipped, row.committed) for row in result.tables] == [
        ("__manifest", "Contended", False)
    ]
    assert any("__manifest skipped (Contended)" in str(block) for block in optimize_text(result))
    assert len(graph.commits()) == 5 + result.graph_version_before


def test_a_process_that_writes_at_full_speed_loses_nothing_to_optimize_and_cleanup(local_root):
    library.library(local_root, loads=3)
    environment = child_environment()
    command = [sys.executable, "-m", "support.busy_writer", local_root, "40"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as writer:
        graph = omnigraph.open(local_root, recover=False)
        runs, cleanups = [], []
        while writer.poll() is None:
            runs.append(graph.optimize())
            cleanups.append(graph.cleanup(CleanupPolicy(keep_versions=10), confirm=True))
        expected = json.loads(writer.stdout.read())

    graph.optimize()

    assert writer.returncode == 0
    found = graph.snapshot().table("Book").to_arrow(["id", "title"]).to_pylist()
    assert {row["id"]: row["title"] for row in found} == expected
    assert len(found) == len(expected)
    assert [run.failure for run in runs if run.failure and not isinstance(run.failure, MaintenanceContention)] == []
    assert any(run.commit is not None for run in runs)
    assert [row.error for cleanup in cleanups for row in cleanup.failed] == []
    assert sum(row.removed.versions for cleanup in cleanups for row in cleanup.rows) > 0
    assert library.fragments(graph) == 1
    library.lookups_agree(graph)


def test_a_new_btree_is_complete_even_when_the_rewrite_it_waited_for_is_given_up(local_root):
    """Fragments are rewritten and given up; the indexes were built over the smallest alone, to take in the rest."""
    graph = library.library(local_root, loads=3)
    turn = iter(range(100))

    def touch():
        with omnigraph.open(local_root).write() as batch:
            batch.update("Book", {"year": 1}, ids=[f"b{3 * next(turn)}"])

    result = graph.optimize(events=after_last_task(touch, times=9))

    found = row_of(result, BOOK)
    assert found.fragments_removed < 4
    assert result.bytes_left > 0, "the rewrite that was given up is left to the next run"
    library.lookups_agree(graph)
    by_name = {index.name: index for index in library.layout(graph).indexes}
    unknown = {
        column for index in by_name.values() if library.layout(graph).uncovered(index) for column in index.columns
    }
    assert unknown <= {index.column for index in found.pending_indexes}
    assert not any(library.layout(graph).uncovered(index) for index in by_name.values() if index.is_btree)
    graph.optimize()
    assert graph.optimize().commit is None
    library.lookups_agree(graph)


def test_a_new_btree_is_complete_even_when_there_was_no_time_to_rewrite(local_root, monkeypatch):
    graph = library.library(local_root, loads=3)
    monkeypatch.setattr("omnigraph.maintenance.optimize.work.run_rewrite", lambda task: RewriteOutcome(key=task.key))

    result = graph.optimize()

    assert (row_of(result, BOOK).fragments_removed, result.bytes_left > 0) == (0, True)
    assert set(library.uncovered(graph).values()) == {0}
    assert result.indexes_left == 0
    library.lookups_agree(graph)
