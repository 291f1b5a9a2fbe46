"""The rows of a query in the forms that people and programs ask for."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from omnigraph.base.values import dataclass
from omnigraph.cli.output import Json

if TYPE_CHECKING:
    from omnigraph.graphs.result import Result

Format = Literal["table", "json", "jsonl", "csv", "kv"]
FORMATS: tuple[Format, ...] = get_args(Format)
_NULL = "null"
_NEEDS_QUOTES = frozenset(',"\r\n')


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A result, and what was asked."""

    result: "Result"
    branch: str
    snapshot: str | None
    width_max: int = 80
    is_wrapped: bool = False
    """Whether longer cells go on in the next line instead of being cut."""

    @property
    def origin(self) -> str:
        """Where the rows come from."""
        return f"branch {self.branch}" if self.snapshot is None else f"snapshot {self.snapshot}"

    @property
    def heading(self) -> str:
        """How many rows there are, and of what."""
        return f"{len(self.result)} rows from {self.origin} via {self.result.query_name}"


def answer_document(answer: Answer) -> dict[str, Json]:
    """Describe a result as one document."""
    result = answer.result
    return {
        "query_name": result.query_name,
        "target": _target(answer),
        "row_count": len(result),
        "columns": list(result.columns),
        "rows": [dict(zip(result.columns, row, strict=True)) for row in _rows(result)],
        "graph_commit_id": result.commit_id,
    }


def answer_lines(answer: Answer, form: Format) -> Iterator[str]:
    """Spell a result in one of the forms that are lines."""
    match form:
        case "jsonl":
            return _json_lines(answer)
        case "csv":
            return _csv_lines(answer)
        case "kv":
            return _kv_lines(answer)
        case "json":
            return iter(json.dumps(answer_document(answer), indent=2, ensure_ascii=False).splitlines())
        case "table":
            return _table_lines(answer)


def _target(answer: Answer) -> dict[str, Json]:
    return {"branch": answer.branch if answer.snapshot is None else None, "snapshot": answer.snapshot}


def _rows(result: "Result") -> Iterator[tuple[Any, ...]]:
    from omnigraph.records.json_values import json_values

    return zip(*(json_values(column) for column in result.to_arrow().columns), strict=True)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _json_lines(answer: Answer) -> Iterator[str]:
    result = answer.result
    yield _compact(
        {
            "kind": "metadata",
            "query_name": result.query_name,
            "target": _target(answer),
            "row_count": len(result),
        }
    )
    for row in _rows(result):
        yield _compact(dict(zip(result.columns, row, strict=True)))


def _csv_lines(answer: Answer) -> Iterator[str]:
    yield ",".join(map(_csv_field, answer.result.columns))
    for row in _rows(answer.result):
        yield ",".join("" if value is None else _csv_field(_cell(value)) for value in row)


def _csv_field(text: str) -> str:
    if text and not _NEEDS_QUOTES.intersection(text):
        return text
    # Null is an empty field, so the empty text is a quoted one.
    return '"' + text.replace('"', '""') + '"'


def _cell(value: object) -> str:
    if value is None:
        return _NULL
    return value if isinstance(value, str) else _compact(value)


def _shown(value: object) -> str:
    """Spell a value so that it stays on its line."""
    return _cell(value).replace("\r", "\\r").replace("\n", "\\n")


def _kv_lines(answer: Answer) -> Iterator[str]:
    yield answer.heading
    if not len(answer.result):
        yield "(no rows)"
    for place, row in enumerate(_rows(answer.result), start=1):
        if place > 1:
            yield ""
        yield f"row {place}"
        for name, value in zip(answer.result.columns, row, strict=True):
            yield f"{name}: {_shown(value)}"


def _table_lines(answer: Answer) -> Iterator[str]:
    yield answer.heading
    if not len(answer.result):
        yield "(no rows)"
        return
    titles = [[name] for name in answer.result.columns]
    rows = [[_pieces(_shown(value), answer) for value in row] for row in _rows(answer.result)]
    widths = [max(len(piece) for cells in (titles, *rows) for piece in cells[place]) for place in range(len(titles))]
    yield from _row_lines(titles, widths)
    yield "-+-".join("-" * width for width in widths)
    for row in rows:
        yield from _row_lines(row, widths)


def _row_lines(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    for line in range(max(map(len, cells))):
        parts = (cell[line] if line < len(cell) else "" for cell in cells)
        yield " | ".join(part.ljust(width) for part, width in zip(parts, widths, strict=True))


def _pieces(text: str, answer: Answer) -> list[str]:
    width = answer.width_max
    if len(text) <= width:
        return [text]
    if answer.is_wrapped:
        return [text[start : start + width] for start in range(0, len(text), width)]
    return [text[: width - 1] + "…"]
