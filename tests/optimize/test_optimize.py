"""What optimize does to a graph: the same rows in fewer files, complete indexes, one commit, and nothing twice."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

import omnigraph
from omnigraph.base.events import Noted
from omnigraph.errors import EntityNotFound, MaintenanceLocked, OptimizePartial, RecoveryRequired, Usage
from omnigraph.maintenance.admission import sole_maintainer
from omnigraph.maintenance.optimize import run
from omnigraph.maintenance.optimize.report import as_document
from omnigraph.manifest.log import COMMITS
from omnigraph.manifest.rows import MANIFEST
from omnigraph.storage import data_files
from support import harbor, library, old_graphs
from support.library import BOOK, CITES


def row_of(result, table_key):
    (found,) = [table for table in result.tables if table.table_key == table_key]
    return found


def test_one_run_leaves_one_fragment_per_table_full_indexes_and_the_same_rows(store_root):
    graph = library.library(store_root)
    before = harbor.content(graph)
    assert library.fragments(graph) > 4

    result = graph.optimize()

    assert harbor.content(graph) == before
    assert {library.fragments(graph, key) for key in (BOOK, CITES)} == {1}
    assert set(library.segments(graph).values()) == {1}
    assert set(library.uncovered(graph).values()) == {0}
    library.lookups_agree(graph)
    assert result.commit is not None
    assert (result.commit.kind, result.commit.actor_id) == ("maintenance", "omnigraph:maintenance")
    assert result.graph_version_after == result.graph_version_before + 1
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []


def test_a_second_run_commits_nothing_anywhere(local_root):
    graph = library.library(local_root)
    graph.optimize()
    heads = {table.table_key: table.lance_head_version for table in graph.optimize(dry_run=True).tables}

    again = graph.optimize()

    assert again.commit is None
    assert again.graph_version_after == again.graph_version_before
    assert {table.table_key: table.lance_head_version for table in again.tables} == heads
    assert not any(table.committed for table in again.tables)


def test_the_versions_of_rows_are_kept_for_data_alone(store_root):
    graph = library.library(store_root)
    commits = [commit.graph_commit_id for commit in graph.commits()]
    tables = graph._context.store.tables

    def remembers_versions(address):
        head = tables.head(address)
        return [fragment.metadata.created_at_version_meta is not None for fragment in head.dataset.get_fragments()]

    assert any(remembers_versions(COMMITS))
    optimized = graph.optimize().commit

    assert optimized is not None
    assert remembers_versions(MANIFEST)[0] is False
    assert remembers_versions(COMMITS)[0] is False
    assert all(all(remembers_versions(pin.address)) for pin in graph.snapshot().tables)
    assert [commit.graph_commit_id for commit in graph.commits()] == [optimized.graph_commit_id, *commits]


def test_forty_tables_of_sixty_fragments_converge_in_one_run(local_root, monkeypatch):
    monkeypatch.setattr(data_files, "_FRAGMENT_ROWS_MAX", 1)
    graph = omnigraph.init(local_root, "\n".join(f"node T{number} {{ name: String @key }}" for number in range(40)))
    records = [{"type": f"T{table}", "data": {"name": f"n{row}"}} for table in range(40) for row in range(60)]
    graph.load(harbor.lines(records), mode="append")
    before = harbor.content(graph)

    first, second = graph.optimize(), graph.optimize()

    data = [table for table in first.tables if table.table_key.startswith("node:")]
    assert {(table.fragments_removed, table.fragments_added, table.coverage_after) for table in data} == {(60, 1, 1.0)}
    assert len(data) == 40
    assert graph.commits(limit=2)[1].kind == "load"
    assert second.commit is None
    assert not any(table.committed for table in second.tables)
    assert harbor.content(graph) == before


def test_rows_written_later_are_folded_into_every_index_by_the_next_run(local_root):
    graph = library.library(local_root)
    graph.optimize()
    with graph.write() as batch:
        batch.update("Book", {"title": "a late edition"}, ids=["b4"])
        batch.delete("Book", ids=["b5"])
    graph.load(harbor.lines([library.book(100)]), mode="append")
    before = harbor.content(graph)
    assert set(library.uncovered(graph).values()) != {0}

    for _ in range(3):
        graph.optimize()

    assert library.fragments(graph) == 1
    assert set(library.segments(graph).values()) == {1}
    assert set(library.uncovered(graph).values()) == {0}
    library.lookups_agree(graph)
    assert harbor.content(graph) == before


def test_a_row_reports_what_the_run_took_and_made(local_root):
    graph = library.library(local_root)

    found = row_of(graph.optimize(), BOOK)

    assert (found.fragments_removed, found.fragments_added, found.committed, found.rows) == (5, 1, True, 11)
    assert (found.skipped, found.error) == (None, None)
    assert found.indexes_built == ("id", "slug", "title", "year")
    assert (found.coverage_before, found.coverage_after) == (0.0, 0.0), "the vector index is declared and pending"
    assert [(index.column, index.reason) for index in found.pending_indexes] == [("vec", "no non-null vectors yet")]
    assert found.manifest_version == found.lance_head_version
    assert 0 < found.bytes_written < found.bytes_read


def test_the_commit_carries_the_stats_of_its_tables(local_root):
    graph = library.library(local_root)

    graph.optimize()

    stats = graph.commits(limit=1)[0].metadata["tables"]
    assert stats[BOOK]["fragments_removed"] == 5
    assert stats[CITES]["fragments_added"] == 1


@pytest.mark.parametrize(("vectors", "reason"), [(0, "no non-null vectors yet"), (255, "255 non-null"), (256, None)])
def test_a_vector_index_waits_for_enough_vectors(local_root, vectors, reason):
    graph = library.library(local_root, loads=2)
    graph.load(harbor.lines([library.book(1_000 + n, vec=library.vector(n)) for n in range(vectors)]), mode="append")

    found = row_of(graph.optimize(), BOOK)

    assert ("vec" in found.indexes_built) is (reason is None)
    assert [index.reason[: len(reason)] for index in found.pending_indexes if reason] == ([reason] if reason else [])


def test_a_vector_index_answers_and_takes_in_new_vectors_without_retraining(local_root):
    graph = library.library(local_root, loads=2)
    graph.load(harbor.lines([library.book(1_000 + n, vec=library.vector(n)) for n in range(300)]), mode="append")
    graph.optimize()
    graph.load(harbor.lines([library.book(5_000, vec=library.vector(5_000))]), mode="append")

    found = row_of(graph.optimize(), BOOK)

    query = {"column": "vec", "q": library.vector(5_000), "k": 1}
    nearest = graph.snapshot().table("Book").scanner(nearest=query, columns=["id", "_distance"])
    assert "ANNSubIndex" in nearest.explain_plan()
    assert nearest.to_table()["id"].to_pylist() == ["b5000"]
    assert "vec" in found.indexes_updated
    assert found.coverage_after == 1.0


def test_blobs_survive_byte_for_byte(local_root):
    sizes = [0, 1, 65_535, 65_536, 65_537, (4 << 20) - 1, (4 << 20) + 1]
    graph = omnigraph.init(local_root, library.SCHEMA)
    for number, size in enumerate(sizes):
        records = [library.book(number, cover=library.cover(size, number)), library.book(100 + number)]
        graph.load(harbor.lines(records), mode="append")
    before = graph.snapshot().table("Book").to_arrow(["id", "cover"]).sort_by("id")

    graph.optimize(verify=True)

    assert library.fragments(graph) == 1
    after = graph.snapshot().table("Book").to_arrow(["id", "cover"]).sort_by("id")
    assert after.equals(before)
    assert [len(value) for value in after["cover"].drop_null().to_pylist()] != []


def test_blob_tables_are_left_alone_when_lance_cannot_keep_them(local_root, monkeypatch):
    graph = library.library(local_root)
    version = library.layout(graph).version
    monkeypatch.setattr("omnigraph.maintenance.optimize.plan.LANCE_SUPPORTS_BLOB_COMPACTION", False)

    result = graph.optimize()

    assert row_of(result, BOOK).skipped == "BlobColumnsUnsupportedByLance"
    assert library.layout(graph).version == version
    assert row_of(result, CITES).committed


def test_a_drifted_table_is_skipped_with_both_versions_and_the_rest_goes_on(local_root):
    graph = library.library(local_root)
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == BOOK]
    graph._context.store.tables.fresh_head(pin.address).dataset.optimize.compact_files()
    notes = []

    result = graph.optimize(events=lambda event: notes.append(event) if isinstance(event, Noted) else None)

    found = row_of(result, BOOK)
    assert (found.skipped, found.committed) == ("DriftNeedsRepair", False)
    assert (found.manifest_version, found.lance_head_version) == (pin.version, pin.version + 2)
    assert row_of(result, CITES).committed
    assert ["omnigraph repair" in note.message for note in notes] == [True]


def test_auto_cleanup_is_stripped_before_anything_else_is_committed(local_root):
    graph = library.library(local_root)
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == CITES]
    dataset = graph._context.store.tables.fresh_head(pin.address).dataset
    dataset.update_config({"lance.auto_cleanup.interval": "1", "lance.auto_cleanup.older_than": "0s"})
    graph.repair(confirm=True, force=True)
    versions = graph._context.store.tables.fresh_head(pin.address).versions()

    graph.optimize()

    head = graph._context.store.tables.fresh_head(pin.address)
    assert head.auto_cleanup_keys() == ()
    assert set(versions) <= set(head.versions())


def test_a_preview_writes_nothing_and_names_what_a_run_would_do(local_root):
    graph = library.library(local_root)
    files = harbor.files_of(graph)
    reader = omnigraph.open(local_root, read_only=True)

    planned = reader.optimize(dry_run=True)

    assert harbor.files_of(graph) == files
    assert planned.commit is None
    done = graph.optimize()
    told = {table.table_key: (table.fragments_removed, table.indexes_built) for table in planned.tables}
    assert told[BOOK] == (row_of(done, BOOK).fragments_removed, row_of(done, BOOK).indexes_built)


def test_only_the_named_tables_are_touched(local_root):
    graph = library.library(local_root)

    result = graph.optimize(tables=[CITES])

    assert [table.table_key for table in result.tables] == [CITES]
    assert library.fragments(graph) > 1
    with pytest.raises(EntityNotFound, match="node:Book"):
        graph.optimize(tables=["node:Bok"])


def test_without_reindexing_fragments_are_merged_and_no_index_is_built(local_root):
    graph = library.library(local_root)

    graph.optimize(reindex=False)

    assert library.fragments(graph) == 1
    assert library.segments(graph) == {}


def test_without_reindexing_a_mixed_coverage_is_respected(local_root):
    graph = library.library(local_root)
    graph.optimize()
    for number in (100, 101):
        graph.load(harbor.lines([library.book(number)]), mode="append")

    result = graph.optimize(reindex=False)

    assert row_of(result, BOOK).error is None
    assert library.fragments(graph) == 2
    library.lookups_agree(graph)


def test_a_budget_of_bytes_leaves_the_rest_to_the_next_run(local_root):
    graph = library.library(local_root)

    result = graph.optimize(max_bytes=1)

    assert result.bytes_left > 0
    assert library.fragments(graph) > 1
    assert set(library.uncovered(graph).values()) == {0}, "indexes are not rewritten fragments"
    assert graph.optimize().bytes_left == 0
    assert library.fragments(graph) == 1


def test_no_task_starts_after_the_time_is_up_and_a_later_run_finishes(local_root):
    graph = library.library(local_root)

    result = graph.optimize(max_seconds=0.0)

    assert result.commit is None
    assert result.bytes_left > 0
    assert graph.optimize().commit is not None
    assert library.fragments(graph) == 1


def test_one_maintenance_run_at_a_time(local_root):
    graph = library.library(local_root)

    with sole_maintainer(graph._context, "cleanup"), pytest.raises(MaintenanceLocked, match="cleanup"):
        omnigraph.open(local_root).optimize()

    assert graph.optimize().commit is not None


def test_interrupted_writes_come_first(local_root):
    graph = library.library(local_root)
    graph._context.store.objects.create("__recovery/01JABANDONED0000000000000000.json", b"{}")
    files = harbor.files_of(graph)

    with pytest.raises(RecoveryRequired, match="01JABANDONED"):
        graph.optimize()

    left = harbor.files_of(graph)
    assert {path for path in left if not path.startswith("__locks/")} == {
        path for path in files if not path.startswith("__locks/")
    }


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_a_bad_concurrency_is_a_clear_error(local_root, monkeypatch, value):
    graph = library.library(local_root, loads=1)
    monkeypatch.setenv("OMNIGRAPH_MAINTENANCE_CONCURRENCY", value)

    with pytest.raises(Usage, match=value):
        graph.optimize()


def test_a_graph_of_an_older_format_is_migrated_first(local_root):
    old_graphs.build(local_root, stamp=1)

    omnigraph.open(local_root, recover=False).optimize()

    assert omnigraph.open(local_root, read_only=True).snapshot().internal_schema_version == (
        omnigraph.INTERNAL_SCHEMA_VERSION
    )


def test_a_table_whose_rewrite_fails_its_check_is_left_as_it_is_and_the_others_are_published(local_root, monkeypatch):
    graph = library.library(local_root, loads=2)
    graph.load(harbor.lines([library.book(900, cover=library.cover(5 << 20))]), mode="append")
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == BOOK]
    files = set(graph._context.store.objects.list(pin.location))

    def find_a_difference(dataset, access, made, *, batch_rows):
        return ["title"] if access.address == pin.address else []

    monkeypatch.setattr("omnigraph.storage.compaction.changed_columns", find_a_difference)

    result = graph.optimize(verify=True)

    failed = row_of(result, BOOK)
    assert failed.error == "the rewrite changed the content of title"
    assert (failed.committed, failed.manifest_version, failed.lance_head_version) == (False, pin.version, pin.version)
    assert set(graph._context.store.objects.list(pin.location)) == files
    assert result.bytes_left > 0
    assert row_of(result, CITES).committed
    assert isinstance(result.failure, OptimizePartial)
    assert result.failure.details == {"tables": [BOOK]}


@pytest.fixture
def nothing_fits(monkeypatch):
    """Make folding a BTREE longer than any run may keep writers waiting."""
    monkeypatch.setattr("omnigraph.maintenance.optimize.costs._KEEP_SECONDS_PER_ENTRY", 10.0)


def test_btrees_that_no_run_has_time_to_fold_are_complete_after_one_run_all_the_same(local_root, nothing_fits):
    graph = library.library(local_root)
    before = harbor.content(graph)

    first = graph.optimize()

    found = row_of(first, BOOK)
    assert (found.committed, found.fragments_removed, found.error) == (True, 5, None)
    assert {"id", "title", "year"} <= set(found.indexes_built)
    assert ([index.column for index in found.pending_indexes], first.indexes_left) == (["vec"], 0)
    assert graph.optimize().commit is None
    library.lookups_agree(graph)
    assert harbor.content(graph) == before
    for number in (100, 101):
        graph.load(harbor.lines([library.book(number)]), mode="append")
    third = graph.optimize()
    assert row_of(third, BOOK).fragments_removed == 3, "all of them are small"
    assert third.indexes_left == 0
    assert graph.optimize().commit is None
    library.lookups_agree(graph)


def test_what_stays_keeps_its_place_in_btrees_that_no_run_has_time_to_fold(local_root, nothing_fits):
    graph = library.library(local_root, loads=3, rows=40)
    graph.optimize()
    for number in (1_000, 1_001):
        graph.load(harbor.lines([library.book(number)]), mode="append")

    result = graph.optimize(target_rows=100)

    found = row_of(result, BOOK)
    assert (found.fragments_removed, found.fragments_added) == (2, 1)
    assert library.found_by_index(graph, "id = 'b7'") == ["b7"]
    assert library.found_by_index(graph, "id = 'b1001'") == ["b1001"]
    assert [index.column for index in found.pending_indexes] == ["vec"]
    assert graph.optimize(target_rows=100).commit is None
    assert set(library.uncovered(graph).values()) == {0}
    library.lookups_agree(graph)


def test_indexes_that_time_did_not_allow_are_named_as_left(local_root):
    graph = library.library(local_root)

    result = graph.optimize(max_seconds=0.0)

    assert result.commit is None
    assert {index.column for index in row_of(result, BOOK).pending_indexes} == {"id", "slug", "title", "vec", "year"}
    assert result.indexes_left == 4 + 3
    assert as_document(result)["indexes_left"] == 7


def test_a_drifted_table_whose_pinned_version_is_gone_is_skipped_and_the_rest_goes_on(local_root):
    graph = library.library(local_root)
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == BOOK]
    dataset = graph._context.store.tables.fresh_head(pin.address).dataset
    dataset.optimize.compact_files()
    dataset.cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)

    result = omnigraph.open(local_root).optimize()

    found = row_of(result, BOOK)
    assert (found.skipped, found.committed, found.error) == ("DriftNeedsRepair", False, None)
    assert (found.manifest_version, found.lance_head_version) == (pin.version, pin.version + 2)
    assert found.rows == 11
    assert row_of(result, CITES).committed
    assert result.failure is None


def lose_newest_version(graph, table_key):
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == table_key]
    newest = max(Path(graph.uri, pin.location, "_versions").glob("*.manifest"), key=lambda file: file.stat().st_mtime)
    newest.unlink()
    return pin


def test_a_table_behind_its_pin_is_skipped_and_the_rest_goes_on(local_root):
    pin = lose_newest_version(library.library(local_root), BOOK)
    notes = []
    graph = omnigraph.open(local_root)

    result = graph.optimize(events=lambda event: notes.append(event) if isinstance(event, Noted) else None)

    found = row_of(result, BOOK)
    assert (found.skipped, found.manifest_version) == ("BehindNeedsRestore", pin.version)
    assert found.lance_head_version == pin.version - 1
    assert ["restore it from a backup" in note.message for note in notes] == [True]
    assert row_of(result, CITES).committed
    assert result.failure is None


def test_a_table_that_loses_its_pinned_version_meanwhile_is_skipped_and_the_rest_goes_on(local_root):
    graph = library.library(local_root)

    result = graph.optimize(events=library.after_last_task(lambda: lose_newest_version(graph, BOOK)))

    assert row_of(result, BOOK).skipped == "BehindNeedsRestore"
    assert row_of(result, CITES).committed


def test_a_table_that_writers_never_leave_alone_long_enough_for_two_looks_is_not_taken_for_drifted(
    local_root, monkeypatch
):
    graph = library.library(local_root)
    observe_tables = run.observe_tables

    def while_being_written(*arguments, **options):
        seen = observe_tables(*arguments, **options)
        return tuple(replace(found, head_version=found.pin.version + 1) for found in seen)

    monkeypatch.setattr("omnigraph.maintenance.optimize.run.observe_tables", while_being_written)

    result = graph.optimize()

    assert {table.skipped for table in result.tables} == {None}
    assert row_of(result, BOOK).committed
    assert library.fragments(graph) == 1


def test_a_table_that_a_pending_write_names_is_judged_under_the_gates(local_root, monkeypatch):
    graph = library.library(local_root)
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == BOOK]
    graph._context.store.tables.fresh_head(pin.address).dataset.optimize.compact_files()
    effect = SimpleNamespace(identity=pin.identity)
    announced = SimpleNamespace(sidecar=SimpleNamespace(effects=[effect]))
    monkeypatch.setattr("omnigraph.maintenance.optimize.run.list_pending", lambda _: [announced])

    found = row_of(graph.optimize(), BOOK)

    assert (found.skipped, found.lance_head_version) == ("DriftNeedsRepair", pin.version + 2)
    assert found.duration_ms > 0, "it was planned and made, and the look under the gates said no"


def test_an_internal_table_whose_rewrite_fails_its_check_keeps_nothing_of_it(local_root, monkeypatch):
    graph = library.library(local_root, loads=2)
    files = set(graph._context.store.objects.list("__manifest"))
    monkeypatch.setattr("omnigraph.storage.compaction.changed_columns", lambda *_, **__: ["object_id"])

    result = graph.optimize(tables=["__manifest"], verify=True)

    assert row_of(result, "__manifest").error == "the rewrite changed the content of object_id"
    assert set(graph._context.store.objects.list("__manifest")) == files


@pytest.mark.parametrize("is_affordable", [True, False])
def test_rows_appended_meanwhile_are_taken_in_only_if_writers_need_not_wait_long_for_it(
    local_root, monkeypatch, is_affordable
):
    graph = library.library(local_root)
    graph.optimize()
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == BOOK]
    setting = {"lance.auto_cleanup.interval": "100", "lance.auto_cleanup.older_than": "9000s"}
    graph._context.store.tables.fresh_head(pin.address).dataset.update_config(setting)
    graph.repair(confirm=True, force=True)
    graph.load(harbor.lines([harbor.edge("Cites", "b3", "b4", id="more")]), mode="append")
    if not is_affordable:
        monkeypatch.setattr("omnigraph.maintenance.optimize.costs._KEEP_SECONDS_PER_ENTRY", 10.0)

    def append():
        omnigraph.open(local_root).load(harbor.lines([library.book(500)]), mode="append")

    found = row_of(graph.optimize(events=library.after_last_task(append)), BOOK)

    unknown = library.uncovered(graph)
    assert found.error is None
    assert [unknown[index.name] for index in library.layout(graph).indexes if index.is_btree] == [
        0 if is_affordable else 1
    ] * 3
    library.lookups_agree(graph)


def test_an_index_that_takes_longer_than_the_bound_is_announced(local_root, monkeypatch):
    graph = library.library(local_root, loads=2)
    graph.load(harbor.lines([library.book(1_000 + n, vec=library.vector(n)) for n in range(300)]), mode="append")
    graph.optimize()
    graph.load(harbor.lines([library.book(5_000, vec=library.vector(5_000))]), mode="append")
    monkeypatch.setattr("omnigraph.maintenance.optimize.costs._FOLD_SECONDS_PER_VECTOR", 25.0)
    notes = []

    planned = graph.optimize(
        dry_run=True, events=lambda event: notes.append(event) if isinstance(event, Noted) else None
    )

    assert ["Writers will wait for about 25 s, longer than the 20 s" in note.message for note in notes] == [True]
    assert planned.pause_ms > 20_000
    assert "vec" in row_of(graph.optimize(), BOOK).indexes_updated
