"""From lines to statements: where a query ends that goes over several lines.

A query ends where its braces are closed and it parses; `;` and an empty line end whatever there is. A command such as
`:branch` ends with its line, but `:explain` and `:analyze` go as far as their query does.
"""

from collections.abc import Iterable, Iterator
from enum import Enum, auto

from omnigraph.errors import ParseError
from omnigraph.language.query import parse_queries
from omnigraph.language.query.tokens import BAD, COMMENT, Token, read_tokens, read_tokens_and_comments

SOURCE = "<shell>"
"""What messages call a text that was typed."""
MARK = ":"
"""What commands of the shell start with; no query does."""
_TAKE_QUERIES = frozenset({"explain", "analyze"})
_GOES_ON = ("order", "limit")
_UNCLOSED = frozenset({'"', "/*"})


class Standing(Enum):
    """How far a query is."""

    OPEN = auto()
    WHOLE = auto()
    """It can be run, and an `order` or a `limit` could still follow."""
    CLOSED = auto()
    """It can be run, or no more text will make it right."""


def command_of(statement: str) -> tuple[str | None, str]:
    """Split a statement into the command it starts with, None for a bare query, and the rest."""
    text = statement.strip()
    if not text.startswith(MARK):
        return None, text
    word, argument = (*text[len(MARK) :].split(maxsplit=1), "", "")[:2]
    return word, argument


def standing_of(statement: str) -> Standing:
    """Tell whether a statement is to go on in the next line."""
    command, text = command_of(statement)
    if command is not None and command not in _TAKE_QUERIES:
        return Standing.CLOSED
    tokens = read_tokens(text)
    if _depth(tokens) > 0 or any(kind is BAD and found in _UNCLOSED for kind, found, _, _ in tokens):
        return Standing.OPEN
    try:
        queries = parse_queries(text, source=SOURCE).queries
    except ParseError as error:
        # What is missing at the end may come with the next line; any other mistake stays one.
        end = len(text[: tokens[-1][2]].encode("utf-8", "surrogatepass"))
        is_missing = any(problem["span"]["start"] >= end for problem in error.details["errors"])
        return Standing.OPEN if is_missing else Standing.CLOSED
    if not queries:
        return Standing.OPEN
    last = queries[-1]
    return Standing.WHOLE if last.is_bare and getattr(last.body, "limit", None) is None else Standing.CLOSED


def is_ended(text: str) -> bool:
    """Tell whether what was typed is to be run when somebody presses Enter behind it."""
    if not text.strip() or text.endswith("\n") or not text.rpartition("\n")[2].strip():
        return True
    reader = Statements()
    for line in text.split("\n"):
        for _ in reader.feed(line):
            pass
    return not reader.is_within


def all_statements(lines: Iterable[str]) -> Iterator[str]:
    """Yield the statements of a text, each as soon as it is known to be complete."""
    reader = Statements()
    for line in lines:
        yield from reader.feed(line)
    yield from reader.finish()


class Statements:
    """Takes lines in and gives statements out; every line is looked at once, however long the statement is."""

    def __init__(self) -> None:
        self._begin("")

    def _begin(self, text: str) -> None:
        self._text = text.lstrip()
        self._read_to = 0
        """Up to where the text is known: its end, or where a string or comment starts that has no end yet."""
        self._depth = 0
        """How many braces are open there."""
        self._standing = Standing.OPEN

    @property
    def is_within(self) -> bool:
        """Whether a statement has begun that needs another line."""
        return bool(self._text) and self._standing is Standing.OPEN

    def feed(self, line: str) -> Iterator[str]:
        """Take a line; yield what it completes. An empty line within braces is part of the query."""
        if self._standing is Standing.WHOLE and not line.lstrip().startswith(_GOES_ON):
            yield from self.finish()
        self._text += line if line.endswith("\n") else f"{line}\n"
        yield from self._taken()
        if not line.strip() and self._depth <= 0:
            yield from self.finish()
        if self._text and self._depth <= 0:
            self._standing = standing_of(self._text)
        if self._standing is Standing.CLOSED:
            yield from self.finish()

    def finish(self) -> Iterator[str]:
        """Yield what is left, whether or not it is complete."""
        text = self._text.strip()
        self._begin("")
        if not _is_nothing(text):
            yield text

    def _taken(self) -> Iterator[str]:
        """Yield all that ends before the end of the text: commands with their line, everything with its `;`."""
        while True:
            if self._read_to == 0:
                self._begin(self._text)
                command, _ = command_of(self._text)
                if command is not None and command not in _TAKE_QUERIES:
                    line, _, rest = self._text.partition("\n")
                    self._begin(rest)
                    yield line.rstrip("; \t\r")
                    continue
            end = self._read_on()
            if end is None:
                return
            text = self._text[:end].strip()
            self._begin(self._text[end + 1 :])
            if not _is_nothing(text):
                yield text

    def _read_on(self) -> int | None:
        """Count the braces of what was not read yet; return where a `;` ends the statement."""
        new = self._text[self._read_to :]
        for kind, found, start, _ in read_tokens(new):
            if kind == "{":
                self._depth += 1
            elif kind == "}":
                self._depth -= 1
            elif kind is BAD and found == ";":
                return self._read_to + start
            elif kind is BAD and found in _UNCLOSED:
                self._read_to += start
                return None
        self._read_to = len(self._text)
        return None


def _is_nothing(text: str) -> bool:
    """Tell whether a text is blank but for comments; a comment that does not end is a mistake to be shown."""
    return all(kind is COMMENT for kind, *_ in read_tokens_and_comments(text)[:-1])


def _depth(tokens: Iterable[Token]) -> int:
    kinds = [token[0] for token in tokens]
    return kinds.count("{") - kinds.count("}")
