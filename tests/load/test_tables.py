"""Tables as input: which columns convert, what a row means, and where what is wrong stands."""

import datetime as dt
import gzip
import io
import json
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from omnigraph.errors import EntityNotFound, InvalidRecord, Io, Usage
from support.graphs import codes, graph_of, load, messages, node, places, refusal, rows
from support.record_schemas import THINGS

UTC = dt.UTC


@pytest.fixture
def things(local_root):
    return graph_of(local_root, THINGS)


def load_table(graph, columns, type_name="Thing", mode="append", **options):
    return graph.load_table(pa.table(columns), type=type_name, mode=mode, **options)


def test_every_bad_row_is_counted_and_the_first_are_placed(things):
    values = pa.array([1 if place % 2 else 2**40 for place in range(100)])

    error = refusal(things, lambda: load_table(things, {"key": [str(place) for place in range(100)], "small": values}))

    assert codes(error) == {"out_of_range": 50}
    assert places(error)[:3] == [("<rows>", 1), ("<rows>", 3), ("<rows>", 5)]


def test_an_absent_column_is_omitted_and_a_null_cell_is_null(things):
    load_table(things, {"key": ["a"]})
    load_table(things, {"key": ["b"], "level": pa.array([None], pa.int32())})
    load_table(things, {"key": ["c"], "size": [1]}, type_name="Must")

    assert {key: row["level"] for key, row in rows(things, "Thing").items()} == {"a": 7, "b": None}
    assert rows(things, "Must")["c"]["kind"] == "plain"
    missing = refusal(things, lambda: load_table(things, {"key": ["d", "e"]}, type_name="Must"))
    assert messages(missing) == ["Must.size is required but missing"] * 2
    null = refusal(
        things,
        lambda: load_table(things, {"key": ["d", "e"], "size": pa.array([1, None], pa.int32())}, type_name="Must"),
    )
    assert (messages(null), places(null)) == (["Must.size is required but null"], [("<rows>", 2)])


def test_rules_keys_and_ids_hold_for_rows_too(things):
    outside = refusal(things, lambda: load_table(things, {"key": ["a"], "size": [10]}, type_name="Must"))
    assert codes(outside) == {"range_violation": 1}
    mismatch = refusal(things, lambda: load_table(things, {"key": ["a"], "id": ["b"]}))
    assert codes(mismatch) == {"id_mismatch": 1}
    number = refusal(things, lambda: load_table(things, {"key": ["a"], "id": [1]}))
    assert codes(number) == {"invalid_id": 1}
    repeated = refusal(things, lambda: load_table(things, {"key": ["a", "a"]}))
    assert (codes(repeated), places(repeated)) == ({"duplicate_id": 1}, [("<rows>", 2)])


@pytest.mark.parametrize("ends", [("from", "to"), ("src", "dst")])
def test_edges_take_their_ends_from_two_columns(things, ends):
    load_table(things, {"key": ["a", "b"]})

    load_table(things, {ends[0]: ["a"], ends[1]: ["b"], "id": ["e1"], "weight": [3]}, type_name="Link")

    assert rows(things, "Link") == {"e1": {"src": "a", "dst": "b", "weight": 3}}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"from": ["a"]}, "the field to is missing"),
        ({"from": ["a"], "to": pa.array([None], pa.string())}, "the field to must be a string, got null"),
        ({"from": ["a"], "to": [1]}, "the field to must be a string, got int64"),
        ({"from": ["a"], "to": ["a"], "dst": ["a"]}, "the columns to and dst mean the same"),
    ],
)
def test_an_edge_without_its_ends_is_refused(things, columns, said):
    load_table(things, {"key": ["a"]})

    error = refusal(things, lambda: load_table(things, columns, type_name="Link"))

    assert codes(error) == {"bad_envelope": 1}
    assert said in messages(error)[0]


def test_an_orphan_edge_is_placed_by_file_and_row(things):
    load_table(things, {"key": ["a"]})

    error = refusal(things, lambda: load_table(things, {"from": ["a", "a"], "to": ["a", "z"]}, type_name="Link"))

    assert (codes(error), places(error)) == ({"orphan_edge": 1}, [("<rows>", 2)])


def test_columns_are_renamed_and_left_out(things):
    load_table(things, {"name": ["a"], "x": [1], "y": [2]}, map={"name": "key", "x": "small", "y": None})

    assert rows(things, "Thing")["a"]["small"] == 1
    with pytest.raises(Usage, match="names the column nope"):
        load_table(things, {"key": ["b"]}, map={"nope": "small"})
    with pytest.raises(Usage, match="two columns for key"):
        load_table(things, {"key": ["b"], "other": ["c"]}, map={"other": "key"})


def test_a_type_is_named_by_name_or_table_key(things):
    load_table(things, {"key": ["a"]}, type_name="node:Thing")

    with pytest.raises(EntityNotFound, match="Ghost"):
        load_table(things, {"key": ["a"]}, type_name="Ghost")
    assert list(rows(things, "Thing")) == ["a"]


def test_readers_batches_and_frames_of_other_libraries_are_taken(things):
    table = pa.table({"key": ["a", "b"]})

    class Frame:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"key": ["e"]}).__arrow_c_stream__(requested_schema)

    things.load_table(table.to_reader(max_chunksize=1), type="Thing", mode="append")
    things.load_table(pa.record_batch({"key": ["d"]}), type="Thing", mode="append")
    things.load_table(Frame(), type="Thing", mode="append")

    assert sorted(rows(things, "Thing")) == ["a", "b", "d", "e"]
    with pytest.raises(Usage, match="list"):
        things.load_table([{"key": "x"}], type="Thing", mode="append")


def write_files(directory: Path, table: pa.Table) -> dict[str, Path]:
    """Write the same rows in every format."""
    directory.mkdir(exist_ok=True)
    paths = {
        suffix: directory / f"t{suffix}" for suffix in (".parquet", ".arrow", ".feather", ".csv", ".csv.gz", ".lance")
    }
    pq.write_table(table, paths[".parquet"])
    with pa.ipc.new_file(paths[".arrow"], table.schema) as writer:
        writer.write_table(table)
    with pa.ipc.new_stream(paths[".feather"], table.schema) as writer:
        writer.write_table(table)
    pa_csv.write_csv(table, paths[".csv"])
    paths[".csv.gz"].write_bytes(gzip.compress(paths[".csv"].read_bytes()))
    lance.write_dataset(table, paths[".lance"])
    return paths


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".csv", ".csv.gz", ".lance"])
def test_every_format_loads_the_same_rows(things, tmp_path, suffix):
    table = pa.table({"key": ["a", "b", "c"], "small": [1, None, 3], "double": [0.5, 2.0, None]})
    paths = write_files(tmp_path / "in", table)

    result = things.load(paths[suffix], type="Thing", mode="append")

    assert result.total_rows == 3
    found = rows(things, "Thing")
    assert [(found[key]["small"], found[key]["double"]) for key in "abc"] == [(1, 0.5), (None, 2.0), (3, None)]


def test_cells_of_text_are_the_json_values_of_their_types(things, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "key,flag,huge,double,day,moment,vec,blob,tags,colour\n"
        'a,true,18446744073709551615,1e3,2031-07-15,1941863400000,"[1,2]",base64:SGk=,"[""x"",""y""]",red\n'
        '"",,,,20310715,,,,,\n'
        '"two\nlines",false,0,-0.5,22475,2031-07-15 06:30,,base64:,[],blue\n'
    )

    things.load(path, type="Thing", mode="append")

    found = rows(things, "Thing")
    assert sorted(found) == ["", "a", "two\nlines"]
    first = found["a"]
    assert (first["flag"], first["huge"], first["double"]) == (True, 2**64 - 1, 1000.0)
    assert {row["day"] for row in found.values()} == {dt.date(2031, 7, 15)}
    assert (first["moment"], found["two\nlines"]["moment"]) == (dt.datetime(2031, 7, 15, 6, 30, tzinfo=UTC),) * 2
    assert (first["vec"], first["blob"], first["tags"]) == ([1, 2], b"Hi", ["x", "y"])
    assert (found["two\nlines"]["blob"], found["two\nlines"]["tags"]) == (b"", [])
    assert found[""]["flag"] is None


def test_a_cell_that_does_not_fit_is_placed_by_its_row(things, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("key,small,flag\na,1,true\nb,x,1\nc,2.5,\n")

    error = refusal(things, lambda: things.load(path, type="Thing", mode="append"))

    assert codes(error) == {"wrong_type": 3}
    assert messages(error) == [
        "Thing.flag expects Bool, got 1",
        'Thing.small expects I32, got "x"',
        "Thing.small expects I32, got 2.5",
    ]
    assert places(error) == [("t.csv", 2), ("t.csv", 2), ("t.csv", 3)]


def test_a_ragged_row_is_placed(things, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("key,small\na,1\nb\n")

    error = refusal(things, lambda: things.load(path, type="Thing", mode="append"))

    assert (codes(error), places(error)) == ({"bad_envelope": 1}, [("t.csv", 2)])


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.csv"])
def test_a_file_that_is_not_what_it_says_is_named(things, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"\xff\xfe,\x00no such thing\n\xff\xff,1\n")

    error = refusal(things, lambda: things.load(path, type="Thing", mode="append"))

    # Text that is no UTF-8 is a bad record with a place, as it is in a file of records.
    assert isinstance(error, InvalidRecord if name == "t.csv" else Io)
    assert name in str(error)


def test_an_empty_table_is_no_records(things, tmp_path):
    Path(tmp_path / "t.csv").write_bytes(b"")
    pq.write_table(pa.table({"key": pa.array([], pa.string())}), tmp_path / "t.parquet")

    assert things.load(tmp_path / "t.csv", type="Thing", mode="append").commit is None
    assert things.load(tmp_path / "t.parquet", type="Thing", mode="append").commit is None


def test_a_directory_of_one_format_is_one_load(things, tmp_path):
    for place, name in enumerate(["b/2.parquet", "a.parquet", "_skip.parquet", "notes.txt"]):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"key": [str(place)]}), tmp_path / "in" / name)

    result = things.load(tmp_path / "in", type="Thing", mode="append")

    assert sorted(rows(things, "Thing")) == ["0", "1"]
    assert result.commit.graph_version == 2
    (tmp_path / "in" / "c.csv").write_text("key\nx\n")
    with pytest.raises(Usage, match="csv and parquet"):
        things.load(tmp_path / "in", type="Thing", mode="append")


def test_a_directory_of_types_is_one_load_without_a_type(things, tmp_path):
    out = tmp_path / "out"
    for name, table in {
        "node/Thing/part-0.parquet": pa.table({"key": ["a", "b"]}),
        "node/Thing/part-1.parquet": pa.table({"key": ["c"], "small": [1]}),
        "edge/Link/part-0.parquet": pa.table({"from": ["a"], "to": ["c"]}),
    }.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, out / name)
    lance.write_dataset(pa.table({"key": ["m"], "size": [1]}), out / "node" / "Must" / "data.lance")

    result = things.load(out, mode="append")

    assert {table.table_key: table.rows_loaded for table in result.tables} == {
        "edge:Link": 1,
        "node:Must": 1,
        "node:Thing": 3,
    }
    assert result.commit.graph_version == 2
    (out / "node" / "Ghost").mkdir()
    pq.write_table(pa.table({"key": ["a"]}), out / "node" / "Ghost" / "0.parquet")
    assert "node:Ghost" in str(refusal(things, lambda: things.load(out, mode="merge")))


def test_a_table_without_a_type_says_so(things, tmp_path):
    pq.write_table(pa.table({"key": ["a"]}), tmp_path / "t.parquet")

    with pytest.raises(Usage, match="--type"):
        things.load(tmp_path / "t.parquet", mode="append")
    with pytest.raises(Usage, match="--type"):
        things.load(tmp_path / "t.jsonl", mode="append", map={"a": "b"})
    with pytest.raises(Usage, match="stream"):
        things.load(io.BytesIO(b""), mode="append", type="Thing")


def test_a_table_merges_like_the_records_it_means(things):
    load(things, "append", node("Thing", key="a", small=1), node("Thing", key="b", small=2))

    same = load_table(things, {"key": ["a"], "small": [1]}, mode="merge")
    changed = load_table(things, {"key": ["a"], "small": [5]}, mode="merge")

    assert same.commit is None
    assert changed.commit is not None
    assert json.dumps({key: row["small"] for key, row in rows(things, "Thing").items()}) == '{"b": 2, "a": 5}'
