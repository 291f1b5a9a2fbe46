"""Where the lines of a formatted source break: four spaces, one item per line, comments where they were.

Tokens and comments go through unchanged and in order; only blanks between them, and commas between items, are this
module's. What it needs to know of a language comes in as a `Layout`: which tokens begin an item of a block, and what
kind of block that is. A block that may stand on one line does so when it fits and holds no comment.
"""

from dataclasses import field
from enum import Enum
from typing import Final

from omnigraph.base.values import dataclass

Token = tuple[str, str, int, int]
"""Kind, text, start and end; a sign is its own kind, a comment has the kind `comment`."""

COMMENT: Final = "comment"
WIDTH_MAX: Final = 100
_INDENT: Final = 4
_OPEN, _CLOSE = "{", "}"


class BlockStyle(Enum):
    """How the items of a block stand."""

    DECLARATIONS = "one per line, an empty line between them"
    LINES = "one per line"
    CLAUSES = "one line if it is a single one and fits"
    LIST = "one line if it fits, commas between the items"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the engine must know of one source."""

    text: str
    tokens: list[Token]
    """With comments, without the end."""
    styles: dict[int, BlockStyle]
    """Where items begin, and in which kind of block."""
    tight: frozenset[int]
    """Where tokens begin that have no blank before them."""
    breaks: frozenset[int] = frozenset()
    """Where a header may be broken that is too long for a line."""


@dataclass(slots=True, kw_only=True)
class _Block:
    """Braces and what stands between them; the outermost one has no braces."""

    style: BlockStyle = BlockStyle.LINES
    entries: "list[_Entry]" = field(default_factory=list)
    comments: list[Token] = field(default_factory=list)
    """Those right behind the brace that opens."""


@dataclass(slots=True, kw_only=True)
class _Entry:
    """One item of a block, or a comment on a line of its own."""

    has_blank_before: bool
    parts: "list[Token | _Block]" = field(default_factory=list)
    comments: list[Token] = field(default_factory=list)
    """Those behind it on its last line."""
    is_comment: bool = False


def lay_out(layout: Layout) -> str:
    """Return the text of a source in its canonical layout; it ends with one line feed, or is empty."""
    reader = _Reader(layout)
    page = _Page(layout)
    page.entries(reader.outermost(), indent=0)
    return page.text()


class _Reader:
    """From tokens to nested blocks."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._tokens = layout.tokens
        self._at = 0
        self._next: list[Token | None] = [None] * (len(self._tokens) + 1)
        """For every place the first token from there on that is no comment."""
        for at in range(len(self._tokens) - 1, -1, -1):
            token = self._tokens[at]
            self._next[at] = self._next[at + 1] if token[0] == COMMENT else token

    def outermost(self) -> _Block:
        block = _Block()
        while self._at < len(self._tokens):
            self._entries(block)
            # Braces are balanced in a source that parses.
            self._at += 1
        return block

    def _entries(self, block: _Block) -> None:
        """Read up to the brace that closes the block; the cursor stays on it."""
        depth = 0
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            kind, _, start, _ = token
            if kind == _CLOSE and depth == 0:
                return
            if kind == COMMENT:
                self._comment(block, token, depth)
            elif kind == "," and depth == 0 and block.style is BlockStyle.LIST:
                pass  # written again where it belongs
            else:
                if start in self._layout.styles and depth == 0:
                    block.style = self._layout.styles[start]
                    block.entries.append(_Entry(has_blank_before=self._has_blank_before()))
                parts = block.entries[-1].parts
                if kind == _OPEN and self._is_block():
                    self._at += 1
                    inner = _Block()
                    self._entries(inner)
                    parts.append(inner)
                else:
                    depth += (kind in "([{") - (kind in ")]}") if len(kind) == 1 else 0
                    parts.append(token)
            self._at += 1

    def _is_block(self) -> bool:
        following = self._next[self._at + 1]
        return following is not None and (following[0] == _CLOSE or following[2] in self._layout.styles)

    def _comment(self, block: _Block, comment: Token, depth: int) -> None:
        """Put a comment where it belongs: into its item, behind it, behind the brace, or on a line of its own."""
        following = self._next[self._at + 1]
        ends_item = depth == 0 and (
            following is None
            or following[0] == _CLOSE
            or following[2] in self._layout.styles
            or (following[0] == "," and block.style is BlockStyle.LIST)
        )
        before = self._tokens[self._at - 1][3] if self._at else 0
        is_own_line = self._at == 0 or "\n" in self._layout.text[before : comment[2]]
        if not block.entries and not is_own_line:
            block.comments.append(comment)
        elif not ends_item:
            block.entries[-1].parts.append(comment)
        elif is_own_line or _ends_line(block.entries[-1]):
            block.entries.append(_Entry(has_blank_before=self._has_blank_before(), parts=[comment], is_comment=True))
        else:
            block.entries[-1].comments.append(comment)

    def _has_blank_before(self) -> bool:
        before = self._tokens[self._at - 1][3] if self._at else 0
        return self._layout.text[before : self._tokens[self._at][2]].count("\n") > 1


def _ends_line(entry: _Entry) -> bool:
    """Tell whether nothing can stand behind an entry on its line."""
    last = entry.comments[-1] if entry.comments else entry.parts[-1] if entry.is_comment else None
    return not isinstance(last, _Block) and last is not None and last[1].startswith("//")


class _Page:
    """The lines written so far."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._lines: list[str] = []
        self._line = ""
        self._must_break = False
        """Whether a `//` comment is on the line, behind which nothing can stand."""

    def text(self) -> str:
        self._end_line()
        return "".join(f"{line}\n" for line in self._lines)

    def entries(self, block: _Block, *, indent: int) -> None:
        is_first = True
        last_item = next((entry for entry in reversed(block.entries) if not entry.is_comment), None)
        before: _Entry | None = None
        for entry in block.entries:
            self._end_line()
            if not is_first and self._has_blank(entry, before, block):
                self._lines.append("")
            self._line = " " * indent
            self._entry(entry, indent)
            if block.style is BlockStyle.LIST and not entry.is_comment and entry is not last_item:
                self._line += ","
            self._comments(entry.comments)
            is_first, before = False, entry

    def _has_blank(self, entry: _Entry, before: _Entry | None, block: _Block) -> bool:
        if entry.has_blank_before or block.style is not BlockStyle.DECLARATIONS:
            return entry.has_blank_before
        # A comment right above a declaration is about it.
        return before is not None and not before.is_comment

    def _entry(self, entry: _Entry, indent: int) -> None:
        breaks_header = self._breaks_header(entry)
        for place, part in enumerate(entry.parts):
            if isinstance(part, _Block):
                self._block(part, entry.parts[place + 1 :], indent, own_line=breaks_header and place > 0)
                continue
            if breaks_header and part[2] in self._layout.breaks:
                self._break(indent + _INDENT)
            self._token(part, indent)

    def _breaks_header(self, entry: _Entry) -> bool:
        has_breaks = any(not isinstance(part, _Block) and part[2] in self._layout.breaks for part in entry.parts)
        if not has_breaks:
            return False
        header = self._flat(entry.parts)
        return header is None or len(self._line) + len(header) > WIDTH_MAX

    def _token(self, token: Token, indent: int) -> None:
        kind, text, start, _ = token
        if kind == COMMENT:
            self._comments([token])
            if self._must_break:
                self._break(indent + _INDENT)
            return
        if start not in self._layout.tight and self._line.strip() and not self._line.endswith(" "):
            self._line += " "
        self._line += text

    def _block(self, block: _Block, rest: "list[Token | _Block]", indent: int, *, own_line: bool) -> None:
        flat = self._flat([block, *rest])
        if own_line:
            self._break(indent)
        elif self._line.strip() and not self._line.endswith(" "):
            self._line += " "
        if not block.entries and not block.comments:
            self._line += "{}"
            return
        style = block.style
        if (
            style in {BlockStyle.CLAUSES, BlockStyle.LIST}
            and flat is not None
            and len(self._line) + len(flat) <= WIDTH_MAX
        ):
            self._line += self._flat([block]) or ""
            return
        self._line += _OPEN
        self._comments(block.comments)
        self.entries(block, indent=indent + _INDENT)
        self._break(indent)
        self._line += _CLOSE

    def _flat(self, parts: "list[Token | _Block]") -> str | None:
        """Return parts on one line, up to the first block that never is; None where that cannot be."""
        text = ""
        for part in parts:
            if isinstance(part, _Block):
                if part.style in {BlockStyle.LINES, BlockStyle.DECLARATIONS} and part.entries:
                    return text + " {"
                inner = self._flat_block(part)
                if inner is None:
                    return None
                text += (" " if text else "") + inner
                continue
            kind, written, start, _ = part
            if kind == COMMENT or "\n" in written:
                return None
            text += ("" if not text or start in self._layout.tight else " ") + written
        return text

    def _flat_block(self, block: _Block) -> str | None:
        if block.comments:
            return None
        if not block.entries:
            return "{}"
        if block.style is BlockStyle.CLAUSES and len(block.entries) > 1:
            return None
        items = []
        for entry in block.entries:
            if entry.is_comment or entry.comments:
                return None
            flat = self._flat(entry.parts)
            if flat is None:
                return None
            items.append(flat)
        return f"{{ {(', ' if block.style is BlockStyle.LIST else ' ').join(items)} }}"

    def _comments(self, comments: list[Token]) -> None:
        for _, text, _, _ in comments:
            if self._must_break:
                self._break(len(self._line) - len(self._line.lstrip()))
            written = text.replace("\r\n", "\n").rstrip()
            self._line += written if not self._line.strip() else f"  {written}"
            self._must_break = text.startswith("//")

    def _break(self, indent: int) -> None:
        self._end_line()
        self._line = " " * indent

    def _end_line(self) -> None:
        if self._line.strip():
            self._lines.append(self._line.rstrip())
        self._line = ""
        self._must_break = False
