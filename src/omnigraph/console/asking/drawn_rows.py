"""The drawing of nodes that rows hold."""

from typing import Any

from omnigraph.console.asking.pictures import FoundGraph
from omnigraph.console.theme import TYPE_COLOURS

_LABEL_LETTERS_MAX = 24
_SYMBOLS = ("circle", "rect", "triangle", "diamond", "roundRect", "pin", "arrow", "circle")
_LABELLED_MAX = 120


def drawn_option(found: FoundGraph) -> dict[str, Any]:
    """Return the drawing: types told apart by colour and by shape, names beside the nodes while there is room."""
    types = sorted({node.type_name for node in found.nodes})
    has_labels = len(found.nodes) <= _LABELLED_MAX
    return {
        "animation": False,
        "color": list(TYPE_COLOURS),
        "aria": {"enabled": True},
        "tooltip": {"renderMode": "richText", "confine": True},
        "legend": {"data": types, "top": 0, "type": "scroll"},
        "series": [
            {
                "type": "graph",
                "layout": "force",
                "roam": True,
                "draggable": True,
                "top": 40,
                "categories": [
                    {"name": name, "symbol": _SYMBOLS[place % len(_SYMBOLS)]} for place, name in enumerate(types)
                ],
                "force": {"repulsion": 130, "edgeLength": 80, "layoutAnimation": False},
                "label": {"show": has_labels, "position": "right", "fontSize": 12},
                "edgeLabel": {
                    "show": has_labels and len(found.edges) <= _LABELLED_MAX,
                    "fontSize": 10,
                    "formatter": "{c}",
                },
                "lineStyle": {"color": "#7a8599", "width": 1.5, "curveness": 0.08},
                "emphasis": {"focus": "adjacency"},
                "data": [
                    {
                        "id": node.id,
                        "name": _short(node.label),
                        "category": types.index(node.type_name),
                        "symbolSize": 20,
                    }
                    for node in found.nodes
                ],
                "links": [
                    {
                        "source": edge.source,
                        "target": edge.target,
                        "value": edge.label,
                        "symbol": ["none", "arrow" if edge.is_directed else "none"],
                    }
                    for edge in found.edges
                ],
            }
        ],
    }


def _short(text: str) -> str:
    return text if len(text) <= _LABEL_LETTERS_MAX else f"{text[: _LABEL_LETTERS_MAX - 1]}…"
