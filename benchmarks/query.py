"""Queries beside LadybugDB and beside Lance: 100,000 people, 1,000,000 edges, 30,000 texts with vectors.

Whoever is compared answers the same question in the same run, and all answers must be equal. Where LadybugDB is not
installed, what there is to compare with is measured.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import omnigraph
from benchmarks.both_ways import both_ways, compared
from benchmarks.figures import Figure, apart, once
from benchmarks.query_cases import Case, cases
from benchmarks.query_data import Size, generate, new_graph
from benchmarks.query_first import build_image
from benchmarks.query_following import following_figures
from benchmarks.query_others import Embedded, RawTables, find_module, listed
from benchmarks.query_processes import command_figure, commit_figure, first_figures, memory_figures
from benchmarks.query_search import search_figures

_FULL = Size(people=100_000, edges=1_000_000, docs=30_000)
_SMALL = Size(people=1_000, edges=10_000, docs=200, patience=0.02, processes=1, following=1)
_BRANCH = "trial"
_PINNED = "a pinned snapshot"
_GOAL_HEAD, _GOAL_HEAD_LANCE = 1.0, 0.2


def measure(directory: Path) -> list[Figure]:
    """Measure everything at its full size."""
    return figures(directory, _FULL)


def measure_small(directory: Path) -> list[Figure]:
    """Measure little, to see that it runs."""
    return figures(directory, _SMALL)


def figures(directory: Path, size: Size) -> list[Figure]:
    """Load, ask everybody, then change something."""
    os.environ["XDG_CACHE_HOME"] = str(directory / "cache")
    data = generate(size)
    uri, ladybug_path = directory / "graph.omni", directory / "graph.lbug"
    made: list[omnigraph.Graph] = []
    load = once(lambda: made.append(new_graph(str(uri), data)))
    (graph,) = made
    _make_branch(graph)
    raw = RawTables(directory, data)
    module = find_module("ladybug")
    ladybug = Embedded(module, ladybug_path) if module is not None else None
    load_other = once(lambda: ladybug.load(data)) if ladybug is not None else None
    rows = size.people + size.edges + 2 * size.docs
    measured = [
        Figure(
            what=f"query: load {rows:,} rows of Arrow with all checks, then optimize with all indexes",
            ours=load,
            other=load_other,
            compared=f"{ladybug.name}, people and edges only" if ladybug is not None else "",
            rows=rows,
        )
    ]
    build_image(graph)
    for case in cases(data):
        measured += _case_figures(graph, case, ladybug, raw, size.patience)
    if ladybug is not None:
        ladybug.close()
    # Kuzu does not bear LadybugDB in its process.
    measured += apart(search_figures, str(uri), data, directory, size.patience)
    measured += first_figures(uri, ladybug_path, data, directory, size.processes)
    measured += [command_figure(uri, data, directory, size.processes), *memory_figures(graph, data)]
    return [*measured, commit_figure(graph, data), *following_figures(graph, data, size.following)]


def _make_branch(graph: omnigraph.Graph) -> None:
    """Make a branch whose head is not that of main, though it answers alike: somebody whom nobody knows."""
    graph.branches.create(_BRANCH)
    with graph.write(branch=_BRANCH) as batch:
        batch.insert("Person", [{"name": "a stranger", "age": 1, "city": "nowhere"}])


def _case_figures(
    graph: omnigraph.Graph, case: Case, ladybug: Embedded | None, raw: RawTables, patience: float
) -> list[Figure]:
    with graph.snapshot() as snapshot:
        ours: dict[str, Callable[[int], Any]] = {
            _PINNED: lambda turn: snapshot.query(case.query, params=_turn(case, turn)).to_arrow(),
        }
        if case.with_head:
            ours["the head of main"] = lambda turn: graph.query(case.query, params=_turn(case, turn)).to_arrow()
            ours["the head of a branch"] = lambda turn: graph.query(
                case.query, params=_turn(case, turn), branch=_BRANCH
            ).to_arrow()
        others: dict[str, Callable[[int], Any]] = {}
        if ladybug is not None:
            ask = ladybug.question(case.cypher, case.values[0])
            others[ladybug.name] = lambda turn: ask(_turn(case, turn))
        of_lance = case.lance
        if of_lance is not None:
            others["Lance"] = lambda turn: of_lance(raw, _turn(case, turn))
        _check_equal(case, ours | others)
        ways = both_ways(ours | others, seconds_max=patience)
    return [
        compared(
            ways,
            our,
            other,
            what=f"query: {case.what}, {our}",
            goal=_goal(case, our, other),
        )
        for our in ours
        for other in (*others,) or (None,)
    ]


def _turn(case: Case, turn: int) -> dict[str, str]:
    return dict(case.values[turn % len(case.values)])


def _goal(case: Case, our: str, other: str | None) -> float | None:
    if other == "Lance":
        return case.goal_lance if our == _PINNED else _GOAL_HEAD_LANCE
    return case.goal if our == _PINNED else _GOAL_HEAD


def _check_equal(case: Case, works: dict[str, Callable[[int], Any]]) -> None:
    """Ask everybody everything once; only where an order was asked for it counts."""
    is_ordered = "order" in case.query
    for turn in range(len(case.values)):
        expected = None
        for name, work in works.items():
            rows = listed(work(turn))
            answer = rows if is_ordered else sorted(rows)
            expected = answer if expected is None else expected
            assert answer == expected, f"{case.what}: {name} answers otherwise to {case.values[turn]}"
            assert answer, f"{case.what}: nothing is found for {case.values[turn]}"
