"""One set of forms in all documents: times of one kind are spelled alike, and addresses are those that were given."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import omnigraph
from omnigraph.verbs.table import VERBS, CommandClass

MICROSECONDS = {"created_at", "authored_at", "recovered_at", "started_at", "last_commit_at"}
"""When commits, branches, recoveries and operations were made."""
TEXTS = {"since", "at", "looked_at", "ended_at"}
"""When somebody took a lock, looked, or maintained."""
_TEXT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")
_LOOKS_LIKE_TEXT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")
_YEAR_2020_US = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp() * 1_000_000)
_YEAR_2100_US = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp() * 1_000_000)

LINES = {
    "init": ("init", "--schema", "art.pg", "new.omni"),
    "load": ("load", "art.omni", "--data", "more.jsonl", "--mode", "merge", "-m", "more"),
    "mutate": ("mutate", "art.omni", "-e", 'query q() { insert Artist { name: "Mia" } }', "-m", "one more"),
    "branch create": ("branch", "create", "spare", "--store", "art.omni"),
    "branch list": ("branch", "list", "art.omni"),
    "branch diff": ("branch", "diff", "main", "--store", "art.omni", "--from", "main~1"),
    "branch merge": ("branch", "merge", "review", "--store", "art.omni"),
    "branch delete": ("branch", "delete", "spare", "--store", "art.omni"),
    "commit list": ("commit", "list", "art.omni"),
    "commit show": ("commit", "show", "main", "--store", "art.omni"),
    "commit changes": ("commit", "changes", "main", "--store", "art.omni"),
    "changes poll": ("changes", "poll", "--store", "art.omni", "--start", "beginning"),
    "changes baseline": ("changes", "baseline", "--store", "art.omni", "--out", "base.jsonl"),
    "snapshot": ("snapshot", "art.omni"),
    "schema show": ("schema", "show", "art.omni"),
    "schema plan": ("schema", "plan", "art.omni", "--schema", "art.pg"),
    "schema apply": ("schema", "apply", "lone.omni", "--schema", "wider.pg"),
    "export": ("export", "art.omni", "--out", "out.jsonl"),
    "embed": ("embed", "art.omni"),
    "optimize": ("optimize", "art.omni"),
    "repair": ("repair", "art.omni"),
    "cleanup": ("cleanup", "art.omni"),
    "health": ("health", "art.omni"),
    "verify": ("verify", "art.omni"),
    "maintain": ("maintain", "art.omni"),
    "recover": ("recover", "art.omni", "--list"),
    "query": ("query", "art.omni", "-e", "match { $a: Artist } return { $a.name }"),
    "lint": ("lint", "art.omni", "--query", "art.gq"),
}
_WITHOUT_A_DOCUMENT_OF_A_GRAPH = {
    *(row.words for row in VERBS if row.command_class is CommandClass.LOCAL),
    *(row.words for row in VERBS if row.group in {"cluster", "queries"}),
    "spark-sql",  # rows as somebody asked for them
    "shell",  # the same
    "serve",  # answers over HTTP
    "graphs list",  # the same
    "mcp",  # talks to agents
    "ui",  # opens pages
    *("blob get", "blob stat"),  # no time in them
    *(row.words for row in VERBS if row.group == "policy"),  # nor in them, and no graph
}


def test_every_command_with_a_document_is_walked():
    commands = {row.words for row in VERBS} - _WITHOUT_A_DOCUMENT_OF_A_GRAPH

    assert commands - set(LINES) == set()


@pytest.fixture
def history(art, seed_files, program) -> str:
    """A graph with a branch, a recovered write and an optimized table, beside one that is alone."""
    seed_files.joinpath("wider.pg").write_text(
        seed_files.joinpath("art.pg").read_text(encoding="utf-8").replace("born: I32?", "born: I32?\n  died: I32?"),
        encoding="utf-8",
    )
    omnigraph.init("lone.omni", seed_files.joinpath("art.pg").read_text(encoding="utf-8"))
    killed = subprocess.run(
        [program, "load", art, "--data", "more.jsonl", "--mode", "merge", "--quiet"],
        env={**os.environ, "OMNIGRAPH_FAILPOINT": "write.after_effects:kill"},
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    graph = omnigraph.open(art)
    graph.branches.create("review")
    with graph.write(branch="review") as batch:
        batch.insert("Artist", [{"name": "Lou"}])
    return art


def members(document: object, path: str = "") -> Iterator[tuple[str, str, object]]:
    """Yield every scalar of a document with its path and the name of its member."""
    if isinstance(document, dict):
        for name, value in document.items():
            if isinstance(value, dict | list):
                yield from members(value, f"{path}.{name}")
            else:
                yield f"{path}.{name}", name, value
    elif isinstance(document, list):
        for value in document:
            yield from members({"[]": value} if not isinstance(value, dict | list) else value, path)


def wrong_time(name: str, value: object) -> bool:
    if value is None:
        return False
    if name in MICROSECONDS:
        return not (isinstance(value, int) and _YEAR_2020_US < value < _YEAR_2100_US)
    if name in TEXTS:
        return not (isinstance(value, str) and _TEXT.fullmatch(value))
    is_text = isinstance(value, str) and _LOOKS_LIKE_TEXT.match(value)
    is_number = isinstance(value, int) and _YEAR_2020_US < value < _YEAR_2100_US
    return bool(is_text or is_number or name.endswith("_at"))


def test_times_and_addresses_have_one_form_each(history, run):
    wrong, seen = [], set()
    for command, line in LINES.items():
        ran = run(*line, "--json", "--quiet")
        assert ran.out.startswith("{"), (command, ran.err)
        given = next(word for word in line if word.endswith(".omni"))
        for path, name, value in members(ran.document):
            seen.add(name)
            if wrong_time(name, value):
                wrong.append(f"{command}{path}: {value!r}")
            if name == "uri" and value != given:
                wrong.append(f"{command}{path}: {value!r} instead of {given!r}")

    assert wrong == []
    assert {"created_at", "authored_at", "recovered_at", "last_commit_at", "looked_at", "at", "uri"} <= seen
