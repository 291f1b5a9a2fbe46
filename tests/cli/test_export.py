"""`export`: the order of records, the choice of types, and readers that go away."""

import json
import os
import subprocess


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
