"""Two processes loading at once: no commit lost, no key twice, losers told why."""

import json
import subprocess
import sys

import pytest

from support import harbor
from support.processes import child_environment

ROUNDS = {"local": 50, "s3": 15}

LOADER = """
import json, sys
from support import harbor
from omnigraph.errors import OmniError

uri, name, rounds, shared = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "shared"
graph = harbor.open_with_short_leases(uri)
said = []
print("ready", flush=True)
sys.stdin.readline()
for turn in range(rounds):
    key = f"both-{turn}" if shared else f"{name}-{turn}"
    mentors = harbor.edge("Mentors", key, "Ana", id=f"{name}-{turn}")
    records = [harbor.sailor(key, age=20 + turn % 50), harbor.ship(key), mentors]
    try:
        commit = graph.load(harbor.lines(records), mode="append", actor=name).commit
        said.append({"key": key, "commit": commit.graph_commit_id})
    except OmniError as error:
        said.append({"key": key, "error": error.kind})
print(json.dumps(said), flush=True)
"""


def rounds(uri: str) -> int:
    return ROUNDS["s3" if uri.startswith("s3://") else "local"]


def run_two(uri: str, *, shared: bool) -> list[list[dict[str, str]]]:
    environment = child_environment()
    arguments = [str(rounds(uri)), "shared" if shared else "disjoint"]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", LOADER, uri, name, *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("left", "right")
    ]
    for child in children:
        assert child.stdout.readline().strip() == "ready"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    return [json.loads(child.communicate(timeout=240)[0]) for child in children]


@pytest.mark.slow
def test_disjoint_keys_all_land_in_one_line_of_history(store_root: str) -> None:
    graph = harbor.new_graph(store_root)
    start = graph.snapshot().graph_version

    said = [entry for child in run_two(store_root, shared=False) for entry in child]

    commits = [entry["commit"] for entry in said if "commit" in entry]
    losers = [entry["error"] for entry in said if "error" in entry]
    assert set(losers) <= {"read_set_conflict", "branch_busy", "publish_contended"}
    history = graph.commits()
    assert {commit.graph_commit_id for commit in history} >= set(commits)
    assert len(commits) == len(set(commits))
    assert graph.snapshot().graph_version == start + len(commits)
    assert [commit.graph_version for commit in history] == list(range(start + len(commits), 0, -1))
    names = graph.snapshot().table("Sailor").to_arrow(["name"])["name"].to_pylist()
    loaded = {entry["key"] for entry in said if "commit" in entry}
    assert sorted(names) == sorted({"Ana", "Bo", "Cy"} | loaded)
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []


@pytest.mark.slow
def test_of_two_loads_of_one_key_exactly_one_lands(store_root: str) -> None:
    graph = harbor.new_graph(store_root)

    left, right = run_two(store_root, shared=True)

    for mine, theirs in zip(left, right, strict=True):
        assert ("commit" in mine) != ("commit" in theirs), (mine, theirs)
        loser = theirs if "commit" in mine else mine
        assert loser["error"] in {"key_conflict", "read_set_conflict", "branch_busy", "publish_contended"}
    names = graph.snapshot().table("Sailor").to_arrow(["name"])["name"].to_pylist()
    assert len(names) == len(set(names)) == 3 + rounds(store_root)
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []
