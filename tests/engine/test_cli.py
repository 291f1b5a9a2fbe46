"""Where bulk work runs: precedence, contradictions, and the engines this version lacks."""

import importlib.util

import pytest

from omnigraph import errors
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.engine.choice import EngineName, Work
from omnigraph.engine.opening import require_pyspark

pytestmark = pytest.mark.usefixtures("workplace")

LOAD = ("load", "g.omni", "--data", "d.jsonl", "--mode", "merge")


def choose(home, environ=None, **flags):
    invocation = Invocation(argv=(), environ={"OMNIGRAPH_HOME": str(home), **(environ or {})})
    for name, value in flags.items():
        setattr(invocation.flags, name, value)
    return resolve_engine(invocation)


def test_the_engine_is_auto_unless_somebody_says_otherwise(tmp_path):
    choice = choose(tmp_path)

    assert (choice.engine, choice.session, choice.conf) == (EngineName.AUTO, None, {})


def test_flag_beats_environment_beats_config(configure):
    home = configure("defaults: { engine: spark }").parent

    assert choose(home).engine is EngineName.SPARK
    assert choose(home, {"OMNIGRAPH_ENGINE": "auto"}).engine is EngineName.AUTO
    assert choose(home, {"OMNIGRAPH_ENGINE": "auto"}, engine="local").engine is EngineName.LOCAL


def test_sessions_follow_the_documented_precedence(configure):
    home = configure("spark: { master: 'config' }").parent
    environ = {}
    found = [choose(home, environ).session.setting]
    for variable in ("OMNIGRAPH_SPARK_MASTER", "SPARK_REMOTE", "OMNIGRAPH_SPARK_REMOTE"):
        environ[variable] = "x"
        found.append(choose(home, environ).session.setting)
    found.extend(
        (
            choose(home, environ, spark_master="m").session.setting,
            choose(home, environ, spark_remote="r").session.setting,
        )
    )

    assert found == [
        "spark.master",
        "$OMNIGRAPH_SPARK_MASTER",
        "$SPARK_REMOTE",
        "$OMNIGRAPH_SPARK_REMOTE",
        "--spark-master",
        "--spark-remote",
    ]


def test_conf_flags_are_laid_over_the_config_and_the_last_wins(configure):
    home = configure("spark: { conf: { a: 1, b: 2 } }").parent

    choice = choose(home, spark_conf=("b=3", "c=x=y", "b=4"))

    assert choice.conf == {"a": "1", "b": "4", "c": "x=y"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--spark-master", "local[2]", "--spark-remote", "sc://x"),
        ("--spark-conf", "key"),
        ("--spark-conf", "=value"),
        ("--engine", "local", "--spark-ui"),
        ("--engine", "local", "--spark-master", "local[2]"),
        ("--engine", "gpu"),
    ],
)
def test_contradictions_are_usage_errors(arguments, run):
    ran = run(*LOAD, *arguments)

    assert ran.code == 2
    assert arguments[0] in ran.err or arguments[-2] in ran.err or arguments[-1] in ran.err


def test_repeated_conf_flags_are_collected_from_every_place_on_the_line(run):
    ran = run("--spark-conf", "a=1", *LOAD, "--spark-conf", "broken")

    assert ran.code == 2
    assert "`broken`" in ran.err


def test_an_unknown_engine_in_the_environment_is_a_usage_error(run, monkeypatch):
    monkeypatch.setenv("OMNIGRAPH_ENGINE", "gpu")

    ran = run(*LOAD)

    assert ran.code == 2
    assert "$OMNIGRAPH_ENGINE" in ran.err


@pytest.fixture
def no_java(tmp_path, monkeypatch):
    """A process without Java, and without the session that other tests of this one have started."""
    from omnigraph.engine.spark import session

    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java-here"))
    monkeypatch.setattr(session, "callers_session", lambda: None)
    monkeypatch.setattr(session, "_private", {})


def test_spark_without_java_is_refused_before_any_work(run, no_java, art):
    before = run("commit", "list", art, "--json").document

    ran = run("load", art, "--data", "more.jsonl", "--mode", "merge", "--engine", "spark", "--json")

    assert ran.code == 1
    assert ran.document["kind"] == "engine_unavailable"
    assert ran.document["engine_unavailable"]["engine"] == "spark"
    assert "JAVA_HOME" in ran.err
    assert "--engine local" in ran.err
    assert ran.document["engine_unavailable"]["missing"].startswith("Java 17 or newer")
    assert run("commit", "list", art, "--json").document == before


def test_a_session_that_somebody_configured_is_never_replaced_silently(run, no_java, art):
    ran = run("load", art, "--data", "more.jsonl", "--mode", "merge", "--spark-master", "local[1]")

    assert ran.code == 1
    assert "--spark-master needs Java 17" in ran.err


def test_spark_that_only_the_size_asks_for_is_replaced_with_a_note(run, no_java, art, monkeypatch):
    monkeypatch.setenv("OMNIGRAPH_SPARK_MIN_BYTES", "1")

    ran = run("load", art, "--data", "more.jsonl", "--mode", "merge", "--json")

    assert ran.code == 0
    assert "note: running locally; Spark is not available (Java 17 or newer" in ran.err
    assert ran.document["engine"] == "local"
    assert ran.document["engine_reason"].endswith("at least 1 B, but Spark is not available")


def test_small_input_runs_in_process_and_says_so(run, art):
    ran = run("load", art, "--data", "more.jsonl", "--mode", "merge", "--json", "--verbose")

    assert ran.document["engine"] == "local"
    assert ran.document["engine_reason"].endswith("below 32 MiB")
    assert f"engine: local ({ran.document['engine_reason']})" in ran.err


def test_a_threshold_that_is_no_number_is_a_usage_error(run, monkeypatch):
    monkeypatch.setenv("OMNIGRAPH_SPARK_MIN_BYTES", "lots")

    ran = run(*LOAD)

    assert ran.code == 2
    assert "$OMNIGRAPH_SPARK_MIN_BYTES" in ran.err


def test_without_pyspark_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)

    with pytest.raises(errors.EngineUnavailable, match=r"--engine spark: .*omnigraph\[spark\]"):
        require_pyspark("--engine spark")


def test_an_explicit_local_engine_overrides_a_configured_session(tmp_path):
    choice = choose(tmp_path, {"SPARK_REMOTE": "sc://x"}, engine="local")

    assert choice.decide(Work.LOAD, 1 << 40).engine is EngineName.LOCAL
