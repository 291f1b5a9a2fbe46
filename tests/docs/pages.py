"""The pages of the documentation, as text and as fenced blocks.

The language of a fence says what a block is for:

- `console`: commands after `$ `, each followed by what it prints; they run
- `python`: runs; what it prints stands in the `output` block that follows, and a block without one prints nothing
- `gq`: a query on a page of the language, with its `--param` behind the word; what it prints stands in the `output`
  block that follows (`test_language.py`)
- any language and a file name, as in `json crew.jsonl`: the file that the reader is told to save
- everything else is only read

A page is followed from top to bottom by one reader, in one directory.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDE = DOCS / "guide"
LANGUAGE = GUIDE / "language"
OPERATIONS = DOCS / "operations"

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block; `place` is its page and line, for messages."""

    language: str
    file_name: str | None
    text: str
    place: str


def user_pages() -> list[Path]:
    """The pages for those who use and operate OmniGraph."""
    return [DOCS / "README.md", *sorted(GUIDE.glob("*.md")), *sorted(OPERATIONS.glob("*.md"))]


def language_pages() -> list[Path]:
    """The pages of the query language, clause by clause, which one page lists and one graph serves."""
    return sorted(LANGUAGE.glob("*.md"))


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    blocks = []
    for fence in _FENCE.finditer(text):
        language, _, file_name = fence["info"].partition(" ")
        line = text.count("\n", 0, fence.start()) + 1
        blocks.append(
            Block(
                language=language,
                file_name=file_name or None,
                text=fence["text"],
                place=f"{page.relative_to(ROOT)}:{line}",
            )
        )
    return blocks


def name_of(page: Path) -> str:
    """A page as tests and links call it."""
    return str(page.relative_to(DOCS))
