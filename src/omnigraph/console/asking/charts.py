"""A chart of rows: which one fits the columns, and its drawing."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from omnigraph.base.values import dataclass
from omnigraph.console.theme import TYPE_COLOURS
from omnigraph.documents.answer_files import cell_text

ColumnSort = Literal["number", "moment", "text", "other"]
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\S+)?\Z")
_BARS_MAX = 60
_POINTS_MAX = 2_000
_SERIES_MAX = 6
_NAME_LETTERS_MAX = 40
_FAINT = "rgba(128, 128, 128, 0.35)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartChoice:
    """What is drawn along the axis and what above it; columns by their place."""

    kind: Literal["bar", "line"]
    along: int | None
    """None counts the rows."""
    heights: tuple[int, ...]

    @property
    def points_max(self) -> int:
        """How many rows can be told apart."""
        return _BARS_MAX if self.kind == "bar" else _POINTS_MAX


def choose_chart(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> ChartChoice | None:
    """Choose a chart by what columns hold: moments make lines, names make bars; None if there is no number."""
    sorts = [sort_of([row[place] for row in rows]) for place in range(len(columns))]
    numbers = [place for place, sort in enumerate(sorts) if sort == "number"]
    if not numbers:
        return None
    for sort, kind in (("moment", "line"), ("text", "bar")):
        if sort in sorts:
            heights = tuple(numbers[:_SERIES_MAX])
            return ChartChoice(kind="line" if kind == "line" else "bar", along=sorts.index(sort), heights=heights)
    if len(numbers) > 1:
        return ChartChoice(kind="line", along=numbers[0], heights=tuple(numbers[1 : _SERIES_MAX + 1]))
    return ChartChoice(kind="bar", along=None, heights=(numbers[0],))


def sort_of(values: Sequence[Any]) -> ColumnSort:
    """Tell what a column holds, leaving aside where it holds nothing."""
    known = [value for value in values if value is not None]
    if not known:
        return "other"
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return "number"
    if not all(isinstance(value, str | bool) for value in known):
        return "other"
    return "moment" if all(isinstance(value, str) and _MOMENT.match(value) for value in known) else "text"


def chart_option(choice: ChartChoice, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return the drawing, for the first rows that can be told apart."""
    shown = list(rows[: choice.points_max])
    along = choice.along
    if choice.kind == "line" and along is not None:
        shown = sorted((row for row in shown if row[along] is not None), key=lambda row: row[along])
    is_continuous = choice.kind == "line" and along is not None and sort_of([row[along] for row in shown]) == "number"
    axis: dict[str, Any] = {
        "type": "value" if is_continuous else "category",
        "name": "row" if along is None else columns[along],
        "nameLocation": "middle",
        "nameGap": 34,
        "axisLine": {"lineStyle": {"color": _FAINT}},
        "axisLabel": {"hideOverlap": True},
    }
    if is_continuous:
        axis |= {"scale": True, "splitLine": {"show": False}}
    else:
        axis["data"] = [_name(place, row, along) for place, row in enumerate(shown, start=1)]
    return {
        "animation": False,
        "color": list(TYPE_COLOURS),
        "aria": {"enabled": True, "decal": {"show": len(choice.heights) > 1}},
        # Texts of the graph stay texts: no HTML in what appears under the pointer.
        "tooltip": {"trigger": "axis", "renderMode": "richText", "confine": True},
        "legend": {"show": len(choice.heights) > 1, "top": 0, "type": "scroll"},
        "grid": {"left": 12, "right": 16, "top": 36, "bottom": 44, "containLabel": True},
        "xAxis": axis,
        "yAxis": {
            "type": "value",
            "minInterval": 1 if _are_whole(shown, choice.heights) else 0,
            "name": columns[choice.heights[0]] if len(choice.heights) == 1 else "",
            "nameTextStyle": {"align": "left"},
            "splitLine": {"lineStyle": {"color": _FAINT}},
        },
        "series": [
            {
                "type": choice.kind,
                "name": columns[height],
                "data": [
                    [row[along], row[height]] if is_continuous and along is not None else row[height] for row in shown
                ],
                "showSymbol": len(shown) <= 100,
                "symbol": ("circle", "rect", "triangle", "diamond", "pin", "arrow")[place % _SERIES_MAX],
                "barMaxWidth": 48,
                "sampling": "lttb",
            }
            for place, height in enumerate(choice.heights)
        ],
    }


def _are_whole(rows: Sequence[Sequence[Any]], heights: Sequence[int]) -> bool:
    return all(isinstance(row[height], int | None) for row in rows for height in heights)


def _name(place: int, row: Sequence[Any], along: int | None) -> str:
    if along is None:
        return str(place)
    text = "null" if row[along] is None else cell_text(row[along])
    return text if len(text) <= _NAME_LETTERS_MAX else f"{text[: _NAME_LETTERS_MAX - 1]}…"
