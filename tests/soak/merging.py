"""Many processes, each with branches of its own, that all merge into main at once.

    python -m soak.merging --branches 200

Every branch adds a ship and puts its number onto the badge of a sailor whose badge others write on too: a merge that
meets such a conflict is given up and done again on a new branch. In the end every ship and every number is there, and
after a cleanup no branch, ref or tree of a branch, and no file that no version refers to.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from random import Random

from omnigraph.base import clock
from omnigraph.errors import BranchBusy, MergeConflicts, PublishContended, StaleView
from omnigraph.graph import Graph
from support import harbor
from support.leftovers import clean_up, find_leftovers
from support.processes import child_environment

PROCESSES = 8
SHARED = 3
_PASSING = (StaleView, BranchBusy, PublishContended)


@dataclass(frozen=True, kw_only=True)
class Merging:
    """What the processes reported, and the graph they left."""

    graph: Graph
    merged: int
    refused: Counter[str]

    def findings(self, branches: int) -> list[str]:
        """Say what is not as counted."""
        ships = self.graph.snapshot().table("Ship").count_rows()
        rows = self.graph.snapshot().table("Sailor").to_arrow(["name", "badge"]).to_pylist()
        badges = {row["name"]: sorted(map(int, row["badge"].split()[1:])) for row in rows}
        expected = {f"shared{number}": list(range(number, branches, SHARED)) for number in range(SHARED)}
        alive = [branch.name for branch in self.graph.branches.list()]
        merges = [commit for commit in self.graph.commits() if commit.kind == "branch_merge"]
        facts = {
            "merges reported": (self.merged, branches),
            "merges in history": (len(merges), branches),
            "ships": (ships, branches),
            "badges": (badges, expected),
            "branches": (alive, ["main"]),
            "pending operations": (harbor.pending(self.graph), []),
        }
        return [f"{what}: {found} instead of {wanted}" for what, (found, wanted) in facts.items() if found != wanted]

    def leftovers(self) -> tuple[int, list[str]]:
        """Count what is there that nobody needs, clean up, and say what is there still."""
        before = len(find_leftovers(self.graph))
        clean_up(self.graph)
        return before, find_leftovers(self.graph)


def run(uri: str, *, branches: int, processes: int = PROCESSES) -> Merging:
    """Let the processes merge until every branch is in."""
    graph = harbor.new_graph(
        uri, [harbor.sailor(f"shared{number}", badge=f"badge{number}") for number in range(SHARED)]
    )
    environment = child_environment()
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "soak.merging", "--child", uri, *map(str, range(first, branches, processes))],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for first in range(processes)
    ]
    said = [json.loads(child.communicate(timeout=3_600)[0] or "{}") for child in children]
    refused: Counter[str] = Counter()
    for report in said:
        refused.update(report.get("refused", {}))
    return Merging(graph=graph, merged=sum(report.get("merged", 0) for report in said), refused=refused)


def _work(uri: str, numbers: list[int]) -> None:
    graph = harbor.open_with_short_leases(uri)
    chance, refused, merged = Random(str(numbers)), Counter[str](), 0

    def patiently(act):
        while True:
            try:
                return act()
            except _PASSING as error:
                refused[error.kind] += 1
                clock.sleep_seconds(chance.uniform(0.0, 0.3))

    for number in numbers:
        for attempt in range(1_000):
            name = f"b{number}-{attempt}"
            patiently(lambda: graph.branches.create(name))  # noqa: B023 — called at once
            _write(graph, name, number)
            try:
                result = patiently(lambda: graph.branches.merge(name, delete_branch=True))  # noqa: B023 — the same
            except MergeConflicts as conflicts:
                refused[conflicts.kind] += 1
                patiently(lambda: graph.branches.delete(name))  # noqa: B023 — the same
                continue
            if not result.branch_deleted:
                patiently(lambda: graph.branches.delete(name))  # noqa: B023 — the same
            merged += 1
            break
    print(json.dumps({"merged": merged, "refused": refused}))


def _write(graph: Graph, branch: str, number: int) -> None:
    shared = f"shared{number % SHARED}"
    (row,) = graph.snapshot(branch).table("Sailor").to_arrow(["badge"], where=[("name", "=", shared)]).to_pylist()
    with graph.write(branch=branch) as batch:
        batch.insert("Ship", [{"hull": f"S{number}", "title": "one of many"}])
        batch.update("Sailor", {"badge": f"{row['badge']} {number}"}, ids=[shared])
        batch.insert("ServesOn", [{"from": shared, "to": f"S{number}"}] if number < SHARED else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--branches", type=int, default=200)
    parser.add_argument("--child", nargs="+")
    arguments = parser.parse_args()
    if arguments.child:
        _work(arguments.child[0], [int(number) for number in arguments.child[1:]])
        return
    with tempfile.TemporaryDirectory() as directory:
        started = clock.monotonic_seconds()
        merging = run(f"{directory}/graph.omni", branches=arguments.branches)
        findings = merging.findings(arguments.branches)
        unneeded, left = merging.leftovers()
        seconds = clock.monotonic_seconds() - started
    print(f"{merging.merged} branches merged by {PROCESSES} processes in {seconds:.0f} s; refused: {merging.refused}")
    print(f"{unneeded} files, refs and trees that nobody needs, {len(left)} of them after a cleanup")
    print("\n".join(findings + left) or "nothing lost; no branch, ref, tree or file left behind")
    sys.exit(1 if findings or left else 0)


if __name__ == "__main__":
    main()
