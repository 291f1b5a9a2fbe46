"""Who replays a feed holds the graph: from its beginning, or from a baseline and its cursor, on any history."""

import itertools
import json
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph import errors
from omnigraph.graph import Graph
from support.replay import State, follow, record_of, state_from, state_of

SCHEMA = """
node Thing { name: String @key  size: F64?  tags: [String]? }
edge Near: Thing -> Thing { note: String? }
"""
NAMES = "abcd"
things = st.fixed_dictionaries(
    {"name": st.sampled_from(NAMES)},
    optional={"size": st.sampled_from([0.0, -0.0, 2.5]), "tags": st.sampled_from([[], ["a, b"], ["a", "b"]])},
)
steps = st.one_of(
    st.tuples(st.just("put"), st.lists(things, min_size=1, max_size=3, unique_by=lambda thing: thing["name"])),
    st.tuples(st.just("delete"), st.sampled_from(NAMES)),
    st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from([None, "", "close"])),
    st.tuples(st.sampled_from(["fork", "merge", "optimize"])),
)
histories = st.lists(st.tuples(st.integers(0, 2), steps), min_size=2, max_size=8)


def run(graph: Graph, branches: list[str], branch: str, step: tuple[Any, ...]) -> None:
    match step:
        case ("fork",):
            branches.append(graph.branches.create(f"b{len(branches)}", source=branch))
            return
        case ("optimize",):
            graph.optimize(branch=branch)
            return
        case ("merge",):
            into = branches[(branches.index(branch) + 1) % len(branches)]
            with suppress(errors.MergeConflicts):
                if into != branch:
                    check_merge(graph, branch, into)
            return
    with graph.write(branch=branch) as batch:
        match step:
            case ("put", rows):
                batch.upsert("Thing", rows)
            case ("delete", name):
                batch.delete("Thing", ids=[name])
            case ("link", name, note):
                batch.upsert("Thing", [{"name": name}])
                batch.upsert("Near", [{"id": f"{name}-{name}", "from": name, "to": name, "note": note}])


def check_merge(graph: Graph, source: str, into: str) -> None:
    """Merge; what the review offered and what the merge changed are the same, except what the target had already."""
    offered = state_of(graph, branch=into)
    try:
        changes = graph.branches.diff(source, into=into).diff
    except errors.InvalidTarget:
        # Merged into each other crosswise, the two parted more than once, and no diff says what a merge would bring.
        graph.branches.merge(source, into=into)
        return
    for change in changes:
        offered.pop((change.type.name, change.id), None)
        if change.after is not None:
            offered[change.type.name, change.id] = record_of(change, change.after)
    graph.branches.merge(source, into=into)
    assert state_of(graph, branch=into) == offered


@settings(max_examples=10)
@given(history=histories, captured_after=st.integers(0, 7), limit=st.integers(1, 3))
def test_replaying_rebuilds_every_head(
    history: list[tuple[int, tuple[Any, ...]]], captured_after: int, limit: int
) -> None:
    root = Path(tempfile.mkdtemp())
    graph = omnigraph.init(str(root / "graph.omni"), SCHEMA)
    branches = ["main"]
    installed: State = {}
    cursor = ""
    for number, (at, step) in enumerate([*history, (0, ("delete", "nobody"))]):
        if number == min(captured_after, len(history)):
            cursor = graph.baseline(root / "baseline.jsonl").resume_cursor
            *records, last = (root / "baseline.jsonl").read_bytes().splitlines()
            installed = state_from(records)
            assert json.loads(last)["baseline"]["resume_cursor"] == cursor
        run(graph, branches, branches[at % len(branches)], step)

    follow(graph, installed, branch="main", cursor=cursor, limit=limit)
    assert installed == state_of(graph)
    heads = {}
    for branch in branches:
        replayed: State = {}
        follow(graph, replayed, branch=branch, start="beginning", limit=limit)
        heads[branch] = state_of(graph, branch=branch)
        assert replayed == heads[branch]
    for one, other in itertools.permutations(branches, 2):
        changed = {(change.type.name, change.id) for change in graph.diff(one, other)}
        keys = heads[one].keys() | heads[other].keys()
        assert changed == {key for key in keys if heads[one].get(key) != heads[other].get(key)}
    shutil.rmtree(root)
