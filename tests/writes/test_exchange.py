"""Statements over cut relations find what they would find over whole ones, whatever the buckets and whoever read."""

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.engine.interface import Produced
from omnigraph.engine.local import LocalEngine, worker_engine
from omnigraph.storage.cut_files import read_cuts, read_cuts_between, read_relation, write_cuts
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.store import GraphStore
from omnigraph.storage.worker_files import ScratchPlace
from omnigraph.writes.exchange.cutting import Buckets
from omnigraph.writes.exchange.stages import Exchange, Kept, Query, Reading, Step

EDGES = pa.schema([("id", pa.string()), ("src", pa.string())])
TEXTS = st.text(alphabet="abc", max_size=2)
ROWS = st.lists(st.lists(st.tuples(TEXTS, TEXTS), max_size=12), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> ScratchPlace:
    return ScratchPlace(uri=str(tmp_path_factory.mktemp("scratch")), operation_id="operation")


def read_rows(task: tuple[tuple[str, str], ...]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pylist([{"id": row[0], "src": row[1]} for row in task], schema=EDGES)


def reading(rows: list[list[tuple[str, str]]], relation: str, by: str) -> Reading:
    produced = Produced(schema=EDGES, read=read_rows, tasks=tuple(tuple(part) for part in rows))
    kept = Kept(relation=relation, shelf="read", by=(by,))
    return Reading(produced=produced, rows_by_task=tuple(map(len, rows)), keeps=(kept,))


@settings(max_examples=25, deadline=None)
@given(left=ROWS, right=ROWS, count=st.integers(1, 5))
def test_joins_over_buckets_find_what_a_join_over_all_rows_finds(
    place: ScratchPlace, left: list[list[tuple[str, str]]], right: list[list[tuple[str, str]]], count: int
) -> None:
    mark = Buckets.of(2, slots=1).mark
    exchange = Exchange(engine=LocalEngine(), place=place, buckets=Buckets(count=count, mark=mark))
    exchange.read([reading(left, "left_rows", "id"), reading(right, "right_rows", "src")])
    # Ids of the one side meet ends of the other; what is found is cut again, by another column.
    joined = "SELECT l.src AS by_source, count(*) AS n FROM l JOIN r ON l.id = r.src GROUP BY l.src"
    summed = "SELECT by_source, CAST(sum(n) AS BIGINT) AS n FROM j GROUP BY by_source"
    exchange.run(
        ["read"],
        [
            Step(
                relations={"l": "left_rows", "r": "right_rows"},
                queries=(
                    Query(
                        name="joined",
                        text=joined,
                        keeps=(Kept(relation="joined", shelf="next", by=("by_source",)),),
                    ),
                ),
            )
        ],
    )
    found = exchange.run(
        ["next"], [Step(relations={"j": "joined"}, queries=(Query(name="sums", text=summed, is_answer=True),))]
    )["sums"]

    whole = {
        name: pa.Table.from_pylist([{"id": row[0], "src": row[1]} for part in rows for row in part], schema=EDGES)
        for name, rows in (("l", left), ("r", right))
    }
    expected = worker_engine(1).sql(whole, joined)
    assert sorted(found.to_pylist(), key=str) == sorted(expected.to_pylist(), key=str)


def test_a_kept_file_holds_every_bucket_of_every_relation_once(tmp_path) -> None:
    scratch = Scratch(GraphStore.open(str(tmp_path)), "operation")
    tables = {
        (bucket, name): pa.table({"n": [bucket * 10 + len(name)]})
        for bucket in range(0, 3000, 3)
        for name in ("a", "bb")
    }

    write_cuts(scratch, "kept", ((bucket, name, rows) for (bucket, name), rows in reversed(tables.items())))

    assert [file.name for file in (tmp_path / "__staging" / "operation").iterdir()] == ["kept"]
    for (bucket, name), rows in tables.items():
        assert dict(read_cuts(scratch, "kept", bucket))[name] == rows
    assert dict(read_cuts(scratch, "kept", 1)) == {}
    for first, last in ((0, 2997), (7, 15), (9, 9), (10, 11), (2996, 5000), (3000, 4000)):
        found = {(bucket, name): rows for bucket, name, rows in read_cuts_between(scratch, "kept", first, last)}
        assert found == {place: rows for place, rows in tables.items() if first <= place[0] <= last}
    assert pa.concat_tables(read_relation(scratch, "kept", "bb"))["n"].to_pylist() == [
        bucket * 10 + 2 for bucket in range(0, 3000, 3)
    ]


def test_a_part_of_an_object_is_read_alone(store_root: str) -> None:
    objects = GraphStore.open(store_root).objects
    objects.put("some/object", b"0123456789")

    assert objects.read_range("some/object", 2, 5) == b"234"
    assert objects.read_end("some/object", 3) == b"789"
    assert objects.read_end("some/object", 30) == b"0123456789"
    for read in (lambda: objects.read_range("none", 0, 1), lambda: objects.read_end("none", 1)):
        with pytest.raises(FileNotFoundError):
            read()
