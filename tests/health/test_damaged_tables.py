"""A table that has lost files: health says what is lost and what is left, and no write builds on it."""

from pathlib import Path

import pytest

import omnigraph
from omnigraph.cli.main import main
from omnigraph.errors import TableDamaged
from omnigraph.graph import Graph
from omnigraph.graphs import whole_tables
from omnigraph.maintenance.health.finding import Finding, Severity
from omnigraph.manifest.snapshot import TablePin
from support import harbor


def pin_of(graph: Graph, table_key: str) -> TablePin:
    return next(pin for pin in graph.snapshot().tables if pin.table_key == table_key)


def lose_data(root: str, table_key: str = "node:Sailor") -> str:
    """Remove a data file that the head needs."""
    graph = omnigraph.open(root, read_only=True)
    pin = pin_of(graph, table_key)
    table = graph._context.store.tables.open(pin.address, pin.version)
    path = f"{pin.location}/data/{table.dataset.get_fragments()[0].metadata.files[0].path}"
    (Path(root) / path).unlink()
    return path


def actions(root: str) -> list[Finding]:
    report = omnigraph.open(root, read_only=True).health()
    return [finding for finding in report.findings if finding.severity is Severity.ACTION]


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_load_to_a_damaged_table_is_refused_and_says_which_file(local_root: str, mode: str) -> None:
    head = harbor.new_graph(local_root).snapshot().commit_id
    path = lose_data(local_root)
    graph = omnigraph.open(local_root)

    with pytest.raises(TableDamaged) as refused:
        graph.load(harbor.lines([harbor.sailor("Late")]), mode=mode)

    assert refused.value.details["files"] == [path]
    assert refused.value.details["table_key"] == "node:Sailor"
    assert f"omnigraph verify {local_root}" in str(refused.value)
    assert omnigraph.open(local_root).snapshot().commit_id == head


def test_a_truncated_file_is_as_good_as_none(local_root: str) -> None:
    harbor.new_graph(local_root)
    graph = omnigraph.open(local_root, read_only=True)
    pin = pin_of(graph, "node:Note")
    with omnigraph.open(local_root).write() as batch:
        batch.insert("Note", [{"text": "first"}])
    (file,) = (Path(local_root) / pin.location / "data").iterdir()
    file.write_bytes(file.read_bytes()[:-1])

    # Notes have no key, so that nothing of the table is read while the write is prepared.
    with pytest.raises(TableDamaged, match=r"of .* bytes"), omnigraph.open(local_root).write() as batch:
        batch.insert("Note", [{"text": "second"}])


def test_other_tables_can_still_be_written(local_root: str) -> None:
    harbor.new_graph(local_root)
    lose_data(local_root)

    omnigraph.open(local_root).load(harbor.lines([harbor.ship("S9")]), mode="append")

    assert omnigraph.open(local_root).snapshot().table("Ship").count_rows() == 3


def test_a_process_looks_once_at_each_table_it_writes_to(local_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    harbor.new_graph(local_root)
    looks: list[str] = []

    def look(objects: object, pin: TablePin) -> tuple[()]:
        looks.append(pin.table_key)
        return ()

    monkeypatch.setattr(whole_tables, "lost_rows", look)
    graph = omnigraph.open(local_root)
    for number in range(3):
        with graph.write() as batch:
            batch.insert("Sailor", [{"name": f"n{number}", "rank": "mate"}])

    assert looks == ["node:Sailor"]


def test_health_says_what_is_lost_and_what_is_left(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.optimize()
    assert actions(local_root) == []
    path = lose_data(local_root)

    (finding,) = actions(local_root)

    assert (finding.code, finding.table_key) == ("table_damaged", "node:Sailor")
    assert f"{path} is missing" in finding.message
    assert "graph versions 2-3 of main; the table is whole in graph version 1 of main" in finding.message
    assert main(["verify", local_root, "--quiet"]) == 2


def test_health_sends_a_lost_index_to_optimize_which_settles_it(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.optimize()
    for file in (Path(local_root) / pin_of(graph, "node:Ship").location / "_indices").rglob("*.lance"):
        file.unlink()

    (finding,) = actions(local_root)
    assert (finding.code, finding.table_key, finding.fix) == (
        "index_lost",
        "node:Ship",
        f"omnigraph optimize {local_root}",
    )

    assert main(["optimize", local_root, "--quiet"]) == 0

    assert actions(local_root) == []


def test_health_says_that_the_log_is_gone(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.optimize()
    for file in sorted((Path(local_root) / "_graph_commits").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()

    codes = {finding.code for finding in actions(local_root)}

    assert "log_incomplete" in codes
