"""The page about servers is true: its commands and its Python run against a real one and print what it shows."""

import json
import re
import shlex
import subprocess
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


HTTP = (Path(__file__).parents[2] / "docs" / "guide" / "http.md").read_text(encoding="utf-8")
STRICT = "set -eu; curl() { command curl --fail-with-body --show-error --noproxy '*' \"$@\"; echo; }\n"


def test_the_requests_of_the_http_page_are_answered_in_their_order(busy, workplace):
    workplace.joinpath("more.jsonl").write_text('{"type": "Artist", "data": {"name": "Kit"}}\n')
    blocks = re.findall(r"^```sh\n(.*?)^```", HTTP, re.MULTILINE | re.DOTALL)
    script = "".join(blocks).replace(ADDRESS, busy.url).replace("Bearer …", f"Bearer {TOKENS['act-ines']}")
    assert script.count("curl -s") == HTTP.count("curl -s") >= 9

    ran = subprocess.run(["bash", "-c", STRICT + script], capture_output=True, text=True, check=False, timeout=60)

    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    first, *answers = map(json.loads, ran.stdout.split("\n\n")[0].splitlines())
    [shown] = re.findall(r"^```json\n(.*?)^```", HTTP, re.MULTILINE | re.DOTALL)
    assert first | {"graph_commit_id": "…"} == json.loads(shown)
    assert all("error" not in answer for answer in answers)
    assert {json.loads(line)["data"]["name"] for line in Path("artists.jsonl").read_text().splitlines() if line} >= {
        "Ines",
        "Zoe",
        "Ada",
    }
