"""A source text and places in it.

Trees and problems carry spans in characters, because that is what parsers count. People read lines and columns,
programs read UTF-8 bytes; both are worked out here, and only when a problem is reported.
"""

from bisect import bisect_right
from dataclasses import field
from functools import cached_property
from itertools import accumulate

from omnigraph.base.values import dataclass

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of characters of a source text; never empty, so that a caret has something to stand under."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """An identifier or enum value where it was written."""

    text: str
    span: Span = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPosition:
    """Where a span lies, for people (1-based line and column) and for programs (byte offsets in UTF-8)."""

    line: int
    column: int
    byte_start: int
    byte_end: int


@dataclass(frozen=True, kw_only=True)
class SourceText:
    """What is being parsed: the name shown to people, and the text without its byte-order mark."""

    name: str
    text: str
    has_byte_order_mark: bool = False

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines, without their line feeds."""
        return tuple(self.text.split("\n"))

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        return tuple(accumulate((len(line) + 1 for line in self.lines), initial=0))[:-1]

    @cached_property
    def _line_byte_starts(self) -> tuple[int, ...]:
        mark_bytes = _byte_length(_BYTE_ORDER_MARK) if self.has_byte_order_mark else 0
        return tuple(accumulate((_byte_length(line) + 1 for line in self.lines), initial=mark_bytes))[:-1]

    def position(self, span: Span) -> TextPosition:
        """Locate a span; one that starts at the end of the text covers one byte after the last."""
        line, offset = self._line_and_offset(span.start)
        byte_start = self._byte_offset(span.start)
        byte_end = max(self._byte_offset(span.end), byte_start + 1)
        return TextPosition(line=line + 1, column=offset + 1, byte_start=byte_start, byte_end=byte_end)

    def _line_and_offset(self, position: int) -> tuple[int, int]:
        line = bisect_right(self._line_starts, position) - 1
        return line, position - self._line_starts[line]

    def _byte_offset(self, position: int) -> int:
        line, offset = self._line_and_offset(position)
        return (
            self._line_byte_starts[line]
            + _byte_length(self.lines[line][:offset])
            + max(0, offset - len(self.lines[line]))
        )


def read_source(text: str, *, name: str) -> SourceText:
    """Take a text as it was read from a file; a leading byte-order mark counts in byte spans and nowhere else."""
    bare = text.removeprefix(_BYTE_ORDER_MARK)
    return SourceText(name=name, text=bare, has_byte_order_mark=bare is not text)


def _byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
