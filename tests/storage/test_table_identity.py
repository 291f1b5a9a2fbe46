"""A table says from birth which table of which graph it is; opened through a pin, another one is refused."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph
from omnigraph.catalog.arrow import TABLE_IDENTITY_METADATA, table_schema
from omnigraph.errors import TableReplaced
from omnigraph.graph import Graph
from omnigraph.manifest import birth
from omnigraph.manifest.snapshot import TablePin
from omnigraph.pipeline.load import inputs
from support import harbor


def marks(graph: Graph, address: str = "main") -> dict[str, str | None]:
    """Return what each table says it is, by its key; reads the tables without the check."""
    tables = graph._context.store.tables
    pins = graph.snapshot(address).tables
    return {pin.table_key: tables.open(pin.address, pin.version).identity_mark for pin in pins}


def expected(graph: Graph, address: str = "main") -> dict[str, str]:
    found = {}
    for pin in graph.snapshot(address).tables:
        assert pin.expected is not None
        found[pin.table_key] = pin.expected.mark
    return found


def pin_of(graph: Graph, table_key: str, address: str = "main") -> TablePin:
    (found,) = [pin for pin in graph.snapshot(address).tables if pin.table_key == table_key]
    return found


def add_column(graph: Graph) -> None:
    graph.apply_schema(harbor.SCHEMA.replace("rank:", 'nickname: String @default("-")\n    rank:'))


def drop_column(graph: Graph) -> None:
    graph.apply_schema(harbor.SCHEMA.replace("    age: I32?\n", ""))


def add_type(graph: Graph) -> None:
    graph.apply_schema(f"{harbor.SCHEMA}\nnode Buoy {{ label: String @key }}\n")


def overwrite(graph: Graph) -> None:
    graph.load(harbor.lines(harbor.CREW), mode="overwrite")


def overwrite_in_pieces(graph: Graph) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "IN_MEMORY_BYTES_MAX", -1)
        graph.load(harbor.lines(harbor.CREW), mode="overwrite", engine="local")


def optimize(graph: Graph) -> None:
    graph.optimize()


def merge(graph: Graph) -> None:
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Zed")]), mode="append", branch="review")
    assert marks(graph, "review") == expected(graph, "review")
    graph.branches.merge("review")


@pytest.mark.parametrize("change", [add_column, drop_column, add_type, overwrite, overwrite_in_pieces, optimize, merge])
def test_every_table_keeps_the_identity_it_was_born_with(local_root: str, change: Callable[[Graph], None]) -> None:
    graph = harbor.new_graph(local_root)
    before = marks(graph)

    change(graph)

    fresh = omnigraph.open(local_root)
    assert None not in marks(fresh).values()
    assert marks(fresh) == expected(fresh)
    assert marks(fresh).items() >= before.items()
    assert all(pin.is_marked for pin in fresh.snapshot().tables)


def test_a_discarded_drift_leaves_the_identity(local_root: str) -> None:
    import lance

    graph = harbor.new_graph(local_root)
    pin = pin_of(graph, "node:Sailor")
    lance.dataset(f"{local_root}/{pin.location}").update_schema_metadata({TABLE_IDENTITY_METADATA: None})
    graph = omnigraph.open(local_root)

    graph.repair(discard=True, confirm=True)

    assert marks(omnigraph.open(local_root)) == expected(graph)


def swap(root: Path, first: TablePin, second: TablePin) -> None:
    (root / first.location).rename(root / "aside")
    (root / second.location).rename(root / first.location)
    (root / "aside").rename(root / second.location)


def test_two_swapped_directories_are_refused_by_name(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.optimize()
    for kind in ("Sailor", "Ship"):
        graph.snapshot().table(kind)
    sailors, ships = pin_of(graph, "node:Sailor"), pin_of(graph, "node:Ship")
    swap(Path(local_root), sailors, ships)
    fresh = omnigraph.open(local_root)
    tables = fresh._context.store.tables

    with pytest.raises(TableReplaced) as refused:
        tables.head(sailors.address)

    assert refused.value.kind == "table_replaced"
    assert refused.value.details["table_key"] == "node:Sailor"
    assert sailors.expected is not None
    assert ships.expected is not None
    assert (refused.value.details["expected"], refused.value.details["found"]) == (
        sailors.expected.mark,
        ships.expected.mark,
    )
    with pytest.raises(TableReplaced):
        fresh.load(harbor.lines([harbor.sailor("Late")]), mode="append")


def test_a_directory_of_another_graph_is_refused(local_root: str, tmp_path: Path) -> None:
    graph = harbor.new_graph(local_root)
    other = harbor.new_graph(str(tmp_path / "other.omni"))
    pin = pin_of(graph, "node:Sailor")
    assert pin_of(other, "node:Sailor").location == pin.location
    shutil.rmtree(Path(local_root) / pin.location)
    shutil.copytree(tmp_path / "other.omni" / pin.location, Path(local_root) / pin.location)

    with pytest.raises(TableReplaced) as refused:
        omnigraph.open(local_root).snapshot().table("Sailor")

    assert refused.value.details["expected"].partition("/")[2] == refused.value.details["found"].partition("/")[2]
    assert refused.value.details["expected"] != refused.value.details["found"]


def test_a_state_that_lost_its_mark_is_refused_where_the_graph_knows_that_it_had_one(local_root: str) -> None:
    import lance

    graph = harbor.new_graph(local_root)
    pin = pin_of(graph, "node:Sailor")
    lance.dataset(f"{local_root}/{pin.location}").update_schema_metadata({TABLE_IDENTITY_METADATA: None})

    with pytest.raises(TableReplaced, match="without an identity"):
        omnigraph.open(local_root)._context.store.tables.open(pin.address, pin.version + 1)


def unmarked(root: str) -> Graph:
    """A graph as it was before tables carried their identity: no table says what it is, and no pin says that it did."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(birth, "new_table_schema", lambda entity, graph_id: table_schema(entity))
        return harbor.new_graph(root)


def test_an_older_graph_reads_and_writes_and_is_marked_by_optimize(local_root: str) -> None:
    graph = unmarked(local_root)
    assert graph.snapshot().table("Sailor").count_rows() == 3

    with graph.write() as batch:
        batch.update("Sailor", {"age": 51}, ids=["Ana"])

    assert marks(graph)["node:Sailor"] is None
    rows = graph.snapshot().table("Sailor").to_arrow().to_pylist()
    graph.optimize()
    fresh = omnigraph.open(local_root)
    assert marks(fresh) == expected(fresh)
    assert all(pin.is_marked for pin in fresh.snapshot().tables)
    assert sorted(fresh.snapshot().table("Sailor").to_arrow().to_pylist(), key=lambda row: row["id"]) == sorted(
        rows, key=lambda row: row["id"]
    )
    assert graph.optimize().commit is None


def test_a_commit_that_recovery_rolls_forward_keeps_the_checksums_of_its_files(
    local_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = harbor.new_graph(local_root)

    def publish(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(graph._context.publisher), "publish", publish)
        with pytest.raises(KeyboardInterrupt), graph.write() as batch:
            batch.update("Sailor", {"age": 51}, ids=["Ana"])

    recovered = omnigraph.open(local_root)
    report = recovered.verify(deep=True)
    assert recovered.snapshot().table("Sailor").to_arrow(where=[("age", "=", 51)]).num_rows == 1
    assert (report.problems, report.files_without_checksum) == ((), 0)
