"""What branches left that died: refs of no branch and trees of no ref go, unless somebody may need them."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.base import clock
from omnigraph.base.events import Event, Warned
from omnigraph.branches.gates import hold_branches
from omnigraph.errors import BranchNotFound
from omnigraph.graph import Graph
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.cleanup.report import CleanupReport, CleanupRow
from omnigraph.maintenance.journal import read_journal
from omnigraph.storage.leftovers import drop_stray_tree, find_stray_trees
from omnigraph.storage.locks import LeaseTerms, StoreClock, list_reader_leases, put_reader_lease
from support import harbor, library
from support.ages import age
from support.writers import run_child

EVERYTHING = CleanupPolicy(keep_versions=1_000)
NEWEST_ONLY = CleanupPolicy(keep_versions=1)
WEEK_SECONDS = timedelta(days=7).total_seconds()


@pytest.fixture
def graph(local_root: str) -> Graph:
    return harbor.new_graph(local_root)


def with_branch(graph: Graph, name: str = "review") -> str:
    """Make a branch with a ref of its own on the sailors; return the name of the ref."""
    graph.branches.create(name)
    graph.load(harbor.lines([harbor.sailor("Moe")]), mode="append", branch=name)
    return next(pin.ref for pin in graph.snapshot(name).tables if pin.type_name == "Sailor")


def table_directory(graph: Graph, type_name: str = "Sailor") -> Path:
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == type_name)
    return Path(graph.uri) / pin.location


def forget_ref(graph: Graph, table: Path, name: str) -> None:
    """Remove the object by which a table knows a ref, as a deletion does that dies right then."""
    (table / "_refs" / "branches" / f"{name.replace('/', '%2F')}.json").unlink()
    graph._context.store.tables.forget_table(str(table.relative_to(graph.uri)))


def files_below(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def row_of(report: CleanupReport, key: str = "node:Sailor") -> CleanupRow:
    return next(row for row in report.rows if (row.table_key, row.branch) == (key, None))


def bytes_of_tables(graph: Graph) -> int:
    control = ("__locks/", "__maintenance/", "__recovery/")
    sizes = graph._context.store.objects.sizes("")
    return sum(size for path, size in sizes.items() if not path.startswith(control))


def clean_exactly(graph: Graph, policy: CleanupPolicy = EVERYTHING) -> CleanupReport:
    """Clean, and check that the preview said to the byte what went."""
    before = bytes_of_tables(graph)
    preview = graph.cleanup(policy)
    assert bytes_of_tables(graph) == before
    done = graph.cleanup(policy, confirm=True)
    assert done.rows == preview.rows
    assert before - bytes_of_tables(graph) == sum(row.removed.bytes for row in done.rows)
    return done


def test_an_orphaned_ref_that_a_reader_holds_stays_until_its_lease_ends(graph: Graph) -> None:
    ref = with_branch(graph)
    snapshot = graph.snapshot("review")
    held = [pin.state for pin in snapshot.tables]
    snapshot.release()  # the lease below is the only one
    with put_reader_lease(graph._context.store.objects, held, operation="a long read"):
        forget_ref(graph, Path(graph.uri) / "__manifest", "review")

        row = row_of(clean_exactly(graph))

        assert row.branches_reclaimed == ()
        assert any(reason.startswith(f"ref:{ref} is kept: reader:a long read") for reason in row.kept_because)
        assert snapshot.table("Sailor").to_arrow().num_rows == 4

    assert row_of(clean_exactly(graph)).branches_reclaimed == (ref,)
    assert files_below(table_directory(graph) / "tree") == []


def test_what_a_killed_first_write_staged_goes_after_a_week(graph: Graph) -> None:
    graph.branches.create("review")
    run_child(graph.uri, "branch_load", "write.after_stage:kill")
    own = f"review.{graph._context.manifest.resolve('review').incarnation[:12]}"
    staged = table_directory(graph) / "tree" / own
    assert files_below(staged)

    assert row_of(clean_exactly(graph)).trees_reclaimed == ()
    assert files_below(staged), "its writer may still live"
    age(staged)

    assert row_of(clean_exactly(graph)).trees_reclaimed == (own,)
    assert files_below(staged) == []
    graph.load(harbor.lines([harbor.sailor("Moe")]), mode="append", branch="review")
    assert graph.snapshot("review").table("Sailor").count_rows() == 4


def test_a_tree_with_one_young_file_stays_whole(graph: Graph) -> None:
    graph.branches.create("review")
    run_child(graph.uri, "branch_load", "write.after_stage:kill")
    staged = next((table_directory(graph) / "tree").iterdir())
    age(staged)
    (staged / "data" / "young.lance").write_bytes(b"x")

    assert row_of(clean_exactly(graph)).trees_reclaimed == ()


def test_the_tree_of_a_branch_and_of_a_table_whose_refs_are_gone_go_after_a_week(graph: Graph) -> None:
    ref = with_branch(graph, "trial/one")
    manifest, table = Path(graph.uri) / "__manifest", table_directory(graph)
    forget_ref(graph, manifest, "trial/one")
    forget_ref(graph, table, ref)
    with pytest.raises(BranchNotFound):
        graph.snapshot("trial/one")
    assert row_of(clean_exactly(graph)).trees_reclaimed == ()
    age(graph.uri)

    done = clean_exactly(graph)

    assert row_of(done).trees_reclaimed == (ref,)
    assert row_of(done, "__manifest").trees_reclaimed == ("trial/one",)
    assert files_below(manifest / "tree") == files_below(table / "tree") == []
    assert harbor.content(omnigraph.open(graph.uri)) == harbor.content(graph)


def test_a_live_branch_whose_tree_lies_in_that_of_a_lost_one_keeps_its_files(graph: Graph) -> None:
    graph.branches.create("trial")
    forget_ref(graph, Path(graph.uri) / "__manifest", "trial")
    with_branch(graph, "trial/data")
    content = harbor.content(graph, branch="trial/data")
    age(graph.uri)

    done = clean_exactly(graph)

    assert row_of(done, "__manifest").trees_reclaimed == ("trial",)
    assert harbor.content(omnigraph.open(graph.uri), branch="trial/data") == content


def test_the_tree_that_another_ref_was_forked_from_stays_although_its_ref_is_gone(graph: Graph) -> None:
    ref = with_branch(graph)
    graph.branches.create("second", source="review")
    graph.load(harbor.lines([harbor.sailor("Ned")]), mode="append", branch="second")
    content = harbor.content(graph, branch="second")
    forget_ref(graph, table_directory(graph), ref)
    age(graph.uri)

    assert row_of(omnigraph.open(graph.uri).cleanup(EVERYTHING, confirm=True)).trees_reclaimed == ()

    assert harbor.content(omnigraph.open(graph.uri), branch="second") == content


def test_a_tree_without_a_ref_that_a_branch_pins_or_a_reader_holds_stays(graph: Graph) -> None:
    ref = with_branch(graph)
    snapshot = graph.snapshot("review")
    held = [pin.state for pin in snapshot.tables]
    snapshot.release()  # the lease below is the only one
    forget_ref(graph, table_directory(graph), ref)
    age(graph.uri)

    pinned = row_of(omnigraph.open(graph.uri).cleanup(EVERYTHING, confirm=True))
    assert any(reason.startswith(f"ref:{ref} is kept: branch:review pins v") for reason in pinned.kept_because)

    with put_reader_lease(graph._context.store.objects, held, operation="a long read"):
        forget_ref(graph, Path(graph.uri) / "__manifest", "review")
        kept = row_of(omnigraph.open(graph.uri).cleanup(EVERYTHING, confirm=True))
    assert any("reader:a long read" in reason for reason in kept.kept_because)
    assert files_below(table_directory(graph) / "tree" / ref)
    assert row_of(omnigraph.open(graph.uri).cleanup(EVERYTHING, confirm=True)).trees_reclaimed == (ref,)


def test_trees_without_a_ref_are_found_and_dropped_on_every_store(store_root: str) -> None:
    store = harbor.new_graph(store_root)._context.store
    now = StoreClock.observe(store.objects).now_seconds()
    graph = omnigraph.open(store_root)
    with_branch(graph)
    location = next(pin.location for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    staged = f"{location}/tree/data/lost.0123456789ab/data/file.lance"
    for path in (staged, f"{location}/tree/notes.txt", f"{location}/tree/__run__1/data/file.lance"):
        store.objects.put(path, b"x" * 100)

    assert find_stray_trees(store, location, now_seconds=now + WEEK_SECONDS - 3_600) == ()
    (tree,) = find_stray_trees(store, location, now_seconds=now + WEEK_SECONDS + 3_600)
    assert (tree.name, list(tree.files), tree.held.bytes) == ("data/lost.0123456789ab", [staged], 100)
    assert drop_stray_tree(store, tree, now_seconds=now).bytes == 0, "somebody has written there since"
    assert drop_stray_tree(store, tree, now_seconds=now + WEEK_SECONDS + 3_600) == tree.held

    assert store.objects.read(staged) is None
    assert graph.snapshot("review").table("Sailor").count_rows() == 4


def test_the_preview_does_not_count_readers_that_died(graph: Graph) -> None:
    for number in range(3):
        with graph.write() as batch:
            batch.update("Sailor", {"age": number}, ids=["Bo"])
    past = graph.snapshot(version=3)
    pinned = [pin.state for pin in past.tables]
    past.release()  # the lease below is the only one
    objects = graph._context.store.objects
    never_renewed = LeaseTerms(ttl_seconds=60.0, renew_seconds=1_000.0)
    put_reader_lease(objects, pinned, operation="a read that died", terms=never_renewed)
    assert any("died" in reason for reason in row_of(graph.cleanup(NEWEST_ONLY)).kept_because)
    (lease,) = (Path(graph.uri) / "__locks" / "readers").glob("*.json")
    then = clock.now_us() / 1_000_000 - 120
    os.utime(lease, (then, then))

    preview = clean_exactly(graph, NEWEST_ONLY)

    assert not any("died" in reason for reason in row_of(preview).kept_because)
    assert len(list_reader_leases(objects, store_clock=None)) == 1, "it may still be renewed"


def test_a_clock_that_is_slow_is_corrected_by_what_the_store_dated(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = graph._context.store.objects
    seen = StoreClock.observe(objects).now_seconds()
    an_hour_ago = clock.now_us() - 3_600_000_000
    monkeypatch.setattr(clock, "now_us", lambda: an_hour_ago)

    assert StoreClock.estimate(objects).now_seconds() == pytest.approx(seen, abs=5)


def collect_into(warnings: list[str]) -> Callable[[Event], None]:
    def receive(event: Event) -> None:
        if isinstance(event, Warned):
            warnings.append(event.message)

    return receive


def test_an_orphan_that_cannot_be_reclaimed_is_an_error_of_its_row_and_the_rest_goes_on(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = with_branch(graph)
    for number in range(3):
        with graph.write() as batch:
            batch.update("Sailor", {"age": number}, ids=["Bo"])
    forget_ref(graph, Path(graph.uri) / "__manifest", "review")
    monkeypatch.setattr("omnigraph.base.waits.GATE_SECONDS", 0.2)
    warnings: list[str] = []

    with hold_branches(graph._context, ["review"], operation="somebody"):
        report = graph.cleanup(CleanupPolicy(keep_versions=3), confirm=True, events=collect_into(warnings))

    (failed,) = report.failed
    assert failed.table_key == "node:Sailor"
    assert failed.error.startswith(f"the orphaned ref {ref} stays: ")
    assert failed.removed.versions > 0
    assert [f"the orphaned ref {ref} of node:Sailor failed" in warning for warning in warnings] == [True]
    assert graph.cleanup(EVERYTHING, confirm=True).failed == ()


def test_staging_that_cannot_be_read_loses_neither_the_report_nor_the_journal(graph: Graph) -> None:
    (Path(graph.uri) / "__staging").write_text("a file where a directory belongs")

    report = graph.cleanup(EVERYTHING, confirm=True)

    assert [row.table_key for row in report.failed] == ["__staging"]
    (entry,) = read_journal(graph._context.store.objects)
    documents: list[dict[str, Any]] = entry.document["tables"]
    assert [row["table_key"] for row in documents if row["error"]] == ["__staging"]


def test_a_version_that_an_optimize_showed_beside_the_line_goes_a_week_after_it_died(local_root: str) -> None:
    graph = library.library(local_root, loads=3)
    run_child(local_root, "foreseeing_optimize", "optimize.after_foresight:kill")
    (left,) = Path(local_root).rglob("_versions/d*.manifest")
    before = harbor.content(graph)

    graph.cleanup(EVERYTHING, confirm=True)
    assert left.exists(), "an optimize may be at work on it"
    age(local_root)
    clean_exactly(graph)

    assert not left.exists()
    assert harbor.content(graph) == before
    assert graph.optimize().failure is None
