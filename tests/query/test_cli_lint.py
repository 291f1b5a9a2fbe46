"""`lint`: query files against a schema file or a graph."""

import json
import subprocess
import sys

import pytest

import omnigraph

pytestmark = pytest.mark.usefixtures("workplace")

SCHEMA = """\
node Sailor {
    name: String @key
    rank: enum(captain, deckhand, mate)
    age: I32?
    tags: [String]?
    bio: String? @index
    photo: Blob?
}
"""
QUERIES = """\
query by_name($name: String) {
    match {
        $s: Sailor { name: $name }
    }
    return { $s.name, $s.tags }
}

query set_profile($name: String, $age: I32?, $photo: Blob?, $tags: [String]?) {
    update Sailor set { age: $age, photo: $photo, tags: $tags } where name = $name
}
"""


@pytest.fixture
def sailors(workplace):
    workplace.joinpath("schema.pg").write_text(SCHEMA)
    workplace.joinpath("q.gq").write_text(QUERIES)
    return workplace


def test_the_document_of_the_contract(sailors, run):
    ran = run("lint", "--schema", "schema.pg", "--query", "q.gq", "--json")

    assert ran.code == 0
    assert (
        ran.out
        == json.dumps(
            {
                "status": "ok",
                "schema_source": {"kind": "file", "path": "schema.pg"},
                "query_path": "q.gq",
                "queries_processed": 2,
                "errors": 0,
                "warnings": 1,
                "infos": 0,
                "results": [
                    {
                        "name": "by_name",
                        "kind": "read",
                        "status": "ok",
                        "operation": {
                            "result": [
                                {"name": "s.name", "kind": "string", "nullable": False},
                                {"name": "s.tags", "kind": "list", "item_kind": "string", "nullable": True},
                            ],
                            "reads": [{"kind": "node", "type_name": "Sailor"}],
                            "writes": [],
                        },
                    },
                    {
                        "name": "set_profile",
                        "kind": "mutation",
                        "status": "ok",
                        "operation": {
                            "result": [],
                            "reads": [{"kind": "node", "type_name": "Sailor"}],
                            "writes": [{"kind": "node", "type_name": "Sailor"}],
                        },
                    },
                ],
                "findings": [
                    {
                        "severity": "warning",
                        "code": "L201",
                        "message": "Sailor.bio exists in schema but no update query sets it",
                        "type_name": "Sailor",
                        "property": "bio",
                        "query_names": ["set_profile"],
                    }
                ],
            },
            indent=2,
        )
        + "\n"
    )


def test_text_for_people(sailors, run):
    ran = run("lint", "--schema", "schema.pg", "--query", "q.gq")

    assert ran.code == 0
    assert ran.out.splitlines() == [
        "q.gq: 2 queries, 0 errors, 1 warning",
        "status  kind      query",
        "ok      read      by_name",
        "ok      mutation  set_profile",
        "warning: L201: Sailor.bio exists in schema but no update query sets it",
    ]


def test_an_error_ends_with_1_and_prints_the_result_alone(sailors, run):
    sailors.joinpath("bad.gq").write_text("query bad() { match { $s: Saylor } return { $s } }")

    ran = run("lint", "--schema", "schema.pg", "--query", "bad.gq", "--json")

    assert ran.code == 1
    assert (ran.document["status"], ran.document["errors"]) == ("error", 1)
    assert ran.document["results"][0]["error"].startswith("T1: ")
    assert "operation" not in ran.document["results"][0]
    assert ran.err == "error: 1 error in bad.gq.\n"


def test_a_syntax_error_is_one_finding(sailors, run):
    sailors.joinpath("bad.gq").write_text("query bad() { mach }")

    ran = run("lint", "--schema", "schema.pg", "--query", "bad.gq", "--json")

    assert ran.code == 1
    assert ran.document["results"] == []
    assert [found["code"] for found in ran.document["findings"]] == ["Q000"]
    assert (
        run("lint", "--schema", "schema.pg", "--query", "bad.gq")
        .out.splitlines()[1]
        .startswith("error: Q000: bad.gq:1:15")
    )


def test_against_a_graph(art, run):
    ran = run("lint", "art.omni", "--query", "art.gq", "--json")

    assert ran.code == 0
    assert ran.document["schema_source"] == {"kind": "graph", "uri": "art.omni"}
    assert ran.document["results"][0]["operation"]["reads"] == [
        {"kind": "node", "type_name": "Artist"},
        {"kind": "node", "type_name": "Artwork"},
        {"kind": "edge", "type_name": "CreatedBy"},
    ]


def test_several_files_and_directories(sailors, run):
    folder = sailors / "queries"
    folder.mkdir()
    folder.joinpath("b.gq").write_text("query b() { match { $s: Saylor } return { $s } }")
    folder.joinpath("a.gq").write_text("query a() { match { $s: Sailor } return { $s } }")
    folder.joinpath("notes.txt").write_text("not a query")

    ran = run("lint", "--schema", "schema.pg", "--query", "q.gq", "--query", "queries", "--json")
    alone = run("lint", "--schema", "schema.pg", "--query", "queries", "--json")

    assert ran.code == 1
    assert [file["query_path"] for file in ran.document["files"]] == ["q.gq", "queries/a.gq", "queries/b.gq"]
    assert (ran.document["status"], ran.document["queries_processed"]) == ("error", 4)
    assert (ran.document["errors"], ran.document["warnings"]) == (1, 1)
    assert [file["status"] for file in alone.document["files"]] == ["ok", "error"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("lint", "--query", "q.gq"), ["--schema", "--store"]),
        (("lint", "--schema", "schema.pg"), ["--query"]),
        (("lint", "--schema", "schema.pg", "--query", "empty"), ["empty", ".gq"]),
        (("lint", "x.omni", "--schema", "schema.pg", "--query", "q.gq"), ["--schema", "a positional URI"]),
        (("lint", "--store", "x.omni", "--schema", "schema.pg", "--query", "q.gq"), ["--schema", "--store"]),
    ],
)
def test_lines_that_do_not_say_what_to_check(line, words, sailors, run):
    sailors.joinpath("empty").mkdir()

    ran = run(*line)

    assert ran.code == 2
    assert [word for word in words if word not in ran.err] == []


def test_files_that_cannot_be_used(sailors, run):
    sailors.joinpath("bad.pg").write_text("node {}")

    assert "there.gq" in run("lint", "--schema", "schema.pg", "--query", "there.gq").err
    assert run("lint", "--schema", "bad.pg", "--query", "q.gq", "--json").document["kind"] == "parse_error"


def test_the_ambient_graph_is_not_looked_at_offline(sailors, run, monkeypatch):
    monkeypatch.setenv("OMNIGRAPH_STORE", "s3://nowhere/at-all.omni")

    assert run("lint", "--schema", "schema.pg", "--query", "q.gq").code == 0


def test_the_old_word_still_works(sailors, run):
    ran = run("check", "--schema", "schema.pg", "--query", "q.gq")

    assert ran.code == 0
    assert ran.err == "warning: `check` is deprecated; use `omnigraph lint`\n"


def test_checking_against_a_graph_loads_neither_parser_generator_nor_engine(art):
    script = (
        "import sys; from omnigraph.cli.main import main; code = main(['lint', 'art.omni', '--query', 'art.gq']); "
        "print(code, [name for name in ('lark', 'duckdb', 'pyspark') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "0 []"


def test_python_says_the_same(art):
    graph = omnigraph.open("art.omni", read_only=True)

    report = graph.lint("query q() { match { $a: Artist } return { $a.ghost } }", query_source="mine.gq")

    assert (report.is_ok, report.query_path) == (False, "mine.gq")
    assert report.results[0].error.startswith("T6: Artist (`$a`) has no property `ghost`")
    with pytest.raises(omnigraph.errors.InvalidTarget):
        graph.lint(None)
