"""Graph algorithms against plain ones."""

import io
import json
from collections import deque
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.errors import EntityNotFound, InvalidTarget
from omnigraph.graph import Graph
from omnigraph.query.algorithms.algorithms import Algorithms, PathNode
from omnigraph.query.plain import PlainAccess
from support import query_worlds
from support.naive_query import NaiveGraph
from support.plain_tables import TablesInMemory

WORLD = query_worlds.catalog()
Node = tuple[str, str]


def neighbours(graph: NaiveGraph, direction: str) -> dict[Node, set[Node]]:
    found: dict[Node, set[Node]] = {(kind, key): set() for kind, nodes in graph.nodes.items() for key in nodes}
    for edge, (source, target) in query_worlds.EDGES.items():
        for row in graph.edges[edge].values():
            ends = (source, row["src"]), (target, row["dst"])
            if direction in ("out", "both"):
                found[ends[0]].add(ends[1])
            if direction in ("in", "both"):
                found[ends[1]].add(ends[0])
    return found


def algorithms(graph: NaiveGraph) -> Algorithms:
    return Algorithms(PlainAccess(TablesInMemory(graph, WORLD)), WORLD)  # type: ignore[arg-type]


def by_node(rows: Any, column: str) -> dict[Node, Any]:
    return {(row["type"], row["id"]): row[column] for row in rows.to_pylist()}


@given(graph=query_worlds.graphs(), direction=st.sampled_from(["out", "in", "both"]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_degrees_components_and_paths(graph: NaiveGraph, direction: Any) -> None:
    asked = algorithms(graph)
    near, around = neighbours(graph, direction), neighbours(graph, "both")

    assert by_node(asked.degree(direction=direction), "degree") == {node: len(ends) for node, ends in near.items()}
    parts = by_node(asked.components(), "component")
    for start in near:
        reached, apart = hops(near, start), hops(around, start)
        assert {node for node in near if parts[node] == parts[start]} == set(apart)
        for end in near:
            path = asked.shortest_path(start, end, direction=direction)
            assert (path is None) == (end not in reached)
            if path is not None:
                assert len(path) - 1 == reached[end]
                assert path[0] == start
                assert path[-1] == end
                assert all(after in near[before] for before, after in pairwise(path))
    sizes = [list(parts.values()).count(number) for number in range(len(set(parts.values())))]
    assert sizes == sorted(sizes, reverse=True)


def hops(near: dict[Node, set[Node]], start: Node) -> dict[Node, int]:
    found, waiting = {start: 0}, deque([start])
    while waiting:
        node = waiting.popleft()
        for end in near[node]:
            if end not in found:
                found[end] = found[node] + 1
                waiting.append(end)
    return found


@given(graph=query_worlds.graphs())
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_ranks(graph: NaiveGraph) -> None:
    near = neighbours(graph, "out")
    ranks = dict.fromkeys(near, 1 / len(near)) if near else {}
    for _ in range(150):
        lost = sum(rank for node, rank in ranks.items() if not near[node])
        following = dict.fromkeys(near, (0.15 + 0.85 * lost) / len(near)) if near else {}
        for node, ends in near.items():
            for end in ends:
                following[end] += 0.85 * ranks[node] / len(ends)
        ranks = following

    found = by_node(algorithms(graph).pagerank(), "rank")

    assert found == pytest.approx(ranks, abs=1e-6)


@pytest.fixture
def friends(tmp_path: Path) -> Graph:
    graph = omnigraph.init(
        str(tmp_path / "friends.omni"), "node Person { name: String @key }\nedge Knows: Person -> Person"
    )
    names = ["ada", "bo", "cy", "di"]
    lines = [{"type": "Person", "data": {"name": name}} for name in names]
    lines += [
        {"edge": "Knows", "from": one, "to": other} for one, other in (("ada", "bo"), ("bo", "cy"), ("ada", "cy"))
    ]
    graph.load(io.BytesIO("\n".join(map(json.dumps, lines)).encode()), mode="append")
    return graph


def test_of_a_graph_and_of_its_past(friends: Graph) -> None:
    path = friends.algorithms().shortest_path(("Person", "ada"), ("Person", "cy"))

    assert path == [PathNode("Person", "ada"), PathNode("Person", "cy")]
    assert friends.algorithms().shortest_path(("Person", "cy"), ("Person", "ada")) is None
    assert friends.algorithms().shortest_path(("Person", "cy"), ("Person", "ada"), direction="both") is not None
    assert friends.algorithms(snapshot="main~1").components().num_rows == 0


def test_what_is_not_there_is_named(friends: Graph) -> None:
    with pytest.raises(EntityNotFound, match="zed"):
        friends.algorithms().shortest_path(("Person", "zed"), ("Person", "ada"))
    with pytest.raises(EntityNotFound, match="Knowz"):
        friends.algorithms().degree(["Knowz"])
    with pytest.raises(InvalidTarget, match="damping"):
        friends.algorithms().pagerank(damping=1.0)
    with pytest.raises(InvalidTarget, match="direction"):
        friends.algorithms().degree(direction="up")  # type: ignore[arg-type]
