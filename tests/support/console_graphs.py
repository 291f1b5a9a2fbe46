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


def make_fleet(root: Path) -> Path:
    """Make a harbor of some size, with branches under way: something to look at."""
    graph = omnigraph.init(str(root), (EXAMPLE / "harbor.pg").read_text("utf-8"))
    graph.load(io.BytesIO((EXAMPLE / "crew.jsonl").read_bytes()), mode="append", actor="act-ana", message="the crew")
    ships = [{"type": "Ship", "data": {"hull": f"H{n}", "title": title}} for n, title in enumerate(_TITLES)]
    sailors = [
        {"type": "Sailor", "data": {"name": name, "rank": _RANKS[n % 3], "age": 20 + n * 7 % 40}}
        for n, name in enumerate(_NAMES)
    ]
    serving = [
        {"edge": "ServesOn", "from": name, "to": f"H{n % len(_TITLES)}", "data": {"berth": 1 + n % 9}}
        for n, name in enumerate(_NAMES)
    ]
    mentors = [{"edge": "Mentors", "from": "Ana", "to": name} for name in _NAMES[::3]]
    mentors += [
        {"edge": "Mentors", "from": name, "to": _NAMES[(n * 5 + 3) % len(_NAMES)]} for n, name in enumerate(_NAMES)
    ]
    _load(graph, ships, actor="act-ana", message="six ships join the fleet")
    _load(graph, sailors + serving, actor="act-bo", message="crews for the new ships")
    graph.branches.create("promotions", actor="act-bo")
    promotions = io.BytesIO((EXAMPLE / "promotions.jsonl").read_bytes())
    graph.load(promotions, mode="merge", branch="promotions", actor="act-bo", message="promotions of spring")
    _load(graph, mentors, actor="act-ana", message="who taught whom")
    graph.branches.merge("promotions", actor="act-ana", message="promotions are agreed")
    graph.branches.create("storm-season", actor="act-bo")
    graph.mutate(
        'query older() { update Sailor set { age: 51 } where name = "Ana" }',
        branch="storm-season",
        actor="act-bo",
        message="ages checked on board",
    )
    graph.mutate(
        'query older() { update Sailor set { age: 52 } where name = "Ana" }', actor="act-ana", message="ages checked"
    )
    return root


def _load(graph: omnigraph.Graph, records: list[dict[str, object]], **options: str) -> None:
    lines = "\n".join(json.dumps(record) for record in records)
    graph.load(io.BytesIO(lines.encode()), mode="append", **options)  # type: ignore[arg-type]


_RANKS = ("captain", "mate", "deckhand")
_TITLES = ("Morning Tide", "Albatross", "Grey Heron", "Sea Lantern", "Wanderer", "Cormorant")
_NAMES = (
    *("Flo", "Gus", "Hal", "Ida", "Jon", "Kit", "Lea", "Mia", "Nil", "Ola", "Pia", "Quin", "Ros", "Sam", "Tea"),
    *("Uli", "Vic", "Wen", "Xia", "Yan", "Zoe", "Abe", "Bea", "Cal", "Dot", "Eli", "Fay", "Gil", "Hope", "Ivo"),
)
