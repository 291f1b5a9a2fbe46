"""`load`: its document and lines, its streams, and what is refused before a record is read."""

import re
import signal
import subprocess
from pathlib import Path

import pytest

from omnigraph.base import clock
from omnigraph.base.units import spell_bytes

pytestmark = pytest.mark.usefixtures("workplace")


def test_the_document_has_counts_commit_and_both_spellings(art, run):
    ran = run("load", "--data", "more.jsonl", "--mode", "append", "--as", "act-ines", art, "--json")

    assert ran.code == 0
    document = ran.document
    assert list(document) == [
        "uri",
        "branch",
        "base_branch",
        "branch_created",
        "mode",
        "tables",
        "total_rows",
        "nodes",
        "edges",
        "total_entities",
        "actor_id",
        "engine",
        "engine_reason",
        "commit",
    ]
    assert document["uri"] == art
    assert document["tables"] == [{"table_key": "node:Artist", "rows_loaded": 1}]
    assert document["nodes"] == [{"name": "Artist", "entities_loaded": 1}]
    assert document["edges"] == []
    assert document["total_rows"] == document["total_entities"] == 1
    assert document["actor_id"] == document["commit"]["actor_id"] == "act-ines"
    assert document["engine"] == "local"
    assert document["engine_reason"].endswith(f", below {spell_bytes(32 << 20)}")
    assert document["commit"]["kind"] == "load"
    assert document["commit"]["manifest_version"] == document["commit"]["graph_manifest_version"] == 3


def test_people_get_one_line_and_details_go_to_stderr_on_request(seed_files, run):
    run("init", "--schema", "art.pg", "art.omni")

    ran = run("load", "--data", "seed.jsonl", "--mode", "merge", "art.omni", "--verbose")

    assert re.fullmatch(
        "loaded art.omni on branch main with merge: 4 rows across 2 node types and 1 edge type\n"
        "commit [0-9A-Z]{26} \\(graph version 2\\)\n",
        ran.out,
    )
    echo, engine = ran.err.splitlines()
    assert echo == "omnigraph load → art.omni (direct, local)"
    assert engine.startswith("engine: local (")


def test_stderr_is_empty_where_it_would_only_repeat_the_line(art, run):
    assert run("load", "--data", "more.jsonl", "--mode", "append", art).err == ""


def test_what_replaces_data_names_its_graph_first(art, run):
    ran = run("load", "--data", "seed.jsonl", "--mode", "overwrite", art)

    assert ran.err == "omnigraph load → art.omni (direct, local)\n"


def test_quiet_is_stronger_than_verbose(art, run):
    assert run("load", "--data", "seed.jsonl", "--mode", "overwrite", art, "--quiet", "--verbose").err == ""


def test_quiet_leaves_stderr_empty(art, run_process):
    ran = run_process("--quiet", "load", "--mode", "append", "--data", "more.jsonl", art)

    assert ran.code == 0
    assert ran.err == ""
    assert ran.out.startswith("loaded ")


def test_a_merge_that_changes_nothing_has_no_commit(art, run):
    ran = run("load", "--data", "seed.jsonl", "--mode", "merge", art, "--json")

    assert ran.code == 0
    assert ran.document["commit"] is None
    assert "no new commit" in run("load", "--data", "seed.jsonl", "--mode", "merge", art).out


def test_stdin_is_read_for_a_dash(art, run_process):
    ran = run_process(
        "load", "--data", "-", "--mode", "append", art, stdin='{"type": "Artist", "data": {"name": "Kaï"}}\n'
    )

    assert ran.code == 0
    assert "Kaï" in run_process("export", art).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--mode", "merge"), ("--data",)),
        (("--data", "d.jsonl"), ("--mode", "overwrite", "append", "merge")),
        (("--data", "d.jsonl", "--mode", "upsert"), ("--mode", "upsert")),
    ],
)
def test_data_and_mode_are_required(arguments, words, run):
    ran = run("load", *arguments, "g.omni")

    assert ran.code == 2
    for word in words:
        assert word in ran.err


@pytest.mark.parametrize("branch", ["", "  "])
def test_an_empty_branch_name_is_refused(branch, run):
    ran = run("load", "--data", "seed.jsonl", "--mode", "merge", "g.omni", "--branch", branch, "--json")

    assert ran.code == 2
    assert ran.document["kind"] == "invalid_name"


def test_a_branch_name_is_trimmed(art, run):
    assert run("load", "--data", "more.jsonl", "--mode", "merge", art, "--branch", " main ").code == 0


def test_rejected_records_are_listed_and_nothing_changes(art, run):
    Path("bad.jsonl").write_text('{"type": "Artist", "data": {"name": 7}}\n{"type": "Ghost"}\n', encoding="utf-8")

    ran = run("load", "--data", "bad.jsonl", "--mode", "merge", art, "--json")

    assert ran.code == 1
    assert ran.document["invalid_record"]["total_errors"] == 2
    assert "bad.jsonl:1: [wrong_type]" in ran.err
    assert "bad.jsonl:2: [unknown_type]" in ran.err
    assert run("snapshot", art, "--json").document["manifest_version"] == 2


def test_an_existing_id_is_a_conflict_for_append(art, run):
    ran = run("load", "--data", "seed.jsonl", "--mode", "append", art, "--json")

    assert ran.code == 5
    assert ran.document["kind"] == "key_conflict"


def test_the_configured_operator_is_the_actor_unless_the_line_names_one(art, run, configure):
    configure("operator: { actor: act-config }")

    document = run("load", "--data", "more.jsonl", "--mode", "append", art, "--json").document

    assert document["actor_id"] == "act-config"


def test_forced_progress_is_plain_lines(art, run):
    ran = run("load", "--data", "more.jsonl", "--mode", "append", art, "--progress")

    assert "progress: " in ran.err


def test_an_interrupt_leaves_the_graph_as_it_was(art, program, run):
    process = subprocess.Popen(
        [program, "load", "--data", "-", "--mode", "append", art, "--verbose"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(b'{"type": "Artist", "data": {"name": "Half"}}\n')
    process.stdin.flush()
    assert process.stderr.readline().startswith(b"omnigraph load")
    # The echo comes right before the graph is opened; reading stdin follows.
    assert clock.wait_until(lambda: _waits_for_input(process.pid), timeout_seconds=60)

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 130, err
    assert out == b""
    assert run("snapshot", art, "--json").document["manifest_version"] == 2


def _waits_for_input(pid: int) -> bool:
    """Tell whether the main thread sleeps in a read of descriptor 0."""
    return Path(f"/proc/{pid}/syscall").read_text(encoding="ascii").split()[:2] == ["0", "0x0"]


@pytest.mark.s3
def test_a_remote_graph_is_echoed_as_remote_and_overwritten_with_consent(seed_files, s3_root, run):
    assert run("init", "--schema", "art.pg", s3_root).code == 0

    ran = run("load", "--mode", "overwrite", "--data", "seed.jsonl", "--store", s3_root, "--yes")

    assert ran.code == 0
    assert ran.err.startswith(f"omnigraph load → {s3_root} (direct, remote)\n")
