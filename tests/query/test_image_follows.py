"""A reader in this process follows a writer in another one: every answer is right, and nothing is read as a whole."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.query.access import Direction
from omnigraph.query.image import images, known_states
from omnigraph.query.image.graph_image import GraphImage
from omnigraph.query.image.images import Images
from omnigraph.query.image.shelf import Shelf
from support.friends_writer import start


def friends_of(image: GraphImage, catalog: Any, name: str) -> tuple[int | None, list[str], list[str]]:
    """Ask an image for the age of a person, and who is next to her."""
    people = image.nodes(catalog.type_by_table_key["node:Person"])
    knows = image.edges(catalog.type_by_table_key["edge:Knows"])
    person = people.find(name)
    if person < 0:
        return None, [], []
    ids = people.column("id")
    both = [sorted(ids.take(knows.neighbours(person, direction)).to_pylist()) for direction in Direction]
    return people.column("age").one(person), both[0], both[1]


def expected_of(snapshot: Any, name: str) -> tuple[int | None, list[str], list[str]]:
    """Ask the tables of the same snapshot."""
    found = snapshot.table("Person").to_arrow(["age"], where=[("name", "=", name)]).to_pylist()
    if not found:
        return None, [], []
    knows = snapshot.table("Knows")
    out = {row["dst"] for row in knows.to_arrow(["dst"], where=[("src", "=", name)]).to_pylist()}
    into = {row["src"] for row in knows.to_arrow(["src"], where=[("dst", "=", name)]).to_pylist()}
    return found[0]["age"], sorted(out), sorted(into)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return start(str(tmp_path / "g.omni"))


def write(graph: Graph, seconds: int) -> "subprocess.Popen[str]":
    """Start a writer of 20 commits a second."""
    command = [sys.executable, "-m", "support.friends_writer", graph.uri, str(seconds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def follow(graph: Graph, process: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[int]]:
    """Read until the writer is done; return how many commits were seen, and the bytes that images took."""
    kept = Images(Shelf(1 << 30))
    snapshot = graph.snapshot()
    friends_of(GraphImage(snapshot._context, snapshot._pinned, snapshot.catalog, kept), snapshot.catalog, "p0")
    for module, name in ((known_states, "read_node_rows"), (known_states, "read_edge_rows"), (images, "read_ends")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("was read as a whole"))
    seen: set[str] = set()
    used, turn, is_over = [], 0, False
    while not is_over:
        is_over = process.poll() is not None  # what is read after it is all there is
        snapshot = graph.snapshot()
        image = GraphImage(snapshot._context, snapshot._pinned, snapshot.catalog, kept)
        name = f"p{turn % 50}"
        assert friends_of(image, snapshot.catalog, name) == expected_of(snapshot, name)
        seen.add(snapshot.commit_id)
        used.append(kept._shelf.used_bytes)
        turn += 1
    return len(seen), used


def test_a_reader_follows_a_writer(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    with write(graph, 2) as process:
        seen, _ = follow(graph, process, monkeypatch)
        commits = json.loads(process.stdout.read())["commits"]

    assert process.returncode == 0
    assert commits > 1
    assert seen > 1


def test_a_reader_follows_a_writer_for_a_minute(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    with write(graph, 60) as process:
        seen, used = follow(graph, process, monkeypatch)
        commits = json.loads(process.stdout.read())["commits"]

    print(f"{commits} commits, {seen} seen in {len(used)} reads, images took {used[0]:,} to {max(used):,} bytes")
    assert process.returncode == 0
    assert seen > 20
    assert max(used[len(used) // 2 :]) < 3 * max(used[: len(used) // 2])
