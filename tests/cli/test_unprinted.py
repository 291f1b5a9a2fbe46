"""A commit that happened is never reported as failed: stdout that is full or closed has an exit code of its own."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import lance
import pytest

import omnigraph

DONE_NOT_PRINTED = 9
EMBED_SCHEMA = "node Doc { slug: String @key  title: String  vec: Vector(4) @embed(title) }\n"
WIDER = """\
node Artist { name: String @key  born: I32?  died: I32? }
node Artwork { title: String @key }
edge CreatedBy: Artwork -> Artist
"""


def graph(directory: Path) -> omnigraph.Graph:
    return omnigraph.open(str(directory / "art.omni"))


def with_branch(directory: Path) -> None:
    made = graph(directory)
    made.branches.create("review")
    made.load(str(directory / "more.jsonl"), mode="merge", branch="review")


def with_drift(directory: Path) -> None:
    pin = next(pin for pin in graph(directory).snapshot().tables if pin.type_name == "Artist")
    lance.dataset(str(directory / "art.omni" / pin.location)).optimize.compact_files()
    lance.dataset(str(directory / "art.omni" / pin.location)).delete("name = 'Ines'")


def with_fragments(directory: Path) -> None:
    for name in ("A", "B", "C"):
        with graph(directory).write() as batch:
            batch.insert("Artist", [{"name": name}])


def with_texts(directory: Path) -> None:
    made = omnigraph.init(str(directory / "docs.omni"), EMBED_SCHEMA)
    with made.write() as batch:
        batch.insert("Doc", [{"slug": "a", "title": "Still Life"}])


def with_schema(directory: Path) -> None:
    directory.joinpath("wider.pg").write_text(WIDER, encoding="utf-8")


def as_it_is(directory: Path) -> None:
    del directory


COMMITTING = {
    "load": (as_it_is, "load art.omni --data more.jsonl --mode merge"),
    "load on a new branch": (as_it_is, "load art.omni --data more.jsonl --mode merge --branch new --from main"),
    "schema apply": (with_schema, "schema apply art.omni --schema wider.pg"),
    "branch merge": (with_branch, "branch merge --store art.omni review"),
    "embed": (with_texts, "embed docs.omni"),
    "optimize": (with_fragments, "optimize art.omni"),
    "repair": (with_drift, "repair art.omni --force --confirm"),
    "repair --discard": (with_drift, "repair art.omni --discard --confirm"),
    "init": (as_it_is, "init --schema art.pg new.omni"),
}
LEAVING_NO_COMMIT = {
    "branch create": (as_it_is, "branch create --store art.omni new", "the new branch new"),
    "branch delete": (with_branch, "branch delete --store art.omni review", "the deletion of branch review"),
    "cleanup": (with_fragments, "cleanup art.omni --keep 1 --confirm", "the removal"),
}
UNPRINTABLE = {"full": "> /dev/full", "closed": ">&-", "gone": "| { exec <&-; }"}


def run_shell(program: str, line: str, where: str) -> subprocess.CompletedProcess[str]:
    """Run a line with its stdout gone; the code is the program's, also in front of a reader that has left."""
    is_piped = where.startswith("|")
    run = f'"{program}" {line} {"" if is_piped else where}; echo "code=$?" >&2'
    return subprocess.run(
        ["sh", "-c", f"{{ {run}; }} {where}" if is_piped else run],
        capture_output=True,
        text=True,
        env={**os.environ, "OMNIGRAPH_EMBEDDINGS_MOCK": "1"},
        timeout=120,
        check=False,
    )


def code_of(done: subprocess.CompletedProcess[str]) -> int:
    return int(re.search(r"code=(\d+)", done.stderr)[1])


def newest_commits(directory: Path) -> set[str]:
    found = set()
    for path in directory.glob("*.omni"):
        made = omnigraph.open(str(path), read_only=True)
        found |= {commit.graph_commit_id for branch in made.branches.list() for commit in made.commits(branch.name)}
    return found


@pytest.mark.parametrize("form", ["", "--json"])
@pytest.mark.parametrize("where", UNPRINTABLE)
@pytest.mark.parametrize("name", ["load"])
def test_a_load_says_in_every_form_that_it_happened(name, where, form, program, art, seed_files):
    expect_done(program, seed_files, *COMMITTING[name], UNPRINTABLE[where], form)


@pytest.mark.parametrize("name", [name for name in COMMITTING if name != "load"])
def test_every_command_that_commits_says_so_when_stdout_is_full(name, program, art, seed_files):
    expect_done(program, seed_files, *COMMITTING[name], UNPRINTABLE["full"], "--json")


def expect_done(
    program: str, directory: Path, prepare: Callable[[Path], None], line: str, where: str, form: str
) -> None:
    prepare(directory)
    before = newest_commits(directory)

    done = run_shell(program, f"{line} {form}", where)

    made = newest_commits(directory) - before
    assert code_of(done) == DONE_NOT_PRINTED, done.stderr
    assert "Traceback" not in done.stderr
    assert len(made) == 1
    assert "the work is done" in done.stderr
    assert made.pop() in done.stderr


@pytest.mark.parametrize("name", LEAVING_NO_COMMIT)
def test_what_leaves_no_commit_is_named_too(name, program, art, seed_files):
    prepare, line, named = LEAVING_NO_COMMIT[name]
    prepare(seed_files)

    done = run_shell(program, line, UNPRINTABLE["full"])

    assert code_of(done) == DONE_NOT_PRINTED, done.stderr
    assert named in done.stderr


@pytest.mark.parametrize(
    ("where", "code", "says"),
    [
        ("> /dev/full", 1, "error: the result could not be printed: No space left on device. Nothing was changed."),
        (">&-", 141, "error: the result could not be printed: standard output is closed. Nothing was changed."),
    ],
)
@pytest.mark.parametrize("line", ["snapshot art.omni --json", "snapshot art.omni", "cleanup art.omni --quiet"])
def test_what_changes_nothing_keeps_its_codes(line, where, code, says, program, shown_art):
    done = run_shell(program, line, where)

    assert code_of(done) == code
    assert done.stderr == f"{says}\n".lstrip() + f"code={code}\n"


def test_a_failure_keeps_its_code_when_its_document_cannot_be_printed(program, workplace):
    done = run_shell(program, "snapshot --json", "> /dev/full")

    assert code_of(done) == 2
    assert "no graph addressed" in done.stderr


def test_a_full_stderr_stops_nothing(program, art, seed_files):
    done = subprocess.run(
        ["sh", "-c", f'"{program}" load art.omni --data more.jsonl --mode merge --progress 2> /dev/full'],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0
    assert "loaded art.omni" in done.stdout
