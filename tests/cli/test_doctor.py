"""`doctor` and `version`: what they find on this machine."""

from importlib.metadata import version
from pathlib import Path

import pytest

from omnigraph.engine.spark.java import java_feature_version


@pytest.fixture
def java(workplace: Path, monkeypatch):
    """A Java that answers as told."""

    def install(answer: str) -> None:
        executable = workplace / "jdk" / "bin" / "java"
        executable.parent.mkdir(parents=True)
        executable.write_text(f"#!/bin/sh\necho '{answer}' >&2\n", encoding="utf-8")
        executable.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(workplace / "jdk"))

    return install


def checks_of(ran):
    return {check["name"]: check for check in ran.document["checks"]}


def test_a_working_machine_is_ok(run, java):
    java('openjdk version "21.0.4" 2024-07-16')

    ran = run("doctor", "--json")

    assert ran.code == 0
    assert ran.document["ok"] is True
    checks = checks_of(ran)
    assert checks["lance"] == {"name": "lance", "status": "ok", "found": version("pylance")}
    assert checks["duckdb"]["found"] == version("duckdb")
    assert checks["java"] == {"name": "java", "status": "ok", "found": "21.0.4"}
    assert {"python", "pyspark", "cores", "memory", "scratch", "config", "credentials", "engine"} <= set(checks)


def test_people_get_one_line_per_check(run, java):
    java('openjdk version "17.0.9"')

    lines = run("doctor").out.splitlines()

    assert len(lines) == len(checks_of(run("doctor", "--json")))
    assert any(line.split()[:3] == ["ok", "java", "17.0.9"] for line in lines)


@pytest.mark.parametrize("answer", ['java version "1.8.0_392"', 'openjdk version "11.0.2"', "nonsense"])
def test_an_old_or_missing_java_is_a_warning_with_a_fix(answer, run, java):
    java(answer)

    ran = run("doctor", "--json")

    assert ran.code == 0
    assert checks_of(ran)["java"]["status"] == "warning"
    assert "JAVA_HOME" in checks_of(ran)["java"]["fix"]


def test_a_credentials_file_that_others_can_read_is_an_error_with_a_fix(run, java, tmp_path):
    java('openjdk version "17.0.9"')
    credentials = tmp_path / "home" / "credentials"
    credentials.parent.mkdir()
    credentials.write_text("[prod]\ntoken = 7f3c\n", encoding="utf-8")
    credentials.chmod(0o644)

    ran = run("doctor", "--json")

    assert ran.code == 1
    assert ran.document["ok"] is False
    assert checks_of(ran)["credentials"]["fix"] == f"chmod 600 {credentials}"
    assert "7f3c" not in ran.out
    assert ran.err.startswith("error: ")
    assert "credentials" in ran.err


def test_a_broken_operator_config_is_a_finding_not_a_refusal(run, java, configure):
    java('openjdk version "17.0.9"')
    path = configure("operator: [")

    ran = run("doctor", "--json")

    assert ran.code == 1
    assert str(path) in checks_of(ran)["config"]["found"]


@pytest.mark.parametrize(("text", "number"), [("1.8.0_392", 8), ("11.0.2", 11), ("17", 17), ("21-ea", 21), ("x", 0)])
def test_java_feature_versions_are_read_in_both_styles(text, number):
    assert java_feature_version(text) == number


def test_version_has_two_lines_and_a_document(run):
    from omnigraph import INTERNAL_SCHEMA_VERSION, __version__

    assert run("version").out == f"omnigraph {__version__}\ninternal-schema {INTERNAL_SCHEMA_VERSION}\n"
    assert run("version", "--json").document == {
        "version": __version__,
        "internal_schema_version": INTERNAL_SCHEMA_VERSION,
        "pylance": version("pylance"),
        "pyspark": version("pyspark"),
    }
