"""With less memory than an image needs, the answers are the same."""

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.catalog.model import TableKey
from omnigraph.graphs.snapshot import pinned_state
from omnigraph.query.access import Direction
from omnigraph.query.image import packing, scanning, sizes
from omnigraph.query.image.graph_image import GraphImage
from omnigraph.query.image.images import Images
from omnigraph.query.image.shelf import DoesNotFit, Shelf
from support.sailing import crew_graph

READS = [
    "match { $s: Sailor } return { $s.name, $s.age, $s.tags } order { $s.age desc }",
    'match { $s: Sailor { name: "Ana" } $s mentors{1,2} $x } return { $x.name } order { $x.name }',
    "match { $s: Sailor not { $s servesOn $_ } } return { $s } order { $s.name }",
    "match { $s $m:mentors $x } return { $s.rank, count($m.since) as n } order { n desc }",
    "match { $s: Sailor $s mentors{1,500} $x } return { $s.name, $x.name } order { $s.name, $x.name }",
    'match { $s: Sailor search($s.bio, "ice") } return { $s.name } order { $s.name }',
]
ASK = """
import json, sys
import omnigraph
graph = omnigraph.open(sys.argv[1], read_only=True)
found = [graph.query(text).rows() for text in json.loads(sys.argv[2])]
asked = graph.algorithms()
found.append(sorted(map(str, asked.components("Mentors").to_pylist())))
found.append(asked.shortest_path(("Sailor", "Ana"), ("Sailor", "Di")))
print(json.dumps(found))
"""


def answers(uri: str, **environment: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", ASK, uri, json.dumps(READS)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_budget_that_is_too_small_changes_no_answer(tmp_path: Path) -> None:
    uri = crew_graph(str(tmp_path / "crew.omni")).uri

    found = answers(uri)

    assert found == answers(uri, OMNIGRAPH_CACHE_BYTES="1")
    assert [row["s.name"] for row in found[0]] == ["Ana", "Bo", "Ed", "Di", "Cy"]
    assert found[-1] == [["Sailor", name] for name in ("Ana", "Bo", "Di")]


def test_an_adjacency_is_built_in_the_memory_that_is_set_aside_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, edges = 10_000, 100_000
    graph = omnigraph.init(
        str(tmp_path / "people.omni"), "node Person { name: String @key }\nedge Knows: Person -> Person"
    )
    names = pa.array([f"person-{number}" for number in range(people)])
    graph.load_table(pa.table({"name": names}), type="Person", mode="append")
    # Everybody has the same number of friends, and every tenth edge has a parallel one.
    ends = [[factor * (number - number % 10 // 9) % people for number in range(edges)] for factor in (1, 7_919)]
    taken = {name: names.take(pa.array(side)) for name, side in zip(("from", "to"), ends, strict=True)}
    graph.load_table(pa.table(taken), type="Knows", mode="append")
    snapshot = graph.snapshot()
    catalog, (context, pinned) = snapshot.catalog, pinned_state(snapshot)
    knows: Any = catalog.type_by_table_key[TableKey("edge:Knows")]
    for module in (packing, scanning, sizes):
        monkeypatch.setattr(module, "PIECE_ROWS", 4_096)
    budget = sizes.adjacency_build_bytes(edges, people, people)
    too_small, large_enough = (
        GraphImage(context, pinned, catalog, Images(Shelf(size))).edges(knows)
        for size in (budget - 1, budget + 100 * people)
    )

    tracemalloc.start()
    with pytest.raises(DoesNotFit):
        too_small.neighbours(0, Direction.OUT)
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    large_enough.neighbours(0, Direction.OUT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert edges * 16 < peak - before < budget
    adjacency = large_enough.adjacency(Direction.IN, distinct=True)
    assert adjacency is not None
    assert len(adjacency.targets) == len({*zip(*ends, strict=True)})


def test_rows_that_no_memory_holds_are_an_error_of_the_query(tmp_path: Path) -> None:
    uri = crew_graph(str(tmp_path / "crew.omni")).uri
    child = """
import resource, sys
import omnigraph
graph = omnigraph.open(sys.argv[1], read_only=True)
graph.query("match { $s: Sailor $x: Sailor } return { $s.name }")
used = 4096 * int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
strangers = " ".join(f"$v{place}: Sailor" for place in range(16))
try:
    graph.query(f"match {{ {strangers} }} return {{ $v1.name }}")
except omnigraph.errors.QueryExecution as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", child, uri], capture_output=True, text=True, timeout=120, check=False)

    assert done.stdout.startswith("query: its rows take more memory"), done.stderr
