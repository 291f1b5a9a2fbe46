"""Relations of the local engine: read by its threads, larger than memory, grouped without looking through all rows."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.engine.interface import Produced
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import StorageError

SCHEMA = pa.schema([("key", pa.int64()), ("text", pa.string())])


def numbered(task: int) -> Iterator[pa.RecordBatch]:
    for start in range(task * 100, task * 100 + 100, 25):
        keys = list(range(start, start + 25))
        yield pa.record_batch([pa.array(keys), pa.array([f"t{key}" for key in keys])], schema=SCHEMA)


def wide(task: int) -> Iterator[pa.RecordBatch]:
    for _ in range(8):
        texts = pa.array([f"{task}-{number}-" + "x" * 1_000 for number in range(1_000)])
        yield pa.record_batch([pa.array(range(1_000)), texts], schema=SCHEMA)


def broken(task: int) -> Iterator[pa.RecordBatch]:
    yield from numbered(task)
    if task == 3:
        raise StorageError("the disk is gone", storage_kind="permanent", uri="x")


def test_a_statement_may_name_a_produced_relation_as_often_as_it_likes() -> None:
    produced = Produced(schema=SCHEMA, read=numbered, tasks=tuple(range(10)))

    found = LocalEngine().sql(
        {"rows": produced, "few": pa.table({"key": [1, 999, 5_000]})},
        "SELECT key, a.text FROM rows a JOIN rows b USING (key) JOIN few USING (key) ORDER BY key",
    )

    assert found.to_pydict() == {"key": [1, 999], "text": ["t1", "t999"]}


def test_a_relation_without_tasks_is_empty() -> None:
    produced = Produced(schema=SCHEMA, read=numbered, tasks=())

    assert LocalEngine().sql({"rows": produced}, "SELECT count(*) AS n FROM rows").to_pydict() == {"n": [0]}


def test_what_reading_raises_is_raised_as_it_is() -> None:
    produced = Produced(schema=SCHEMA, read=broken, tasks=tuple(range(20)))

    with pytest.raises(StorageError, match="the disk is gone"):
        LocalEngine().sql({"rows": produced}, "SELECT count(*) FROM rows")


def test_a_relation_that_does_not_fit_into_memory_goes_to_disk() -> None:
    produced = Produced(schema=SCHEMA, read=wide, tasks=tuple(range(20)))
    engine = LocalEngine(memory_limit="64MiB", threads="1")

    found = engine.sql({"rows": produced}, "SELECT count(*) AS n, max(length(text)) AS longest FROM rows")

    assert found.to_pydict()["n"] == [160_000]


@pytest.mark.parametrize("count", [0, 1, 1_000])
def test_every_group_gets_its_rows_in_their_order(count: int) -> None:
    rows = pa.table(
        {"key": pa.array([number * 7 % 13 for number in range(count)], pa.int64()), "value": list(range(count))}
    )
    said: list[int] = []

    groups = dict(
        LocalEngine().map_groups(
            {"rows": rows},
            "SELECT * FROM rows",
            by="key",
            function=lambda key, part: (key, part),
            watch=said.append,
        )
    )

    assert {key: part.to_pydict() for key, part in groups.items()} == {
        key: rows.filter(pc.equal(rows["key"], key)).to_pydict() for key in set(rows["key"].to_pylist())
    }
    assert not count or said[-1] == count
