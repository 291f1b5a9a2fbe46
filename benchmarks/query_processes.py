"""What a question costs around its answer: a new process, the command, a commit before it, and memory."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import omnigraph
from benchmarks.figures import Figure, Unit, once
from benchmarks.query_data import Data, Size, generate, new_graph, person
from benchmarks.query_first import ONE_HOP, build_image
from benchmarks.query_others import Embedded, find_module
from benchmarks.startup import processor_note, processor_seconds
from omnigraph.catalog.model import EdgeType, NodeType, TableKey
from omnigraph.graphs.snapshot import pinned_state
from omnigraph.query.access import Direction
from omnigraph.query.image.graph_image import GraphImage
from omnigraph.query.image.images import Images
from omnigraph.query.image.shelf import Shelf

_TINY = Size(people=100, edges=500, docs=1)
_COMMITS = 9
_COMMANDS = 3
"""So many times as often as other processes."""
_GOAL_COMMIT, _GOAL_FIRST, _GOAL_COMMAND = 0.01, 1.0, 0.5


def first_figures(uri: Path, ladybug: Path, data: Data, directory: Path, repeat: int) -> list[Figure]:
    """Time the first question of new processes, with and without images on disk."""
    tiny = generate(_TINY)
    new_graph(str(directory / "tiny.omni"), tiny)
    key = person(int(data.sources[0]))
    warm = directory / "kept"

    def first(whom: str, small: str, large: Path, cache: Callable[[int], Path]) -> tuple[float, int]:
        answers = [_run_first(whom, directory / small, large, key, cache(turn)) for turn in range(repeat)]
        (rows,) = {int(answer["rows"]) for answer in answers}
        return statistics.median(answer["seconds"] for answer in answers), rows

    cold, rows = first("ours", "tiny.omni", uri, lambda turn: directory / f"empty-{turn}")
    _run_first("image", directory / "tiny.omni", uri, key, warm)
    kept, rows_kept = first("ours", "tiny.omni", uri, lambda _: warm)
    assert rows == rows_kept
    other, name = None, ""
    module = find_module("ladybug")
    if module is not None:
        small = Embedded(module, directory / "tiny.lbug")
        small.load(tiny)
        small.close()
        other, rows_other = first("ladybug", "tiny.lbug", ladybug, lambda _: warm)
        assert rows == rows_other
        name = small.name
    what = "query: first hop of a new process, imports aside"
    goal = _GOAL_FIRST if other is not None else None
    return [
        Figure(what=f"{what}, image on disk", ours=kept, other=other, compared=name, goal=goal),
        Figure(what=f"{what}, no image on disk", ours=cold, other=other, compared=name),
    ]


def command_figure(uri: Path, data: Data, directory: Path, repeat: int) -> Figure:
    """Time the command, its process included."""
    key = person(int(data.sources[0]))
    text = ONE_HOP.replace("query q($k: String) {", "", 1).rstrip("} ") + " }"
    program = Path(sys.executable).parent / "omnigraph"
    command = [str(program), "query", str(uri), "-e", text.replace("$k", f'"{key}"'), "--format", "csv"]
    environment = _environment(directory / "kept")

    def run() -> bytes:
        return subprocess.run(command, check=True, capture_output=True, env=environment).stdout

    friends = int((data.sources == data.sources[0]).sum())
    assert len(run().splitlines()) == 1 + friends
    elapsed, busy = [], []
    for _ in range(_COMMANDS * repeat):
        before = processor_seconds()
        elapsed.append(once(run))
        busy.append(processor_seconds() - before)
    return Figure(
        what="`omnigraph query`, one hop, the process included",
        ours=statistics.median(elapsed),
        goal=_GOAL_COMMAND,
        note=processor_note(busy),
    )


def memory_figures(graph: omnigraph.Graph, data: Data) -> list[Figure]:
    """Build an image of people and edges of its own, and see what it takes."""
    shelf = Shelf(8 << 30)
    snapshot = graph.snapshot()
    context, pinned = pinned_state(snapshot)
    image = GraphImage(context, pinned, snapshot.catalog, Images(shelf))
    types = snapshot.catalog.type_by_table_key
    person_type, knows_type = types[TableKey("node:Person")], types[TableKey("edge:Knows")]
    assert isinstance(person_type, NodeType)
    assert isinstance(knows_type, EdgeType)
    people = image.nodes(person_type)
    found = people.find(person(0))
    (book,) = people.state.books
    rows = shelf.used_bytes
    for name in ("age", "city"):
        people.column(name)
    of_columns = shelf.used_bytes - rows
    knows = image.edges(knows_type)
    for direction in Direction:
        knows.neighbours(found, direction)
    of_edges = shelf.used_bytes - rows - of_columns
    nodes = data.people.num_rows
    return [
        Figure(what="query: memory per edge, both directions", ours=of_edges / data.knows.num_rows, unit=Unit.BYTES),
        Figure(
            what="query: memory per node, the key and its index",
            ours=(book.nbytes + rows) / nodes,
            unit=Unit.BYTES,
            note=f"{of_columns / nodes:.1f} B more for an I32 and a String of few values",
        ),
    ]


def commit_figure(graph: omnigraph.Graph, data: Data) -> Figure:
    """Commit ten edges of one person, and take the processor time of the question that finds them."""
    build_image(graph)
    busy = []
    for turn in range(_COMMITS):
        key, friends = person(turn), {person(100 * (turn + 1) + number) for number in range(10)}
        graph.query(ONE_HOP, k=key)
        with graph.write() as batch:
            batch.insert("Knows", [{"from": key, "to": friend} for friend in sorted(friends)])
        begun = time.process_time()
        found = graph.query(ONE_HOP, k=key)
        busy.append(time.process_time() - begun)
        assert friends <= {row["b.name"] for row in found}
    return Figure(
        what=f"query: processor time of the hop after a commit of ten edges, {data.knows.num_rows:,} edges",
        ours=statistics.median(busy),
        goal=_GOAL_COMMIT,
    )


def _run_first(whom: str, small: Path, large: Path, key: str, cache: Path) -> Mapping[str, float]:
    command = [sys.executable, "-m", "benchmarks.query_first", whom, str(small), str(large), key]
    done = subprocess.run(command, check=True, capture_output=True, env=_environment(cache))
    answer: Mapping[str, float] = json.loads(done.stdout)
    return answer


def _environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "XDG_CACHE_HOME": str(cache)}
