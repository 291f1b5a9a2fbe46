"""Several runs on one cluster at the same time, from processes of their own, on a local disk and on S3."""

import json
import subprocess

import pytest

import omnigraph
from support import harbor
from support.museum import museum, statuses, write_ledger


def start(program: str, root: str, *flags: str) -> subprocess.Popen[str]:
    command = [program, "maintain", "--cluster", root, "--json", *flags]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def commits_of_maintenance(graph: omnigraph.Graph) -> int:
    return sum(commit.kind.value == "maintenance" for commit in graph.commits())


def test_two_runs_side_by_side_do_everything_once(store_root, program):
    """Every graph gets one commit: whoever comes second finds it held, or finds nothing left to do."""
    root = store_root.rpartition("/")[0]
    names = ["a", "b", "c"]
    graphs = museum(root, names, due=names)
    before = {name: commits_of_maintenance(graph) for name, graph in graphs.items()}

    running = [start(program, root), start(program, root)]
    answers = [process.communicate(timeout=240) for process in running]

    assert [process.returncode for process in running] == [0, 0], [told for _, told in answers]
    seen = [{graph["graph"]: graph["status"] for graph in json.loads(out)["graphs"]} for out, _ in answers]
    for name in names:
        both = {seen[0][name], seen[1][name]}
        assert "done" in both, seen
        assert both <= {"done", "elsewhere", "nothing_due"}, seen
        assert commits_of_maintenance(graphs[name]) == before[name] + 1
    assert not omnigraph.maintain_cluster(root).having("due", "done", "failed")


@pytest.mark.s3
def test_a_cluster_on_s3_is_looked_at_maintained_and_remembered(s3_root, program):
    root = s3_root.rpartition("/")[0]
    graphs = museum(root, ["art", "books"], due=["books"])
    rows = harbor.content(graphs["books"])

    first = omnigraph.maintain_cluster(root)
    second = omnigraph.maintain_cluster(root)
    third = omnigraph.maintain_cluster(root)
    write_ledger(root, ["art"])
    fewer = omnigraph.maintain_cluster(root)

    assert statuses(first) == {"art": "nothing_due", "books": "done"}
    assert statuses(second) == {"art": "unchanged", "books": "nothing_due"}
    assert statuses(third) == {"art": "unchanged", "books": "unchanged"}
    assert statuses(fewer) == {"art": "unchanged"}
    assert harbor.content(graphs["books"]) == rows
