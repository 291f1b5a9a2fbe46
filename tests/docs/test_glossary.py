"""One meaning per word: the glossary is short, and a class name stands for one thing."""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORDS_MAX = 40
LANGUAGES_APART = {"LiteralSyntax"}
"""Schemas and queries each have a syntax tree of their own."""


def test_the_glossary_is_short_and_explains_each_word_once() -> None:
    page = (ROOT / "docs" / "design" / "glossary.md").read_text()
    words = re.findall(r"^\| \*\*([a-z ]+)\*\* \|", page, re.MULTILINE)

    assert 0 < len(words) <= WORDS_MAX
    assert len(set(words)) == len(words)


def test_no_two_public_classes_share_a_name() -> None:
    homes = defaultdict(list)
    for module in sorted((ROOT / "src" / "omnigraph").rglob("*.py")):
        for name in re.findall(r"^class ([A-Z]\w*)", module.read_text(), re.MULTILINE):
            homes[name].append(str(module.relative_to(ROOT)))

    assert {name: found for name, found in homes.items() if len(found) > 1 and name not in LANGUAGES_APART} == {}


def test_no_two_modules_of_a_package_are_told_apart_by_an_ending_only() -> None:
    """A reader who looks for `plan` must not have to guess between it and `planner`."""
    pairs = []
    for folder in [path for path in (ROOT / "src" / "omnigraph").rglob("*") if path.is_dir()]:
        names = {path.stem for path in folder.glob("*.py")}
        pairs += [
            f"{folder.name}/{name} and {name}{ending}"
            for name in names
            for ending in ("er", "ner", "ing", "ning", "s")
            if f"{name}{ending}" in names or (name.endswith("e") and f"{name[:-1]}{ending}" in names)
        ]

    assert pairs == []
