"""CSV as text: what Arrow's reader would read past in silence is found here, while the bytes go through to it.

Arrow takes a quote that is never closed for one cell that holds the rest of the file, glues text behind a closing
quote to the cell, and lets the last of two columns of one name win. A load refuses all of these with their line.
"""

import codecs
import re
from collections.abc import Sequence
from typing import Protocol

from omnigraph.base.units import counted, shorten
from omnigraph.base.values import dataclass
from omnigraph.records.offences import Code, Offence, Offences

_BOM = codecs.BOM_UTF8
_HEAD_BYTES = len(_BOM) + 1
_QUOTE = b'"'
_OPENING = re.compile(rb'[,\r\n]"')
_BEHIND_A_CELL = b",\r\n"


class ByteSource(Protocol):
    """Anything that gives its bytes in order."""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end."""
        ...

    def close(self) -> None:
        """Let go of what is behind it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvProblem:
    """The first thing that makes a text no CSV; `row` counts from the first row below the header."""

    code: Code
    row: int
    message: str

    def findings(self) -> Offences:
        """Return it as what a rejected load is made of."""
        finding = Offence(code=self.code, message=self.message, file_index=0, line=self.row)
        return Offences(by_code={self.code: 1}, first=(finding,), file_indexes=frozenset({0}))


class CheckedCsv:
    """The bytes of a CSV text on their way to Arrow, followed cell by cell; a file object as far as Arrow needs one."""

    def __init__(self, source: ByteSource) -> None:
        self.closed = False
        self.problem: CsvProblem | None = None
        self.head = b""
        """How the text begins."""
        self._source = source
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._in_quotes = False
        self._after_quote = False
        """Whether the last byte was a quote inside quotes: the first of two, or the closing one."""
        self._at_start = True
        """Whether the next byte begins a cell."""
        self._is_first = True
        self._line = 1
        """The line that the next byte is on."""
        self._quoted_lines = 0
        """How many of the lines before that ended inside quotes, and therefore end no row."""
        self._opened = (1, 0)
        """On which line, and behind how many such lines, the last quote opened."""

    def readable(self) -> bool:
        """Say that bytes can be had."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes as they are."""
        block = bytes(self._source.read(size))
        self.head = self.head or block[:_HEAD_BYTES]
        if self.problem is None:
            self._follow(block)
        return block

    def close(self) -> None:
        """Let go of the source."""
        self.closed = True
        self._source.close()

    def look_at_rest(self) -> CsvProblem | None:
        """Read to the end without handing anything on, and return what is wrong, if anything."""
        while self.problem is None and self.read(1 << 20):
            pass
        return self.problem

    def _follow(self, block: bytes) -> None:
        self._check_text(block)
        if self.problem is not None:
            return
        if not block:
            if self._in_quotes and not self._after_quote:
                line, row = self._place(self._opened)
                self.problem = _bad(row, f"the quote that opens on line {line} of the file is never closed")
            return
        position = len(_BOM) if self._is_first and block.startswith(_BOM) else 0
        self._is_first = False
        counted = 0  # up to where the lines of this block are in `_line`
        while position < len(block) and self.problem is None:
            if not self._in_quotes:
                position = self._to_quote(block, position)
                if self._in_quotes:
                    self._line += _line_ends(block[counted:position])
                    counted = position
                    self._opened = (self._line, self._quoted_lines)
                continue
            start, position = position, self._through_quotes(block, position)
            ended = _line_ends(block[start:position])
            self._line += ended
            self._quoted_lines += ended
            counted = position
        self._line += _line_ends(block[counted:])

    def _to_quote(self, block: bytes, position: int) -> int:
        """Go to the byte behind the next quote that opens a cell, or to the end of the block."""
        if self._at_start and block[position : position + 1] == _QUOTE:
            self._in_quotes, self._at_start = True, False
            return position + 1
        # A quote elsewhere in a cell without quotes is a character like any.
        found = _OPENING.search(block, position)
        if found is None:
            self._at_start = block[-1:] in (b",", b"\r", b"\n")
            return len(block)
        self._in_quotes, self._at_start = True, False
        return found.end()

    def _through_quotes(self, block: bytes, position: int) -> int:
        """Go behind the quote that closes the cell, or to the end of the block."""
        while True:
            if not self._after_quote:
                quote = block.find(_QUOTE, position)
                if quote < 0:
                    return len(block)
                position = quote + 1
                self._after_quote = True
            if position == len(block):
                return position
            self._after_quote = False
            if block[position : position + 1] == _QUOTE:
                position += 1
                continue
            self._in_quotes = False
            if block[position] not in _BEHIND_A_CELL:
                line, row = self._place(self._opened)
                found = shorten(block[position : position + 20].decode(errors="replace").splitlines()[0], 20)
                self.problem = _bad(
                    row,
                    f"behind the quoted cell that opens on line {line} of the file stands {found!r}; "
                    'write a quote inside a quoted cell as ""',
                )
            return position

    def _check_text(self, block: bytes) -> None:
        if block.isascii() and not self._decoder.getstate()[0] and block:
            return
        try:
            self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            before = max(error.start - (len(error.object) - len(block)), 0)
            line = self._line + _line_ends(block[:before])
            row = line - self._quoted_lines - 1
            wrong = error.object[error.start]
            self.problem = CsvProblem(
                code=Code.INVALID_UTF8, row=row, message=f"not UTF-8: byte 0x{wrong:02x} on line {line} of the file"
            )

    @staticmethod
    def _place(opened: tuple[int, int]) -> tuple[int, int]:
        line, quoted_lines = opened
        return line, line - quoted_lines - 1


def header_problem(head: bytes, names: Sequence[str]) -> CsvProblem | None:
    """Say what is wrong with a header: `head` is how the file begins, `names` what Arrow made of it."""
    if head.removeprefix(_BOM)[:1] in (b"\n", b"\r"):
        return _bad(0, "the first line is empty; it must be the header, which names the columns")
    seen: set[str] = set()
    for place, name in enumerate(names, start=1):
        if not name.strip():
            return _bad(0, f"the header has no name for column {place}")
        if name in seen:
            return _bad(0, f"the header names the column {shorten(name)!r} twice")
        seen.add(name)
    return None


def ragged(row: int, *, cells: int, columns: int) -> CsvProblem:
    """Describe a row with more or fewer cells than the header has columns."""
    return _bad(row, f"the row has {counted(cells, 'cell')}, the header {columns}")


def _bad(row: int, message: str) -> CsvProblem:
    return CsvProblem(code=Code.BAD_ENVELOPE, row=max(row, 0), message=message)


def _line_ends(text: bytes) -> int:
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")
