"""The drawing of nodes that rows hold."""

from collections.abc import Mapping
from typing import Any

from omnigraph.console.asking.pictures import FoundGraph
from omnigraph.drawing.echart import echart_option
from omnigraph.drawing.layout import laid_out
from omnigraph.drawing.signs import TypeSign


def drawn_option(found: FoundGraph, signs: Mapping[str, TypeSign], *, is_dark: bool) -> dict[str, Any]:
    """Return the drawing; it takes a moment where there are hundreds of nodes."""
    option = echart_option(found.picture, laid_out(found.picture), signs, is_dark=is_dark)
    links = option["series"][0]["links"]  # those of edges come first, in their order
    for edge, link in zip(found.picture.edges, links, strict=False):
        if edge in found.undirected:
            link["symbol"] = ["none", "none"]
    return option
