"""BTREEs that are built on rewritten files before the gates are taken, beside writers that use the time.

Large tables are treated so; here every table is, so that small ones show what can go wrong.
"""

from pathlib import Path

import pytest

import omnigraph
from support import harbor, library
from support.library import BOOK, CITES, after_last_task
from support.library_writes import WRITES, append, delete, row_of, update

LATE = "finishing indexes"
MOMENTS = {"before they are built": "rewriting and indexing", "after they are built": LATE}


@pytest.fixture(autouse=True)
def _every_table_counts_as_large(monkeypatch):
    monkeypatch.setattr("omnigraph.maintenance.optimize.budget.FOLD_SECONDS_MAX", 0.0)


def beside_the_line(uri: str) -> list[Path]:
    return list(Path(uri).rglob("_versions/d*.manifest"))


def unknown_to_btrees(graph, branch: str = "main") -> set[int]:
    found = library.layout(graph, BOOK, branch)
    return {part.fragment_id for index in found.indexes if index.is_btree for part in found.uncovered(index)}


def test_one_run_leaves_one_fragment_under_complete_indexes_and_a_second_finds_nothing(store_root):
    graph = library.library(store_root)
    graph.optimize(max_bytes=1)
    graph.load(harbor.lines([library.book(90), library.book(91)]), mode="append")
    before = harbor.content(graph)
    preview = row_of(graph.optimize(dry_run=True), BOOK)

    result = graph.optimize()

    found = row_of(result, BOOK)
    assert harbor.content(graph) == before
    assert (found.indexes_built, found.indexes_updated) == (preview.indexes_built, preview.indexes_updated)
    assert {"id", "year"} <= set(found.indexes_built)
    assert found.coverage_after == preview.coverage_after
    assert (library.fragments(graph), set(library.uncovered(graph).values())) == (1, {0})
    assert set(library.segments(graph).values()) == {1}
    library.lookups_agree(graph)
    assert graph.optimize().commit is None
    assert harbor.pins_equal_heads(graph)


def test_what_was_shown_beside_the_line_is_gone_afterwards(local_root):
    graph = library.library(local_root)

    graph.optimize()

    assert library.fragments(graph) == 1
    assert beside_the_line(local_root) == []


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_meanwhile_is_kept_as_it_is_and_every_index_answers(local_root, write, moment):
    graph = library.library(local_root, loads=3)
    written = []

    def write_meanwhile():
        write(omnigraph.open(local_root))
        written.append(harbor.content(graph))

    result = graph.optimize(events=after_last_task(write_meanwhile, phase=moment))

    assert [harbor.content(graph)] == written
    assert (row_of(result, BOOK).error, row_of(result, BOOK).committed) == (None, True)
    assert harbor.pins_equal_heads(graph)
    library.lookups_agree(graph)
    graph.optimize()
    assert [harbor.content(graph)] == written
    assert (library.fragments(graph), set(library.uncovered(graph).values())) == (1, {0})
    library.lookups_agree(graph)
    assert beside_the_line(local_root) == []


def test_what_was_appended_meanwhile_waits_for_the_next_run(local_root):
    graph = library.library(local_root, loads=3)

    result = graph.optimize(events=after_last_task(lambda: append(omnigraph.open(local_root)), phase=LATE))

    assert (row_of(result, BOOK).fragments_removed, library.fragments(graph)) == (4, 2)
    assert len(unknown_to_btrees(graph)) == 1
    assert {index.column for index in row_of(result, BOOK).pending_indexes} >= {"id", "year"}
    library.lookups_agree(graph)


def test_numbers_that_writers_used_up_are_chosen_anew_with_more_room(local_root, monkeypatch):
    monkeypatch.setattr("omnigraph.maintenance.optimize.jobs.FRAGMENTS_MEANWHILE", 1)
    graph = library.library(local_root, loads=3)

    def append_often():
        writer = omnigraph.open(local_root)
        for number in (500, 501, 502):
            writer.load(harbor.lines([library.book(number)]), mode="append")

    result = graph.optimize(events=after_last_task(append_often, phase=LATE))

    highest = max(fragment.fragment_id for fragment in library.layout(graph).fragments)
    assert (row_of(result, BOOK).fragments_removed, highest) == (4, 6 + 16 + 1), "three meanwhile, and sixteen"
    assert unknown_to_btrees(graph) == set(), "they were built on what the writers left"
    library.lookups_agree(graph)


def test_btrees_are_built_even_if_writers_never_leave_what_is_rewritten_alone(local_root):
    graph = library.library(local_root, loads=3)
    turn = iter(range(100))

    def touch():
        update(omnigraph.open(local_root), 3 * next(turn))

    result = graph.optimize(events=after_last_task(touch, times=9))

    assert next(turn) == 3
    assert (row_of(result, BOOK).fragments_removed, result.bytes_left > 0) == (0, True)
    assert {"id", "year"} <= set(row_of(result, BOOK).indexes_built)
    library.lookups_agree(graph)
    graph.optimize()
    assert (library.fragments(graph), set(library.uncovered(graph).values())) == (1, {0})
    library.lookups_agree(graph)


@pytest.mark.parametrize(
    ("touched", "is_usable"), [(0, False), (14, True)], ids=["the oldest group", "the newest group"]
)
def test_a_group_given_up_last_takes_nothing_from_the_others(local_root, monkeypatch, touched, is_usable):
    """There is no further attempt: what of the indexes is still right is committed, and nothing wrong ever is.

    The oldest group has the highest number. Without it, somebody could still get one of the numbers.
    """
    monkeypatch.setattr("omnigraph.maintenance.optimize.run.ATTEMPTS", 1)
    graph = library.library(local_root, loads=6)

    result = graph.optimize(
        target_rows=9, events=after_last_task(lambda: delete(omnigraph.open(local_root), touched), phase=LATE)
    )

    found = row_of(result, BOOK)
    assert (found.error, found.fragments_added, "id" in found.indexes_built) == (None, 1, is_usable)
    assert any(index.columns == ("id",) for index in library.layout(graph).indexes) is is_usable
    append(graph)
    if is_usable:
        assert len(unknown_to_btrees(graph)) == 4, "of the group that was given up, and what was appended"
        library.lookups_agree(graph)
    graph.optimize(target_rows=9)
    assert set(library.uncovered(graph).values()) == {0}
    library.lookups_agree(graph)


def test_a_branch_gets_indexes_of_its_own_and_its_parent_keeps_those_it_has(store_root):
    graph = library.library(store_root, loads=3)
    graph.optimize(max_bytes=1)
    graph.branches.create("review")
    graph.load(harbor.lines([library.book(60, "a late edition")]), mode="append", branch="review")
    with graph.write(branch="review") as batch:
        batch.delete("Book", ids=["b4"])
    before, on_main = harbor.content(graph, branch="review"), harbor.content(graph)

    result = graph.optimize(branch="review")

    assert row_of(result, BOOK).error is None
    assert (harbor.content(graph, branch="review"), harbor.content(graph)) == (before, on_main)
    found = library.layout(graph, BOOK, "review")
    assert not any(part.is_inherited for index in found.indexes if index.is_btree for part in index.segments)
    assert (len(found.fragments), unknown_to_btrees(graph, "review")) == (1, set())
    library.lookups_agree(graph, "review")
    library.lookups_agree(graph)


def test_a_setting_that_deletes_versions_deletes_none(local_root):
    graph = library.library(local_root, loads=3)
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == CITES]
    dataset = graph._context.store.tables.fresh_head(pin.address).dataset
    dataset.update_config({"lance.auto_cleanup.interval": "1", "lance.auto_cleanup.older_than": "0s"})
    versions = len(dataset.versions())
    graph.repair(confirm=True, force=True)

    result = graph.optimize()

    assert row_of(result, CITES).committed
    assert len(graph._context.store.tables.fresh_head(pin.address).dataset.versions()) > versions
    assert library.fragments(graph, CITES) == 1


def test_indexes_that_cannot_be_built_leave_the_rewrite_and_say_why(local_root, monkeypatch):
    def broken(*_args, **_kwargs):
        raise OSError("the disk is full")

    monkeypatch.setattr("omnigraph.maintenance.optimize.jobs.foresee", broken)
    graph = library.library(local_root, loads=3)
    before = harbor.content(graph)

    result = graph.optimize()

    found = row_of(result, BOOK)
    assert (found.fragments_removed, found.error) == (4, None)
    assert {"id": "the disk is full"}.items() <= {index.column: index.reason for index in found.pending_indexes}.items()
    assert harbor.content(graph) == before


def test_indexes_in_pieces_answer_like_whole_ones(local_root, monkeypatch):
    """Full text too: updated rows keep their ids, and their old words must not be found in any piece."""
    monkeypatch.setattr("omnigraph.maintenance.optimize.builds.PIECE_ROWS", 2)
    monkeypatch.setattr("omnigraph.maintenance.optimize.jobs.share_slots", lambda _, chosen: [3 for _ in chosen])
    graph = library.library(local_root, loads=5)
    update(graph, 7)
    before = harbor.content(graph)

    result = graph.optimize(target_rows=6)

    assert {"id", "title", "year"} <= set(row_of(result, BOOK).indexes_built)
    assert harbor.content(graph) == before
    assert set(library.segments(graph).values()) == {1}
    library.lookups_agree(graph)
    used = {segment.uuid for index in library.layout(graph).indexes for segment in index.segments}
    kept = {path.parent.name for path in Path(local_root).glob("nodes/*/_indices/*/*") if path.is_file()}
    assert kept == used, "pieces go when they are merged"
    update(graph, 8)
    graph.optimize(target_rows=6)
    library.lookups_agree(graph)
