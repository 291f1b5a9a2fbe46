"""`omnigraph mutate`: its queries and parameters, its document and text, its exit codes."""

import json
import subprocess

import pytest

import omnigraph

pytestmark = pytest.mark.usefixtures("workplace")

QUERIES = """\
query add($name: String, $born: I32?) { insert Artist { name: $name, born: $born } }
query made($title: String, $by: String) {
    insert Artwork { title: $title }
    insert CreatedBy { from: $title, to: $by }
}
query forget($name: String) { delete Artist where name = $name }
query all() { match { $a: Artist } return { $a.name } }
"""
ADD = "query add($name: String) { insert Artist { name: $name } }"


@pytest.fixture
def queries(art, seed_files) -> str:
    seed_files.joinpath("change.gq").write_text(QUERIES, encoding="utf-8")
    return "change.gq"


def artists(uri: str) -> dict[str, int | None]:
    rows = omnigraph.open(uri, read_only=True).snapshot().table("Artist").to_arrow().to_pylist()
    return {row["name"]: row["born"] for row in rows}


def test_a_mutation_says_what_it_did_in_text_and_as_a_document(run, art):
    text = run("mutate", art, "-e", ADD, "--param", "name=Zoe", "--as", "act-ines")

    assert text.code == 0, text.err
    first, actor, commit = text.out.splitlines()
    assert (first, actor) == ("changed main via add: 1 node, 0 edges", "actor_id: act-ines")
    assert commit.startswith("commit ")

    ran = run("mutate", art, "-e", ADD, "--params", '{"name": "Mia"}', "--json", "-m", "one more")
    head = run("commit", "show", "main", art, "--json").document
    assert list(ran.document) == ["branch", "query_name", "affected_nodes", "affected_edges", "actor_id", "commit"]
    assert ran.document["commit"] == head
    assert (head["kind"], head["message"], ran.document["actor_id"]) == ("mutation", "one more", None)
    assert {"Zoe", "Mia"} <= set(artists(art))


def test_a_mutation_that_matches_nothing_succeeds_without_a_commit(run, art, queries):
    line = ("mutate", art, "--query", queries, "--name", "forget", "--param", "name=Nobody")

    text, document = run(*line), run(*line, "--json").document

    assert text.out.splitlines() == [
        "changed main via forget: 0 nodes, 0 edges",
        "nothing changed, so there is no new commit",
    ]
    assert (document["affected_nodes"], document["commit"]) == (0, None)


def test_a_file_of_queries_runs_the_one_that_is_named(run, art, queries):
    named = run("mutate", art, "--query", queries, "--name", "made", "--param", "title=Night", "--param", "by=Ines")
    unnamed = run("mutate", art, "--query", queries, "--json")
    unknown = run("mutate", art, "--query", queries, "--name", "mades")
    read = run("mutate", art, "--query", queries, "--name", "all", "--json")

    assert named.out.splitlines()[0] == "changed main via made: 1 node, 1 edge"
    assert (unnamed.code, unnamed.document["kind"]) == (2, "query_selection")
    assert unnamed.document["query_selection"]["names"] == ["add", "made", "forget", "all"]
    assert unknown.code == 1
    assert "not found" in unknown.err
    assert "did you mean made?" in unknown.err
    assert (read.code, read.document["kind"]) == (1, "wrong_verb")
    assert read.document["wrong_verb"] == {"query": "all", "actual": "read"}


def test_parameters_come_as_an_object_as_a_file_or_one_by_one(run, art, queries, seed_files):
    seed_files.joinpath("values.json").write_text('{"name": "Kay", "born": 1950}', encoding="utf-8")
    line = ("mutate", art, "--query", queries, "--name", "add")

    for given in (
        ("--params", '{"name": "Ada", "born": 1815}'),
        ("--params-file", "values.json"),
        ("--param", "name=a=b ü", "--param", "born=-5"),
        ("--params", '{"name": "null"}', "--param", "born=null"),
    ):
        assert run(*line, *given).code == 0

    assert artists(art).items() >= {"Ada": 1815, "Kay": 1950, "a=b ü": -5, "null": None}.items()


LISTS = "query q($tags: [String], $at: DateTime, $on: Bool) { insert Tagged { tags: $tags, at: $at, on: $on } }"


def test_bare_values_are_read_by_the_declared_type(run, seed_files):
    seed_files.joinpath("tagged.pg").write_text("node Tagged { tags: [String]  at: DateTime  on: Bool }")
    assert run("init", "--schema", "tagged.pg", "tagged.omni").code == 0

    values = ("--param", 'tags=["a", "b"]', "--param", "at=2020-01-02 03:04", "--param", "on=true")
    ran = run("mutate", "tagged.omni", "-e", LISTS, *values)

    assert ran.code == 0, ran.err
    (row,) = omnigraph.open("tagged.omni").snapshot().table("Tagged").to_arrow().to_pylist()
    assert (row["tags"], row["at"].isoformat(), row["on"]) == (["a", "b"], "2020-01-02T03:04:00+00:00", True)
    wrong = run("mutate", "tagged.omni", "-e", LISTS, "--param", "tags=a", "--json")
    assert (wrong.code, wrong.document["kind"]) == (1, "param_error")
    assert wrong.document["param_error"]["param"] == "tags"


USAGE = {
    "nothing to run": ((), "needs a query"),
    "two sources": (("-e", ADD, "--query", "change.gq"), "give one of them"),
    "an empty text": (("-e", "  "), "empty"),
    "no JSON": (("-e", ADD, "--params", "{"), "not JSON"),
    "no object": (("-e", ADD, "--params", "[1]"), "one JSON object"),
    "no pair": (("-e", ADD, "--param", "name"), "NAME=VALUE"),
    "one parameter twice": (("-e", ADD, "--param", "name=a", "--param", "name=b"), "twice"),
    "both ways": (("-e", ADD, "--params", '{"name": "a"}', "--param", "name=b"), "twice"),
    "an object and a file": (("-e", ADD, "--params", "{}", "--params-file", "p.json"), "give one"),
    "no whole commit": (("-e", ADD, "--param", "name=a", "--if-commit", "*"), "whole commit id"),
    "an empty branch": (("-e", ADD, "--param", "name=a", "--branch", " "), "--branch is empty"),
}


@pytest.mark.parametrize("case", USAGE)
def test_a_line_that_does_not_fit_together_is_refused(run, art, queries, case):
    flags, word = USAGE[case]

    ran = run("mutate", art, *flags)

    assert ran.code == 2, ran.err
    assert word in ran.err
    assert run("commit", "list", art, "--json").document["commits"][0]["kind"] == "load"


def test_a_moved_head_ends_a_conditional_write_with_its_own_code(run, art):
    seen = run("commit", "show", "main", art, "--json").document["graph_commit_id"]
    line = ("mutate", art, "-e", ADD, "--if-commit", seen)

    assert run(*line, "--param", "name=Zoe").code == 0
    actual = run("commit", "show", "main", art, "--json").document["graph_commit_id"]
    lost = run(*line, "--param", "name=Mia", "--json")
    spoken = run(*line, "--param", "name=Mia")

    assert (lost.code, lost.document["kind"]) == (4, "precondition_failed")
    assert lost.document["precondition_failure"] == {"expected": seen, "actual": actual}
    assert (spoken.code, spoken.out) == (4, "")
    assert "Mia" not in artists(art)


def test_a_broken_rule_changes_nothing_and_is_said(run, art, queries):
    ran = run("mutate", art, "--query", queries, "--name", "made", "--params", '{"title": "X", "by": "Zed"}', "--json")

    assert (ran.code, ran.document["kind"]) == (1, "constraint_violation")
    assert "CreatedBy to 'Zed': node Artist not found" in ran.document["error"]
    assert run("export", art, "--type", "Artwork").out.count("X") == 0


def test_a_mutation_of_a_branch(run, art):
    assert run("branch", "create", "review", art).code == 0

    ran = run("mutate", art, "-e", ADD, "--param", "name=Zoe", "--branch", "review", "--json").document

    assert (ran["branch"], ran["commit"]["manifest_branch"]) == ("review", "review")
    assert "Zoe" not in artists(art)


def test_the_old_word_still_works_and_says_the_new_one(run, art):
    ran = run("change", art, "-e", ADD, "--param", "name=Zoe")

    assert ran.code == 0
    assert "omnigraph mutate" in ran.err


def test_mistakes_of_a_query_show_their_place(run, art):
    syntax = run("mutate", art, "-e", "query q() { insert Artist { name: } }", "--json")
    meaning = run("mutate", art, "-e", 'query q() { insert Artist { nam: "x" } }', "--json")

    assert (syntax.code, syntax.document["kind"]) == (1, "parse_error")
    assert (meaning.code, meaning.document["kind"]) == (1, "type_error")
    assert meaning.document["error"].startswith("T11:")
    assert "<-e>:1:" in meaning.document["error"]


def test_two_processes_that_insert_both_land(art, program):
    lines = [
        [program, "mutate", art, "-e", ADD, "--param", f"name={name}", "--json"] for name in ("one", "two", "three")
    ]

    running = [subprocess.Popen(line, stdout=subprocess.PIPE, text=True) for line in lines]
    said = [json.loads(process.communicate(timeout=120)[0]) for process in running]

    assert {process.returncode for process in running} == {0}
    assert len({document["commit"]["graph_commit_id"] for document in said}) == 3
    assert {"one", "two", "three"} <= set(artists(art))
    assert omnigraph.open(art).verify(deep=True).is_clean
