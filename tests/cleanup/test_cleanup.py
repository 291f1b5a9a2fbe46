"""Cleanup removes exactly what its preview said, and nothing that anybody may still need."""

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import lance
import pytest

import omnigraph
from omnigraph.base import clock, ids
from omnigraph.branches.gates import hold_branches
from omnigraph.errors import DriftNeedsRepair, HistoricalVersionReclaimed, OmniError, RecoveryRequired
from omnigraph.graph import Graph
from omnigraph.maintenance.admission import sole_maintainer
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.cleanup.report import CleanupReport, CleanupRow, as_document
from omnigraph.maintenance.journal import read_journal
from omnigraph.storage.locks import Lease, list_reader_leases, put_reader_lease
from support import ages, harbor

NEWEST_ONLY = CleanupPolicy(keep_versions=1)
SAILOR = "node:Sailor"


def with_history(uri: str, commits: int = 5) -> Graph:
    """Make a graph whose sailors have several versions and deleted rows."""
    graph = harbor.new_graph(uri)
    for number in range(commits):
        with graph.write() as batch:
            batch.upsert("Sailor", [{"name": "Ana", "rank": "mate", "age": 50 + number}])
    return graph


@pytest.fixture
def graph(local_root: str) -> Graph:
    return with_history(local_root)


def row_of(report: CleanupReport, key: str = SAILOR, branch: str | None = None) -> CleanupRow:
    return next(row for row in report.rows if (row.table_key, row.branch) == (key, branch))


def raw(graph: Graph, type_name: str = "Sailor") -> Any:
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == type_name)
    return lance.dataset(graph._context.store.tables.uri(pin.address))


def bytes_of_tables(graph: Graph) -> int:
    objects = graph._context.store.objects
    control = ("__locks/", "__maintenance/", "__recovery/")
    return sum(size for path, size in objects.sizes("").items() if not path.startswith(control))


def test_the_preview_is_what_goes_to_the_byte_and_a_second_run_removes_nothing(store_root: str) -> None:
    graph = with_history(store_root)
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Moe")]), mode="append", branch="review")
    graph.load(harbor.lines([harbor.sailor("Ned")]), mode="append", branch="review")
    content = harbor.content(graph), harbor.content(graph, branch="review")
    before = bytes_of_tables(graph)

    preview = graph.cleanup(NEWEST_ONLY)
    assert bytes_of_tables(graph) == before
    done = graph.cleanup(NEWEST_ONLY, confirm=True)

    assert done.rows == preview.rows
    assert before - bytes_of_tables(graph) == sum(row.removed.bytes for row in done.rows) > 0
    assert row_of(done).removed.versions > 0
    assert row_of(done, branch="review").removed.versions > 0
    assert sum(row.removed.bytes for row in graph.cleanup(NEWEST_ONLY, confirm=True).rows) == 0
    assert (harbor.content(graph), harbor.content(graph, branch="review")) == content
    assert [commit.kind.value for commit in graph.commits()].count("maintenance") == 0


def test_files_that_are_old_go_with_their_versions_and_not_a_run_later(graph: Graph) -> None:
    ages.age(graph.uri)
    before = bytes_of_tables(graph)

    preview = graph.cleanup(NEWEST_ONLY)
    done = graph.cleanup(NEWEST_ONLY, confirm=True)

    assert done.rows == preview.rows
    assert row_of(done).removed.data_files > 0
    assert before - bytes_of_tables(graph) == sum(row.removed.bytes for row in done.rows)
    assert sum(row.removed.bytes for row in graph.cleanup(NEWEST_ONLY, confirm=True).rows) == 0


def test_a_snapshot_whose_versions_went_says_so_and_the_newer_ones_stay(graph: Graph) -> None:
    newest = harbor.content(graph)
    graph.cleanup(CleanupPolicy(keep_versions=2), confirm=True)

    with pytest.raises(HistoricalVersionReclaimed):
        harbor.content(graph, version=2)
    assert harbor.content(graph) == newest
    assert harbor.content(graph, version=graph.snapshot().graph_version - 1) != newest


def test_what_a_branch_only_inherits_stays_and_the_row_says_why(graph: Graph) -> None:
    graph.branches.create("review")
    inherited = harbor.content(graph, branch="review")
    for age in (70, 71, 72):
        with graph.write() as batch:
            batch.update("Sailor", {"age": age}, ids=["Bo"])

    report = graph.cleanup(NEWEST_ONLY, confirm=True)

    assert any(reason.startswith("branch:review pins v") for reason in row_of(report).kept_because)
    assert harbor.content(graph, branch="review") == inherited


def test_the_merge_base_of_a_branch_that_moved_on_stays(graph: Graph) -> None:
    graph.branches.create("review")
    base = graph.snapshot().graph_version
    before = harbor.content(graph)
    for branch in ("review", "main"):
        for age in (70, 71):
            with graph.write(branch=branch) as batch:
                batch.update("Sailor", {"age": age}, ids=["Bo" if branch == "main" else "Cy"])

    report = graph.cleanup(NEWEST_ONLY, confirm=True)

    assert any("was forked from v" in reason for reason in row_of(report).kept_because)
    assert harbor.content(graph, version=base) == before


def test_what_a_reader_holds_stays_until_its_lease_ends(graph: Graph) -> None:
    past = graph.snapshot(version=3)
    pinned = [pin.state for pin in past.tables]
    with put_reader_lease(graph._context.store.objects, pinned, operation="a long read"):
        report = graph.cleanup(NEWEST_ONLY, confirm=True)
        assert any("a long read" in reason for reason in row_of(report).kept_because)
        assert past.table("Sailor").to_arrow().num_rows == 3

    past.release()  # a snapshot in hand is a reader too
    graph.cleanup(NEWEST_ONLY, confirm=True)

    with pytest.raises(HistoricalVersionReclaimed):
        graph.snapshot(version=3).table("Sailor").to_arrow()


def test_what_a_tag_of_somebody_refers_to_stays(graph: Graph) -> None:
    raw(graph).tags.create("audit", 3)

    report = graph.cleanup(NEWEST_ONLY, confirm=True)

    assert "tag:audit refers to v3" in row_of(report).kept_because
    assert lance.dataset(raw(graph).uri, version="audit").count_rows() == 3


def test_a_ref_of_no_branch_is_reclaimed_and_those_of_live_branches_stay(graph: Graph) -> None:
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Moe")]), mode="append", branch="review")
    raw(graph).create_branch("gone.0123456789ab", raw(graph).version)
    tree = Path(raw(graph).uri) / "tree" / "gone.0123456789ab"

    assert row_of(graph.cleanup(NEWEST_ONLY)).branches_reclaimed == ("gone.0123456789ab",)
    assert tree.exists()
    assert row_of(graph.cleanup(NEWEST_ONLY, confirm=True)).branches_reclaimed == ("gone.0123456789ab",)

    assert not tree.exists()
    assert graph.snapshot("review").table("Sailor").to_arrow().num_rows == 4
    assert row_of(graph.cleanup(NEWEST_ONLY, confirm=True)).branches_reclaimed == ()


def test_the_preview_is_what_goes_to_the_byte_with_refs_of_no_branch_among_the_tables(graph: Graph) -> None:
    old, newer = raw(graph).version - 3, raw(graph).version - 2
    raw(graph).create_branch("gone.0123456789ab", old)
    raw(graph).create_branch("trial/lost.0123456789ab", newer)
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Moe")]), mode="append", branch="review")
    content = harbor.content(graph), harbor.content(graph, branch="review")

    for reclaimed in (("gone.0123456789ab", "trial/lost.0123456789ab"), (), ()):
        before = bytes_of_tables(graph)
        preview = graph.cleanup(NEWEST_ONLY)
        done = graph.cleanup(NEWEST_ONLY, confirm=True)
        assert done.rows == preview.rows
        assert row_of(done).branches_reclaimed == reclaimed
        assert before - bytes_of_tables(graph) == sum(row.removed.bytes for row in done.rows)

    assert sum(row.removed.bytes for row in done.rows) == 0
    assert (harbor.content(graph), harbor.content(graph, branch="review")) == content


def test_drift_on_main_is_refused_before_anything_goes(graph: Graph) -> None:
    raw(graph).delete("id = 'Cy'")
    before = bytes_of_tables(graph)

    with pytest.raises(DriftNeedsRepair, match="omnigraph repair"):
        graph.cleanup(NEWEST_ONLY, confirm=True)

    assert bytes_of_tables(graph) == before


def test_an_interrupted_write_is_refused_before_anything_goes(graph: Graph) -> None:
    sidecar = Path(graph.uri) / "__recovery" / "01JZZZZZZZZZZZZZZZZZZZZZZZ.json"
    sidecar.parent.mkdir(exist_ok=True)
    sidecar.write_text("not a sidecar")
    before = bytes_of_tables(graph)

    with pytest.raises(RecoveryRequired):
        graph.cleanup(NEWEST_ONLY, confirm=True)

    assert bytes_of_tables(graph) == before


def test_a_branch_that_cannot_be_read_is_refused_before_anything_goes(graph: Graph) -> None:
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Moe")]), mode="append", branch="review")
    for age in (70, 71):
        with graph.write() as batch:
            batch.update("Sailor", {"age": age}, ids=["Bo"])
    newest = min((Path(graph.uri) / "__manifest" / "tree" / "review" / "_versions").iterdir())
    newest.write_bytes(b"no manifest")
    before = bytes_of_tables(graph)

    with pytest.raises(OmniError):
        omnigraph.open(graph.uri).cleanup(NEWEST_ONLY, confirm=True)

    assert bytes_of_tables(graph) == before


def test_one_table_that_cannot_be_cleaned_does_not_stop_the_others(graph: Graph) -> None:
    with graph.write() as batch:
        batch.upsert("Ship", [{"hull": "S1", "title": "renamed"}])
    damaged = Path(raw(graph).uri) / "_versions" / f"{2**64 - 1 - 3:020d}.manifest"
    damaged.write_bytes(b"no manifest")

    report = graph.cleanup(NEWEST_ONLY, confirm=True)

    assert [row.table_key for row in report.failed] == [SAILOR]
    assert row_of(report, "node:Ship").removed.versions > 0


def test_files_of_failed_writes_go_when_they_are_older_than_a_week(graph: Graph) -> None:
    data = Path(raw(graph).uri) / "data"
    for name, days in (("young.lance", 1), ("old.lance", 8)):
        (data / name).write_bytes(b"x" * 1_000)
        then = (data / name).stat().st_mtime - timedelta(days=days).total_seconds()
        os.utime(data / name, (then, then))

    preview = graph.cleanup(CleanupPolicy(keep_versions=1_000))
    done = graph.cleanup(CleanupPolicy(keep_versions=1_000), confirm=True)

    assert row_of(preview).removed.bytes == row_of(done).removed.bytes == 1_000
    assert (data / "young.lance").exists()
    assert not (data / "old.lance").exists()


def test_what_bulk_operations_left_that_died_long_ago_goes_and_that_of_young_ones_stays(local_root: str) -> None:
    graph = with_history(local_root, commits=1)
    objects = graph._context.store.objects
    # By what the store says, not by when a machine with whatever clock began the operation.
    dead, young = (f"__staging/{ids._spell(when << 80)}/rows" for when in (clock.now_ms(), 1))
    for path in (dead, young, "__staging/somebody's own"):
        objects.put(path, b"x" * 1_000)
    for path in (dead, "__staging/somebody's own"):
        os.utime(Path(local_root, path), (1, 1))

    preview = graph.cleanup(CleanupPolicy(keep_versions=1_000))
    done = graph.cleanup(CleanupPolicy(keep_versions=1_000), confirm=True)

    assert preview.rows == done.rows
    assert (row_of(done, "__staging").removed.bytes, row_of(done, "__staging").removed.data_files) == (1_000, 1)
    assert set(objects.list("__staging/")) == {young, "__staging/somebody's own"}
    assert not any(row.table_key == "__staging" for row in graph.cleanup(NEWEST_ONLY).rows)


def test_a_run_is_recorded_and_a_preview_is_not(graph: Graph) -> None:
    assert graph.cleanup(NEWEST_ONLY).run_id is None
    report = graph.cleanup(NEWEST_ONLY, confirm=True)

    (entry,) = read_journal(graph._context.store.objects)
    assert (entry.run_id, entry.verb) == (report.run_id, "cleanup")
    printed = as_document(report)
    assert {**entry.document, "run_id": report.run_id} == printed
    assert [table["table_key"] for table in printed["tables"]] == [row.table_key for row in report.rows]


def test_a_writer_and_a_reader_next_to_cleanup_notice_nothing(local_root: str) -> None:
    graph = with_history(local_root, commits=1)
    commits = 12

    def write() -> None:
        writer = omnigraph.open(local_root)
        for number in range(commits):
            with writer.write() as batch:
                batch.upsert("Ship", [{"hull": f"W{number}", "title": "written"}])

    with ThreadPoolExecutor(max_workers=1) as pool:
        writing = pool.submit(write)
        while not writing.done():
            report = graph.cleanup(NEWEST_ONLY, confirm=True)
            assert report.failed == ()
            assert graph.snapshot().table("Sailor").to_arrow().num_rows == 3
        writing.result()

    assert graph.snapshot().table("Ship").to_arrow().num_rows == 2 + commits


def test_a_branch_from_the_past_waits_for_a_running_cleanup(graph: Graph) -> None:
    commit = graph.commits()[2].graph_commit_id
    order: list[str] = []

    def create() -> None:
        omnigraph.open(graph.uri).branches.create("from-the-past", source=commit)
        order.append("created")

    with ThreadPoolExecutor(max_workers=1) as pool:
        with sole_maintainer(graph._context, "cleanup"):
            creating = pool.submit(create)
            assert clock.wait_until(lambda: bool(_leases(graph)), timeout_seconds=30)
            order.append("cleaned")
        creating.result()

    assert order == ["cleaned", "created"]
    assert _leases(graph) == ()


def _leases(graph: Graph) -> tuple[Lease, ...]:
    return list_reader_leases(graph._context.store.objects, store_clock=None)


def test_a_dropped_table_goes_whole_when_it_was_dropped_long_enough_ago(graph: Graph) -> None:
    location = next(pin.location for pin in graph.snapshot().tables if pin.type_name == "Note")
    before = graph.snapshot().graph_version
    graph.apply_schema(harbor.SCHEMA.replace("node Note { text: String }", ""))
    age = CleanupPolicy(keep_versions=1, older_than=timedelta(seconds=0))

    assert not any(row.dropped for row in graph.cleanup(NEWEST_ONLY).rows)
    assert graph.snapshot(version=before).table("Note").to_arrow().num_rows == 0
    preview = next(row for row in graph.cleanup(age).rows if row.dropped)
    done = next(row for row in graph.cleanup(age, confirm=True).rows if row.dropped)

    assert preview == done
    assert (done.table_key, done.removed.bytes > 0) == ("node:Note", True)
    assert graph._context.store.objects.list(f"{location}/") == ()
    assert not any(row.dropped and row.removed.bytes for row in graph.cleanup(age, confirm=True).rows)


def test_a_dropped_table_waits_for_whoever_holds_the_branch_that_dropped_it(graph: Graph, monkeypatch) -> None:
    location = next(pin.location for pin in graph.snapshot().tables if pin.type_name == "Note")
    graph.apply_schema(harbor.SCHEMA.replace("node Note { text: String }", ""))
    age = CleanupPolicy(keep_versions=1, older_than=timedelta(seconds=0))
    monkeypatch.setattr("omnigraph.base.waits.GATE_SECONDS", 0.2)

    with hold_branches(graph._context, ["main"], operation="somebody"):
        preview = next(row for row in graph.cleanup(age).rows if row.dropped)
        kept = next(row for row in graph.cleanup(age, confirm=True).rows if row.dropped)

    assert (preview.error, kept.removed.bytes) == (None, 0)
    assert "somebody" in kept.error
    assert graph._context.store.objects.list(f"{location}/") != ()
    done = next(row for row in graph.cleanup(age, confirm=True).rows if row.dropped)
    assert (done.error, graph._context.store.objects.list(f"{location}/")) == (None, ())
    with hold_branches(graph._context, ["main"], operation="somebody"):
        again = next(row for row in graph.cleanup(age, confirm=True).rows if row.dropped)
    assert (again.error, again.removed.bytes) == (None, 0), "what is gone needs no gate"


def test_the_base_of_a_branch_that_was_merged_and_moved_on_stays(graph: Graph) -> None:
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Moe")]), mode="append", branch="review")
    graph.branches.merge("review")
    for age in (70, 71):
        for branch, name in (("review", "Cy"), ("main", "Bo")):
            with graph.write(branch=branch) as batch:
                batch.update("Sailor", {"age": age}, ids=[name])

    report = graph.cleanup(NEWEST_ONLY, confirm=True)

    kept = row_of(report, branch="review").kept_because
    assert any("branch:review merges from v" in reason for reason in kept)
    graph.branches.merge("review")
    ages = {row["id"]: row["age"] for row in graph.snapshot().table("Sailor").to_arrow().to_pylist()}
    assert (ages["Bo"], ages["Cy"]) == (71, 71)


def test_a_branch_can_be_merged_when_the_copy_of_what_it_was_forked_from_went(graph: Graph) -> None:
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Moe")]), mode="append", branch="review")
    with graph.write() as batch:
        batch.update("Sailor", {"age": 70}, ids=["Bo"])

    report = graph.cleanup(NEWEST_ONLY, confirm=True)

    assert row_of(report, branch="review").removed.versions == 1
    omnigraph.open(graph.uri).branches.merge("review")
    assert graph.snapshot().table("Sailor").count_rows() == 4


def test_branches_that_come_and_go_beside_a_cleanup_fail_nothing(graph: Graph) -> None:
    stop = Event()

    def churn() -> int:
        churning, rounds = omnigraph.open(graph.uri), 0
        while not stop.is_set():
            name = f"b{rounds % 3}"
            churning.branches.create(name)
            if rounds % 2:
                churning.load(harbor.lines([harbor.sailor(f"{name}-{rounds}")]), mode="append", branch=name)
            churning.branches.delete(name)
            rounds += 1
        return rounds

    with ThreadPoolExecutor(max_workers=1) as pool:
        churned = pool.submit(churn)
        try:
            for _ in range(6):
                assert graph.cleanup(NEWEST_ONLY).failed == ()
                assert graph.cleanup(NEWEST_ONLY, confirm=True).failed == ()
        finally:
            stop.set()
        assert churned.result() > 0
