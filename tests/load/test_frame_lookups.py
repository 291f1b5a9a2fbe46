"""What workers look up among stored rows: the commit then looks through nothing, and every way gives the same."""

import re
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import ConstraintViolation, OmniError
from omnigraph.graph import Graph
from omnigraph.pipeline.load import frames
from omnigraph.pipeline.load.bulk import held, lookups, partitions
from omnigraph.pipeline.load.bulk.partitions import keep_partition
from omnigraph.pipeline.load.record_lines import VALUE
from omnigraph.writes.exchange import removing
from support.bulk_story import row_ids
from support.frame_loads import begin_rows, commit, commit_rows, edge_records, keep_each, legs

NETWORK = """
node Port { code: String @key  depth: I32? @unique }
edge Leg: Port -> Port { miles: I32? }
edge Berth: Port -> Port @card(0..2) { miles: I32? }
edge Route: Port -> Port { miles: I32?  @unique(src, dst) }
edge Twin: Port -> Port { miles: I32?  @unique(src)  @unique(dst) }
edge Watch: Port -> Port @card(1..2) { miles: I32? }
edge Feed: Port -> Port @card(1..) { miles: I32? }
"""
EDGES = {
    "Berth": legs(("p1", "p2"), ids=("b1",), miles=(5,)),
    "Leg": legs(("p1", "p2"), ("p1", "p2"), ("p1", "p3"), ids=("l1", "l2", "l3"), miles=(5, 5, 5)),
    "Route": legs(("p1", "p2"), ("p2", "p3"), ids=("r1", "r2"), miles=(5, 5)),
    "Twin": legs(("p1", "p2"), ("p2", "p3"), ids=("t1", "t2"), miles=(5, 5)),
    "Watch": legs(("p1", "p2"), ("p1", "p3"), ("p4", "p5"), ids=("w1", "w2", "w3"), miles=(5, 5, 5)),
    "Feed": legs(("p1", "p2"), ("p1", "p3"), ("p4", "p5"), ids=("f1", "f2", "f3"), miles=(5, 5, 5)),
}
PORTS_AGAIN = pa.table({"code": [f"p{number}" for number in range(50)]})


@pytest.fixture
def network(local_root: str) -> Graph:
    graph = omnigraph.init(local_root, NETWORK)
    lines = (b'{"type":"Port","data":{"code":"p%d","depth":%d}}\n' % (number, number) for number in range(50))
    graph.load(BytesIO(b"".join(lines)), mode="append")
    return graph


PORTS = pa.table({"code": ["x", "y"], "depth": pa.array([100, 101], pa.int32())})
LEGS = pa.table({"from": ["x", "p7"], "to": ["p3", "y"]})


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_few_rows_are_checked_without_looking_through_what_is_stored(network, mode, whole_scans):
    for type_name, rows in (("Port", PORTS), ("Leg", LEGS), ("Berth", LEGS)):
        load = begin_rows(network, type_name, rows, mode)
        kept = keep_partition(load.task, 0, rows.to_batches())
        assert len([path for path in Path(network.uri, "__staging").rglob("*") if path.is_file()]) == 1
        assert commit(load, network, kept) is not None

    assert whole_scans == []
    assert [network.snapshot().table(name).count_rows() for name in ("Port", "Leg", "Berth")] == [52, 2, 2]


def test_workers_of_an_append_ask_what_is_stored_and_the_commit_does_not(network, whole_scans, monkeypatch):
    monkeypatch.setattr(partitions, "may_wait", lambda _, __: False)
    for type_name, rows in (("Port", PORTS), ("Leg", LEGS)):
        load = begin_rows(network, type_name, rows)
        kept = [keep_partition(load.task, 3, rows.slice(1).to_batches())]
        kept.append(keep_partition(load.task, 0, rows.slice(0, 1).to_batches()))
        assert {table.suspects for part in kept for outcome in part.outcomes for table in outcome.tables} == {0}
        assert commit(load, network, *kept) is not None

    assert whole_scans == []
    assert [network.snapshot().table(name).count_rows() for name in ("Port", "Leg")] == [52, 2]


@pytest.fixture
def busy(network: Graph) -> Graph:
    """A network with edges of all types."""
    lines = [line for type_name, rows in EDGES.items() for line in edge_records(type_name, rows)[VALUE].to_pylist()]
    network.load(BytesIO("\n".join(lines).encode()), mode="append")
    return network


def frame(type_name: str, rows: pa.Table) -> tuple[str | None, pa.Table]:
    """Return rows as they may be loaded: as whole records if not all of them say their id."""
    is_mixed = "id" in rows.column_names and rows["id"].null_count > 0
    return (None, edge_records(type_name, rows)) if is_mixed else (type_name, rows)


def edges(graph: Graph, type_name: str) -> list[tuple[Any, ...]]:
    """Return the edges of a type, those with a minted id as `new`."""
    rows = graph.snapshot().table(type_name).to_arrow(["id", "src", "dst", "miles"]).to_pylist()
    return sorted((without_ulids(row["id"]), row["src"], row["dst"], row["miles"]) for row in rows)


def without_ulids(text: str) -> str:
    return re.sub(r"[0-9A-Z]{26}", "new", text)


@pytest.mark.parametrize(
    ("type_name", "mode", "rows", "expected"),
    [
        ("Port", "merge", pa.table({"code": ["p1", "x"], "depth": pa.array([300, 301], pa.int32())}), 51),
        ("Port", "overwrite", PORTS_AGAIN, 50),
        ("Leg", "overwrite", legs(("p1", "p3"), ("p1", "p4")), 2),
        ("Leg", "merge", legs(("p1", "p2"), ("p1", "p4"), miles=(5, 5)), 4),
        ("Leg", "merge", legs(("p1", "p2"), ("p1", "p3"), ("p9", "p8"), ids=(None, "l3", None), miles=(7, 8, 9)), 5),
        ("Route", "merge", legs(("p1", "p2"), ("p1", "p4")), 3),
        ("Route", "merge", legs(("p1", "p2"), ("p2", "p5"), ids=(None, "r2")), 2),
        ("Twin", "merge", legs(("p1", "p4"), ("p5", "p6")), 3),
        ("Berth", "append", legs(("p1", "p3"), ("p2", "p3"), ("p2", "p4")), 4),
        ("Berth", "merge", legs(("p1", "p4"), ("p1", "p3"), ids=("b1", "b2")), 2),
        ("Berth", "merge", legs(("p1", "p2"), ("p1", "p3"), miles=(5, 5)), 2),
        ("Berth", "overwrite", legs(("p1", "p3"), ("p1", "p4")), 2),
        ("Watch", "append", legs(("p4", "p3"), ("p6", "p3")), 5),
        ("Watch", "merge", legs(("p4", "p3"), ("p6", "p3"), ids=("w2", "n1")), 4),
        ("Watch", "merge", legs(("p1", "p4"), ("p4", "p1"), ids=("w3", "w1")), 3),
        ("Watch", "overwrite", legs(("p4", "p3"), ("p1", "p3")), 2),
        ("Feed", "append", legs(("p1", "p3"), ("p6", "p3")), 5),
        ("Feed", "merge", legs(("p4", "p3"), ("p6", "p3"), ids=("f2", None)), 4),
        ("Feed", "overwrite", legs(("p4", "p3"), ("p1", "p3")), 2),
    ],
)
def test_a_commit_asks_nothing_that_workers_could_ask(busy, whole_scans, monkeypatch, type_name, mode, rows, expected):
    monkeypatch.setattr(partitions, "may_wait", lambda _, __: False)
    named, rows = frame(type_name, rows)
    load = begin_rows(busy, named, rows, mode)
    kept = keep_each(load, rows)
    whole_scans.clear()

    assert commit(load, busy, *kept) is not None

    assert whole_scans == []
    assert busy.snapshot().table(type_name).count_rows() == expected


@pytest.mark.parametrize(
    ("type_name", "mode", "rows"),
    [("Port", "append", PORTS), ("Leg", "merge", legs(("p1", "p2"), ("p1", "p4"))), ("Port", "overwrite", PORTS_AGAIN)],
)
def test_workers_also_look_through_many_rows_without_an_index(busy, whole_scans, monkeypatch, type_name, mode, rows):
    monkeypatch.setattr(lookups, "SCANNED_ROWS_MAX", 1)
    monkeypatch.setattr(held, "_RATHER_BYTES", 0)
    monkeypatch.setattr(partitions, "may_wait", lambda _, __: False)
    load = begin_rows(busy, type_name, rows, mode)
    kept = [keep_partition(load.task, 0, rows.to_batches())]
    whole_scans.clear()

    assert load.task.load.scans_much
    assert commit(load, busy, *kept) is not None

    assert whole_scans == []


def test_look_ups_go_through_much_where_no_index_covers_it(network, monkeypatch):
    monkeypatch.setattr(lookups, "SCANNED_ROWS_MAX", 50)
    commit_rows(network, "Leg", legs(("p1", "p2")))

    def much() -> dict[str, bool]:
        frames_by_type = {"Leg": LEGS, "Berth": LEGS, "Port": PORTS}
        return {name: begin_rows(network, name, rows).task.load.scans_much for name, rows in frames_by_type.items()}

    assert much() == {"Leg": True, "Berth": False, "Port": False}, "the ports and the leg are 51 rows"
    monkeypatch.setattr(lookups, "SCANNED_ROWS_MAX", 2)
    assert set(much().values()) == {True}
    network.optimize()
    assert set(much().values()) == {False}
    commit_rows(network, "Port", pa.table({"code": ["x", "y"], "depth": pa.array([300, 301], pa.int32())}))
    assert much() == {"Leg": False, "Berth": False, "Port": True}, "two ports, to be looked for by code and by depth"


def test_small_partitions_look_up_together_where_that_takes_long(busy, monkeypatch):
    monkeypatch.setattr(lookups, "SCANNED_ROWS_MAX", 1)
    monkeypatch.setattr(partitions, "may_wait", lambda _, __: False)
    monkeypatch.setattr(frames, "are_few", lambda _: False)
    monkeypatch.setattr(partitions, "PIECE_BYTES", 40)
    load = begin_rows(busy, "Port", PORTS)

    kept = [*keep_each(load, PORTS), keep_partition(load.task, 2, pa.table({"code": ["a" * 100]}).to_batches())]

    assert [outcome.held_bytes > 0 for part in kept for outcome in part.outcomes] == [True, True, False]
    assert commit(load, busy, *kept) is not None
    assert busy.snapshot().table("Port").count_rows() == 53


@pytest.mark.parametrize(
    ("type_name", "mode", "rows", "messages"),
    [
        *(
            (name, mode, rows, [f"@card violation on edge {name}: source 'p4' has 0 edges, min 1"])
            for name, letter in (("Watch", "w"), ("Feed", "f"))
            for mode, rows in (
                ("merge", legs(("p6", "p5"), ("p7", "p8"), ids=(f"{letter}3", None))),
                ("overwrite", legs(("p1", "p2"), ("p6", "p8"))),
            )
        ),
        (
            "Watch",
            "merge",
            legs(("p1", "p5"), ("p4", "p5"), ids=("w3", "n1")),
            ["@card violation on edge Watch: source 'p1' has 3 edges, max 2"],
        ),
        (
            "Route",
            "merge",
            legs(("p1", "p2"), ("p8", "p9"), ("p1", "p2")),
            ["@unique violation on Route.(dst, src): 'p2, p1' is held by both 'r1' and 'new'"],
        ),
        (
            "Port",
            "overwrite",
            PORTS_AGAIN.slice(0, 5),
            [
                f"stored edge {name} '{name[0].lower()}3' to 'p5': node Port not found after this write"
                for name in ("Feed", "Watch")
            ],
        ),
    ],
)
def test_every_way_refuses_what_takes_too_much_away(busy, way, type_name, mode, rows, messages):
    with pytest.raises(OmniError) as refused:
        commit_rows(busy, *frame(type_name, rows), mode)

    found = [without_ulids(entry["message"]) for entry in refused.value.details["errors"]]
    assert sorted(found) == messages


def test_equal_edges_in_several_partitions_mean_as_many_stored_ones(busy, way):
    twice = legs(("p1", "p2"), ("p7", "p8"), ("p1", "p2"), ("p7", "p8"), miles=(5, 6, 5, 6))

    assert commit_rows(busy, "Leg", twice, "merge") is not None
    assert commit_rows(busy, "Leg", twice, "merge") is None

    again = legs(("p1", "p2"), ("p1", "p2"), ids=(None, "l1"), miles=(5, 9))
    assert commit_rows(busy, *frame("Leg", again), "merge") is not None
    assert edges(busy, "Leg") == [
        ("l1", "p1", "p2", 9),
        ("l2", "p1", "p2", 5),
        ("l3", "p1", "p3", 5),
        ("new", "p7", "p8", 6),
        ("new", "p7", "p8", 6),
    ]


def test_an_edge_that_is_gone_meanwhile_is_not_meant_any_more(busy, way):
    rows = legs(("p1", "p3"), ("p9", "p8"), miles=(5, 6))
    load = begin_rows(busy, "Leg", rows, "merge")
    kept = keep_each(load, rows)
    with busy.write() as batch:
        batch.delete("Leg", ids=["l3"])

    assert commit(load, busy, *kept) is not None

    assert edges(busy, "Leg") == [
        ("l1", "p1", "p2", 5),
        ("l2", "p1", "p2", 5),
        ("new", "p1", "p3", 5),
        ("new", "p9", "p8", 6),
    ]


def random_edges(random: Random, type_name: str) -> pa.Table:
    """Return edges among few ports, some of them by the ids of stored ones, some without, some of them equal."""
    ids = [*EDGES[type_name]["id"].to_pylist(), "n1"]
    count = random.randint(2, 6)
    named = [random.choice([None, None, random.choice(ids)]) for _ in range(count)]
    pairs = [(f"p{random.randint(1, 4)}", f"p{random.randint(1, 4)}") for _ in range(count)]
    return legs(*pairs, ids=tuple(named), miles=tuple(random.choice([5, 5, 6]) for _ in range(count)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("type_name", ["Leg", "Route", "Twin", "Watch", "Feed"])
def test_random_merges_come_to_the_same_whichever_way_they_go(tmp_path, monkeypatch, type_name, seed):
    rows = random_edges(Random(f"{type_name}{seed}"), type_name)
    outcomes = {}
    for name in ("few", "apart"):
        graph = omnigraph.init(str(tmp_path / name), NETWORK)
        graph.load(BytesIO(b"".join(b'{"type":"Port","data":{"code":"p%d"}}\n' % at for at in range(6))), mode="append")
        commit_rows(graph, type_name, EDGES[type_name])
        if name == "apart":
            monkeypatch.setattr(partitions, "may_wait", lambda _, __: False)
        try:
            made = commit_rows(graph, None, edge_records(type_name, rows), "merge")
        except OmniError as error:
            outcomes[name] = sorted(without_ulids(str(entry)) for entry in error.details["errors"])
        else:
            outcomes[name] = [made is not None, *edges(graph, type_name)]

    assert outcomes["apart"] == outcomes["few"]


def test_edges_of_a_source_are_counted_over_all_partitions_and_what_is_stored(network, way):
    commit_rows(network, "Berth", legs(("p1", "p2"), ("p5", "p6"), ("p5", "p7"), ids=("b1", "b2", "b3")))

    for mode, rows in (
        ("append", legs(("p1", "p3"), ("p1", "p4"))),
        ("append", legs(("p5", "p3"))),
        ("merge", legs(("p1", "p3"), ("p1", "p4"), ids=("n1", "n2"))),
        ("merge", legs(("p5", "p6"), ("p5", "p8"), ids=("b2", "n1"))),
        ("overwrite", legs(("p1", "p3"), ("p1", "p4"), ("p1", "p5"))),
    ):
        with pytest.raises(
            ConstraintViolation, match=r"@card violation on edge Berth: source 'p[15]' has 3 edges, max 2"
        ):
            commit_rows(network, "Berth", rows, mode)
    # The same edges again, one that leaves a full source for another, and one that comes to where it left.
    assert commit_rows(network, "Berth", legs(("p5", "p6"), ("p5", "p7"), ids=("b2", "b3")), "merge") is None
    assert commit_rows(network, "Berth", legs(("p1", "p9"), ids=("b2",)), "merge") is not None
    assert commit_rows(network, "Berth", legs(("p5", "p1")), "append") is not None

    berths = network.snapshot().table("Berth").to_arrow(["src"])["src"].to_pylist()
    assert sorted(berths) == ["p1", "p1", "p5", "p5"]


@pytest.mark.parametrize(
    ("type_name", "rows", "message"),
    [
        ("Leg", legs(("p1", "p2"), ("p2", "gone")), "Leg to 'gone': node Port not found"),
        ("Port", pa.table({"code": ["p1", "x"]}), "orphan"),
    ],
)
def test_an_overwrite_leaves_no_edge_without_its_ends(network, way, type_name, rows, message):
    commit_rows(network, "Leg", legs(("p1", "p2")))

    with pytest.raises(ConstraintViolation) as refused:
        commit_rows(network, type_name, rows, "overwrite")

    assert message in str(refused.value.details["errors"]) + str(refused.value.details)
    assert commit_rows(network, "Port", pa.table({"code": ["p2", "p1"]}), "overwrite") is not None
    assert sorted(network.snapshot().table("Port").to_arrow()["id"].to_pylist()) == ["p1", "p2"]


@pytest.mark.parametrize(
    ("type_name", "rows", "message"),
    [
        ("Port", pa.table({"code": ["x", "p7"]}), "Port 'p7' exists already"),
        ("Port", pa.table({"code": ["x", "x"]}), "Port 'x' occurs at <frame>:1 and again at <frame>:2"),
        (
            "Port",
            pa.table({"code": ["x", "y"], "depth": pa.array([100, 7], pa.int32())}),
            "@unique violation on Port.depth: '7' is held by both 'p7' and 'y'",
        ),
        (
            "Port",
            pa.table({"code": ["x", "y"], "depth": pa.array([100, 100], pa.int32())}),
            "@unique violation on Port.depth: '100' is held by both 'x' and 'y'",
        ),
        ("Leg", pa.table({"from": ["p1", "p2"], "to": ["p2", "gone"]}), "Leg to 'gone': node Port not found"),
        (
            "Berth",
            pa.table({"from": ["p1"] * 3, "to": ["p2"] * 3}),
            "@card violation on edge Berth: source 'p1' has 3 edges, max 2",
        ),
    ],
)
def test_every_way_refuses_the_same(network, way, type_name, rows, message):
    load = begin_rows(network, type_name, rows)
    parts = rows.to_batches(max_chunksize=1)
    kept = [keep_partition(load.task, number, [part]) for number, part in enumerate(parts)]

    with pytest.raises(OmniError) as refused:
        commit(load, network, *kept)

    assert [entry["message"] for entry in refused.value.details["errors"]] == [message]


def test_a_merge_rewrites_what_changed_and_nothing_else_whichever_way_partitions_go(network, way):
    rows = pa.table({"code": ["p1", "p2", "new"], "depth": pa.array([1, 200, 201], pa.int32())})
    before = row_ids(network, "node:Port")
    for expected in (True, False):
        load = begin_rows(network, "Port", rows, "merge")
        parts = enumerate(rows.to_batches(max_chunksize=2))
        kept = [keep_partition(load.task, number, [part]) for number, part in parts]
        assert (commit(load, network, *kept) is not None) is expected

    ports = {row["code"]: row["depth"] for row in network.snapshot().table("Port").to_arrow().to_pylist()}
    assert ports == {f"p{number}": number for number in range(50)} | {"p2": 200, "new": 201}
    after = row_ids(network, "node:Port")
    assert {code: after[code] for code in before} == before


@pytest.mark.parametrize("branch", ["main", "side"])
def test_workers_write_down_what_a_merge_replaces_and_remove_it(network, monkeypatch, branch):
    """On a branch without rows of its own there is no place for deletion files yet."""
    monkeypatch.setattr(partitions, "may_wait", lambda _, __: False)
    monkeypatch.setattr(removing, "_FEW_ROWS", 0)
    monkeypatch.setattr(removing, "_TASK_ROWS", 1)
    commit_rows(network, "Port", pa.table({"code": ["a", "b"], "depth": pa.array([100, 101], pa.int32())}))
    network.branches.create("side")
    rows = pa.table({"code": ["a", "p1", "b", "x"], "depth": pa.array([200, 201, 202, 203], pa.int32())})
    load = begin_rows(network, "Port", rows, "merge", branch=branch)
    kept = keep_each(load, rows)
    tasks: list[int] = []
    run = LocalEngine.map

    def watched(engine: LocalEngine, function: Any, given: Any, **options: Any) -> Any:
        if getattr(function, "func", None) is removing._remove:
            tasks.append(len(given))
        return run(engine, function, given, **options)

    monkeypatch.setattr(LocalEngine, "map", watched)

    assert commit(load, network, *kept) is not None

    removed = [table.removed for part in kept for outcome in part.outcomes for table in outcome.tables]
    assert [part.rows if part is not None else 0 for part in removed] == [1, 1, 1, 0]
    assert tasks == ([3] if branch == "main" else [0])
    depths = {row["code"]: row["depth"] for row in network.snapshot(branch).table("Port").to_arrow().to_pylist()}
    assert depths == {f"p{number}": number for number in range(50)} | {"a": 200, "p1": 201, "b": 202, "x": 203}
    deletions = list(Path(network.uri).glob(f"nodes/*/{'tree/*/' if branch == 'side' else ''}_deletions/*"))
    assert len(deletions) == 1, "the fragments of the other two went as a whole"
    assert network.verify(deep=True, all_branches=True).is_clean


def test_what_workers_found_counts_only_for_the_state_that_they_asked(network, way):
    rows = pa.table({"from": ["p1"], "to": ["p3"]})
    load = begin_rows(network, "Leg", rows)
    kept = keep_partition(load.task, 0, rows.to_batches())
    with network.write() as batch:
        batch.delete("Port", ids=["p3"])

    with pytest.raises(ConstraintViolation, match="Leg to 'p3': node Port not found"):
        commit(load, network, kept)
