"""What is wrong with a text: collected while it is read, then reported at once.

Somebody who fixes a schema wants the whole list, so checks add a problem and go on; `raise_if_any` ends the phase.
"""

from omnigraph.base.values import dataclass
from omnigraph.errors import ParseError
from omnigraph.language.source import SourceText, Span, TextPosition

_PROBLEMS_SHOWN_MAX = 20
_PROBLEMS_KEPT_MAX = 1_000
_EXCERPT_WIDTH_MAX = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProblem:
    """One mistake, and the characters that show it."""

    span: Span
    message: str


class Problems:
    """The mistakes found so far in one source text."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._found: list[SourceProblem] = []
        self._count = 0

    def add(self, span: Span, message: str) -> None:
        """Note a mistake; the caller goes on as well as it can."""
        self._count += 1
        # A text that is no schema at all may have a problem per letter; placing each of them would take for ever.
        if self._count <= _PROBLEMS_KEPT_MAX:
            self._found.append(SourceProblem(span=span, message=message))

    def raise_if_any(self) -> None:
        """Raise one `ParseError` that shows every mistake in the order of the text."""
        if self._found:
            found = sorted(self._found, key=lambda problem: problem.span.start)
            raise _parse_error(self._source, found, total=self._count)


def _parse_error(source: SourceText, problems: list[SourceProblem], *, total: int) -> ParseError:
    positions = [source.position(problem.span) for problem in problems]
    shown = [
        _show(source, problem, position)
        for problem, position in zip(problems[:_PROBLEMS_SHOWN_MAX], positions[:_PROBLEMS_SHOWN_MAX], strict=True)
    ]
    if total > len(shown):
        shown.append(f"… and {total - len(shown)} more")
    first = positions[0]
    return ParseError(
        "\n".join(shown),
        source=source.name,
        line=first.line,
        column=first.column,
        span=span_document(first),
        errors=[
            {
                "line": position.line,
                "column": position.column,
                "span": span_document(position),
                "message": problem.message,
            }
            for problem, position in zip(problems, positions, strict=True)
        ],
    )


def span_document(position: TextPosition) -> dict[str, int]:
    """Spell a position for programs: offsets in bytes of UTF-8."""
    return {"start": position.byte_start, "end": position.byte_end}


def _show(source: SourceText, problem: SourceProblem, position: TextPosition) -> str:
    return (
        f"{source.name}:{position.line}:{position.column}: {problem.message}\n{excerpt(source, problem.span, position)}"
    )


def excerpt(source: SourceText, span: Span, position: TextPosition) -> str:
    """Return the line of a mistake, and below it a line with carets under the mistake."""
    line = source.lines[position.line - 1].removesuffix("\r")
    offset = position.column - 1
    # A generated schema may be one endless line; a window around the mistake is enough to find it.
    window_start = max(0, offset - _EXCERPT_WIDTH_MAX // 2) if len(line) > _EXCERPT_WIDTH_MAX else 0
    window = line[window_start : window_start + _EXCERPT_WIDTH_MAX]
    before = window[: offset - window_start]
    underlined = window[len(before) : len(before) + span.end - span.start]
    # Tabs are repeated, so that the caret stands under the mistake at any tab width.
    indent = "".join("\t" if letter == "\t" else " " for letter in before)
    carets = "^" * max(1, len(underlined))
    return f"  {window}\n  {indent}{carets}"
