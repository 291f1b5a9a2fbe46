"""All graphs of a run on Spark: one session serves all of them."""

import json
import subprocess

from omnigraph.engine.spark import session
from support import harbor
from support.museum import museum


def test_one_session_serves_all_graphs(tmp_path, program):
    """Java is started once, by whichever graph comes first, and the others find it; rows stay as they are."""
    graphs = museum(str(tmp_path), ["one", "two"], due=["one", "two"])
    rows = {name: harbor.content(graph) for name, graph in graphs.items()}
    counting = f"""
import sys
from {session.__name__} import start_session
import {session.__name__} as sessions
started = []
sessions.start_session = lambda *given: started.append(given) or start_session(*given)
from omnigraph.cli.main import main
code = main(sys.argv[1:])
print(f"sessions: {{len(started)}}", file=sys.stderr)
sys.exit(code)
"""
    line = ["maintain", "--cluster", str(tmp_path), "--engine", "spark", "--json"]
    python = program.replace("/omnigraph", "/python")

    ran = subprocess.run([python, "-c", counting, *line], capture_output=True, text=True, timeout=240, check=False)

    assert ran.returncode == 0, ran.stderr
    steps = [step for graph in json.loads(ran.stdout)["graphs"] for step in graph["steps"]]
    assert [(step["step"], step["status"], step["engine"]) for step in steps] == [("optimize", "done", "spark")] * 2
    assert "sessions: 1" in ran.stderr
    assert {name: harbor.content(graph) for name, graph in graphs.items()} == rows
