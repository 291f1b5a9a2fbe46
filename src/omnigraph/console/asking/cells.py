"""Rows as the cells of a table in a browser: texts and numbers, nothing that a browser would interpret."""

from collections.abc import Sequence
from typing import Any

from omnigraph.documents.answer_files import cell_text

ROWS_SENT_MAX = 5_000
_LETTERS_MAX = 1_000
_EXACT_MAX = 2**53
"""Browsers have doubles; larger whole numbers would change on the way."""


def grid_options(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return the options of a grid that shows rows, a hundred at a time."""
    return {
        "columnDefs": [_column(place, name, rows) for place, name in enumerate(columns)],
        "rowData": [{f"c{place}": _cell(value) for place, value in enumerate(row)} for row in rows],
        # Columns are what this page says; guessing would make a checkbox of true.
        "defaultColDef": {
            "sortable": True,
            "resizable": True,
            "cellDataType": False,
            "minWidth": 110,
            "cellClassRules": {"og-null": "x == null"},
        },
        "pagination": len(rows) > 100,
        "paginationPageSize": 100,
        "paginationPageSizeSelector": False,
        "enableCellTextSelection": True,
        "ensureDomOrder": True,
        "domLayout": "autoHeight" if len(rows) <= 12 else "normal",
        "suppressFieldDotNotation": True,
        "animateRows": False,
        "rowHeight": 36,
        "headerHeight": 38,
    }


def _column(place: int, name: str, rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    values = [row[place] for row in rows if row[place] is not None]
    is_number = bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    column: dict[str, Any] = {"field": f"c{place}", "headerName": name}
    return {**column, "type": "rightAligned"} if is_number else column


def _cell(value: Any) -> str | int | float | None:
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _EXACT_MAX:
        return value
    text = cell_text(value)
    return text if len(text) <= _LETTERS_MAX else f"{text[:_LETTERS_MAX]}…"
