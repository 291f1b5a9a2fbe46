"""The commands on a real graph: init, load, export, snapshot, commit, schema, and every printed example."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from omnigraph.base import clock
from omnigraph.base.units import spell_bytes
from omnigraph.cli.app import build_app
from omnigraph.cli.capabilities import CAPABILITIES
from omnigraph.cli.help_pages import FIRST_STEPS


class TestInit:
    def test_it_says_what_it_made(self, seed_files, run):
        assert run("init", "--schema", "art.pg", "one.omni").out == "initialized one.omni\n"
        assert run("init", "--schema", "art.pg", "--store", "two.omni", "--json").document == {
            "uri": "two.omni",
            "initialized": True,
        }

    def test_ambient_scopes_are_ignored(self, seed_files, run, monkeypatch, configure):
        monkeypatch.setenv("OMNIGRAPH_PROFILE", "nope")
        monkeypatch.setenv("OMNIGRAPH_STORE", "elsewhere.omni")
        configure("operator: [")

        assert run("init", "--schema", "art.pg", "g.omni").code == 0
        assert run("init", "--schema", "art.pg").code == 2
        assert not Path("elsewhere.omni").exists()

    def test_an_existing_graph_is_a_conflict_and_stays(self, art, run):
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
    def test_what_is_missing_or_doubled_is_a_usage_error(self, arguments, words, seed_files, run):
        ran = run("init", *arguments)

        assert ran.code == 2
        assert words in ran.err

    def test_an_unreadable_schema_file_is_named(self, workplace, run):
        ran = run("init", "--schema", "missing.pg", "g.omni", "--json")

        assert ran.code == 1
        assert ran.document["kind"] == "io"
        assert "missing.pg" in ran.err
        assert not Path("g.omni").exists()

    def test_a_schema_error_shows_the_place_and_creates_nothing(self, workplace, run):
        workplace.joinpath("bad.pg").write_text("node Artist {\n  name Strin\n}\n", encoding="utf-8")

        ran = run("init", "--schema", "bad.pg", "g.omni", "--json")

        assert ran.code == 1
        assert ran.document["kind"] == "parse_error"
        assert "bad.pg" in ran.err
        assert not Path("g.omni").exists()

    def test_a_cluster_managed_path_is_refused_from_inside_the_cluster(self, seed_files, run, monkeypatch):
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

    def test_a_cluster_shaped_path_without_a_ledger_is_created(self, seed_files, run):
        assert run("init", "--schema", "art.pg", "museum/graphs/new.omni").code == 0


class TestLoad:
    def test_the_document_has_counts_commit_and_both_spellings(self, art, run):
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

    def test_people_get_one_line_and_the_echo_goes_to_stderr(self, seed_files, run):
        run("init", "--schema", "art.pg", "art.omni")

        ran = run("load", "--data", "seed.jsonl", "--mode", "merge", "art.omni")

        assert ran.out == ("loaded art.omni on branch main with merge: 4 rows across 2 node types and 1 edge types\n")
        echo, engine = ran.err.splitlines()
        assert echo == "omnigraph load → art.omni (direct, local)"
        assert engine.startswith("engine: local (")

    def test_quiet_leaves_stderr_empty(self, art, run_process):
        ran = run_process("--quiet", "load", "--mode", "append", "--data", "more.jsonl", art)

        assert ran.code == 0
        assert ran.err == ""
        assert ran.out.startswith("loaded ")

    def test_a_merge_that_changes_nothing_has_no_commit(self, art, run):
        ran = run("load", "--data", "seed.jsonl", "--mode", "merge", art, "--json")

        assert ran.code == 0
        assert ran.document["commit"] is None
        assert "no new commit" in run("load", "--data", "seed.jsonl", "--mode", "merge", art).out

    def test_stdin_is_read_for_a_dash(self, art, run_process):
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
    def test_data_and_mode_are_required(self, arguments, words, run):
        ran = run("load", *arguments, "g.omni")

        assert ran.code == 2
        for word in words:
            assert word in ran.err

    @pytest.mark.parametrize("branch", ["", "  "])
    def test_an_empty_branch_name_is_refused(self, branch, run):
        ran = run("load", "--data", "seed.jsonl", "--mode", "merge", "g.omni", "--branch", branch, "--json")

        assert ran.code == 2
        assert ran.document["kind"] == "invalid_name"

    def test_a_branch_name_is_trimmed(self, art, run):
        assert run("load", "--data", "more.jsonl", "--mode", "merge", art, "--branch", " main ").code == 0

    def test_rejected_records_are_listed_and_nothing_changes(self, art, run):
        Path("bad.jsonl").write_text('{"type": "Artist", "data": {"name": 7}}\n{"type": "Ghost"}\n', encoding="utf-8")

        ran = run("load", "--data", "bad.jsonl", "--mode", "merge", art, "--json")

        assert ran.code == 1
        assert ran.document["invalid_record"]["total_errors"] == 2
        assert "bad.jsonl:1: [wrong_type]" in ran.err
        assert "bad.jsonl:2: [unknown_type]" in ran.err
        assert run("snapshot", art, "--json").document["manifest_version"] == 2

    def test_an_existing_id_is_a_conflict_for_append(self, art, run):
        ran = run("load", "--data", "seed.jsonl", "--mode", "append", art, "--json")

        assert ran.code == 5
        assert ran.document["kind"] == "key_conflict"

    def test_the_configured_operator_is_the_actor_unless_the_line_names_one(self, art, run, configure):
        configure("operator: { actor: act-config }")

        document = run("load", "--data", "more.jsonl", "--mode", "append", art, "--json").document

        assert document["actor_id"] == "act-config"

    def test_forced_progress_is_plain_lines(self, art, run):
        ran = run("load", "--data", "more.jsonl", "--mode", "append", art, "--progress")

        assert "progress: " in ran.err

    def test_an_interrupt_leaves_the_graph_as_it_was(self, art, program, run):
        process = subprocess.Popen(
            [program, "load", "--data", "-", "--mode", "append", art],
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


class TestExport:
    def test_nodes_come_before_edges_on_stdout(self, art, run):
        ran = run("export", art)

        assert ran.code == 0
        records = [json.loads(line) for line in ran.out.splitlines()]
        assert [record.get("type") or record["edge"] for record in records] == [
            "Artist",
            "Artist",
            "Artwork",
            "CreatedBy",
        ]
        assert "Rémy" in ran.out

    def test_an_export_loads_into_an_equal_graph(self, art, run):
        assert run("export", art, "--out", "copy.jsonl").out == ""
        run("init", "--schema", "art.pg", "copy.omni")
        assert run("load", "--data", "copy.jsonl", "--mode", "overwrite", "copy.omni").code == 0

        assert run("export", "copy.omni").out == run("export", art).out

    def test_types_are_chosen_by_name_or_table_key(self, art, run):
        assert run("export", art, "--type", "Artwork").out.count("\n") == 1
        assert run("export", art, "--type", "edge:CreatedBy", "--type", "Artwork").out.count("\n") == 2

    def test_an_unknown_type_fails_before_any_output(self, art, run):
        ran = run("export", art, "--type", "Ghost")

        assert ran.code == 1
        assert ran.out == ""
        assert "Ghost" in ran.err

    def test_a_reader_that_goes_away_ends_the_export_silently(self, art, program):
        reader, writer = os.pipe()
        os.close(reader)

        done = subprocess.run(
            [program, "--quiet", "export", art],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

        os.close(writer)
        assert (done.returncode, done.stderr) == (141, "")

    def test_the_old_jsonl_flag_has_no_effect_but_a_warning(self, art, run):
        ran = run("export", art, "--jsonl", "--quiet")

        assert ran.out == run("export", art).out
        assert ran.err.startswith("warning: ")
        assert "NDJSON" in ran.err
        assert ran.err.count("\n") == 1


class TestSnapshot:
    def test_the_document_lists_the_tables_of_the_version(self, art, run):
        document = run("snapshot", art, "--json").document

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

    def test_people_get_three_facts_and_one_line_per_table(self, art, run):
        lines = run("snapshot", art).out.splitlines()

        assert lines[:2] == ["branch: main", "manifest_version: 2"]
        assert lines[2].startswith("internal_schema_version: ")
        assert [line.split()[:2] for line in lines[3:]] == [
            ["edge:CreatedBy", "rows=1"],
            ["node:Artist", "rows=2"],
            ["node:Artwork", "rows=1"],
        ]

    def test_a_missing_graph_and_a_missing_branch_are_not_found(self, art, run):
        assert run("snapshot", "absent.omni", "--json").document["kind"] == "graph_not_found"
        assert not Path("absent.omni").exists()
        assert run("snapshot", art, "--branch", "absent", "--json").document["kind"] == "branch_not_found"

    @pytest.mark.parametrize("address", ["uri", "environment", "profile", "default"])
    def test_every_way_to_address_a_store_finds_it(self, address, art, run, configure, monkeypatch):
        arguments = {"uri": ("--uri", art), "profile": ("--profile", "laptop")}.get(address, ())
        configure(
            f"profiles: {{ laptop: {{ store: {art} }} }}"
            if address == "profile"
            else f"defaults: {{ store: {art} }}"
            if address == "default"
            else ""
        )
        if address == "environment":
            monkeypatch.setenv("OMNIGRAPH_STORE", art)

        assert run("snapshot", *arguments).code == 0


class TestHistory:
    def test_commits_are_listed_newest_first(self, art, run):
        commits = run("commit", "list", art, "--json").document["commits"]

        assert [commit["kind"] for commit in commits] == ["load", "genesis"]
        assert commits[0]["parent_commit_id"] == commits[1]["graph_commit_id"]
        assert commits[1]["parent_commit_id"] is None
        assert [commit["manifest_version"] for commit in commits] == [2, 1]

    def test_limit_keeps_the_newest(self, art, run):
        [line] = run("commit", "list", art, "--limit", "1").out.splitlines()

        assert re.fullmatch(r"[0-9A-Z]{26} load branch=main version=2", line)

    def test_a_limit_below_one_is_a_usage_error(self, art, run):
        assert run("commit", "list", art, "--limit", "0").code == 2

    def test_show_gives_the_same_commit_as_list(self, art, run):
        newest = run("commit", "list", art, "--json").document["commits"][0]

        assert run("commit", "show", "--store", art, newest["graph_commit_id"], "--json").document == newest

    def test_an_unknown_commit_is_not_found(self, art, run):
        ran = run("commit", "show", "--uri", art, "01J9ZK3V6Q0T8M7R5N2B4C6D8E", "--json")

        assert ran.code == 1
        assert ran.document["kind"] == "commit_not_found"


@pytest.mark.parametrize("word", ["show", "get"])
def test_the_schema_comes_back_as_it_was_written(word, art, run):
    source = Path("art.pg").read_text(encoding="utf-8")

    assert run("schema", word, art).out == source
    assert run("schema", word, art, "--json").document == {"schema_source": source}


@pytest.mark.s3
def test_a_remote_graph_is_echoed_as_remote_and_overwritten_with_consent(seed_files, s3_root, run):
    assert run("init", "--schema", "art.pg", s3_root).code == 0

    ran = run("load", "--mode", "overwrite", "--data", "seed.jsonl", "--store", s3_root, "--yes")

    assert ran.code == 0
    assert ran.err.startswith(f"omnigraph load → {s3_root} (direct, remote)\n")


def all_examples() -> list[str]:
    app = build_app()
    examples = []
    for row in CAPABILITIES:
        group = app.get_command(None, row.group) if row.group else app
        examples.extend(group.get_command(None, row.name).examples)
    return examples


@pytest.mark.parametrize("example", all_examples())
def test_every_example_runs_as_printed(example, art, program):
    environ = {**os.environ, "PATH": f"{Path(program).parent}:{os.environ['PATH']}"}

    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", example], env=environ, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr


def test_the_first_steps_run_in_order(seed_files, program):
    environ = {**os.environ, "PATH": f"{Path(program).parent}:{os.environ['PATH']}"}

    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(FIRST_STEPS)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
