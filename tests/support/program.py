"""Running the program as a user would: in this process for most cases, as a real process where that is the point."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

SCHEMA = """\
// Artists and what they made.
node Artist {
  name: String @key
  born: I32?
}

node Artwork {
  title: String @key
}

edge CreatedBy: Artwork -> Artist
"""
SEED = """\
{"type": "Artist", "data": {"name": "Ines", "born": 1907}}
{"type": "Artist", "data": {"name": "Rémy"}}
{"type": "Artwork", "data": {"title": "Still Life"}}
{"edge": "CreatedBy", "from": "Still Life", "to": "Ines"}
"""
QUERIES = """\
query by_artist($name: String) {
    match {
        $w: Artwork
        $w createdBy $a
        $a: Artist { name: $name }
    }
    return { $w.title, $a.born }
    order { $w.title }
}
"""
POLICY = """\
version: 1
kind: graph
groups:
  keepers: [act-ines, act-omar]
  interns: [act-lee]
protected_branches: [main]
rules:
  - id: keepers-read
    allow:
      actors: { group: keepers }
      actions: [read, export]
      branch_scope: any
  - id: interns-write-side-branches
    allow:
      actors: { group: interns }
      actions: [read, change]
      branch_scope: unprotected
  - id: keepers-merge
    allow:
      actors: { group: keepers }
      actions: [branch_create, branch_merge, schema_apply]
      target_branch_scope: any
  - id: keepers-invoke
    allow:
      actors: { group: keepers }
      actions: [invoke_query]
"""
POLICY_TESTS = """\
version: 1
cases:
  - { id: lee-writes-side, actor: act-lee, action: change, branch: draft, expect: allow }
  - { id: lee-not-on-main, actor: act-lee, action: change, branch: main, expect: deny }
  - { id: ines-merges, actor: act-ines, action: branch_merge, branch: draft, target_branch: main, expect: allow }
"""
MORE = '{"type": "Artist", "data": {"name": "Zoe"}}\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self):
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory and an operator without configuration."""
    for name in list(os.environ):
        if name.startswith(("OMNIGRAPH_", "SPARK_", "_OMNIGRAPH")) or name == "NO_COLOR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    directory = tmp_path / "work"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], workplace: Path) -> Run:
    """Run a command line in this process."""
    from omnigraph.cli.main import main

    def run_line(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(arguments)
        out, err = capsys.readouterr()
        return Ran(code=code, out=out, err=err)

    return run_line


@pytest.fixture(scope="session")
def program() -> str:
    """The installed script."""
    return str(Path(sys.executable).with_name("omnigraph"))


@pytest.fixture
def run_process(program: str, workplace: Path) -> Run:
    """Run a command line as a process of its own."""

    def run_line(*arguments: str, stdin: str | None = None) -> Ran:
        done = subprocess.run(
            [program, *arguments], input=stdin, capture_output=True, encoding="utf-8", timeout=120, check=False
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr)

    return run_line


@pytest.fixture
def configure(tmp_path: Path) -> Callable[[str], Path]:
    """Write the operator config."""

    def write(text: str) -> Path:
        path = tmp_path / "home" / "config.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def seed_files(workplace: Path) -> Path:
    """The files of the first hour: `art.pg`, `art.gq`, `seed.jsonl` and `more.jsonl`, and a policy with its tests."""
    workplace.joinpath("art.pg").write_text(SCHEMA, encoding="utf-8")
    workplace.joinpath("art.gq").write_text(QUERIES, encoding="utf-8")
    workplace.joinpath("art.policy.yaml").write_text(POLICY, encoding="utf-8")
    workplace.joinpath("art.policy-tests.yaml").write_text(POLICY_TESTS, encoding="utf-8")
    workplace.joinpath("seed.jsonl").write_text(SEED, encoding="utf-8")
    workplace.joinpath("more.jsonl").write_text(MORE, encoding="utf-8")
    return workplace


def make_art(directory: Path) -> None:
    """Make `art.omni`, a graph with two artists, one artwork and one edge, at graph version 2."""
    import omnigraph

    graph = omnigraph.init(str(directory / "art.omni"), SCHEMA)
    graph.load(io.BytesIO(SEED.encode()), mode="merge")


@pytest.fixture
def art(seed_files: Path) -> str:
    """A graph to write to, in the working directory."""
    make_art(seed_files)
    return "art.omni"


@pytest.fixture(scope="session")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with one graph for all tests that only read."""
    directory = tmp_path_factory.mktemp("gallery")
    make_art(directory)
    return directory


@pytest.fixture
def shown_art(gallery: Path, seed_files: Path) -> str:
    """The same graph to read from, reached from the working directory."""
    seed_files.joinpath("art.omni").symlink_to(gallery / "art.omni")
    return "art.omni"
