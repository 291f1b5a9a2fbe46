"""How types are told apart: by colour, and by shape for whoever does not see the colour."""

from collections.abc import Iterable
from math import cos, pi, sin

from omnigraph.base.values import dataclass

TYPE_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8b5cf6", "#6b7280")
"""Told apart by people who see red and green alike (after Okabe and Ito); used again when there are more types."""

Corners = tuple[tuple[float, float], ...]


def _regular(corners: int, *, turned: float = 0.0, radius: float = 1.0) -> Corners:
    angles = [turned - pi / 2 + 2 * pi * corner / corners for corner in range(corners)]
    return tuple((round(radius * cos(angle), 3), round(radius * sin(angle), 3)) for angle in angles)


def _star(points: int, inner: float) -> Corners:
    angles = [-pi / 2 + pi * corner / points for corner in range(2 * points)]
    radii = [1.15 if corner % 2 == 0 else inner for corner in range(2 * points)]
    return tuple((round(r * cos(a), 3), round(r * sin(a), 3)) for r, a in zip(radii, angles, strict=True))


_ARM = 0.38
_CROSS: Corners = (
    *((-_ARM, -1.0), (_ARM, -1.0), (_ARM, -_ARM), (1.0, -_ARM), (1.0, _ARM), (_ARM, _ARM)),
    *((_ARM, 1.0), (-_ARM, 1.0), (-_ARM, _ARM), (-1.0, _ARM), (-1.0, -_ARM), (-_ARM, -_ARM)),
)
SHAPES: dict[str, Corners] = {
    "circle": (),
    "square": _regular(4, turned=pi / 4, radius=1.2),
    "diamond": _regular(4, radius=1.15),
    "triangle": _regular(3, radius=1.2),
    "hexagon": _regular(6, radius=1.05),
    "star": _star(5, 0.52),
    "cross": _CROSS,
    "kite": _regular(3, turned=pi, radius=1.2),
}
"""Corners of each shape in a circle of radius one; the circle has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSign:
    """How nodes of one type look."""

    colour: str
    shape: str

    def path(self, x: float = 0.0, y: float = 0.0, size: float = 1.0) -> str:
        """Spell the outline as SVG and ECharts read it, around a point."""
        corners = SHAPES[self.shape]
        if not corners:
            left, right = _number(x - size), _number(2 * size)
            radius = _number(size)
            return f"M{left} {_number(y)}a{radius} {radius} 0 1 0 {right} 0a{radius} {radius} 0 1 0 -{right} 0Z"
        spelled = (f"{_number(x + size * cx)} {_number(y + size * cy)}" for cx, cy in corners)
        return "M" + "L".join(spelled) + "Z"


def signs_of(type_names: Iterable[str]) -> dict[str, TypeSign]:
    """Give every type a sign of its own: 64 types differ in colour or in shape."""
    shapes = list(SHAPES)
    signs: dict[str, TypeSign] = {}
    for number, name in enumerate(type_names):
        turn, place = divmod(number, len(TYPE_COLOURS))
        signs[name] = TypeSign(colour=TYPE_COLOURS[place], shape=shapes[(place + turn) % len(shapes)])
    return signs


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
