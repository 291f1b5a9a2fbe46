"""Cleanup never removes the last good copy, and what is damaged stops nobody else."""

from pathlib import Path

import pytest

import omnigraph
from omnigraph.base import faults
from omnigraph.graph import Graph
from omnigraph.maintenance.cleanup.report import CleanupReport, CleanupRow
from omnigraph.storage.file_references import FileKind, files_of_version, manifest_path
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.tables import TableAddress
from support import harbor
from support.failpoints import armed


@pytest.fixture
def graph(store_root: str) -> Graph:
    """A graph whose sailors and ships have a past, deletions and indexes."""
    graph = harbor.new_graph(store_root)
    for number in range(3):
        with graph.write() as batch:
            batch.upsert("Sailor", [{"name": "Ana", "rank": "mate", "age": 50 + number}])
            batch.upsert("Ship", [{"hull": "S1", "title": f"title {number}"}])
    graph.optimize()
    with graph.write() as batch:
        batch.upsert("Sailor", [{"name": "Bo", "rank": "mate", "age": 70}])
        batch.upsert("Ship", [{"hull": "S2", "title": "another"}])
    return graph


def objects_of(graph: Graph) -> ControlStore:
    return graph._context.store.objects


def sailors(graph: Graph, branch: str = "main") -> tuple[TableAddress, int]:
    pin = next(pin for pin in graph.snapshot(branch).tables if pin.type_name == "Sailor")
    return TableAddress(pin.location, pin.ref), pin.version


def row_of(report: CleanupReport, key: str = "node:Sailor", branch: str | None = None) -> CleanupRow:
    return next(row for row in report.rows if (row.table_key, row.branch) == (key, branch))


def files_of(graph: Graph) -> set[str]:
    return set(objects_of(graph).list(f"{sailors(graph)[0].location}/"))


@pytest.mark.parametrize("kind", [FileKind.DATA, FileKind.DELETIONS, FileKind.INDEX])
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_table_that_lost_a_file_is_left_whole_and_the_others_are_cleaned(
    graph: Graph, kind: FileKind, is_cut: bool
) -> None:
    address, version = sailors(graph)
    needed = files_of_version(objects_of(graph), address, version)
    lost = [file.path for file in needed if file.kind is kind][-1]
    if is_cut:
        objects_of(graph).put(lost, b"" if kind is FileKind.DELETIONS else b"cut")
    else:
        objects_of(graph).delete(lost)
    before = files_of(graph)

    preview = omnigraph.open(graph.uri, read_only=True).cleanup(keep=1)
    done = omnigraph.open(graph.uri).cleanup(keep=1, confirm=True)

    for report in (preview, done):
        assert [row.table_key for row in report.failed] == ["node:Sailor"]
        row = row_of(report)
        assert row.error is not None
        assert row.error.startswith(f"nothing of the table is removed, because {lost} ")
        assert f"version {version} needs it" in row.error
        assert row.removed.bytes == 0
        assert row_of(report, "node:Ship").removed.versions > 0
    assert files_of(graph) == before


def test_what_a_branch_lost_keeps_the_past_of_the_main_line(graph: Graph) -> None:
    graph.branches.create("review")
    for number in range(3):
        graph.load(harbor.lines([harbor.sailor(f"r{number}")]), mode="append", branch="review")
    address, version = sailors(graph, "review")
    inherited = next(
        file.path
        for file in files_of_version(objects_of(graph), address, version)
        if file.kind is FileKind.DATA and "/tree/" not in file.path
    )
    own = next(
        file.path
        for file in files_of_version(objects_of(graph), address, version)
        if file.kind is FileKind.DATA and "/tree/" in file.path
    )
    assert inherited != own
    objects_of(graph).delete(own)
    before = files_of(graph)

    report = graph.cleanup(keep=1, confirm=True)

    assert [(row.table_key, row.branch) for row in report.failed] == [("node:Sailor", "review")]
    assert "node:Sailor on review is damaged, so all of the table is left as it is" in row_of(report).kept_because
    assert files_of(graph) == before
    assert row_of(report, "node:Ship").removed.versions > 0


def test_a_branch_that_is_deleted_after_the_choice_is_no_damage(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.branches.create("review")
    for number in range(3):
        with graph.write(branch="review") as batch:
            batch.upsert("Sailor", [{"name": "Ana", "rank": "mate", "age": 80 + number}])
            batch.upsert("Ship", [{"hull": "S1", "title": f"another title {number}"}])
    deleting = omnigraph.open(graph.uri)
    monkeypatch.setattr(faults, "_act", lambda *_: deleting.branches.delete("review"))

    # Two edge types, of which the branch has nothing of its own, come first.
    with armed("cleanup.after_choice:delete the branch:2:1"):
        report = graph.cleanup(keep=1, confirm=True)

    assert report.failed == ()
    for key in ("node:Sailor", "node:Ship"):
        assert row_of(report, key).removed.versions > 0
        assert row_of(report, key, branch="review").removed.versions == 0
    assert [branch.name for branch in graph.branches.list()] == ["main"]


def test_a_damaged_ref_of_no_branch_stops_its_own_table_only(graph: Graph) -> None:
    address, _ = sailors(graph)
    objects_of(graph).put(f"{address.location}/_refs/branches/gone.0123456789ab.json", b"{ no json")
    before = files_of(graph)

    preview = omnigraph.open(graph.uri, read_only=True).cleanup(keep=1)
    done = omnigraph.open(graph.uri).cleanup(keep=1, confirm=True)

    for report in (preview, done):
        assert [row.table_key for row in report.failed] == ["node:Sailor"]
        assert row_of(report, "node:Ship").removed.versions > 0
    assert files_of(graph) == before


@pytest.mark.parametrize("damage", ["unreadable", "missing"])
def test_a_table_whose_newest_manifest_is_damaged_stops_nobody_else(graph: Graph, damage: str) -> None:
    newest = manifest_path(*sailors(graph))
    if damage == "missing":
        objects_of(graph).delete(newest)
    else:
        objects_of(graph).put(newest, b"no manifest")
    before = files_of(graph)

    preview = omnigraph.open(graph.uri, read_only=True).cleanup(keep=1)
    done = omnigraph.open(graph.uri, recover=False).cleanup(keep=1, confirm=True)

    for report in (preview, done):
        assert [row.table_key for row in report.failed] == ["node:Sailor"]
        assert row_of(report, "node:Ship").removed.versions > 0
    assert files_of(graph) == before


def test_a_commit_log_that_cannot_be_read_is_a_row_of_its_own(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    for number in range(3):
        with graph.write() as batch:
            batch.upsert("Sailor", [{"name": "Ana", "rank": "mate", "age": 50 + number}])
    for manifest in Path(local_root, "_graph_commits", "_versions").glob("*.manifest"):
        manifest.write_bytes(b"no manifest")

    report = omnigraph.open(local_root, recover=False).cleanup(keep=1, confirm=True)

    assert [row.table_key for row in report.failed] == ["_graph_commits"]
    assert row_of(report).removed.versions > 0


def test_the_versions_of_a_reclaimed_ref_are_counted_without_the_hint_beside_them(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    address, version = sailors(graph)
    table = graph._context.store.tables.open(address, version)
    table.dataset.create_branch("gone.0123456789ab", version)
    graph._context.store.tables.forget_table(address.location)

    report = graph.cleanup(keep=1_000, confirm=True)

    row = row_of(report)
    assert (row.branches_reclaimed, row.removed.versions) == (("gone.0123456789ab",), 1)
