"""What a write leaves behind: its rows once, nothing where it was refused or had nothing to do, and no growing bill."""

from collections.abc import Callable

import pytest

import omnigraph
from omnigraph.base import faults
from omnigraph.errors import DriftNeedsRepair, OmniError
from omnigraph.graph import Graph
from support import harbor
from support.failpoints import once_at
from support.faulty_s3 import FaultyS3
from support.raw_tables import foreign_append, heads


def test_a_lost_acknowledgement_does_not_write_the_rows_twice(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    def lose() -> None:
        raise faults.FaultInjected("the answer got lost")

    with once_at("write.commit_ack_lost", lose):
        commit = graph.load(harbor.lines([harbor.sailor("Di")]), mode="append").commit

    assert commit is not None
    assert harbor.sailor_ids(graph) == ["Ana", "Bo", "Cy", "Di"]
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []


def test_nothing_is_built_on_drift_and_other_tables_go_on(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    foreign_append(graph, "Sailor", id="Zoe", name="Zoe", rank="mate")
    before, moved = harbor.content(graph), heads(graph)

    def update() -> None:
        with graph.write() as batch:
            batch.update("Sailor", {"age": 1}, ids=["Bo"])

    attempts = [update] + [
        lambda mode=mode: graph.load(harbor.lines([harbor.sailor("Di")]), mode=mode) for mode in ("append", "merge")
    ]
    for attempt in attempts:
        with pytest.raises(DriftNeedsRepair, match="omnigraph repair") as caught:
            attempt()
        assert caught.value.details["tables"] == ["node:Sailor"]

    assert (harbor.content(graph), heads(graph), harbor.pending(graph)) == (before, moved, [])
    assert graph.load(harbor.lines([harbor.ship("S9")]), mode="append").commit is not None
    assert harbor.sailor_ids(graph) == ["Ana", "Bo", "Cy"]


def test_a_new_key_that_comes_twice_is_one_row_or_an_error(local_root: str) -> None:
    graph = harbor.new_graph(local_root, [])
    notes = [{"type": "Note", "data": {"id": "n1", "text": text}} for text in ("first", "last")]

    for mode in ("append", "overwrite"):
        with pytest.raises(OmniError) as caught:
            graph.load(harbor.lines(notes), mode=mode)
        assert caught.value.details["by_code"] == {"duplicate_id": 1}
    graph.load(harbor.lines(notes), mode="merge")
    with graph.write() as batch:
        batch.upsert("Note", [{"id": "n2", "text": "first"}]).upsert("Note", [{"id": "n2", "text": "last"}])

    stored = graph.snapshot().table("Note").to_arrow().to_pylist()
    assert sorted((row["id"], row["text"]) for row in stored) == [("n1", "last"), ("n2", "last")]


def insert(graph: Graph, type_name: str, row: dict[str, object], **options: str) -> None:
    with graph.write(**options) as batch:
        batch.insert(type_name, [row])


REFUSALS: dict[str, Callable[[Graph], object]] = {
    "record": lambda graph: graph.load(harbor.lines([{"type": "Ghost"}]), mode="append"),
    "key": lambda graph: graph.load(harbor.lines([harbor.sailor("Ana")]), mode="append"),
    "unique": lambda graph: graph.load(harbor.lines([harbor.sailor("Di", badge="b1")]), mode="merge"),
    "endpoint": lambda graph: graph.load(harbor.lines([harbor.edge("Mentors", "Ana", "X")]), mode="merge"),
    "retained": lambda graph: graph.load(harbor.lines([harbor.ship("S9")]), mode="overwrite"),
    "no input": lambda graph: graph.load("no-such-file.jsonl", mode="merge"),
    "branch": lambda graph: graph.load(harbor.lines([]), mode="merge", branch="nowhere"),
    "insert": lambda graph: insert(graph, "Sailor", {"name": "Ana", "rank": "mate"}),
    "cardinality": lambda graph: insert(graph, "ServesOn", {"from": "Ana", "to": "S2"}),
    "expected head": lambda graph: insert(graph, "Note", {"text": "t"}, expected_head="01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    "read only": lambda graph: omnigraph.open(graph.uri, read_only=True).write(),
}


@pytest.mark.parametrize("attempt", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_leaves_no_sidecar_and_no_new_version(local_root: str, attempt: Callable[[Graph], object]) -> None:
    graph = harbor.new_graph(local_root)
    before = heads(graph)

    with pytest.raises(OmniError) as caught:
        attempt(graph)

    assert caught.value.effect == "none"
    assert list(graph._context.store.objects.list("__recovery")) == []
    assert heads(graph) == before
    assert graph.snapshot().graph_version == 2


def test_deleting_a_node_without_edges_leaves_the_edge_tables_alone(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    before = heads(graph)

    with graph.write() as batch:
        batch.delete("Ship", ids=["S2", "nobody"])

    after = heads(graph)
    assert after.pop("node:Ship") == before.pop("node:Ship") + 1
    assert after == before


@pytest.mark.s3
@pytest.mark.slow
def test_a_commit_costs_as_many_requests_late_as_early(s3_faults: FaultyS3, s3_root: str) -> None:
    graph = harbor.new_graph(s3_root)

    costs, manifest_reads = [], []
    for turn in range(20):
        asked = len(s3_faults.seen)
        with graph.write() as batch:
            batch.update("Sailor", {"age": turn}, ids=["Bo"])
        requests = s3_faults.seen[asked:]
        reads = [seen for seen in requests if seen.method == "GET" and "/__manifest/data/" in seen.path]
        costs.append(len(requests) - len(reads))
        manifest_reads.append(len(reads))

    print("requests per commit", costs, "and of these to join the manifest's fragments", manifest_reads)
    assert max(costs[-4:]) <= max(costs[2:6])
    # Publishing joins the keys of all fragments of the manifest: one more small read per commit until compaction.
    assert manifest_reads[-1] - manifest_reads[4] <= 15
