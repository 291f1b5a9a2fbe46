"""What goes to stdout, what to stderr, and how a run ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph import errors
from omnigraph.cli.failures import report_failure
from omnigraph.cli.invocation import Invocation


def test_a_failure_is_one_line_on_stderr_and_nothing_on_stdout(run_process):
    ran = run_process("snapshot")

    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1


def test_with_json_a_failure_is_also_one_document_on_stdout(run_process):
    ran = run_process("snapshot", "--json")

    assert ran.code == 2
    assert ran.document["kind"] == "addressing"
    assert f"error: {ran.document['error']}\n" == ran.err


def test_json_is_honoured_even_when_the_line_does_not_parse(run):
    ran = run("snapshot", "--json", "--no-such-flag")

    assert ran.code == 2
    assert ran.document["kind"] == "usage"
    assert ran.document["usage"] == {"flag": "--no-such-flag"}


def test_words_after_a_double_dash_are_not_flags(run):
    ran = run("commit", "show", "--", "--json")

    assert ran.out == ""
    assert ran.err.startswith("error: ")


def test_documents_are_utf8_whatever_the_environment_says(program, workplace):
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}

    done = subprocess.run(
        [program, "snapshot", "--profile", "Rémy", "--json"], env=environ, capture_output=True, timeout=60, check=False
    )

    assert done.returncode == 2
    assert "profile 'Rémy' is not defined" in json.loads(done.stdout.decode("utf-8"))["error"]
    assert "Rémy".encode() in done.stdout


def test_a_stack_trace_is_shown_only_on_request(run_process):
    assert "Traceback" not in run_process("snapshot").err
    assert "Traceback" in run_process("snapshot", "--debug").err


@pytest.mark.parametrize("arguments", [("--help",), ("profile", "show", "--json")])
def test_a_closed_stdout_ends_silently_with_141(arguments, program, workplace):
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        [program, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )

    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == ""


def test_an_interrupt_ends_with_130(program, workplace: Path):
    """`doctor` asks Java for its version; a Java that never answers keeps it busy until the signal."""
    started = workplace / "started"
    java = workplace / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ntouch {started}\nexec sleep 60\n", encoding="utf-8")
    java.chmod(0o755)
    process = subprocess.Popen(
        [program, "doctor"],
        env={**os.environ, "JAVA_HOME": str(java.parent.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(started)

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert process.returncode == 130
    assert out == ""
    assert err == "error: interrupted\n"


def wait_for(path: Path) -> None:
    from omnigraph.base import clock

    assert clock.wait_until(path.exists, timeout_seconds=30)


class TestFailureTranslation:
    def report(self, failure: Exception, *arguments: str) -> int:
        return report_failure(failure, Invocation(argv=arguments, environ={}))

    def test_an_unexpected_exception_becomes_internal_without_its_text(self, capsys):
        code = self.report(KeyError("password=hunter2"), "--json")

        out, err = capsys.readouterr()
        assert code == 1
        assert json.loads(out)["kind"] == "internal"
        assert "KeyError" in err
        assert "--debug" in err
        assert "hunter2" not in out + err

    @pytest.mark.parametrize(("storage_kind", "code"), [("transient", 8), ("configuration", 1), ("not_found", 1)])
    def test_a_transient_storage_failure_says_try_later(self, storage_kind, code, capsys):
        failure = errors.StorageError("The store did not answer.", storage_kind=storage_kind, uri="s3://x")

        assert self.report(failure) == code

    def test_exit_codes_come_from_the_error_classes(self, capsys):
        codes = {
            errors.Usage: 2,
            errors.NotConfirmed: 3,
            errors.PreconditionFailed: 4,
            errors.KeyConflict: 5,
            errors.RecoveryRequired: 7,
            errors.BranchBusy: 8,
            errors.GraphNotFound: 1,
        }

        assert {kind: self.report(kind("message")) for kind in codes} == codes

    def test_rejected_records_are_listed_with_their_place(self, capsys):
        failure = errors.InvalidRecord(
            "load rejected: 3 errors",
            total_errors=3,
            errors=[
                {"file": "a.jsonl", "line": 2, "code": "wrong_type", "message": "Sailor.age expects I32"},
                {"code": "orphan_edge", "row_id": "E1", "message": "endpoint Bo not found"},
            ],
        )

        self.report(failure)

        assert capsys.readouterr().err.splitlines() == [
            "error: load rejected: 3 errors",
            "a.jsonl:2: [wrong_type] Sailor.age expects I32",
            "[orphan_edge] endpoint Bo not found",
            "… and 1 more",
        ]


def test_the_module_runs_like_the_script(workplace):
    done = subprocess.run(
        [sys.executable, "-m", "omnigraph.cli.main", "snapshot"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert "no graph addressed" in done.stderr
