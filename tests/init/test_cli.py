"""`init`: what it makes, what it refuses, and paths that belong to a cluster."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("workplace")


def test_it_says_what_it_made(seed_files, run):
    assert run("init", "--schema", "art.pg", "one.omni").out == "initialized one.omni\n"
    assert run("init", "--schema", "art.pg", "--store", "two.omni", "--json").document == {
        "uri": "two.omni",
        "initialized": True,
    }


def test_ambient_scopes_are_ignored(seed_files, run, monkeypatch, configure):
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "nope")
    monkeypatch.setenv("OMNIGRAPH_STORE", "elsewhere.omni")
    configure("operator: [")

    assert run("init", "--schema", "art.pg", "g.omni").code == 0
    assert run("init", "--schema", "art.pg").code == 2
    assert not Path("elsewhere.omni").exists()


def test_an_existing_graph_is_a_conflict_and_stays(art, run):
    for force in ((), ("--force",)):
        ran = run("init", "--schema", "art.pg", art, *force, "--json")

        assert ran.code == 5
        assert ran.document["kind"] == "already_initialized"
    assert run("snapshot", art, "--json").document["manifest_version"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("g.omni",), "--schema"),
        (("--schema", "art.pg"), "--store"),
        (("--schema", "art.pg", "a.omni", "--store", "b.omni"), "mutually exclusive"),
    ],
)
def test_what_is_missing_or_doubled_is_a_usage_error(arguments, words, seed_files, run):
    ran = run("init", *arguments)

    assert ran.code == 2
    assert words in ran.err


def test_an_unreadable_schema_file_is_named(workplace, run):
    ran = run("init", "--schema", "missing.pg", "g.omni", "--json")

    assert ran.code == 1
    assert ran.document["kind"] == "io"
    assert "missing.pg" in ran.err
    assert not Path("g.omni").exists()


def test_a_schema_error_shows_the_place_and_creates_nothing(workplace, run):
    workplace.joinpath("bad.pg").write_text("node Artist {\n  name Strin\n}\n", encoding="utf-8")

    ran = run("init", "--schema", "bad.pg", "g.omni", "--json")

    assert ran.code == 1
    assert ran.document["kind"] == "parse_error"
    assert "bad.pg" in ran.err
    assert not Path("g.omni").exists()


def test_a_cluster_managed_path_is_refused_from_inside_the_cluster(seed_files, run, monkeypatch):
    museum = seed_files / "museum"
    museum.joinpath("__cluster").mkdir(parents=True)
    museum.joinpath("__cluster/state.json").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(museum)

    ran = run("init", "--schema", "../art.pg", "graphs/new.omni", "--json")

    assert ran.code == 1
    assert ran.document["kind"] == "cluster_managed"
    for words in ("graphs/new.omni", str(museum), "cluster.yaml", "cluster apply"):
        assert words in ran.err
    assert not museum.joinpath("graphs").exists()


def test_a_cluster_shaped_path_without_a_ledger_is_created(seed_files, run):
    assert run("init", "--schema", "art.pg", "museum/graphs/new.omni").code == 0
