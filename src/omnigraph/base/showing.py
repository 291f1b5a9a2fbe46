"""How values look at a Python prompt and in a notebook: one short line, and a table that ends where a page does."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import islice
from typing import Any

from omnigraph.base.units import shorten

ROWS_SHOWN = 20
_LINE_CHARACTERS = 240
_TEXT_CHARACTERS = 60


class Shown:
    """Gives a result a short `repr` and a table in notebooks, both from its fields."""

    __slots__ = ()

    def __repr__(self) -> str:
        said = " ".join(f"{name}={_brief(value)}" for name, value in _said(self))
        return f"<{f'{type(self).__name__} {shorten(said, _LINE_CHARACTERS)}'.rstrip()}>"

    def _repr_html_(self) -> str:
        nested = [(name, value) for name, value in _said(self) if _are_records(value)]
        plain = [(name, _brief(value)) for name, value in _said(self) if not _are_records(value)]
        parts = [html_table(("", type(self).__name__), plain)]
        for name, records in nested:
            names = [field.name for field in fields(records[0])]
            rows = ([getattr(record, column) for column in names] for record in records)
            parts.append(html_table(names, rows, caption=f"{name} ({len(records)})"))
        return "\n".join(parts)


def html_table(headings: Sequence[str], rows: Iterable[Iterable[Any]], *, caption: str = "") -> str:
    """Spell a table for a notebook; of many rows it shows the first."""
    from html import escape  # brings a table of two thousand characters, and no command shows a notebook anything

    shown = [list(row) for row in islice(rows, ROWS_SHOWN + 1)]
    more = len(shown) > ROWS_SHOWN
    head = "".join(f"<th>{escape(str(heading))}</th>" for heading in headings)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row)}</tr>" for row in shown[:ROWS_SHOWN]
    )
    end = f'<tr><td colspan="{max(len(headings), 1)}">…</td></tr>' if more else ""
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}{end}</tbody></table>"


def _said(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields that say something: nothing is said by None and by an empty collection."""
    for field in fields(value):
        held = getattr(value, field.name)
        if held is not None and held not in ((), [], {}, ""):
            yield field.name, held


def _are_records(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and bool(value) and all(is_dataclass(item) for item in value)


def _brief(value: Any) -> str:
    match value:
        case Enum():
            return str(value.value)
        case str():
            return repr(shorten(value, _TEXT_CHARACTERS))
        case bool() | int() | float():
            return str(value)
        case Mapping() | tuple() | list() | frozenset() | set():
            return f"[{len(value)}]"
        case _ if is_dataclass(value) and not isinstance(value, Shown):
            return f"<{type(value).__name__}>"
        case _:
            return repr(value)


def _cell(value: Any) -> str:
    return shorten(value) if isinstance(value, str) else "" if value is None else _brief(value)
