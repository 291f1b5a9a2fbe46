"""Words of the line, variables and configuration that are no plain text: exit code 2, before anything is written."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph
from support.nasty_texts import nasty

LOAD = ("load", "--data", "more.jsonl", "--mode", "merge", "art.omni")
# `{}` is where the text goes.
LINES: dict[str, tuple[str, ...]] = {
    "actor": (*LOAD, "--as", "{}"),
    "actor after =": (*LOAD, "--as={}"),
    "branch": (*LOAD, "--branch", "{}"),
    "from": (*LOAD, "--branch", "new", "--from", "{}"),
    "data": ("load", "--data", "{}", "--mode", "merge", "art.omni"),
    "type": ("load", "--data", "more.jsonl", "--type", "{}", "--mode", "merge", "art.omni"),
    "message": ("branch", "merge", "side", "--message", "{}", "--store", "art.omni"),
    "new branch": ("branch", "create", "{}", "--store", "art.omni"),
    "address": ("snapshot", "{}"),
    "store": ("snapshot", "--store", "{}"),
    "new graph": ("init", "--schema", "art.pg", "new{}.omni"),
    "commit": ("commit", "show", "{}", "--store", "art.omni"),
    "output": ("export", "art.omni", "--out", "{}"),
    "profile": ("snapshot", "--profile", "{}"),
    "spark setting": (*LOAD, "--spark-conf", "spark.x={}"),
    "operation": ("recover", "art.omni", "--abandon", "{}", "--confirm"),
    "a command": ("{}",),
    "a flag": ("snapshot", "--{}", "art.omni"),
}
VARIABLES = ("OMNIGRAPH_STORE", "OMNIGRAPH_PROFILE", "OMNIGRAPH_ENGINE", "OMNIGRAPH_SPARK_REMOTE", "AWS_REGION")


def state(directory: Path) -> tuple[object, ...]:
    return (
        sorted(path.name for path in directory.iterdir()),
        [commit.graph_commit_id for commit in omnigraph.open("art.omni", read_only=True).commits()],
        sorted(path.name for path in directory.glob("art.omni/__recovery/*")),
    )


@pytest.mark.parametrize("door", LINES)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=nasty)
def test_a_word_that_cannot_be_listed_is_refused_in_one_line(art, run, workplace, door: str, text: str) -> None:
    before = state(workplace)

    ran = run(*(word.replace("{}", text) for word in LINES[door]))

    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("error: The argument")
    assert ran.err.removesuffix("\n").isprintable()
    assert state(workplace) == before


@pytest.mark.parametrize("given_bytes", [b"\xff", b"caf\xe9", b"a\nb", b"\x1b[2J", b"\xed\xa0\x80"])
def test_bytes_that_are_no_text_end_a_real_process_with_2(art, program, given_bytes: bytes) -> None:
    done = subprocess.run(
        [os.fsencode(word) for word in (program, *LOAD, "--as")] + [given_bytes],
        capture_output=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"error: The argument after --as ")
    assert done.stderr.count(b"\n") == 1
    assert len(omnigraph.open(art, read_only=True).commits()) == 2


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_variable_that_is_no_text_is_named_without_its_value(art, program, variable: str) -> None:
    environ = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    environ[os.fsencode(variable)] = b"hunter2\xff"

    done = subprocess.run([program, "snapshot", art], env=environ, capture_output=True, timeout=120, check=False)

    assert done.returncode == 2
    assert variable.encode() in done.stderr
    assert b"hunter2" not in done.stderr + done.stdout


CONFIGURED = (
    'operator:\n  actor: "a\\nb"\n',
    'operator:\n  actor: "\\ud800"\n',
    'profiles:\n  "x\\ny":\n    store: art.omni\n',
    'defaults:\n  store: "art\\x1b.omni"\n',
    'spark:\n  conf:\n    spark.x: "\\u2028"\n',
)


@pytest.mark.parametrize("config", CONFIGURED)
def test_a_configured_name_that_is_no_plain_text_is_refused_with_the_file(art, run, configure, config: str) -> None:
    path = configure(config)

    ran = run(*LOAD)

    assert ran.code == 2
    assert str(path) in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("config", ["[" * 5000, "a: " + "{b: " * 3000, "a: 2026-99-99", "- " * 4000 + "x"])
def test_a_config_that_no_parser_gets_through_is_refused_with_the_file(art, run, configure, config: str) -> None:
    path = configure(config)

    ran = run(*LOAD)

    assert ran.code == 2
    assert f"operator config '{path}'" in ran.err
    assert ran.err.count("\n") == 1


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=10))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_records_are_compared_with_may_be_any_text(run, text: str) -> None:
    ran = run("embed", "--input", "no-such-file", "--output", "out", "--spec", "spec.json", "--select", f"title={text}")

    assert "control character" not in ran.err
