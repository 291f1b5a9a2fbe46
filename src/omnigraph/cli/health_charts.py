"""Bars and tables of the health page, in plain HTML that shrinks with the window."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from omnigraph.base.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar: its name, its parts with their colours, and what it says."""

    name: str
    parts: tuple[tuple[float, str], ...]
    says: str

    @property
    def length(self) -> float:
        """All parts together."""
        return sum(value for value, _ in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The heading of a column; one that is not needed to see what hurts is left out where there is no room."""

    title: str
    is_needed: bool = True


def bars(shown: Iterable[Bar], *, whole: float) -> Iterator[str]:
    """Draw bars as shares of a whole; what is there is seen, however small its share."""
    for bar in shown:
        yield f'<div class="bar"><span class="name">{escape(bar.name)}</span><span class="track">'
        for value, color in bar.parts:
            if value:
                yield f'<i style="width:{max(100 * value / whole, 0.4):.1f}%;background:{color}"></i>'
        yield f'</span><span class="says">{escape(bar.says)}</span></div>'


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Say what the colours mean."""
    shown = "".join(f'<span><i style="background:{color}"></i>{escape(says)}</span>' for color, says in entries)
    return f'<div class="legend">{shown}</div>'


def table(headings: Sequence[Heading], rows: Iterable[tuple[str, Sequence[str]]], *, kind: str = "") -> Iterator[str]:
    """Write a table; each row has a tone, which may be empty, and its cells."""
    classes = ["" if heading.is_needed else ' class="wide"' for heading in headings]
    yield f'<table class="{kind}"><thead><tr>' if kind else "<table><thead><tr>"
    yield "".join(f"<th{mark}>{heading.title}</th>" for heading, mark in zip(headings, classes, strict=True))
    yield "</tr></thead><tbody>"
    for tone, cells in rows:
        yield f'<tr class="{tone}">' if tone else "<tr>"
        yield "".join(f"<td{mark}>{escape(cell)}</td>" for cell, mark in zip(cells, classes, strict=True))
        yield "</tr>"
    yield "</tbody></table>"


def folded(summary: str, content: Iterable[str]) -> Iterator[str]:
    """Put content behind a line that opens it."""
    yield f"<details><summary>{escape(summary)}</summary>"
    yield from content
    yield "</details>"
