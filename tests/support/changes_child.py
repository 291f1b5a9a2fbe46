"""Follows the changes of a graph into JSON files, from a Spark session of its own.

    python changes_child.py GRAPH SESSION DIRECTORY follow|once

DIRECTORY gets the files below `out`, and the checkpoint. `follow` goes on until it is killed.
"""

import os
import sys
from typing import Any

from omnigraph.engine.choice import EngineChoice, EngineName, SparkAddress
from omnigraph.engine.spark.session import open_session
from omnigraph.spark import register


def main(uri: str, url: str, directory: str, step: str) -> None:
    address = SparkAddress(url=url, is_remote=url.startswith("sc://"), setting="the test")
    spark = open_session(EngineChoice(engine=EngineName.SPARK, session=address), os.environ, {})
    register(spark)
    follow_changes(spark, uri, directory, until_head=step == "once")


def follow_changes(spark: Any, uri: str, directory: str, *, until_head: bool) -> None:
    """Write every change to a file, three commits at a time; files count once Spark has logged their batch."""
    reader = spark.readStream.format("omnigraph").options(graph=uri, startingVersion="earliest", maxCommitsPerBatch=3)
    sink = reader.load().writeStream.format("json").option("checkpointLocation", f"{directory}/checkpoint")
    sink = sink.trigger(availableNow=True) if until_head else sink.trigger(processingTime="0 seconds")
    sink.start(f"{directory}/out").awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
