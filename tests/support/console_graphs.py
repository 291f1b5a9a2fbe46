"""A small harbor with a history: branches, a merge, a conflict in waiting, and text that looks like a program."""

import io
import json
from pathlib import Path

import omnigraph

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "harbor"
HOSTILE = "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"


def make_harbor(root: Path) -> Path:
    """Make the graph; `storm` changes what `main` changes, too."""
    graph = omnigraph.init(str(root), (EXAMPLE / "harbor.pg").read_text("utf-8"))
    graph.load(io.BytesIO((EXAMPLE / "crew.jsonl").read_bytes()), mode="append", actor="act-ana", message="the crew")
    graph.branches.create("review")
    promotions = io.BytesIO((EXAMPLE / "promotions.jsonl").read_bytes())
    graph.load(promotions, mode="merge", branch="review", actor="act-bo", message="promotions")
    graph.branches.merge("review", message="promoted")
    graph.branches.create("storm")
    graph.mutate('query older() { update Sailor set { age: 51 } where name = "Ana" }', branch="storm", actor="act-bo")
    graph.mutate('query older() { update Sailor set { age: 52 } where name = "Ana" }', actor="act-ana")
    record = {"type": "Sailor", "data": {"name": HOSTILE, "rank": "mate", "bio": HOSTILE}}
    graph.load(io.BytesIO(json.dumps(record).encode()), mode="append", message=HOSTILE)
    return root
