"""Where the nodes of a picture stand: near those that they are connected with, apart from the others.

The same picture always looks the same, and what has a place keeps it: only new nodes look for one, so that expanding
a node or going back in time does not shuffle what a person has just understood.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import cos, pi, sin, sqrt
from typing import TYPE_CHECKING

from omnigraph.drawing.picture import NodeKey, Picture, Stub

if TYPE_CHECKING:
    import numpy as np

Point = tuple[float, float]
_GOLDEN_ANGLE = pi * (3 - sqrt(5))
_ROUNDS, _ROUNDS_LARGE = 90, 45
_LARGE = 150
_STEP_FIRST, _STEP_LAST = 0.45, 0.02
_GRAVITY = 0.15


def laid_out(picture: Picture, stages: Sequence[Iterable[NodeKey]] = ()) -> dict[NodeKey, Point]:
    """Return a place for every node, in units of a comfortable distance between neighbours.

    Nodes find their places stage by stage, each beside what stands already; those that no stage names come last.
    """
    labels = {node.key for node in picture.nodes}
    links = sorted({(min(e.source, e.target), max(e.source, e.target)) for e in picture.edges if e.source != e.target})
    places: dict[NodeKey, Point] = {}
    for stage in (*stages, [node.key for node in picture.nodes]):
        fresh = [key for key in dict.fromkeys(stage) if key in labels and key not in places]
        if fresh:
            places.update(_placed(fresh, places, links))
    return places


def stub_places(stubs: Sequence[Stub], places: Mapping[NodeKey, Point]) -> list[Point]:
    """Return where the stubs stand: beside their nodes, on the side that looks out of the picture."""
    middle_x, middle_y = _middle(list(places.values()))
    seen: dict[NodeKey, int] = {}
    found: list[Point] = []
    for stub in stubs:
        x, y = places[stub.owner]
        turn = seen[stub.owner] = seen.get(stub.owner, -1) + 1
        away = _angle(x - middle_x, y - middle_y) + (turn + 1) // 2 * (0.6 if turn % 2 else -0.6)
        found.append((round(x + 0.75 * cos(away), 3), round(y + 0.75 * sin(away), 3)))
    return found


def _placed(
    fresh: list[NodeKey], places: Mapping[NodeKey, Point], links: Sequence[tuple[NodeKey, NodeKey]]
) -> dict[NodeKey, Point]:
    """Find places for new nodes; what stands already pushes and pulls them, and is not moved."""
    import numpy as np

    keys = [*fresh, *places]
    number_of = {key: number for number, key in enumerate(keys)}
    ends = np.array(
        [(number_of[a], number_of[b]) for a, b in links if a in number_of and b in number_of], dtype=np.intp
    ).reshape(-1, 2)
    moving = len(fresh)
    ends = ends[(ends < moving).any(axis=1)]
    points = np.zeros((len(keys), 2), dtype=np.float32)
    if places:
        points[moving:] = np.array(list(places.values()), dtype=np.float32)
    points[:moving] = _beginnings(fresh, places, links)
    _relax(points, moving, ends)
    return {key: (round(float(x), 3), round(float(y), 3)) for key, (x, y) in zip(fresh, points, strict=False)}


def _beginnings(
    fresh: list[NodeKey], places: Mapping[NodeKey, Point], links: Sequence[tuple[NodeKey, NodeKey]]
) -> "np.ndarray":
    """Start new nodes in a spiral around what they hang on, or around the middle."""
    import numpy as np

    anchors: dict[NodeKey, NodeKey] = {}
    for a, b in links:
        if a in places:
            anchors.setdefault(b, a)
        if b in places:
            anchors.setdefault(a, b)
    middle = _middle(list(places.values()))
    turns: dict[Point, int] = {}
    found = []
    for key in fresh:
        at = places[anchors[key]] if key in anchors else middle
        turn = turns[at] = turns.get(at, -1) + 1
        out = _angle(at[0] - middle[0], at[1] - middle[1])
        reach = 0.9 + 0.42 * sqrt(turn) if places else 0.6 * sqrt(turn)
        angle = out + turn * _GOLDEN_ANGLE
        found.append((at[0] + reach * cos(angle), at[1] + reach * sin(angle)))
    return np.array(found, dtype=np.float32)


def _relax(points: "np.ndarray", moving: int, ends: "np.ndarray") -> None:
    """Let the first `moving` points find their balance, after Fruchterman and Reingold; connected ones attract."""
    import numpy as np

    rounds = _ROUNDS_LARGE if moving > _LARGE else _ROUNDS
    for step in np.geomspace(_STEP_FIRST, _STEP_LAST, rounds, dtype=np.float32):
        x, y = points[:, 0], points[:, 1]
        apart_x = x[:moving, None] - x[None, :]
        apart_y = y[:moving, None] - y[None, :]
        squares = apart_x * apart_x
        squares += apart_y * apart_y
        squares += np.float32(0.01)
        squares *= np.sqrt(squares)
        np.reciprocal(squares, out=squares)  # a push of 1 / distance², along the way between the two
        push = np.empty((len(points), 2), dtype=np.float32)
        push[:moving, 0] = np.einsum("ij,ij->i", apart_x, squares)
        push[:moving, 1] = np.einsum("ij,ij->i", apart_y, squares)
        push[moving:] = 0
        if len(ends):
            between = points[ends[:, 1]] - points[ends[:, 0]]
            between *= np.hypot(between[:, 0], between[:, 1])[:, None]
            for axis in (0, 1):
                push[:, axis] += np.bincount(ends[:, 0], between[:, axis], len(points))
                push[:, axis] -= np.bincount(ends[:, 1], between[:, axis], len(points))
        push[:moving] -= points[:moving] * np.float32(_GRAVITY)
        lengths = np.hypot(push[:moving, 0], push[:moving, 1])[:, None] + np.float32(1e-6)
        points[:moving] += push[:moving] / lengths * np.minimum(lengths, step)


def _middle(points: Sequence[Point]) -> Point:
    if not points:
        return 0.0, 0.0
    return sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)


def _angle(x: float, y: float) -> float:
    from math import atan2

    return atan2(y, x) if x or y else -pi / 2
