"""`queries list` and `queries validate`: what was applied, against the schema that each graph lives by."""

from pathlib import Path

import pytest

from omnigraph.cli.app import build_app
from omnigraph.cluster.applying import ApplyRequest, apply_cluster
from omnigraph.cluster.looking import open_context
from omnigraph.cluster.observing import import_cluster
from omnigraph.evolution.plan import SchemaRequest
from omnigraph.evolution.run import apply_schema
from support.museums import TWO_GRAPHS, write_museum

pytestmark = pytest.mark.usefixtures("workplace")

MORE = """
query add($name: String, $born: I32?) @description("Adds an artist.") @instruction("Ask for the year.") {
    insert Artist { name: $name, born: $born }
}
query fixed() { insert Artist { name: "Zoe" } }
"""


@pytest.fixture
def museum(workplace: Path) -> Path:
    directory = workplace / "museum"
    write_museum(directory, TWO_GRAPHS)
    with directory.joinpath("queries", "art.gq").open("a", encoding="utf-8") as file:
        file.write(MORE)
    assert import_cluster(str(directory)).ok
    assert apply_cluster(ApplyRequest(config_dir=str(directory))).converged
    return directory


def test_the_applied_queries_are_listed_with_what_they_take(run, museum: Path) -> None:
    museum.joinpath("queries", "art.gq").write_text("query other() { match { $a: Artist } return { $a.name } }\n")

    listed = run("queries", "list", "--cluster", "museum", "--json").document["queries"]

    assert [query["name"] for query in listed] == ["add", "by_artist", "fixed"]
    assert listed[0] == {
        "name": "add",
        "graph_id": "artworks",
        "mcp_expose": True,
        "tool_name": "add",
        "mutation": True,
        "description": "Adds an artist.",
        "instruction": "Ask for the year.",
        "params": [
            {"name": "name", "type": "String", "nullable": False},
            {"name": "born", "type": "I32", "nullable": True},
        ],
    }
    assert run("queries", "list", "--cluster", "museum").out.splitlines()[:4] == [
        "mutation  add($name: String, $born: I32?)",
        "  description: Adds an artist.",
        "  instruction: Ask for the year.",
        "read  by_artist($name: String)",
    ]
    assert run("queries", "list", "--cluster", "museum", "--graph", "archive").out == "(no stored queries registered)\n"
    assert run("queries", "list", "--cluster", "museum", "--graph", "none").code == 1


def test_queries_are_checked_against_the_schema_that_the_graph_has_now(run, museum: Path) -> None:
    fine = run("queries", "validate", "--cluster", "museum", "--json")
    graph = open_context(str(museum / "graphs" / "artworks.omni"))
    schema = "node Artist {\n  name: String @key\n}\nnode Artwork {\n  title: String @key\n}\n"
    apply_schema(graph, SchemaRequest(schema=schema), events=lambda _: None)

    broken = run("queries", "validate", "--cluster", "museum", "--json")

    assert (fine.code, fine.document["ok"], fine.document["breakages"]) == (0, True, [])
    assert [warning["query"] for warning in fine.document["warnings"]] == ["fixed"]
    assert (broken.code, broken.document["ok"]) == (1, False)
    assert {breakage["query"] for breakage in broken.document["breakages"]} == {"add", "by_artist"}


def test_a_lost_query_is_a_breakage_and_is_left_out_of_the_list_with_a_warning(run, museum: Path) -> None:
    for blob in museum.joinpath("__cluster", "resources", "query", "artworks", "add").iterdir():
        blob.unlink()

    listed = run("queries", "list", "--cluster", "museum")
    checked = run("queries", "validate", "--cluster", "museum")

    assert "add" not in listed.out
    assert "the stored query add is not listed" in listed.err
    assert (checked.code, "broken  add: its content in the catalog is missing" in checked.out) == (1, True)


def test_the_examples_of_help_run(run, museum: Path) -> None:
    for words in ("list", "validate"):
        (line,) = build_app().get_command(None, "queries").get_command(None, words).examples
        assert run(*line.split()[1:]).code == 0


def test_a_cluster_must_be_named_and_have_a_ledger(run, workplace: Path) -> None:
    assert "needs a cluster" in run("queries", "list").err
    workplace.joinpath("empty").mkdir()
    missing = run("queries", "list", "--cluster", "empty")
    assert (missing.code, "no applied state" in missing.err) == (1, True)
