"""The Python of the page about servers runs, against a real one, and prints what the page shows."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from support.served import TOKENS

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "remote.md"


def test_the_examples_run_and_print_what_the_page_shows(served):
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```\n\n```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == text.count("```py\n") == 3
    names: dict[str, object] = {}
    for code, shown in blocks:
        runnable = code.replace("http://127.0.0.1:8080", served.url).replace("…", TOKENS["act-ines"])
        with redirect_stdout(StringIO()) as printed:
            exec(runnable, names)

        assert printed.getvalue() == shown
