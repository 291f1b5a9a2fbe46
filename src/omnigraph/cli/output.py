"""The result of a command on stdout: a JSON document for programs, text for people.

Both implementations take the same result object and a function each, so that they show the same facts. Text is a
sequence of lines and grids; a grid is drawn as a table on a terminal, and everywhere else written as aligned columns
under their titles, or as lines where those say what each value is.
"""

import errno
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol, TypeVar

from omnigraph.base.values import Json, dataclass

_NOTHING = "-"
_PADDED_MAX = 60
"""Cells that are longer are sentences, for which nothing else is moved out of sight."""
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    """One column of a grid."""

    title: str
    justify: Literal["left", "right"] = "left"
    is_whole: bool = False
    """Whether its cells are never broken over lines: ids and times, which people copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Rows that deserve a table; `plain` says the same in lines that need no titles, for pipes and files."""

    columns: tuple[TextColumn, ...]
    rows: tuple[tuple[str, ...], ...]
    plain: tuple[str, ...] | None = None

    def lines(self) -> Iterator[str]:
        """Return what pipes and files get: `plain`, or the titles and then one line per row, none of it broken.

        An empty cell is a dash, so that every line has as many words as columns unless a cell has several.
        """
        if self.plain is not None:
            yield from self.plain
            return
        table = [tuple(column.title or _NOTHING for column in self.columns), *self.rows]
        spelled = [tuple(cell or _NOTHING for cell in row) for row in table]
        widths = [min(max(len(row[place]) for row in spelled), _PADDED_MAX) for place in range(len(self.columns))]
        for row in spelled:
            padded = (
                cell.rjust(width) if column.justify == "right" else cell.ljust(width)
                for cell, width, column in zip(row, widths, self.columns, strict=True)
            )
            yield "  ".join(padded).rstrip()


Text = Sequence[str | Grid]


class StdoutFailed(Exception):
    """stdout did not take the result: it is closed, its reader has gone, or what it writes to is full.

    No `OSError`: code that expects those of its own files must not take this for one of them.
    """

    def __init__(self, cause: OSError) -> None:
        super().__init__(cause.strerror or str(cause))
        self.is_pipe = cause.errno == errno.EPIPE
        """Whether a reader has had enough, which is how `| head` ends and needs no words."""
        self.is_closed = cause.errno in {errno.EPIPE, errno.EBADF}
        """Whether nobody listens, in contrast to somebody who lost what was said."""


@contextmanager
def writing_to_stdout() -> Iterator[None]:
    """Write a result, all of it: only what was flushed has been said."""
    try:
        yield
        sys.stdout.flush()
    except OSError as cause:
        raise StdoutFailed(cause) from cause


class Output(Protocol):
    """Where a command hands its result; `has_result` tells a later failure that stdout is taken."""

    has_result: bool

    def show(self, result: ResultT, *, document: Callable[[ResultT], Json], text: Callable[[ResultT], Text]) -> None:
        """Print the result in this output's form."""


class JsonOutput:
    """One pretty-printed document."""

    def __init__(self) -> None:
        self.has_result = False

    def show(self, result: ResultT, *, document: Callable[[ResultT], Json], text: Callable[[ResultT], Text]) -> None:
        """Print `document(result)`; people's text is not made at all."""
        del text
        write_json(document(result))
        self.has_result = True


class ConsoleOutput:
    """Lines and tables for people, plain unless stdout is a terminal."""

    def __init__(self, *, has_color: bool) -> None:
        self.has_result = False
        self._has_color = has_color

    def show(self, result: ResultT, *, document: Callable[[ResultT], Json], text: Callable[[ResultT], Text]) -> None:
        """Print `text(result)`; the document is not made at all."""
        del document
        blocks = list(text(result))
        with writing_to_stdout():
            for block in blocks:
                if isinstance(block, str):
                    sys.stdout.write(f"{block}\n")
                elif sys.stdout.isatty():
                    self._draw(block)
                else:
                    sys.stdout.writelines(f"{line}\n" for line in block.lines())
        self.has_result = True

    def _draw(self, grid: Grid) -> None:
        from rich import box
        from rich.console import Console
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for column in grid.columns:
            table.add_column(column.title, justify=column.justify, overflow="fold", no_wrap=column.is_whole)
        for row in grid.rows:
            table.add_row(*row)
        # Cells are data: brackets in a name are not markup, and numbers need no highlighting.
        console = Console(file=sys.stdout, markup=False, highlight=False, no_color=not self._has_color)
        if console.width < _width_needed(grid):
            # Squeezed further, the table would cut ids in two; the terminal wraps plain lines in a way that copies.
            sys.stdout.writelines(f"{line}\n" for line in grid.lines())
            return
        console.print(table)


_CELL_MIN = 8
_GAP = 3


def _width_needed(grid: Grid) -> int:
    """Return the width below which a table cannot be drawn without breaking what is to stay whole."""
    cells = [[column.title, *(row[place] for row in grid.rows)] for place, column in enumerate(grid.columns)]
    widths = [max(map(len, column)) for column in cells]
    return sum(
        (width if column.is_whole else min(width, _CELL_MIN)) + _GAP
        for width, column in zip(widths, grid.columns, strict=True)
    )


def write_json(document: Json) -> None:
    """Write one document to stdout, two spaces of indentation, UTF-8 as it is, one newline at the end."""
    spelled = json.dumps(document, indent=2, ensure_ascii=False)
    with writing_to_stdout():
        sys.stdout.write(f"{spelled}\n")
