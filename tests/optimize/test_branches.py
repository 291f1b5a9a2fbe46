"""Optimize on a branch: only what the branch owns, and never an index that points into the parent's files."""

from omnigraph.storage.indexing import IndexOutcome
from support import harbor, library
from support.library import BOOK, CITES


def indexed_fragments(uri):
    """Make a graph whose fragments are many and all covered by one segment per index."""
    graph = library.library(uri, loads=3)
    graph.optimize(max_bytes=1)
    assert library.fragments(graph) > 2
    assert set(library.segments(graph).values()) == {1}
    graph.branches.create("review")
    return graph


def test_a_branch_that_only_deleted_gets_a_btree_of_its_own_before_its_fragments_are_rewritten(local_root):
    graph = indexed_fragments(local_root)
    with graph.write(branch="review") as batch:
        batch.delete("Book", ids=["b4"])
    before, on_main = harbor.content(graph, branch="review"), harbor.content(graph)
    inherited = {
        segment.is_inherited for index in library.layout(graph, BOOK, "review").indexes for segment in index.segments
    }
    assert inherited == {True}

    result = graph.optimize(branch="review")

    assert harbor.content(graph, branch="review") == before
    assert harbor.content(graph) == on_main
    assert library.fragments(graph, BOOK, "review") == 1
    library.lookups_agree(graph, "review")
    assert {table.table_key for table in result.tables if table.committed} >= {BOOK, "__manifest"}
    assert graph.optimize(branch="review").commit is None


def test_a_branch_that_appended_folds_and_merges_and_main_stays_as_it_is(local_root):
    graph = indexed_fragments(local_root)
    pins = {pin.table_key: pin.version for pin in graph.snapshot().tables}
    for number in (60, 61):
        graph.load(harbor.lines([library.book(number, "a late edition")]), mode="append", branch="review")
    before = harbor.content(graph, branch="review")

    result = graph.optimize(branch="review")

    assert harbor.content(graph, branch="review") == before
    assert library.fragments(graph, BOOK, "review") == 1
    assert set(library.uncovered(graph, BOOK, "review").values()) == {0}
    library.lookups_agree(graph, "review")
    library.lookups_agree(graph)
    assert {pin.table_key: pin.version for pin in graph.snapshot().tables} == pins
    assert CITES not in [table.table_key for table in result.tables], "the branch inherits it"
    assert result.commit.graph_branch == "review"
    assert graph.optimize(branch="review").commit is None


def test_without_reindexing_fragments_under_an_inherited_btree_stay(local_root):
    graph = indexed_fragments(local_root)
    for number in (60, 61):
        graph.load(harbor.lines([library.book(number)]), mode="append", branch="review")
    inherited = library.fragments(graph)

    graph.optimize(branch="review", reindex=False)

    assert library.fragments(graph, BOOK, "review") == inherited + 1
    library.lookups_agree(graph, "review")


def test_the_internal_tables_of_a_branch_are_compacted_too(local_root):
    graph = indexed_fragments(local_root)
    for number in range(60, 64):
        graph.load(harbor.lines([library.book(number)]), mode="append", branch="review")

    result = graph.optimize(branch="review")

    manifest = graph._context.manifest.resolve("review").manifest
    assert len(graph._context.store.tables.fresh_head(manifest).dataset.get_fragments()) == 1
    assert [table.table_key for table in result.tables][-3:] == ["__manifest", "_graph_commits", "_graph_commit_actors"]
    assert len(graph.commits("review")) == graph.snapshot("review").graph_version


def test_a_btree_of_the_parent_is_built_anew_even_when_there_is_no_time_to_fold_it(local_root, monkeypatch):
    graph = indexed_fragments(local_root)
    with graph.write(branch="review") as batch:
        batch.delete("Book", ids=["b4"])
    before = harbor.content(graph, branch="review")
    monkeypatch.setattr("omnigraph.maintenance.optimize.costs._KEEP_SECONDS_PER_ENTRY", 10.0)

    first = graph.optimize(branch="review")

    assert first.indexes_left == 0
    assert library.fragments(graph, BOOK, "review") == 1
    for row in graph.snapshot("review").table("Book").to_arrow(["id"])["id"].to_pylist():
        found = graph.snapshot("review").table("Book").to_arrow(["id"], where=[("id", "=", row)])
        assert found["id"].to_pylist() == [row]
    library.lookups_agree(graph, "review")
    library.lookups_agree(graph)
    assert harbor.content(graph, branch="review") == before
    assert graph.optimize(branch="review").commit is None


def test_nothing_under_a_btree_of_the_parent_is_rewritten_when_there_was_no_time_to_build_its_own(
    local_root, monkeypatch
):
    graph = indexed_fragments(local_root)
    with graph.write(branch="review") as batch:
        batch.delete("Book", ids=["b4"])
    fragments = library.fragments(graph, BOOK, "review")
    monkeypatch.setattr("omnigraph.maintenance.optimize.costs._KEEP_SECONDS_PER_ENTRY", 10.0)
    monkeypatch.setattr("omnigraph.maintenance.optimize.work.run_index_build", lambda task: IndexOutcome(key=task.key))

    result = graph.optimize(branch="review")

    assert library.fragments(graph, BOOK, "review") == fragments
    assert result.bytes_left > 0
    library.lookups_agree(graph, "review")
