"""Every example on every page runs, and prints what the page shows."""

import os
import sys
from pathlib import Path

import pytest

from docs.pages import blocks_of, language_pages, name_of, user_pages
from docs.reader import reader_in

RUNNABLE = {"console", "python"}
S3_ADDRESS = "http://127.0.0.1:9000"


def pages_with_examples() -> list[Path]:
    return [
        page
        for page in [*user_pages(), *language_pages()]
        if any(block.language in RUNNABLE for block in blocks_of(page))
    ]


@pytest.fixture
def workplace(tmp_path, monkeypatch) -> Path:
    """The empty directory of somebody who has installed OmniGraph and configured nothing."""
    for name in list(os.environ):
        if name.startswith(("OMNIGRAPH_", "_OMNIGRAPH", "AWS_", "SPARK_")):
            monkeypatch.delenv(name)
    directory = tmp_path / "work"
    directory.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.chdir(directory)
    return directory


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with_examples(), ids=name_of)
def test_the_examples_of_a_page_print_what_it_shows(page, workplace, request):
    needs_s3 = S3_ADDRESS in page.read_text(encoding="utf-8")
    known = {S3_ADDRESS: request.getfixturevalue("s3_server")} if needs_s3 else {}

    with reader_in(workplace, known=known) as reader:
        ran = reader.follow(blocks_of(page))

    assert ran > 0
