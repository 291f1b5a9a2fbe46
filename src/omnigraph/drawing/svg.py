"""A picture as SVG text: no script, no network, and nothing of a graph's own text that could be taken for markup."""

from collections.abc import Iterator, Mapping
from html import escape
from math import hypot

from omnigraph.drawing.layout import Point, stub_places
from omnigraph.drawing.picture import Mark, NodeKey, Picture, PictureEdge
from omnigraph.drawing.signs import TypeSign

_WIDTH_MAX, _HEIGHT_MAX = 860.0, 560.0
_UNIT = 92.0
"""How far neighbours stand apart where there is room."""
_MARGIN = 44.0
_LEGEND_HEIGHT = 26.0
_CHARACTER = 6.4
_INK, _SOFT, _LINE, _PAPER = "#1d2433", "#566074", "#98a2b3", "#ffffff"
_EDGE_LABELS_MAX = 40


def svg_of(
    picture: Picture, places: Mapping[NodeKey, Point], signs: Mapping[str, TypeSign], *, caption: str = ""
) -> str:
    """Draw a picture on white, so that it can be read on dark pages too."""
    stubs = stub_places(picture.stubs, places)
    fit = _Fit([*places.values(), *stubs])
    at = {key: fit(point) for key, point in places.items()}
    size = 10.0 if len(picture.nodes) <= 120 else 6.5
    parts = [
        *_edges(picture, at, size),
        *_stubs(picture, at, [fit(point) for point in stubs]),
        *_nodes(picture, at, signs, size),
        *_legend(picture, signs, fit.height),
    ]
    width, height = fit.width, fit.height + _LEGEND_HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" style="max-width:100%;height:auto;font:12px system-ui,sans-serif" role="img">'
        f"<title>{escape(caption or 'A graph')}</title>"
        f'<rect width="100%" height="100%" rx="8" fill="{_PAPER}" stroke="#dfe4ec"/>'
        f'<defs><marker id="og-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path d="M0 0L8 4L0 8Z" fill="{_LINE}"/></marker></defs>'
        + "".join(parts)
        + "</svg>"
    )


class _Fit:
    """Brings units of a layout to the pixels of a page."""

    def __init__(self, points: list[Point]) -> None:
        xs, ys = [x for x, _ in points] or [0.0], [y for _, y in points] or [0.0]
        self._left, self._top = min(xs), min(ys)
        wide, high = max(xs) - self._left, max(ys) - self._top
        room_x, room_y = _WIDTH_MAX - 2 * _MARGIN, _HEIGHT_MAX - 2 * _MARGIN
        self._unit = min(_UNIT, room_x / wide if wide else _UNIT, room_y / high if high else _UNIT)
        self.width = max(300.0, wide * self._unit + 2 * _MARGIN)
        self.height = max(110.0, high * self._unit + 2 * _MARGIN)
        self._shift_x = (self.width - wide * self._unit) / 2
        self._shift_y = (self.height - high * self._unit) / 2

    def __call__(self, point: Point) -> Point:
        x, y = point
        return (x - self._left) * self._unit + self._shift_x, (y - self._top) * self._unit + self._shift_y


def _edges(picture: Picture, at: Mapping[NodeKey, Point], size: float) -> Iterator[str]:
    are_labelled = len(picture.edges) <= _EDGE_LABELS_MAX
    lanes: dict[frozenset[NodeKey], int] = {}
    for edge in picture.edges:
        pair = frozenset((edge.source, edge.target))
        lane = lanes[pair] = lanes.get(pair, -1) + 1
        path, middle = _curve(at[edge.source], at[edge.target], size, lane, is_turned=edge.source > edge.target)
        dashes = ' stroke-dasharray="5 4"' if edge.mark else ""
        faint = ' opacity="0.55"' if edge.mark is Mark.CAME else ""
        yield (
            f'<path d="{path}" fill="none" stroke="{_LINE}" stroke-width="1.3" marker-end="url(#og-arrow)"'
            f"{dashes}{faint}><title>{escape(_said(edge))}</title></path>"
        )
        if are_labelled:
            label = f"{edge.mark} {edge.type_name}" if edge.mark else edge.type_name
            yield _text(middle, label, size=10, colour=_SOFT)


def _curve(start: Point, end: Point, size: float, lane: int, *, is_turned: bool) -> tuple[str, Point]:
    """Return a way between two nodes and its middle; edges between the same two bend apart."""
    (x1, y1), (x2, y2) = start, end
    distance = hypot(x2 - x1, y2 - y1)
    if distance < 1:
        reach = size * (2.4 + lane)
        path = (
            f"M{x1 - size * 0.7:.1f} {y1 - size:.1f}C{x1 - reach:.1f} {y1 - 2 * reach:.1f} "
            f"{x1 + reach:.1f} {y1 - 2 * reach:.1f} {x1 + size * 0.7:.1f} {y1 - size:.1f}"
        )
        return path, (x1, y1 - 1.6 * reach)
    along_x, along_y = (x2 - x1) / distance, (y2 - y1) / distance
    side = (lane + 1) // 2 * (1 if lane % 2 else -1) * (-1 if is_turned else 1)
    bend = side * min(22.0, distance / 3)
    middle_x, middle_y = (x1 + x2) / 2 - along_y * bend, (y1 + y2) / 2 + along_x * bend
    gap = min(size + 3, distance / 3)
    first = f"{x1 + along_x * gap:.1f} {y1 + along_y * gap:.1f}"
    last = f"{x2 - along_x * gap:.1f} {y2 - along_y * gap:.1f}"
    way = f"M{first}Q{middle_x:.1f} {middle_y:.1f} {last}" if bend else f"M{first}L{last}"
    return way, (middle_x, middle_y - 3)


def _nodes(picture: Picture, at: Mapping[NodeKey, Point], signs: Mapping[str, TypeSign], size: float) -> Iterator[str]:
    taken: list[tuple[float, float, float, float]] = []
    labels = []
    for node in picture.nodes:
        x, y = at[node.key]
        sign = signs[node.key.type_name]
        outline = f'stroke="{_INK}" stroke-width="1.4" stroke-dasharray="3 2"' if node.mark else f'stroke="{_PAPER}"'
        filled = ' fill-opacity="0.25"' if node.mark is Mark.CAME else ""
        about = f"{node.shown_label} ({node.key.type_name} {node.key.id})"
        yield (
            f'<path d="{sign.path(x, y, size)}" fill="{sign.colour}"{filled} {outline}>'
            f"<title>{escape(about)}</title></path>"
        )
        text = node.shown_label
        half = len(text) * _CHARACTER / 2
        box = (x - half, y + size + 2, x + half, y + size + 16)
        if not any(_overlap(box, other) for other in taken):
            taken.append(box)
            labels.append(_text((x, y + size + 13), text, size=12, colour=_INK))
    yield from labels


def _stubs(picture: Picture, at: Mapping[NodeKey, Point], points: list[Point]) -> Iterator[str]:
    for stub, (x, y) in zip(picture.stubs, points, strict=True):
        start_x, start_y = at[stub.owner]
        yield (
            f'<path d="M{start_x:.1f} {start_y:.1f}L{x:.1f} {y:.1f}" stroke="{_LINE}" stroke-dasharray="2 3"/>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{_PAPER}" stroke="{_SOFT}"/>'
        )
        yield _text((x, y + 16), stub.shown_label, size=11, colour=_SOFT)


def _legend(picture: Picture, signs: Mapping[str, TypeSign], top: float) -> Iterator[str]:
    x = 18.0
    for name, count in picture.count_by_type().items():
        text = f"{name} {count:,}"
        if x + len(text) * _CHARACTER > _WIDTH_MAX:
            break
        yield f'<path d="{signs[name].path(x, top + 8, 6)}" fill="{signs[name].colour}"/>'
        yield f'<text x="{x + 11:.1f}" y="{top + 12:.1f}" fill="{_SOFT}">{escape(text)}</text>'
        x += len(text) * _CHARACTER + 34


def _text(point: Point, text: str, *, size: int, colour: str) -> str:
    return (
        f'<text x="{point[0]:.1f}" y="{point[1]:.1f}" text-anchor="middle" font-size="{size}" fill="{colour}" '
        f'stroke="{_PAPER}" stroke-width="3" paint-order="stroke">{escape(text)}</text>'
    )


def _said(edge: PictureEdge) -> str:
    return f"{edge.source.id} {edge.type_name} {edge.target.id}"


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
