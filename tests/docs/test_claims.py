"""What the pages say that OmniGraph lacks, it lacks: such claims outlive the day on which the thing arrives."""

import re
from pathlib import Path

import pytest

from docs.pages import DOCS, OPERATIONS, ROOT, language_pages, name_of, user_pages
from omnigraph.verbs.table import VERBS

# One page says what is missing, command by command; any other page that does so will be forgotten.
MISSING = re.compile(
    r"[^.\n]*(?:"
    r"\bin this version\b"
    r"|\bthis version (?:has no|builds no|does not|cannot|lacks)\b"
    r"|\bnot (?:yet )?(?:supported|implemented|available) (?:yet|so far|in)\b"
    r")[^.\n]*",
    re.IGNORECASE,
)
COMMANDS = {words for row in VERBS for words in (row.words, row.group) if words}


def not_yet() -> str:
    return (DOCS / "README.md").read_text(encoding="utf-8").partition("## Not yet\n")[2].partition("\n## ")[0]


def name_of_any(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [ROOT / "README.md", *user_pages(), *language_pages()], ids=name_of_any)
def test_no_page_claims_by_itself_that_something_is_missing(page: Path):
    assert MISSING.findall(page.read_text(encoding="utf-8")) == []


def test_what_is_listed_as_missing_is_missing():
    listed = set(re.findall(r"`([a-z -]+)`", not_yet()))

    assert not_yet().strip(), "the list of what is missing is empty"
    assert listed & COMMANDS == set()


def test_the_page_about_spark_names_every_command_that_can_run_on_it():
    (sentence,) = re.findall(r"^- (.*) can run on Spark;", (OPERATIONS / "spark.md").read_text(), re.MULTILINE)

    named = set(re.findall(r"`([a-z -]+)`", sentence))

    assert named == {row.words for row in VERBS if row.is_bulk}


def test_the_readme_links_every_guide():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = [name_of(page) for page in user_pages() if page.parent != DOCS]

    assert [page for page in pages if f"(docs/{page})" not in text] == []
