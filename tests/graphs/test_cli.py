"""`snapshot`, `commit` and `schema show`: documents and lines about a graph that is only read."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("workplace")


def test_the_document_lists_the_tables_of_the_version(shown_art, run):
    document = run("snapshot", shown_art, "--json").document

    assert list(document) == [
        "branch",
        "manifest_version",
        "graph_manifest_version",
        "internal_schema_version",
        "tables",
    ]
    assert document["branch"] == "main"
    assert document["manifest_version"] == document["graph_manifest_version"] == 2
    artist = next(table for table in document["tables"] if table["table_key"] == "node:Artist")
    assert list(artist) == [
        "table_key",
        "entity_kind",
        "type_name",
        "table_path",
        "table_version",
        "table_branch",
        "row_count",
    ]
    assert (artist["entity_kind"], artist["type_name"], artist["row_count"]) == ("node", "Artist", 2)
    assert artist["table_path"].startswith("nodes/")
    assert artist["table_branch"] is None
    assert [table["table_key"] for table in document["tables"]] == ["edge:CreatedBy", "node:Artist", "node:Artwork"]


def test_people_get_three_facts_and_one_line_per_table(shown_art, run):
    lines = run("snapshot", shown_art).out.splitlines()

    assert lines[:2] == ["branch: main", "manifest_version: 2"]
    assert lines[2].startswith("internal_schema_version: ")
    assert [line.split()[:2] for line in lines[3:]] == [
        ["table", "rows"],
        ["edge:CreatedBy", "1"],
        ["node:Artist", "2"],
        ["node:Artwork", "1"],
    ]


def test_a_missing_graph_and_a_missing_branch_are_not_found(shown_art, run):
    assert run("snapshot", "absent.omni", "--json").document["kind"] == "graph_not_found"
    assert not Path("absent.omni").exists()
    assert run("snapshot", shown_art, "--branch", "absent", "--json").document["kind"] == "branch_not_found"


@pytest.mark.parametrize("address", ["uri", "environment", "profile", "default"])
def test_every_way_to_address_a_store_finds_it(address, shown_art, run, configure, monkeypatch):
    arguments = {"uri": ("--uri", shown_art), "profile": ("--profile", "laptop")}.get(address, ())
    configure(
        f"profiles: {{ laptop: {{ store: {shown_art} }} }}"
        if address == "profile"
        else f"defaults: {{ store: {shown_art} }}"
        if address == "default"
        else ""
    )
    if address == "environment":
        monkeypatch.setenv("OMNIGRAPH_STORE", shown_art)

    assert run("snapshot", *arguments).code == 0


def test_commits_are_listed_newest_first(shown_art, run):
    commits = run("commit", "list", shown_art, "--json").document["commits"]

    assert [commit["kind"] for commit in commits] == ["load", "genesis"]
    assert commits[0]["parent_commit_id"] == commits[1]["graph_commit_id"]
    assert commits[1]["parent_commit_id"] is None
    assert [commit["manifest_version"] for commit in commits] == [2, 1]


def test_limit_keeps_the_newest(shown_art, run):
    [line] = run("commit", "list", shown_art, "--limit", "1").out.splitlines()

    assert re.fullmatch(r"[0-9A-Z]{26} load branch=main version=2 made=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line)


def test_a_limit_below_one_is_a_usage_error(shown_art, run):
    assert run("commit", "list", shown_art, "--limit", "0").code == 2


def test_show_gives_the_same_commit_as_list(shown_art, run):
    newest = run("commit", "list", shown_art, "--json").document["commits"][0]

    assert run("commit", "show", "--store", shown_art, newest["graph_commit_id"], "--json").document == newest


def test_an_unknown_commit_is_not_found(shown_art, run):
    ran = run("commit", "show", "--uri", shown_art, "01J9ZK3V6Q0T8M7R5N2B4C6D8E", "--json")

    assert ran.code == 1
    assert ran.document["kind"] == "commit_not_found"


@pytest.mark.parametrize("word", ["show", "get"])
def test_the_schema_comes_back_as_it_was_written(word, shown_art, run):
    source = Path("art.pg").read_text(encoding="utf-8")

    assert run("schema", word, shown_art).out == source
    assert run("schema", word, shown_art, "--json").document == {"schema_source": source}
