"""Frames whose rows are whole records, the newest record of an id, and bad records that are set aside."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.base.events import ignore_events
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import ConstraintViolation, InvalidRecord, Usage
from omnigraph.graph import Graph
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit
from omnigraph.pipeline.load.bulk import partitions
from omnigraph.pipeline.load.bulk.partitions import keep_partition
from omnigraph.pipeline.load.frames import FrameLoad
from omnigraph.pipeline.load.once import StreamBatch
from omnigraph.pipeline.load.request import FrameLoadRequest
from omnigraph.storage.bucket import Bucket
from omnigraph.storage.store import GraphStore

SCHEMA = """
node Port { code: String @key  depth: I32?  seen: DateTime?  big: U64?  label: String? }
node Note { text: String  seen: DateTime? }
edge Route: Port -> Port { seen: DateTime?  line: String? }
"""


@pytest.fixture
def graph(local_root: str) -> Graph:
    return omnigraph.init(local_root, SCHEMA)


@pytest.fixture(params=["few", "many"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Few rows are loaded by looking up their keys; of many, partitions hold pieces."""
    if request.param == "many":
        monkeypatch.setattr(partitions, "PIECE_BYTES", 1)
    return str(request.param)


def context_of(graph: Graph) -> GraphContext:
    return GraphContext.over(GraphStore.open(graph.uri), LocalEngine())


def write(
    graph: Graph,
    *parts: pa.Table,
    type_name: str | None = None,
    mode: Any = "merge",
    newest_by: str | None = None,
    bad_records: str | None = None,
    batch: StreamBatch | None = None,
) -> Commit | None:
    """Write a frame of these partitions, each row in a batch of its own."""
    request = FrameLoadRequest(type=type_name, mode=mode, newest_by=newest_by, sets_aside=bad_records is not None)
    load = FrameLoad.begin(context_of(graph), request, parts[0].column_names)
    kept = [keep_partition(load.task, number, rows.to_batches(max_chunksize=1)) for number, rows in enumerate(parts)]
    return load.commit(context_of(graph), kept, ignore_events, batch=batch, bad_records=bad_records)


def records(*values: Any) -> pa.Table:
    lines = [value if isinstance(value, str | bytes) or value is None else json.dumps(value) for value in values]
    return pa.table({"value": lines})


def port(code: str, **data: Any) -> dict[str, Any]:
    return {"type": "Port", "data": {"code": code, **data}}


def route(source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": "Route", "from": source, "to": target, "data": data}


def stored(graph: Graph, type_name: str, *columns: str) -> list[tuple[Any, ...]]:
    rows = graph.snapshot().table(type_name).to_arrow(list(columns)).to_pylist()
    return sorted(tuple(row[name] for name in columns) for row in rows)


def lines_of(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_nodes_and_edges_of_one_frame_are_one_commit(graph: Graph, mode: str, size: str) -> None:
    write(
        graph,
        records(route("a", "b", id="r1"), port("a", depth=3)),
        records(json.dumps(port("b")) + "\n", "", {"type": "Note", "data": {"text": "hello"}}),
        mode=mode,
    )

    assert stored(graph, "Port", "id", "depth") == [("a", 3), ("b", None)]
    assert stored(graph, "Route", "id", "src", "dst") == [("r1", "a", "b")]
    assert stored(graph, "Note", "text") == [("hello",)]
    assert len(graph.commits()) == 2


def test_an_overwrite_of_nodes_and_edges_needs_the_ends_among_what_comes(graph: Graph, size: str) -> None:
    write(graph, records(port("a"), port("b"), route("a", "b", id="r1")), mode="append")

    with pytest.raises(ConstraintViolation, match=r"node Port not found"):
        write(graph, records(port("c")), records(route("c", "a", id="r2")), mode="overwrite")
    write(graph, records(port("c")), records(route("c", "c", id="r2")), mode="overwrite")

    assert stored(graph, "Port", "id") == [("c",)]
    assert stored(graph, "Route", "id", "src", "dst") == [("r2", "c", "c")]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "not_an_object"),
        ('{"type": "Port",\n"data": {"code": "x"}}', "invalid_json"),
        ('{"type":"Port","data":{"code":"a"}}\n{"type":"Port","data":{"code":"b"}}', "invalid_json"),
        ('{"type":"Harbour","data":{}}', "unknown_type"),
    ],
)
def test_a_row_is_one_record_or_it_is_refused(graph: Graph, value: str | None, code: str) -> None:
    with pytest.raises(InvalidRecord) as refused:
        write(graph, records(port("ok"), value))

    assert refused.value.details["by_code"] == {code: 1}
    assert refused.value.details["line"] == 2
    assert len(graph.commits()) == 1


def test_a_frame_without_a_type_and_without_records_is_refused(graph: Graph) -> None:
    with pytest.raises(Usage, match=r"one column, value, with a record in each row .* this one has code, depth"):
        write(graph, pa.table({"code": ["a"], "depth": [1]}))


@pytest.mark.parametrize(
    ("newest_by", "values"),
    [
        ("seen", ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", "2019-01-01T00:00:00Z"]),
        ("depth", [9, 10, -1]),
        ("big", [9, 18446744073709551615, None]),
        ("label", ["a", "b", None]),
    ],
)
def test_the_newest_record_of_an_id_counts_wherever_it_stands(
    graph: Graph, newest_by: str, values: list[Any], size: str
) -> None:
    write(graph, records(port("a", label="old"), port("z")))
    versions = [port("a", **{newest_by: value}) for value in values]

    write(graph, records(versions[1], port("b")), records(versions[0], versions[2]), newest_by=newest_by)
    rest = graph.snapshot().table("Port").to_arrow().to_pylist()
    expected = graph.snapshot().table("Port").to_arrow([newest_by], where=[("code", "=", "a")])[newest_by].to_pylist()
    write(graph, records(versions[2], versions[0]), records(versions[1]), newest_by=newest_by)

    assert len(rest) == 3
    assert str(expected[0]).startswith(str(values[1])[:10])
    assert graph.snapshot().table("Port").to_arrow().to_pylist() == rest
    assert len(graph.commits()) == 3, "the same versions in another order change nothing"


def test_edges_and_equal_times_fold_too_and_types_without_the_property_are_as_strict_as_ever(
    graph: Graph, size: str
) -> None:
    write(graph, records(port("a"), port("b")))
    new, old = "2021-01-01T00:00:00Z", "2020-01-01T00:00:00Z"

    write(
        graph,
        records(route("a", "b", id="r", seen=new, line="new"), route("a", "b", id="s", seen=new, line="first")),
        records(route("a", "b", id="r", seen=old, line="old"), route("a", "b", id="s", seen=new, line="last")),
        newest_by="seen",
    )

    assert stored(graph, "Route", "id", "line") == [("r", "new"), ("s", "last")]
    with pytest.raises(ConstraintViolation, match="Port 'c' occurs at"):
        write(graph, records(port("c"), port("c")), newest_by="line")
    with pytest.raises(Usage, match="taken in a merge; loadMode is append"):
        write(graph, records(port("c")), newest_by="seen", mode="append")
    with pytest.raises(Usage, match="No type has a property age of numbers, texts or times"):
        write(graph, records(port("c")), newest_by="age")
    with pytest.raises(Usage, match="Port has no property line"):
        write(graph, pa.table({"code": ["c"]}), newest_by="line", type_name="Port")


def test_bad_records_are_set_aside_with_the_reason_and_the_others_are_loaded(
    graph: Graph, tmp_path: Path, size: str
) -> None:
    out = str(tmp_path / "bad" / "batch.jsonl")

    write(
        graph,
        records(port("a"), port("b", depth="deep", seen=True), "{", None),
        records(port("c"), {"type": "Nothing"}),
        bad_records=out,
    )

    assert stored(graph, "Port", "id") == [("a",), ("c",)]
    found = lines_of(out)
    assert [(bad["partition"], bad["row"], bad["codes"]) for bad in found] == [
        (0, 2, ["wrong_type"]),
        (0, 3, ["invalid_json"]),
        (0, 4, ["not_an_object"]),
        (1, 2, ["unknown_type"]),
    ]
    assert json.loads(found[0]["record"]) == port("b", depth="deep", seen=True)
    assert "Port.depth" in found[0]["reason"]
    assert "Port.seen" in found[0]["reason"]
    assert [found[1]["record"], found[2]["record"]] == ["{", None]
    assert not Path(graph.uri, "__staging").exists()


def test_bad_rows_of_one_type_are_set_aside_too_and_a_batch_that_comes_again_does_not_double_them(
    graph: Graph, tmp_path: Path
) -> None:
    out = str(tmp_path / "bad.jsonl")
    rows = pa.table({"code": ["a", None, "c"], "depth": pa.array([1, 2, 3], pa.int64())})
    batch = StreamBatch(query_id="q", batch_id=0, content="x")

    first = write(graph, rows, type_name="Port", bad_records=out, batch=batch)
    again = write(graph, rows, type_name="Port", bad_records=out, batch=batch)

    assert first is not None
    assert again is None
    assert stored(graph, "Port", "id") == [("a",), ("c",)]
    assert [(bad["row"], bad["record"], bad["codes"]) for bad in lines_of(out)] == [
        (2, {"code": None, "depth": 2}, ["missing_required"])
    ]


def test_a_frame_of_nothing_but_bad_records_makes_no_commit_and_one_without_any_no_file(
    graph: Graph, tmp_path: Path
) -> None:
    out = tmp_path / "bad.jsonl"

    assert write(graph, records(port("a")), bad_records=str(out)) is not None
    assert not out.exists()
    assert write(graph, records("{"), bad_records=str(out)) is None
    assert len(lines_of(out)) == 1


@pytest.mark.s3
def test_bad_records_may_go_to_a_bucket(s3_root: str) -> None:
    graph = omnigraph.init(s3_root, SCHEMA)
    out = f"{s3_root}-bad/batch.jsonl"

    write(graph, records(port("a"), "{"), records("["), bad_records=out)

    assert stored(graph, "Port", "id") == [("a",)]
    with Bucket(out).open(out) as found:
        assert [json.loads(line)["record"] for line in found] == ["{", "["]


def test_what_only_this_graph_refuses_is_set_aside_too_and_what_hangs_on_it(graph: Graph, tmp_path: Path) -> None:
    out = str(tmp_path / "bad.jsonl")
    write(graph, records(port("a", depth=1)))
    batch = StreamBatch(query_id="q", batch_id=7)
    frame = records(
        port("a", depth=2), port("b"), port("b", depth=9), route("a", "nowhere"), route("a", "b", id="r"), "{"
    )

    done = write(graph, frame, mode="append", bad_records=out, batch=batch)
    again = write(graph, frame, mode="append", bad_records=out, batch=batch)

    assert done is not None
    assert again is None
    assert stored(graph, "Port", "id", "depth") == [("a", 1), ("b", None)]
    assert stored(graph, "Route", "id") == [("r",)]
    found = [(bad["codes"], json.loads(bad["record"])["data"].get("code")) for bad in lines_of(out)[1:]]
    assert sorted(found, key=str) == [
        (["duplicate_id"], "b"),
        (["key_conflict"], "a"),
        (["orphan_edge"], None),
    ]
    assert lines_of(out)[0]["codes"] == ["invalid_json"]


def test_what_no_record_stands_for_and_what_many_records_break_still_rejects_them(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "bad.jsonl"
    write(graph, records(port("a"), port("b"), route("a", "b")))

    with pytest.raises(ConstraintViolation, match="not found"):
        write(graph, records(port("a")), mode="overwrite", bad_records=str(out))
    monkeypatch.setattr(partitions, "PIECE_BYTES", 1)
    with pytest.raises(ConstraintViolation, match="not found"):
        write(graph, records(port("c"), route("c", "nowhere")), bad_records=str(out))

    assert len(graph.commits()) == 2
