"""Settings of the caller's session: whatever they are, rows and commits are the same, and the settings stay."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from support import harbor
from support.graphs import edge, node

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCHEMA = """
node Person { name: String @key  age: I32?  seen: DateTime?  born: Date?  mail: String? @unique  tags: [String]?
              raw: Blob? }
edge Knows: Person -> Person { since: Date? }
"""
PEOPLE = """
    SELECT concat('p', id) AS name, CAST(id % 90 AS INT) AS age,
           timestamp_micros(1730615400001000 + id * 1000) AS seen, DATE '2024-11-03' AS born,
           concat(id, '@x') AS mail, array('a', concat('b', id)) AS tags
    FROM range(0, 30, 1, 3)
"""
"""Times lie in the hour that New York had twice."""

SETTINGS: dict[str, dict[str, str]] = {
    "large types": {"spark.sql.execution.arrow.useLargeVarTypes": "true"},
    "as they are": {},
    "ANSI": {"spark.sql.ansi.enabled": "true", "spark.sql.storeAssignmentPolicy": "STRICT"},
    "no ANSI": {"spark.sql.ansi.enabled": "false"},
    "adaptive": {"spark.sql.adaptive.enabled": "true", "spark.sql.adaptive.coalescePartitions.enabled": "true"},
    "not adaptive": {"spark.sql.adaptive.enabled": "false"},
    "a zone with repeated hours": {"spark.sql.session.timeZone": "America/New_York"},
    "a zone ahead": {"spark.sql.session.timeZone": "Asia/Kolkata", "spark.sql.timestampType": "TIMESTAMP_NTZ"},
    "case": {"spark.sql.caseSensitive": "true"},
    "code generation": {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"},
    "no code generation": {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
    "small batches": {"spark.sql.execution.arrow.maxRecordsPerBatch": "3", "spark.sql.shuffle.partitions": "3"},
}


@pytest.fixture
def session(spark: Any, request: pytest.FixtureRequest) -> Any:
    """The session with the settings of a case."""
    settings = SETTINGS[request.param]
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", "nightly")
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", None)


def expected_people() -> list[tuple[Any, ...]]:
    """The rows of both loads, worked out without Spark."""
    first = datetime(2024, 11, 3, 6, 30, 0, 1_000, tzinfo=UTC)
    from_frame = [
        (f"p{n}", n, first + timedelta(milliseconds=n), date(2024, 11, 3), f"{n}@x", ["a", f"b{n}"]) for n in range(30)
    ]
    return sorted([*from_frame, *((f"q{n}", n, None, None, f"q{n}@x", None) for n in range(9))])


@pytest.mark.parametrize("session", SETTINGS, indirect=True)
def test_rows_are_the_same_and_settings_stay(
    session: Any, local_root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.engine.spark.engine.LONE_ROWS_MAX", -1)  # joins on the workers, not on one
    graph = omnigraph.init(local_root, SCHEMA)
    before = dict(session.conf.getAll), dict(session.sparkContext.environment)
    records = [node("Person", name=f"q{number}", mail=f"q{number}@x", age=number) for number in range(9)]
    (tmp_path / "q.jsonl").write_bytes(harbor.lines([*records, edge("Knows", "q1", "q2", since="2024-11-03")]).read())

    assert graph.load(tmp_path / "q.jsonl", mode="append", engine="spark").total_rows == 10
    assert graph.load_dataframe(session.sql(PEOPLE), type="Person", mode="merge").commit is not None
    knows = session.sql("SELECT concat('p', id) AS `from`, concat('q', id) AS `to` FROM range(0, 9, 1, 2)")
    options = {"graph": graph.uri, "type": "Knows", "loadMode": "append"}
    knows.write.format("omnigraph").options(**options).mode("append").save()

    read = session.read.format("omnigraph").options(graph=graph.uri, type="Person").load()
    assert graph.load_dataframe(read.drop("id", "raw"), type="Person", mode="merge").commit is None, "what was written"
    assert read.where("age > 5 AND name LIKE 'q%'").count() == 3
    assert (dict(session.conf.getAll), dict(session.sparkContext.environment)) == before
    assert session.sparkContext.getLocalProperty("spark.scheduler.pool") == "nightly"

    people = graph.snapshot().table("Person").to_arrow(["name", "age", "seen", "born", "mail", "tags"]).to_pylist()
    edges = graph.snapshot().table("Knows").to_arrow(["src", "dst", "since"]).to_pylist()
    assert sorted(tuple(person.values()) for person in people) == expected_people()
    assert sorted((row["src"], row["dst"], row["since"]) for row in edges) == [
        *((f"p{n}", f"q{n}", None) for n in range(9)),
        ("q1", "q2", date(2024, 11, 3)),
    ]
