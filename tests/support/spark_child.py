"""Writes a graph from a Spark session of its own: what a job on a cluster or against a Connect server does.

    python spark_child.py GRAPH SESSION DIRECTORY load write stream records follow

SESSION is a master or `sc://…`. DIRECTORY holds `in/*.json`, the input of the stream, and `records/*.json`, and gets
the checkpoints; the changes that are followed go there too.
"""

import sys

import omnigraph
from omnigraph.spark import register


def main(uri: str, url: str, directory: str, *steps: str) -> None:
    from spark_session import program_session  # beside this program

    spark = program_session(url)
    register(spark)
    people = spark.sql("SELECT concat('p', id) AS name, CAST(id AS INT) AS age FROM range(0, 90, 1, 3)")
    knows = spark.sql("SELECT concat('p', id) AS `from`, concat('p', id + 1) AS `to` FROM range(0, 80, 1, 4)")
    if "load" in steps:
        result = omnigraph.open(uri).load_dataframe(people, type="Person", mode="merge")
        assert result.engine == "spark"
    if "write" in steps:
        knows.write.format("omnigraph").options(graph=uri, type="Knows", loadMode="append").mode("append").save()
    if "stream" in steps:
        stream_events(spark, uri, directory)
    if "records" in steps:
        lines = spark.readStream.text(f"{directory}/records")
        sink = lines.writeStream.format("omnigraph").options(graph=uri, loadMode="merge", badRecordsPath=f"{uri}-bad")
        sink = sink.option("queryId", "records").option("checkpointLocation", f"{directory}/records-checkpoint")
        sink.trigger(availableNow=True).start().awaitTermination()
    if "follow" in steps:
        from changes_child import follow_changes

        follow_changes(spark, uri, f"{directory}/followed", until_head=True)


def stream_events(spark: object, uri: str, directory: str, **options: str) -> None:
    """Load every file of the directory as a batch of its own, and stop."""
    events = spark.readStream.schema("name string, n long").option("maxFilesPerTrigger", 1).json(f"{directory}/in")  # type: ignore[attr-defined]
    sink = events.writeStream.format("omnigraph").options(graph=uri, type="Event", loadMode="append", **options)
    query = sink.option("checkpointLocation", f"{directory}/checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
