"""References of graphs in a bucket: stored, carried and told like those of graphs on disk."""

from pathlib import Path

import pytest

from support import harbor
from support.references import SCANS, exported, filled, held, photo

pytestmark = pytest.mark.s3


def test_a_graph_in_a_bucket_carries_references(s3_root: str, tmp_path: Path) -> None:
    root = s3_root.removesuffix("/graph.omni")
    graph, values = filled(root, tmp_path / "files")
    graph.branches.create("review")
    graph.load(harbor.lines([photo("empty", f"{SCANS}e"), photo("more", f"{SCANS}m")]), mode="merge", branch="review")
    with graph.write() as batch:
        batch.update("Photo", {"year": 5}, ids=["bucket", "here", "large"])

    graph.branches.merge("review")
    graph.optimize(verify=True)

    values |= {"empty": f"{SCANS}e", "more": f"{SCANS}m"}
    assert held(graph) == values
    assert graph.verify(deep=True).problems == ()
    assert len(exported(graph)) == len(values) + 2
