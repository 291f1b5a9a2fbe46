"""What a program sees of Spark that calls verbs first and starts a session of its own later; says it as JSON.

python spark_guest.py private GRAPH DATA
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import omnigraph


def javas() -> int:
    """How many Java processes this process has started that still run."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return sum(b"java" in Path(f"/proc/{child}/cmdline").read_bytes() for child in children)


def private(uri: str, data: str) -> dict[str, Any]:
    """Two verbs, then a session of the caller's, then another verb."""
    graph = omnigraph.open(uri)
    environment, handler = dict(os.environ), signal.getsignal(signal.SIGINT)
    found: dict[str, Any] = {"engines": [], "javas_after_each_verb": []}
    for _ in range(2):
        found["engines"].append(graph.load(data, mode="merge", engine="spark").engine)
        found["javas_after_each_verb"].append(javas())

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    known = [SparkSession.getActiveSession(), SparkContext._active_spark_context, SparkContext._gateway]
    found["known_after_verbs"] = [value if value is None else str(value) for value in known]
    found["same_interrupts"] = signal.getsignal(signal.SIGINT) is handler
    changed = {name for name in {*environment, *os.environ} if environment.get(name) != os.environ.get(name)}
    found["environment_changed"] = sorted(changed - {"SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"})

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("mine").config("spark.ui.enabled", "false")
    builder = builder.config("spark.scheduler.mode", "FAIR")
    spark = builder.config("spark.driver.memory", "600m").getOrCreate()
    names = ("spark.driver.memory", "spark.sql.codegen.wholeStage", "spark.sql.autoBroadcastJoinThreshold")
    found["callers"] = {
        "name": spark.sparkContext.appName,
        **{name: spark.conf.get(name) for name in names},
        "sum": spark.range(10).groupBy().sum("id").collect()[0][0],
    }
    context = spark.sparkContext
    context.setLocalProperty("spark.scheduler.pool", "nightly")
    engine = graph.load(data, mode="merge", engine="spark").engine
    found["verb_in_callers_session"] = [engine, SparkSession.getActiveSession() is spark]
    pool = context._jsc.sc().getPoolForName("nightly")
    found["pool"] = [context.getLocalProperty("spark.scheduler.pool"), pool.isDefined()]
    found["javas_at_end"] = javas()
    return found


if __name__ == "__main__":
    part, *arguments = sys.argv[1:]
    sys.stdout.write("\n" + json.dumps({"private": private}[part](*arguments)) + "\n")
