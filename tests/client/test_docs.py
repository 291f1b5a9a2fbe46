"""The page about servers is true: its commands and its Python run against a real one and print what it shows."""

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from support.served import TOKENS

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "remote.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8080"


def test_the_examples_run_and_print_what_the_page_shows(served):
    blocks = re.findall(r"^```py\n(.*?)^```\n\n```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == PAGE.count("```py\n") == 3
    names: dict[str, object] = {}
    for code, shown in blocks:
        runnable = code.replace(ADDRESS, served.url).replace("…", TOKENS["act-ines"])
        with redirect_stdout(StringIO()) as printed:
            exec(runnable, names)

        assert printed.getvalue() == shown


@pytest.mark.usefixtures("token")
def test_the_commands_run_as_they_are_written(run, busy, configure, workplace):
    configure(
        f"servers: {{ prod: {{ url: '{busy.url}' }} }}\nprofiles: {{ stage: {{ server: prod, default_graph: art }} }}\n"
    )
    workplace.joinpath("more.jsonl").write_text('{"type": "Artist", "data": {"name": "Zoe"}}\n')
    assert run("branch", "create", "review", "--server", "prod", "--graph", "art").code == 0
    [block] = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines():
        words = shlex.split(line.replace(ADDRESS, busy.url))

        ran = run(*words[1:])

        assert (words[0], ran.code) == ("omnigraph", 0), ran.err
