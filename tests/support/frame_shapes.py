"""Ways to ask one frame more than once, each compared with the same rows as a plain frame of Spark's own.

    python frame_shapes.py GRAPH sc://…

What a frame answered before must not change what it answers next. As a script it runs all shapes on a Connect server
and prints the names of those that go wrong.
"""

import sys
from collections.abc import Callable
from typing import Any

PEOPLE = [{"name": f"p{number:03d}", "age": number} for number in range(100)]
_COLUMNS = "id string, name string, age int"

Shape = Callable[[Any, Any], list[Any]]
"""Takes the session and the frame."""


def _ids(frame: Any) -> list[str]:
    return sorted(row["id"] for row in frame.select("id").collect())


def _viewed(statement: str) -> Shape:
    def ask(spark: Any, people: Any) -> list[Any]:
        people.createOrReplaceTempView("asked")
        try:
            return sorted(tuple(row) for row in spark.sql(statement).collect())
        finally:
            spark.catalog.dropTempView("asked")

    return ask


def _explained(_: Any, people: Any) -> list[Any]:
    people.where("age > 40").explain()
    return [people.count()]


def _cached(_: Any, people: Any) -> list[Any]:
    old = people.where("age > 40").cache()
    try:
        return [old.count(), people.count(), old.where("age < 60").count()]
    finally:
        old.unpersist()


def _through_views(spark: Any, people: Any) -> list[Any]:
    people.where("age < 10").createOrReplaceTempView("young")
    people.createOrReplaceTempView("everybody")
    try:
        return [spark.table(name).count() for name in ("young", "everybody", "young")]
    finally:
        spark.catalog.dropTempView("young")
        spark.catalog.dropTempView("everybody")


SHAPES: dict[str, Shape] = {
    "a filter, then all": lambda _, people: [people.where("age > 40").count(), people.count()],
    "all, a filter, all": lambda _, people: [people.count(), people.where("age > 40").count(), people.count()],
    "two filters": lambda _, people: [people.where("age > 40").count(), people.where("age <= 40").count()],
    "a union of two filters": lambda _, people: _ids(people.where("age < 3").union(people.where("age > 96"))),
    "a union with itself": lambda _, people: [people.where("age = 5").union(people).count()],
    "a self join": lambda _, people: _ids(
        people.where("age < 5").alias("a").join(people.alias("b"), "id").select("id")
    ),
    "a self join of two filters": lambda _, people: _ids(
        people.where("age < 50").select("id").join(people.where("age > 45").select("id"), "id")
    ),
    "an anti join": lambda _, people: _ids(people.join(people.where("age > 5").select("id"), "id", "left_anti")),
    "a semi join": lambda _, people: _ids(people.join(people.where("age < 5").select("id"), "id", "left_semi")),
    "an intersection": lambda _, people: _ids(people.where("age < 50").intersect(people.where("age > 45"))),
    "what is left": lambda _, people: _ids(people.exceptAll(people.where("age > 3"))),
    "a cross join": lambda _, people: [
        people.where("age < 2").select("id").crossJoin(people.where("age > 97").selectExpr("id AS other")).count()
    ],
    "explained, then all": _explained,
    "a cached filter": _cached,
    "a filter of a filter": lambda _, people: [people.where("age > 40").where("age < 50").count(), people.count()],
    "sums beside a filter": lambda _, people: [
        people.where("id = 'p007'").agg({"age": "sum"}).collect()[0][0],
        people.agg({"age": "sum"}).collect()[0][0],
    ],
    "sorted and cut": lambda _, people: [
        [row["id"] for row in people.where("age > 90").orderBy("id").limit(2).collect()],
        [row["id"] for row in people.orderBy("id").limit(2).collect()],
    ],
    "a column of a filter": lambda _, people: [
        sorted(row[0] for row in people.where("name = 'p003'").select("age").collect()),
        len(people.select("age").collect()),
    ],
    "nulls and not nulls": lambda _, people: [
        people.where("age IS NULL").count(),
        people.where("age IS NOT NULL").count(),
        people.count(),
    ],
    "a view asked twice": _viewed("SELECT count(*) FROM asked WHERE age > 40 UNION ALL SELECT count(*) FROM asked"),
    "a scalar below": _viewed("SELECT (SELECT count(*) FROM asked WHERE age > 40), count(*) FROM asked"),
    "a view in a clause": _viewed(
        "WITH old AS (SELECT * FROM asked WHERE age > 90) SELECT a.id FROM old a JOIN asked b ON a.id = b.id"
    ),
    "in what a filter gives": _viewed("SELECT count(*) FROM asked WHERE id IN (SELECT id FROM asked WHERE age < 7)"),
    "views of both": _through_views,
}


def plain_frame(spark: Any) -> Any:
    """Return the same rows as a frame that no source of ours has read."""
    rows = [(person["name"], person["name"], person["age"]) for person in PEOPLE]
    return spark.createDataFrame(rows, _COLUMNS)


def read_frame(spark: Any, uri: str) -> Any:
    """Return the frame of the data source."""
    reader = spark.read.format("omnigraph").option("graph", uri).option("type", "Person")
    return reader.option("columns", "id,name,age").load()


def wrong_shapes(spark: Any, people: Any) -> list[str]:
    """Ask one frame in all shapes, one after the other; return those that differ from a plain frame."""
    plain = plain_frame(spark)
    return [name for name, ask in SHAPES.items() if ask(spark, people) != ask(spark, plain)]


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    from omnigraph.spark import register

    session = SparkSession.builder.remote(sys.argv[2]).getOrCreate()
    register(session)
    print("wrong:", wrong_shapes(session, read_frame(session, sys.argv[1])))
