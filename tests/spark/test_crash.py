"""A batch of a stream that sets bad records aside: they are written down first, so a death in between must not show."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph
from support import batch_child


@pytest.mark.parametrize(("point", "action"), [("stream.after_bad_records", "kill")])
def test_a_batch_and_its_bad_records_are_there_once_wherever_its_process_died(local_root, tmp_path, point, action):
    graph = omnigraph.init(local_root, "node Port { code: String @key }")
    bad = tmp_path / "bad.jsonl"
    child = subprocess.run(
        [sys.executable, Path(batch_child.__file__), graph.uri, "4", bad, "a", "?", "b"],
        env=os.environ | {"OMNIGRAPH_FAILPOINT": f"{point}:{action}"},
        capture_output=True,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL
    assert (bad.exists(), len(graph.commits())) == (True, 1)

    assert batch_child.load_batch(graph.uri, 4, str(bad), ["a", "?", "b"]) is not None
    assert batch_child.load_batch(graph.uri, 4, str(bad), ["a", "?", "b"]) is None

    assert sorted(graph.snapshot().table("Port").to_arrow()["id"].to_pylist()) == ["a", "b"]
    assert [json.loads(line)["row"] for line in bad.read_text().splitlines()] == [2]
    assert graph.pending_operations() == []
