"""The rows of a query in the forms that people and programs ask for."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from omnigraph.base.plain_text import printable
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.cli.output import Grid, Text, TextColumn
from omnigraph.documents.answer_files import cell_text, csv_lines, json_document_lines, json_lines

if TYPE_CHECKING:
    from omnigraph.documents.answers import Answer
    from omnigraph.query.plan.explain import ExplainedStep, Explanation

Format = Literal["table", "json", "jsonl", "csv", "kv"]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStyle:
    """How wide a cell may be, and whether longer ones go on in the next line instead of being cut."""

    width_max: int = 80
    is_wrapped: bool = False


def _heading(answer: "Answer") -> str:
    origin = f"branch {answer.branch}" if answer.snapshot is None else f"snapshot {answer.snapshot}"
    return f"{counted(len(answer.result), 'row')} from {origin} via {answer.result.query_name}"


def answer_lines(answer: "Answer", form: Format, style: TableStyle) -> Iterator[str]:
    """Spell a result in one of the forms that are lines."""
    match form:
        case "jsonl":
            return json_lines(answer)
        case "csv":
            return csv_lines(answer)
        case "kv":
            return _kv_lines(answer)
        case "json":
            return json_document_lines(answer)
        case "table":
            return _table_lines(answer, style)


def explanation_text(explanation: "Explanation") -> Text:
    """Show the steps of a plan as a table; one that was not run has no rows and no times."""
    was_run = explanation.seconds is not None
    columns: tuple[TextColumn, ...] = (TextColumn(title="step"), TextColumn(title="estimated rows", justify="right"))
    if was_run:
        columns = (*columns, TextColumn(title="rows", justify="right"), TextColumn(title="ms", justify="right"))
    grid = Grid(columns=columns, rows=tuple(_step_cells(step, was_run=was_run) for step in explanation.steps))
    way = f"way: {explanation.way.name}, because {explanation.way.reason}"
    shown: list[str | Grid] = [grid, way, *(f"read from Lance: {read}" for read in explanation.reads)]
    if explanation.seconds is None or explanation.rows is None:
        return shown
    return [*shown, f"{counted(explanation.rows, 'row')} in {explanation.seconds * 1_000:.3f} ms"]


def _step_cells(step: "ExplainedStep", *, was_run: bool) -> tuple[str, ...]:
    # A dash keeps the depth where leading blanks would be lost.
    estimate = "" if step.estimated_rows is None else f"{step.estimated_rows:,.0f}"
    cells = (f"{'- ' * step.depth}{step.text}", estimate)
    if not was_run:
        return cells
    did = step.did
    return (*cells, f"{did.rows:,}", f"{did.seconds * 1_000:.3f}") if did is not None else (*cells, "", "")


def _shown(value: object) -> str:
    """Spell a value so that it stays on its line, and tells a terminal nothing."""
    return printable("null" if value is None else cell_text(value))


def _kv_lines(answer: "Answer") -> Iterator[str]:
    yield _heading(answer)
    if not len(answer.result):
        yield "(no rows)"
    for place, row in enumerate(answer.rows(), start=1):
        if place > 1:
            yield ""
        yield f"row {place}"
        for name, value in zip(answer.result.columns, row, strict=True):
            yield f"{name}: {_shown(value)}"


def _table_lines(answer: "Answer", style: TableStyle) -> Iterator[str]:
    yield _heading(answer)
    if not len(answer.result):
        yield "(no rows)"
        return
    titles = [[name] for name in answer.result.columns]
    rows = [[_pieces(_shown(value), style) for value in row] for row in answer.rows()]
    widths = [max(len(piece) for cells in (titles, *rows) for piece in cells[place]) for place in range(len(titles))]
    yield from _row_lines(titles, widths)
    yield "-+-".join("-" * width for width in widths)
    for row in rows:
        yield from _row_lines(row, widths)


def _row_lines(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    for line in range(max(map(len, cells))):
        parts = (cell[line] if line < len(cell) else "" for cell in cells)
        yield " | ".join(part.ljust(width) for part, width in zip(parts, widths, strict=True))


def _pieces(text: str, style: TableStyle) -> list[str]:
    width = style.width_max
    if len(text) <= width:
        return [text]
    if style.is_wrapped:
        return [text[start : start + width] for start in range(0, len(text), width)]
    return [text[: width - 1] + "…"]
