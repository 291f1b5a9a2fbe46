"""Optimize beside damage: what is lost is left alone and said, what is derived is made anew, the rest goes on."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.base.events import Event, Warned
from omnigraph.cli.main import main
from omnigraph.errors import OptimizePartial, StorageError
from omnigraph.graph import Graph
from omnigraph.maintenance.health.judging import Severity
from omnigraph.maintenance.optimize.report import OptimizeResult, TableReport
from support import harbor, library
from support.library import BOOK, CITES


@pytest.fixture
def graph(local_root: str) -> Graph:
    """A graph that was optimized, and has got something new since."""
    graph = library.library(local_root)
    graph.optimize()
    graph.load(harbor.lines([library.book(90), library.book(91)]), mode="append")
    return graph


def directory(graph: Graph, key: str = BOOK) -> Path:
    pin = next(pin for pin in graph.snapshot().tables if pin.table_key == key)
    return Path(graph.uri) / pin.location


def again(graph: Graph) -> Graph:
    """Open with fresh eyes: an open handle would not notice what happened to the files."""
    return omnigraph.open(graph.uri)


def row_of(result: OptimizeResult, key: str) -> TableReport:
    return next(row for row in result.tables if row.table_key == key)


def shown(graph: Graph, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["optimize", graph.uri, *flags])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def garble_manifests(table: Path) -> None:
    for file in (table / "_versions").iterdir():
        file.write_bytes(b"garbage")


def newest_data_file(table: Path) -> Path:
    return max((table / "data").glob("*.lance"), key=lambda file: file.stat().st_mtime_ns)


def lose_a_data_file(table: Path) -> None:
    newest_data_file(table).unlink()


def cut_a_data_file(table: Path) -> None:
    file = newest_data_file(table)
    file.write_bytes(file.read_bytes()[:100])


def lose_deletions(table: Path) -> None:
    for file in (table / "_deletions").iterdir():
        file.unlink()


@pytest.mark.parametrize("harm", [garble_manifests, lose_a_data_file, cut_a_data_file, lose_deletions])
def test_a_damaged_table_is_left_alone_and_said_so_and_the_others_go_on(
    graph: Graph, harm: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with graph.write() as batch:
        batch.delete("Book", ids=[graph.snapshot().table("Book").to_arrow(["id"])["id"][0].as_py()])
    graph.load(harbor.lines([{"type": "Shelf", "data": {"label": "far"}}]), mode="append")
    versions = sorted(path.name for path in (directory(graph) / "_versions").iterdir())
    harm(directory(graph))

    preview = again(graph).optimize(dry_run=True)
    result = again(graph).optimize()

    for found in (row_of(preview, BOOK), row_of(result, BOOK)):
        assert (found.skipped, found.committed) == ("DamagedNeedsRestore", False)
        assert found.error is not None
        assert found.error.endswith(f"restore {directory(graph).relative_to(graph.uri)} from a backup")
    assert isinstance(result.failure, OptimizePartial)
    assert result.commit is not None
    assert row_of(result, "node:Shelf").committed
    assert sorted(path.name for path in (directory(graph) / "_versions").iterdir()) == versions

    code, out, err = shown(graph, capsys, "--json")
    assert code == 1
    row = next(row for row in json.loads(out)["tables"] if row["table_key"] == BOOK)
    assert (row["skipped"], row["error"]) == ("DamagedNeedsRestore", result.failure and row_of(result, BOOK).error)
    assert f"{BOOK} was not optimized" in err
    code, out, err = shown(graph, capsys)
    assert code == 1
    assert f"{BOOK} skipped (DamagedNeedsRestore)" in out
    assert str(row_of(result, BOOK).error) in " ".join(out.split())
    damaged = [finding for finding in again(graph).health().findings if BOOK in finding.tables]
    assert Severity.ACTION in {finding.severity for finding in damaged}


def test_a_lost_file_is_named(graph: Graph) -> None:
    lost = newest_data_file(directory(graph))
    lost.unlink()

    row = row_of(again(graph).optimize(), BOOK)

    assert row.error is not None
    assert row.error.startswith(f"{lost.relative_to(graph.uri)} is missing; ")
    (finding,) = [found for found in again(graph).health().findings if found.code == "table_damaged"]
    assert str(lost.relative_to(graph.uri)) in finding.message


def lose_all_index_files(indices: Path) -> None:
    shutil.rmtree(indices)


def cut_index_files(indices: Path) -> None:
    for file in indices.rglob("*.lance"):
        file.write_bytes(file.read_bytes()[:64])


def zero_index_files(indices: Path) -> None:
    for file in indices.rglob("*.lance"):
        file.write_bytes(b"\0" * file.stat().st_size)


HARMS = [lose_all_index_files, cut_index_files, zero_index_files]


def write_in_every_way(graph: Graph) -> None:
    graph.load(harbor.lines([library.book(101)]), mode="append")
    graph.load(harbor.lines([library.book(101, "a later draft"), library.book(102)]), mode="merge")
    with graph.write() as batch:
        batch.update("Book", {"title": "another"}, ids=[_id(graph, 102)])
        batch.delete("Book", ids=[_id(graph, 101)])


def _id(graph: Graph, number: int) -> str:
    slug = library.book(number)["data"]["slug"]
    rows = graph.snapshot().table("Book").to_arrow(["id", "slug"]).to_pylist()
    return str(next(row["id"] for row in rows if row["slug"] == slug))


@pytest.mark.parametrize("harm", HARMS)
def test_writes_do_without_an_index_that_cannot_be_read_and_optimize_builds_it_anew(
    graph: Graph, harm: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    harm(directory(graph) / "_indices")

    damaged = again(graph)
    write_in_every_way(damaged)
    assert again(graph).snapshot().table("Book").count_rows() == graph.snapshot().table("Book").count_rows()

    code, out, _ = shown(graph, capsys, "--json")
    assert code == 0
    book = next(row for row in json.loads(out)["tables"] if row["table_key"] == BOOK)
    assert {"id", "slug", "title", "year"} <= set(book["indexes_built"])
    healed = again(graph)
    library.lookups_agree(healed)
    assert healed.optimize().commit is None
    assert not [finding for finding in healed.health().findings if finding.code == "index_lost"]


@pytest.mark.parametrize("harm", HARMS[:2])
def test_health_names_a_lost_index_with_the_command_that_heals_it(
    graph: Graph, harm: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    harm(directory(graph) / "_indices")

    assert main(["health", graph.uri]) == 2

    out = " ".join(capsys.readouterr().out.split())
    assert "files of the index on" in out
    (finding,) = [found for found in again(graph).health().findings if found.code == "index_lost"]
    assert finding.tables == (BOOK,)
    assert main(finding.fix.split()[1:]) == 0
    assert "index_lost" not in {found.code for found in again(graph).health().findings}


def test_an_index_that_cannot_be_read_does_not_keep_fragments_from_being_merged_without_reindexing(
    graph: Graph,
) -> None:
    shutil.rmtree(directory(graph) / "_indices")

    result = again(graph).optimize(reindex=False)

    assert result.failure is None
    assert row_of(result, BOOK).fragments_removed == 2
    assert library.fragments(again(graph)) == 1
    assert library.layout(again(graph)).indexes == ()


def test_a_branch_whose_inherited_index_is_lost_gets_one_of_its_own(graph: Graph) -> None:
    graph.optimize()
    graph.branches.create("review")
    graph.load(harbor.lines([library.book(95)]), mode="append", branch="review")
    shutil.rmtree(directory(graph) / "_indices")

    damaged = again(graph)
    damaged.load(harbor.lines([library.book(96)]), mode="append", branch="review")
    result = damaged.optimize(branch="review")

    assert result.failure is None
    library.lookups_agree(again(graph), "review")
    assert again(graph).optimize().failure is None
    library.lookups_agree(again(graph))


def test_a_writer_beside_the_healing_of_an_index_loses_nothing(graph: Graph) -> None:
    shutil.rmtree(directory(graph) / "_indices")
    damaged = again(graph)

    def write() -> None:
        again(graph).load(harbor.lines([library.book(99)]), mode="append")

    result = damaged.optimize(events=library.after_last_task(write))

    assert result.failure is None
    library.lookups_agree(again(graph))
    assert _id(again(graph), 99)


def test_an_index_is_healed_on_every_store(store_root: str) -> None:
    graph = library.library(store_root)
    graph.optimize()
    objects = graph._context.store.objects
    location = next(pin.location for pin in graph.snapshot().tables if pin.table_key == CITES)
    for path in objects.list(f"{location}/_indices/"):
        objects.delete(path)

    damaged = again(graph)
    assert "index_lost" in {found.code for found in damaged.health().findings}
    damaged.load(harbor.lines([library.book(99)]), mode="append")
    result = damaged.optimize()

    assert result.failure is None
    assert {"id", "src", "dst"} <= set(row_of(result, CITES).indexes_built)


def test_an_internal_table_that_cannot_be_read_is_a_row(graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    for file in (Path(graph.uri) / "_graph_commit_actors" / "_versions").iterdir():
        file.write_bytes(b"garbage")

    for flags in ([], ["--dry-run"]):
        code, out, _ = shown(graph, capsys, "--json", *flags)
        rows = {row["table_key"]: row for row in json.loads(out)["tables"]}
        assert code == 1
        assert "opening _graph_commit_actors" in rows["_graph_commit_actors"]["error"]
        assert rows[BOOK]["error"] is None


def test_a_blob_table_that_lance_cannot_compact_is_warned_of(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("omnigraph.maintenance.optimize.plan.LANCE_SUPPORTS_BLOB_COMPACTION", False)
    events: list[Event] = []

    graph.optimize(dry_run=True, events=events.append)

    (warned,) = [event.message for event in events if isinstance(event, Warned)]
    assert warned.startswith(f"{BOOK} has blob columns")
    _, out, err = shown(graph, capsys)
    assert f"{BOOK} skipped (BlobColumnsUnsupportedByLance)" in out
    assert warned in " ".join(err.split())


def test_a_table_that_breaks_while_it_is_planned_again_fails_alone(graph: Graph) -> None:
    def break_it() -> None:
        writer = again(graph)
        with writer.write() as batch:
            batch.delete("Book", ids=[_id(writer, 90)])
        garble_manifests(directory(graph))

    result: Any = again(graph).optimize(events=library.after_last_task(break_it))

    assert row_of(result, BOOK).error is not None


def test_who_wants_to_know_what_an_index_says_is_told_that_it_cannot_be_read(graph: Graph) -> None:
    shutil.rmtree(directory(graph) / "_indices")
    damaged = again(graph)
    (pin,) = [pin for pin in damaged.snapshot().tables if pin.table_key == BOOK]
    table = damaged._context.store.tables.open(pin.address, pin.version)

    assert table.read(["id"], where="id = 'b1'").num_rows == 1
    assert table.count_rows("id = 'b1'") == 1
    with pytest.raises(StorageError, match="_indices"):
        table.scan(["id"], where="id = 'b1'", insists_on_index=True).read_all()


def test_verify_finds_an_index_that_cannot_be_read_although_reads_do_without_it(
    graph: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    zero_index_files(directory(graph) / "_indices")

    assert main(["verify", graph.uri, "--deep", "--json"]) == 2
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert any("og_btree_id" in json.dumps(problem) for problem in problems)
    assert main(["optimize", graph.uri]) == 0
    capsys.readouterr()
    assert main(["verify", graph.uri, "--deep", "--json"]) == 0
