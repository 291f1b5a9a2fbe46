"""A guest changes nothing in the house: a session of the caller's is the same after our work, well or badly done."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import OmniError
from omnigraph.graph import Graph
from support.graphs import edge, node

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCHEMA = """
node Port { code: String @key  mail: String? @unique }
edge Route: Port -> Port
"""
CHILD = Path(__file__).parents[1] / "support" / "spark_guest.py"


@pytest.fixture
def graph(local_root: str) -> Graph:
    return omnigraph.init(local_root, SCHEMA)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    directory = tmp_path / "input"
    directory.mkdir()
    for part in range(2):
        ports = [node("Port", code=f"p{part}-{number}", mail=f"{part}-{number}") for number in range(9)]
        routes = [edge("Route", f"p{part}-{number}", f"p{1 - part}-{number}") for number in range(9)]
        (directory / f"{part}.jsonl").write_text("\n".join(map(json.dumps, [*ports, *routes])))
    return directory


def house(spark: Any) -> dict[str, Any]:
    """Everything of a session that a guest could change."""
    context = spark.sparkContext
    names = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel", "spark.scheduler.pool")
    return {
        "settings": dict(spark.conf.getAll),
        "environment": dict(context.environment),
        "python": context.pythonExec,
        "views": [table.name for table in spark.catalog.listTables()],
        "caches": sorted(context._jsc.getPersistentRDDs()),
        "job": [context.getLocalProperty(name) for name in names],
        "active": [type(spark).getActiveSession(), type(spark)._instantiatedSession],
        "driver": {name: value for name, value in os.environ.items() if name.startswith(("PY", "LANCE", "SPARK"))},
        "workers": inside_workers(spark),
    }


def inside_workers(spark: Any) -> list[tuple[Any, ...]]:
    """What a Python function of the session's owner finds around it."""
    from pyspark.sql.functions import udf

    @udf("string")
    def around(_: int) -> str:
        names = [name for name in os.environ if name.startswith(("PYTHONPATH", "LANCE", "OMNIGRAPH", "AWS"))]
        return json.dumps([sorted((name, os.environ[name]) for name in names), sys.path])

    return sorted({tuple(row) for row in spark.range(0, 8, 1, 4).select(around("id")).collect()})


@pytest.fixture
def owned(spark: Any, tmp_path: Path) -> Any:
    """A session that its owner has made their own."""
    before = dict(spark.sparkContext.environment)
    spark.sparkContext.environment["PYTHONPATH"] = str(tmp_path)
    spark.sparkContext.environment["OMNIGRAPH_OF_THE_OWNER"] = "1"
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", "mine")
    spark.sparkContext.setJobGroup("mine", "what I do")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "12345")
    spark.range(3).createOrReplaceTempView("mine")
    yield spark
    spark.sparkContext.environment.clear()
    spark.sparkContext.environment.update(before)
    for name in ("spark.scheduler.pool", "spark.jobGroup.id", "spark.job.description"):
        spark.sparkContext.setLocalProperty(name, None)
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    spark.catalog.dropTempView("mine")


def test_everything_is_as_before_after_work_that_succeeds_and_work_that_fails(
    owned: Any, graph: Graph, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from omnigraph.spark import register

    monkeypatch.setattr("omnigraph.engine.spark.engine.LONE_ROWS_MAX", -1)  # with views, caches and joins
    before = house(owned)

    assert graph.load(data, mode="append", engine="spark").total_rows == 36
    assert house(owned) == before

    with pytest.raises(OmniError):
        graph.load(data, mode="append", engine="spark")
    with pytest.raises(OmniError, match="out of order"):
        graph.load_dataframe(owned.sql("SELECT raise_error('out of order') AS code"), type="Port", mode="merge")
    assert house(owned) == before

    register(owned)
    assert owned.read.format("omnigraph").options(graph=graph.uri, type="Port").load().count() == 18
    graph.load_dataframe(owned.sql("SELECT concat('q', id) AS code FROM mine"), type="Port", mode="merge")
    assert house(owned) == before


def test_a_new_session_is_told_of_the_source_in_one_line(spark: Any, graph: Graph, data: Path) -> None:
    from omnigraph.spark import register

    graph.load(data, mode="append")

    other = register(spark.newSession())

    assert other is not spark
    assert other.read.format("omnigraph").options(graph=graph.uri, type="Route").load().count() == 18


def test_workers_get_what_tasks_need_and_keep_none_of_it(spark: Any) -> None:
    from omnigraph.engine.spark.engine import SparkEngine
    from omnigraph.engine.spark.session import OpenSession

    before = inside_workers(spark)
    engine = SparkEngine(OpenSession.beside(spark), {"OMNIGRAPH_TEST_KEY": "hush"})

    found = list(engine.map(os.getenv, ["OMNIGRAPH_TEST_KEY", "LANCE_CPU_THREADS", "LANCE_IO_THREADS"]))

    assert sorted(found) == ["1", "4", "hush"]
    assert inside_workers(spark) == before


def in_process_of_its_own(part: str, *arguments: object) -> dict[str, Any]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("OMNIGRAPH_", "SPARK_", "PYSPARK"))
    }
    done = subprocess.run(
        [sys.executable, CHILD, part, *map(str, arguments)], env=kept, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_session_that_we_start_is_nobody_elses_and_serves_two_verbs(graph: Graph, data: Path) -> None:
    found = in_process_of_its_own("private", graph.uri, data)

    assert found["engines"] == ["spark", "spark"]
    assert found["javas_after_each_verb"] == [1, 1], "the second verb starts no other Java"
    assert found["known_after_verbs"] == [None, None, None]
    assert found["same_interrupts"]
    assert found["environment_changed"] == []
    assert found["callers"] == {
        "name": "mine",
        "spark.driver.memory": "600m",
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.autoBroadcastJoinThreshold": "10485760b",
        "sum": 45,
    }
    assert found["verb_in_callers_session"] == ["spark", True]
    assert found["pool"] == ["nightly", True], "of a fair scheduler, the pool of the calling thread"
    assert found["javas_at_end"] == 1, "ours has ended when the caller's is used"


def test_jobs_are_called_by_what_they_do(spark: Any, graph: Graph, data: Path) -> None:
    before = job_names(spark)
    graph.load(data, mode="append", engine="spark")

    names = {name for number, name in job_names(spark).items() if number not in before}
    assert {"omnigraph: reading the input", "omnigraph: checking"} <= names
    assert "omnigraph: at work" not in names


def job_names(spark: Any) -> dict[int, str]:
    """What the jobs of a session are called; other tests have used it before."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = [jobs.apply(place) for place in range(jobs.size())]
    return {job.jobId(): job.description().get() for job in found if job.description().isDefined()}
