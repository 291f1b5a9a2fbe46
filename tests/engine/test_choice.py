"""What `auto` takes, at the borders of every kind of work."""

import sys

import pytest

from omnigraph.engine.choice import (
    OWN_SESSION_MIN_BYTES,
    SPARK_MIN_BYTES,
    EngineChoice,
    EngineName,
    SparkAddress,
    Work,
    session_from_environment,
)
from omnigraph.engine.opening import decide

AUTO = EngineChoice()
CONFIGURED = SparkAddress(url="spark://etl:7077", is_remote=False, setting="spark.master", is_ambient=True)
ASKED = SparkAddress(url="spark://etl:7077", is_remote=False, setting="--spark-master")
CONFIGURED_CHOICE, ASKED_CHOICE = EngineChoice(session=CONFIGURED), EngineChoice(session=ASKED)


@pytest.mark.parametrize("work", list(Work))
def test_a_session_is_started_only_from_where_its_start_is_a_fifth_of_the_work(work):
    least = OWN_SESSION_MIN_BYTES[work]

    below, at = AUTO.decide(work, least - 1), AUTO.decide(work, least)

    assert least > SPARK_MIN_BYTES
    assert (below.engine, at.engine) == (EngineName.LOCAL, EngineName.SPARK)
    assert below.reason.endswith("from where on it pays to start Spark")
    assert not at.is_forced


@pytest.mark.parametrize("work", list(Work))
@pytest.mark.parametrize(("choice", "has_session"), [(AUTO, True), (CONFIGURED_CHOICE, False)])
def test_a_session_that_is_there_is_used_from_the_common_limit_on(work, choice, has_session):
    below = choice.decide(work, SPARK_MIN_BYTES - 1, has_session=has_session)
    at = choice.decide(work, SPARK_MIN_BYTES, has_session=has_session)

    assert (below.engine, at.engine) == (EngineName.LOCAL, EngineName.SPARK)
    assert (below.reason, at.reason) == ("32 MiB, below 32 MiB", "32 MiB, at least 32 MiB")
    assert at.is_forced is (choice is CONFIGURED_CHOICE)


def test_a_session_that_the_command_itself_names_is_used_whatever_the_size():
    for size in (None, 0, 1 << 40):
        decision = ASKED_CHOICE.decide(Work.LOAD, size)
        assert (decision.engine, decision.reason, decision.is_forced) == (
            EngineName.SPARK,
            "--spark-master is set",
            True,
        )


@pytest.mark.parametrize("choice", [AUTO, CONFIGURED_CHOICE])
def test_work_of_unknown_size_counts_as_small(choice):
    assert choice.decide(Work.LOAD, None, has_session=True).engine is EngineName.LOCAL


def test_a_limit_that_somebody_set_holds_with_and_without_a_session():
    choice = EngineChoice(spark_min_bytes=10)

    for has_session in (False, True):
        assert choice.decide(Work.LOAD, 9, has_session=has_session).engine is EngineName.LOCAL
        assert choice.decide(Work.LOAD, 10, has_session=has_session).engine is EngineName.SPARK


@pytest.mark.parametrize("name", ["OMNIGRAPH_SPARK_REMOTE", "SPARK_REMOTE", "OMNIGRAPH_SPARK_MASTER"])
def test_what_the_environment_names_is_named_for_all_commands(name):
    assert session_from_environment({name: "x"}).is_ambient


def test_a_process_without_pyspark_is_not_made_to_import_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "pyspark.sql", raising=False)

    assert decide(AUTO, Work.LOAD, SPARK_MIN_BYTES).engine is EngineName.LOCAL
    assert "pyspark.sql" not in sys.modules


@pytest.mark.parametrize(("context", "engine"), [(object(), EngineName.SPARK), (None, EngineName.LOCAL)])
def test_the_session_of_the_calling_process_counts(context, engine, monkeypatch):
    import pyspark.sql

    assert not pyspark.sql.is_remote()
    monkeypatch.setattr("omnigraph.engine.spark.session.known_to_pyspark", lambda: (context, None))

    assert decide(AUTO, Work.LOAD, SPARK_MIN_BYTES).engine is engine


def test_what_spark_submit_has_started_counts(monkeypatch):
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")

    assert decide(AUTO, Work.LOAD, SPARK_MIN_BYTES).engine is EngineName.SPARK
