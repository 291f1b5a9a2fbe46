"""Follows the changes of a graph into JSON files, from a Spark session of its own.

    python changes_child.py GRAPH SESSION DIRECTORY follow|once

DIRECTORY gets the files below `out`, and the checkpoint. `follow` goes on until it is killed.
"""

import sys
from typing import Any

from omnigraph.spark import register


def main(uri: str, url: str, directory: str, step: str) -> None:
    from spark_session import program_session  # beside this program

    spark = program_session(url)
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
