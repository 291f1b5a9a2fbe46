"""From text to tokens, and a cursor that walks over them.

A token is a plain tuple `(kind, text, start, end)`, because a query has many and is read while somebody waits. Words
are not told apart here: no word is reserved, and only the place of a word says what it is.
"""

import re
from collections.abc import Callable
from typing import Final, NoReturn

from omnigraph.base.nearest import nearest
from omnigraph.base.units import shorten
from omnigraph.language.problems import Problems
from omnigraph.language.source import Name, SourceText, Span

Token = tuple[str, str, int, int]

WORD: Final = "word"
VARIABLE: Final = "variable"
INTEGER: Final = "integer"
FLOAT: Final = "float"
STRING: Final = "string"
COMMENT: Final = "comment"
END: Final = "end"
BAD: Final = "bad"
_SIGN: Final = "sign"
_BLANK: Final = "blank"

NESTING_MAX: Final = 50
_FOUND_WIDTH_MAX = 40
# Every alternative can match in one way only, so that no text makes the search walk back and forth.
_TOKEN = re.compile(
    r"(?P<blank>[ \t\r\n]+)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|\$(?P<variable>[a-z_][A-Za-z0-9_]*)"
    r"|(?P<float>-?[0-9]+\.[0-9]+)"
    r"|(?P<integer>-?[0-9]+)"
    r'|(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")'
    r"|(?P<comment>//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)"
    r"|(?P<sign>[><!]=|[{}()\[\]:,.<>=@?])"
    r"|(?P<bad>/\*|\$[A-Z][A-Za-z0-9_]*|.)",
    re.DOTALL,
)
_KINDS: Final[dict[str | None, str]] = {kind: kind for kind in (WORD, INTEGER, FLOAT, STRING, BAD)}
# What is left of a string or comment whose end is missing; it swallows the rest of the text.
_UNCLOSED = {
    '"': 'the string is not closed: expected `"` before the end of the text',
    "/*": "the comment is not closed: expected `*/` before the end of the text",
}
_HINTS = {
    "#": "; comments start with `//`",
    "$": "; a variable is `$` and a name that starts with a small letter or `_`",
    "-": "; a number needs a digit right after `-`, and there is no subtraction",
    "'": '; strings stand in double quotes `"`',
}


class StoppedError(Exception):
    """The text cannot be read on from here; the problem has been noted."""


def read_tokens(text: str) -> list[Token]:
    """Cut a text into tokens without blanks and comments; the last one is its end."""
    return [token for token in read_tokens_and_comments(text) if token[0] is not COMMENT]


def read_tokens_and_comments(text: str) -> list[Token]:
    """Cut a text into tokens and comments; a sign is its own kind."""
    tokens: list[Token] = []
    end = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == _BLANK:
            continue
        found = match[0]
        start = match.start()
        if kind == COMMENT:
            tokens.append((COMMENT, found, start, match.end()))
            continue
        end = match.end()
        if kind == _SIGN:
            tokens.append((found, found, start, end))
        elif kind == VARIABLE:
            tokens.append((VARIABLE, found[1:], start, end))
        else:
            tokens.append((_KINDS[kind], found, start, end))
            if kind == BAD and found in _UNCLOSED:
                # What follows is part of it. Reading on would try every later quote against the whole rest.
                break
    # A mistake at the end is right after the last token, not after the blank lines and comments that may follow.
    tokens.append((END, "", end, end + 1))
    return tokens


class Cursor:
    """The tokens of one source text, and the place in them where the reading is."""

    def __init__(self, source: SourceText, problems: Problems) -> None:
        self.tokens = read_tokens(source.text)
        self.problems = problems
        self.at = 0
        self.kind, self.text, self.start, self.end = self.tokens[0]
        self._nesting = 0

    def advance(self) -> Token:
        """Return the token here and go on to the next one; the end of the text stays where it is."""
        token = self.tokens[self.at]
        if self.at + 1 < len(self.tokens):
            self.at += 1
            self.kind, self.text, self.start, self.end = self.tokens[self.at]
        return token

    def move_to(self, at: int) -> None:
        """Go on reading at a token further on."""
        self.at = at
        self.kind, self.text, self.start, self.end = self.tokens[at]

    def peek(self, ahead: int = 1) -> Token:
        """Return a token further on."""
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def accept(self, kind: str) -> bool:
        """Go past a token of this kind if it is here."""
        if self.kind != kind:
            return False
        self.advance()
        return True

    def expect(self, kind: str, *others: str) -> Token:
        """Return the token here, which must be of this kind; `others` could stand here too, for the message."""
        if self.kind != kind:
            self.fail(*others, _WORDS.get(kind, f"`{kind}`"))
        return self.advance()

    def is_word(self, *words: str) -> bool:
        """Tell whether one of these words is here."""
        return self.kind is WORD and self.text in words

    def expect_word(self, word: str, *others: str) -> Token:
        """Return the token here, which must be this word."""
        if self.kind is not WORD or self.text != word:
            self.fail(*others, f"`{word}`")
        return self.advance()

    def expect_name(self, what: str, fits: Callable[[str], bool] | None = None, *, hint: str = "") -> Name:
        """Return the name here; a word that does not fit is refused with the hint."""
        if self.kind is not WORD:
            self.fail(what)
        if fits is not None and not fits(self.text):
            self.fail(what, hint=hint)
        _, text, start, end = self.advance()
        return Name(text=text, span=Span(start=start, end=end))

    def span_from(self, start: int) -> Span:
        """Return the characters from `start` to the end of the last token that was read."""
        return Span(start=start, end=self.tokens[self.at - 1][3] if self.at else self.end)

    def descend(self) -> None:
        """Go one level deeper; what is nested without end is refused before Python's own stack ends."""
        self._nesting += 1
        if self._nesting > NESTING_MAX:
            self.stop(f"this is nested more than {NESTING_MAX} levels deep")

    def ascend(self) -> None:
        """Come back from a level."""
        self._nesting -= 1

    def fail(self, *expected: str, hint: str = "") -> NoReturn:
        """Note that something else was expected here, and stop."""
        words = sorted(dict.fromkeys(expected), key=lambda word: (word.startswith("`"), word))
        listed = " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
        if self.kind is END:
            self.stop(f"expected {listed}, found the end of the text")
        if self.kind is BAD and self.text in _UNCLOSED:
            self.stop(_UNCLOSED[self.text])
        found = self._found()
        self.stop(f"expected {listed}, found `{found}`{hint or self._hint(words)}")

    def stop(self, message: str) -> NoReturn:
        """Note what is wrong with the token here, and stop."""
        self.problems.add(Span(start=self.start, end=self.end), message)
        self._nesting = 0
        raise StoppedError

    def _found(self) -> str:
        written = f"${self.text}" if self.kind is VARIABLE else self.text
        return shorten(written.partition("\n")[0], _FOUND_WIDTH_MAX)

    def _hint(self, expected: list[str]) -> str:
        if self.kind is BAD:
            return _HINTS.get(self.text[:1], "")
        if self.kind is not WORD:
            return ""
        meant = nearest(self.text, [word.strip("`") for word in expected if word[1:2].isalpha() and word[0] == "`"])
        return f"; did you mean `{meant}`?" if meant is not None and meant != self.text else ""


_WORDS = {
    WORD: "a name",
    VARIABLE: "a variable",
    INTEGER: "a whole number",
    FLOAT: "a number",
    STRING: "a string",
    END: "the end of the text",
}
