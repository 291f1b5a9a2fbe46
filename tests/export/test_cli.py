"""`export`: the order of records, the choice of types, and readers that go away."""

import json
import os
import subprocess

import pytest

pytestmark = pytest.mark.usefixtures("workplace")


def test_nodes_come_before_edges_on_stdout(shown_art, run):
    ran = run("export", shown_art)

    assert ran.code == 0
    records = [json.loads(line) for line in ran.out.splitlines()]
    assert [record.get("type") or record["edge"] for record in records] == [
        "Artist",
        "Artist",
        "Artwork",
        "CreatedBy",
    ]
    assert "Rémy" in ran.out


def test_an_export_loads_into_an_equal_graph(shown_art, run):
    assert run("export", shown_art, "--out", "copy.jsonl").out == ""
    run("init", "--schema", "art.pg", "copy.omni")
    assert run("load", "--data", "copy.jsonl", "--mode", "overwrite", "copy.omni").code == 0

    assert run("export", "copy.omni").out == run("export", shown_art).out


def test_types_are_chosen_by_name_or_table_key(shown_art, run):
    assert run("export", shown_art, "--type", "Artwork").out.count("\n") == 1
    assert run("export", shown_art, "--type", "edge:CreatedBy", "--type", "Artwork").out.count("\n") == 2


def test_an_unknown_type_fails_before_any_output(shown_art, run):
    ran = run("export", shown_art, "--type", "Ghost")

    assert ran.code == 1
    assert ran.out == ""
    assert "Ghost" in ran.err


def test_a_reader_that_goes_away_ends_the_export_silently(shown_art, program):
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        [program, "--quiet", "export", shown_art],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )

    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_the_old_jsonl_flag_has_no_effect_but_a_warning(shown_art, run):
    ran = run("export", shown_art, "--jsonl", "--quiet")

    assert ran.out == run("export", shown_art).out
    assert ran.err.startswith("warning: ")
    assert "NDJSON" in ran.err
    assert ran.err.count("\n") == 1


def test_parquet_goes_to_a_directory_and_loads_back(shown_art, run):
    ran = run("export", shown_art, "--format", "parquet", "--out", "tables", "--json")

    assert ran.code == 0
    assert ran.document["tables"] == [
        {"table_key": "node:Artist", "rows": 2},
        {"table_key": "node:Artwork", "rows": 1},
        {"table_key": "edge:CreatedBy", "rows": 1},
    ]
    assert (ran.document["uri"], ran.document["out"], ran.document["total_rows"]) == (shown_art, "tables", 4)
    run("init", "--schema", "art.pg", "copy.omni")
    assert run("load", "--data", "tables", "--mode", "overwrite", "copy.omni").code == 0
    assert run("export", "copy.omni").out == run("export", shown_art).out


def test_an_output_that_exists_needs_consent_or_another_name(shown_art, run):
    run("export", shown_art, "--out", "copy.jsonl")

    again = run("export", shown_art, "--out", "copy.jsonl")
    forced = run("export", shown_art, "--out", "copy.jsonl", "--yes")

    assert (again.code, forced.code) == (3, 0)
    assert "--yes" in again.err


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [(("--format", "parquet"), "--out"), (("--json",), "--out"), (("--format", "csv"), "--format")],
)
def test_flags_that_need_an_output_say_so(shown_art, run, arguments, flag):
    ran = run("export", shown_art, *arguments)

    assert ran.code == 2
    assert flag in ran.err
