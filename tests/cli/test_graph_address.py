"""One way to address a graph in every command: the last positional, `--store` or `--uri`; mix-ups are refused."""

import subprocess
import sys

import pytest

from omnigraph.verbs.table import VERBS

LINES = {
    "snapshot": (),
    "export": (),
    "branch create": ("review",),
    "branch list": (),
    "branch diff": ("main",),
    "branch delete": ("old",),
    "branch merge": ("old",),
    "commit list": (),
    "commit show": ("COMMIT",),
    "commit changes": ("COMMIT",),
    "changes poll": (),
    "changes baseline": ("--out", "baseline.jsonl"),
    "schema show": (),
    "schema plan": ("--schema", "art.pg"),
    "schema apply": ("--schema", "art.pg"),
    "load": ("--data", "more.jsonl", "--mode", "merge"),
    "mutate": ("-e", 'query q() { insert Artist { name: "Mia" } }'),
    "optimize": (),
    "repair": (),
    "cleanup": (),
    "health": (),
    "verify": (),
    "maintain": (),
    "recover": (),
    "embed": (),
    "query": ("-e", "match { $a: Artist } return { $a.name }"),
    "lint": ("--query", "art.gq"),
}


def head_of(run, art: str) -> str:
    return run("commit", "list", art, "--limit", "1", "--json").document["commits"][0]["graph_commit_id"]


@pytest.mark.parametrize("form", ["positional", "--store", "--uri"])
@pytest.mark.parametrize("command", LINES)
def test_a_graph_is_addressed_in_the_same_ways_by_every_command(command, form, run, art):
    words = [head_of(run, art) if word == "COMMIT" else word for word in LINES[command]]
    if command in {"branch delete", "branch merge"}:
        assert run("branch", "create", "old", art).code == 0
    if command == "schema apply":
        assert "no graph addressed" in run(*command.split(), *words).err
    address = (art,) if form == "positional" else (form, art)

    ran = run(*command.split(), *words, *address)

    assert ran.code == (1 if command == "health" else 0), ran.err


def test_every_command_that_addresses_a_graph_is_covered():
    elsewhere = {"init", "spark-sql", "shell", "mcp", "ui", "blob get", "blob stat"}  # the last two: test_cli_blobs.py
    covered = {row.words for row in VERBS if row.takes_graph} - elsewhere

    assert covered == set(LINES)


@pytest.mark.parametrize(
    "command", [("branch", "create"), ("branch", "merge"), ("branch", "delete"), ("commit", "show")]
)
def test_a_graph_before_the_name_is_refused_and_the_right_line_is_shown(command, run):
    ran = run(*command, "art.omni", "review")

    assert ran.code == 2
    assert f"`omnigraph {' '.join(command)} review art.omni`" in ran.err


def test_a_graph_without_a_name_is_not_taken_for_the_name(run, art, monkeypatch):
    monkeypatch.setenv("OMNIGRAPH_STORE", art)

    ran = run("branch", "create", "copy.omni")

    assert ran.code == 2
    assert "needs NAME before the graph `copy.omni`" in ran.err
    assert run("branch", "list").out.count("copy") == 0


def test_a_name_that_looks_like_a_graph_is_taken_when_the_graph_is_named(run, art):
    assert run("branch", "create", "v1.omni", "--store", art).code == 0
    assert run("branch", "delete", "v1.omni", f"./{art}").code == 0


def test_a_branch_in_the_place_of_the_graph_is_told_its_flag(run, art, monkeypatch):
    monkeypatch.setenv("OMNIGRAPH_STORE", art)
    run("branch", "create", "review")

    ran = run("branch", "merge", "review", "main")

    assert ran.code == 2
    assert "no graph at `main`" in ran.err
    assert "--into main" in ran.err


def test_two_addresses_are_refused_with_the_one_that_was_not_meant_as_one(run, art):
    ran = run("branch", "create", "my", "branch", "--store", art)

    assert ran.code == 2
    assert "a positional URI and --store, which are mutually exclusive" in ran.err
    assert "the positional one is `branch`" in ran.err


def test_the_module_is_the_program(workplace):
    ran = subprocess.run(
        [sys.executable, "-m", "omnigraph", "snapshto"], capture_output=True, text=True, timeout=60, check=False
    )

    assert ran.returncode == 2
    assert "`omnigraph` has no command `snapshto`; the nearest one is `snapshot`." in ran.stderr


def test_a_misspelled_branch_is_answered_with_the_one_that_was_meant(run, art):
    run("branch", "create", "review", art)

    for line in (
        ("snapshot", art, "--branch", "reveiw"),
        ("branch", "delete", "reveiw", art),
        ("branch", "merge", "reveiw", art),
        ("load", art, "--data", "more.jsonl", "--mode", "merge", "--branch", "reveiw"),
    ):
        ran = run(*line)
        assert ran.code == 1
        assert "did you mean 'review'? It has main, review." in ran.err


def test_nothing_is_suggested_when_nothing_is_near(run, art):
    assert "it has main." in run("snapshot", art, "--branch", "zzz").err
    assert "nearest" not in run("xyzzy").err
    assert "nearest" not in run("snapshot", "--frobnicate").err


def test_a_command_without_its_first_word_is_named_whole(run):
    assert "there is `omnigraph branch merge`" in run("merge", "review").err
    assert "`omnigraph graphs list`" in run("list").err


def test_help_is_not_taken_for_health(run):
    ran = run("help")

    assert ran.code == 2
    assert "the flag --help" in ran.err
    assert "health" not in ran.err
