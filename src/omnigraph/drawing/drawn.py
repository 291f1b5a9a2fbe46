"""A drawing for a notebook: an SVG that needs no script and no network, and a line of text elsewhere."""

from collections.abc import Mapping

from omnigraph.base.units import counted
from omnigraph.drawing.layout import Point
from omnigraph.drawing.picture import NodeKey, Picture
from omnigraph.drawing.signs import TypeSign
from omnigraph.drawing.svg import svg_of


class Drawing:
    """A part of a graph, drawn; a notebook shows it by itself."""

    def __init__(
        self, picture: Picture, places: Mapping[NodeKey, Point], signs: Mapping[str, TypeSign], *, note: str = ""
    ) -> None:
        self._places = places
        self._signs = signs
        self.picture = picture
        """The nodes and edges that are drawn."""
        self.note = note
        """What is not drawn, if that is so."""

    def __repr__(self) -> str:
        return f"<Drawing {self._said}>"

    def _repr_html_(self) -> str:
        from html import escape

        below = f'<div style="font:12px system-ui,sans-serif">{escape(self.note)}</div>' if self.note else ""
        return f"<div>{self.svg}{below}</div>"

    @property
    def svg(self) -> str:
        """The drawing as the text of an SVG file."""
        return svg_of(self.picture, self._places, self._signs, caption=self._said)

    @property
    def _said(self) -> str:
        nodes, edges = len(self.picture.nodes), len(self.picture.edges)
        return f"{counted(nodes, 'node')}, {counted(edges, 'edge')}"
