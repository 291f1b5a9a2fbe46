"""A picture as the option of an ECharts graph: labels are text on a canvas, never markup, and nothing pops up."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from omnigraph.drawing.layout import Point, stub_places
from omnigraph.drawing.picture import Mark, NodeKey, Picture, PictureEdge
from omnigraph.drawing.signs import TypeSign

NODE, STUB = "node", "stub"
_UNIT = 100.0
_EDGE_LABELS_MAX = 40
_NAMED_UP_TO, _NAMED_OF_MANY = 120, 40
_LIGHT = {"ink": "#1d2433", "soft": "#566074", "line": "#98a2b3", "card": "#ffffff"}
_DARK = {"ink": "#e6e9f0", "soft": "#a3adbf", "line": "#66718a", "card": "#1a1f2a"}


def echart_option(
    picture: Picture,
    places: Mapping[NodeKey, Point],
    signs: Mapping[str, TypeSign],
    *,
    picked: NodeKey | None = None,
    is_dark: bool = False,
) -> dict[str, Any]:
    """Return the option; a click on `data.what` NODE or STUB tells `data.at`, a place in `nodes` or `stubs`."""
    colours = _DARK if is_dark else _LIGHT
    size = _node_size(len(picture.nodes))
    series = {
        "type": "graph",
        "layout": "none",
        "roam": True,
        "left": "center",
        "top": "center",  # and no width: this is how ECharts keeps the proportions
        "scaleLimit": {"min": 0.2, "max": 12},
        "cursor": "pointer",
        "animation": False,
        "label": {"show": True, "position": "bottom", "color": colours["ink"], "fontSize": 12, "distance": 4},
        # It would move the labels of edges, so only where there are none.
        **({"labelLayout": {"hideOverlap": True}} if len(picture.edges) > _EDGE_LABELS_MAX else {}),
        "edgeSymbol": ["none", "arrow"],
        "edgeSymbolSize": 7,
        "lineStyle": {"color": colours["line"], "width": 1.3, "opacity": 0.9},
        "emphasis": {"focus": "adjacency", "label": {"show": True}, "lineStyle": {"width": 2.5}},
        "data": [*_nodes(picture, places, signs, size, picked, colours), *_stubs(picture, places, colours)],
        "links": [*_links(picture, colours), *_stub_links(picture)],
    }
    return {"tooltip": {"show": False}, "aria": {"enabled": False}, "series": [series]}


def _node_size(count: int) -> int:
    return 30 if count <= 30 else 22 if count <= 120 else 13


def _named(picture: Picture) -> set[NodeKey]:
    """Return the nodes whose labels are shown: where there are many, those that most edges meet, and what changed."""
    if len(picture.nodes) <= _NAMED_UP_TO:
        return {node.key for node in picture.nodes}
    met = Counter(end for edge in picture.edges for end in (edge.source, edge.target))
    return {key for key, _ in met.most_common(_NAMED_OF_MANY)} | {node.key for node in picture.nodes if node.mark}


def _nodes(
    picture: Picture,
    places: Mapping[NodeKey, Point],
    signs: Mapping[str, TypeSign],
    size: int,
    picked: NodeKey | None,
    colours: Mapping[str, str],
) -> list[dict[str, Any]]:
    named = _named(picture)
    found = []
    for number, node in enumerate(picture.nodes):
        sign = signs[node.key.type_name]
        is_picked = node.key == picked
        item: dict[str, Any] = {"color": sign.colour, "borderColor": colours["card"], "borderWidth": 1}
        if node.mark:
            item |= {"borderColor": colours["ink"], "borderWidth": 2, "borderType": "dashed"}
        if node.mark is Mark.CAME:
            item["opacity"] = 0.4
        if is_picked:
            item |= {"borderColor": colours["ink"], "borderWidth": 3, "shadowBlur": 12, "shadowColor": sign.colour}
        x, y = places[node.key]
        found.append(
            {
                "id": f"n{number}",
                "name": node.shown_label,
                "what": NODE,
                "at": number,
                "x": x * _UNIT,
                "y": y * _UNIT,
                "symbol": f"path://{sign.path(size=10)}" if sign.shape != "circle" else "circle",
                "symbolSize": round(size * (1.35 if is_picked else 1)),
                "itemStyle": item,
                "label": {"fontWeight": "bold" if is_picked else "normal", "show": is_picked or node.key in named},
            }
        )
    return found


def _links(picture: Picture, colours: Mapping[str, str]) -> list[dict[str, Any]]:
    number_of = {node.key: f"n{number}" for number, node in enumerate(picture.nodes)}
    are_labelled = len(picture.edges) <= _EDGE_LABELS_MAX
    lanes: dict[frozenset[NodeKey], int] = {}
    found = []
    for edge in picture.edges:
        pair = frozenset((edge.source, edge.target))
        lane = lanes[pair] = lanes.get(pair, -1) + 1
        found.append(
            {
                "source": number_of[edge.source],
                "target": number_of[edge.target],
                "lineStyle": _line(edge, lane),
                "label": {
                    "show": are_labelled,
                    "formatter": f"{edge.mark} {edge.type_name}" if edge.mark else edge.type_name,
                    "fontSize": 10,
                    "color": colours["soft"],
                },
                "emphasis": {"label": {"show": True}},
            }
        )
    return found


def _line(edge: PictureEdge, lane: int) -> dict[str, Any]:
    side = (lane + 1) // 2 * (1 if lane % 2 else -1) * (-1 if edge.source > edge.target else 1)
    style: dict[str, Any] = {"curveness": 0.8 if edge.source == edge.target else 0.18 * side}
    if edge.mark:
        style["type"] = "dashed"
    if edge.mark is Mark.CAME:
        style["opacity"] = 0.5
    return style


def _stubs(picture: Picture, places: Mapping[NodeKey, Point], colours: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "id": f"s{number}",
            "name": stub.shown_label,
            "what": STUB,
            "at": number,
            "x": x * _UNIT,
            "y": y * _UNIT,
            "symbol": "circle",
            "symbolSize": 11,
            "itemStyle": {"color": colours["card"], "borderColor": colours["soft"], "borderWidth": 1.5},
            "label": {"color": colours["soft"], "fontSize": 11},
        }
        for number, (stub, (x, y)) in enumerate(zip(picture.stubs, stub_places(picture.stubs, places), strict=True))
    ]


def _stub_links(picture: Picture) -> list[dict[str, Any]]:
    number_of = {node.key: f"n{number}" for number, node in enumerate(picture.nodes)}
    return [
        {
            "source": number_of[stub.owner],
            "target": f"s{number}",
            "symbol": ["none", "none"],
            "lineStyle": {"type": "dotted", "opacity": 0.7},
            "label": {"show": False},
        }
        for number, stub in enumerate(picture.stubs)
    ]
