"""An address that is no graph: one clear sentence about what is there, and what to do."""

from pathlib import Path

import pytest

import omnigraph
from omnigraph import errors

LOOKS = [
    ("snapshot",),
    ("health",),
    ("branch", "list"),
    ("optimize",),
    ("load", "--data", "more.jsonl", "--mode", "merge"),
]


def refused(run, line: tuple[str, ...], address: str) -> str:
    ran = run(*line, address)
    assert ran.code == (70 if line[0] == "health" else 1)
    error = next(text for text in ran.err.splitlines() if text.startswith("error: "))
    assert "defect" not in error
    return error


@pytest.mark.parametrize("line", LOOKS)
def test_a_file_is_told_from_a_graph(line, run, seed_files):
    error = refused(run, line, "seed.jsonl")

    assert "seed.jsonl is a file, and a graph is a directory" in error
    assert "`omnigraph load GRAPH --data " in error


@pytest.mark.parametrize("line", LOOKS)
def test_what_lies_below_a_file_is_blamed_on_the_file(line, run, seed_files):
    assert f"{seed_files}/seed.jsonl is a file" in refused(run, line, "seed.jsonl/art.omni")


@pytest.mark.parametrize("line", LOOKS)
def test_a_directory_that_holds_graphs_names_them(line, run, art, workplace):
    error = refused(run, line, ".")

    assert f"{workplace} is a directory that holds graphs, not one itself" in error
    assert f"{workplace}/art.omni" in error


@pytest.mark.parametrize("line", LOOKS)
def test_a_directory_without_a_graph_says_how_to_make_one(line, run, seed_files):
    Path("plain").mkdir()
    Path("plain/notes.txt").write_text("x", encoding="utf-8")

    error = refused(run, line, "plain")

    assert "plain is a directory without a graph." in error
    assert f"`omnigraph init --schema FILE {seed_files}/plain`" in error


@pytest.mark.parametrize("line", LOOKS)
@pytest.mark.parametrize("inner", ["nodes", "__manifest", "nodes/none"])
def test_the_inside_of_a_graph_names_the_graph(line, inner, run, art, workplace):
    assert f"lies inside the graph {workplace}/art.omni; address that one." in refused(run, line, f"{art}/{inner}")


def test_a_misspelled_graph_is_answered_with_its_neighbour(run, art, workplace):
    assert f"did you mean {workplace}/art.omni?" in refused(run, ("snapshot",), "atr.omni")
    assert "did you mean" not in refused(run, ("snapshot",), "elsewhere.omni")


def test_remains_of_a_graph_are_not_called_nothing(run, art):
    Path(art, "__manifest").rename(Path("taken-away"))

    error = refused(run, ("snapshot",), art)

    assert "holds parts of a graph but no __manifest. Restore that from a backup" in error


@pytest.mark.parametrize("place", ["art.omni/nodes/new.omni", "art.omni/inner", "seed.jsonl", "seed.jsonl/new.omni"])
def test_no_graph_is_made_inside_another_or_over_a_file(place, run, art):
    before = sorted(Path(art).rglob("*"))

    ran = run("init", "--schema", "art.pg", place)

    assert ran.code == 2
    assert "lies inside the graph" in ran.err or "is a file" in ran.err
    assert sorted(Path(art).rglob("*")) == before


def test_python_says_the_same(art):
    with pytest.raises(errors.GraphNotFound, match="lies inside the graph"):
        omnigraph.open(f"{art}/nodes")
