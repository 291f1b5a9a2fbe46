"""The public API as a type checker sees it: good programs pass under strict rules, and mistakes are found."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent
SETTINGS = """
[mypy]
strict = true
python_version = 3.11

[mypy-pyarrow.*,lance.*,duckdb.*,obstore.*,zstandard.*,lark.*]
ignore_missing_imports = true
"""


def check(programs: list[Path], directory: Path) -> list[tuple[str, int, str]]:
    """Return file, line and code of every error that a strict check of the programs finds."""
    settings = directory / "mypy.ini"
    settings.write_text(SETTINGS, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", directory / "cache", *programs],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    found = re.findall(r"^(\S+?):(\d+): error: .*\[([a-z-]+)\]$", ran.stdout, re.MULTILINE)
    assert len(found) == ran.stdout.count(": error: "), ran.stdout + ran.stderr
    return sorted((Path(path).name, int(line), code) for path, line, code in found)


def marked(programs: list[Path]) -> list[tuple[str, int, str]]:
    """Return file, line and code of every mistake that the programs announce."""
    return sorted(
        (path.name, number, mark[1])
        for path in programs
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if (mark := re.search(r"# mistake: ([a-z-]+)", line))
    )


@pytest.mark.slow
def test_a_strict_check_finds_every_marked_mistake_and_nothing_else(tmp_path: Path) -> None:
    right, wrong = (sorted((PROGRAMS / kind).glob("*.py")) for kind in ("right", "wrong"))
    assert right
    assert marked(right) == []
    assert marked(wrong)

    assert check([*right, *wrong], tmp_path) == marked(wrong)
