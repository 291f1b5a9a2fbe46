"""Tables that workers read in parts mean what they mean in one piece: rows, refusals, places, and nothing left."""

import gzip
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import omnigraph
from omnigraph.engine.choice import EngineChoice
from omnigraph.pipeline.load import inputs
from omnigraph.pipeline.load.bulk import pieces
from omnigraph.pipeline.load.bulk.table_pieces import plan_table_pieces
from omnigraph.pipeline.load.table_files import find_tables
from omnigraph.pipeline.load.tables import ColumnMap
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.store import GraphStore
from support.bulk_story import refused
from support.table_pieces import SCHEMA, content, in_pieces

FORMATS = ("parquet", "arrow", "feather", "csv", "csv.gz", "lance")
PARTS = 4


@pytest.fixture
def tiny_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES_MIN", 150)
    monkeypatch.setattr(pieces, "PIECE_BYTES_MAX", 150)


def ports(count: int = 40, **changed: object) -> pa.Table:
    columns = {
        "code": [f"p{n}" for n in range(count)],
        "mail": [f"{n}\n@x" for n in range(count)],
        "depth": pa.array([n if n % 3 else None for n in range(count)], pa.int64()),
    }
    return pa.table({**columns, **changed})


def write(directory: Path, form: str, table: pa.Table) -> Path:
    """Write a table such that it has several parts."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"t.{form}"
    rows = -(-table.num_rows // PARTS)
    match form:
        case "parquet":
            pq.write_table(table, path, row_group_size=rows)
        case "arrow" | "feather":
            kind = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
            with kind(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=rows)
        case "lance":
            lance.write_dataset(table, path, max_rows_per_file=rows)
        case _:
            pa_csv.write_csv(table, directory / "plain")
            text = (directory / "plain").read_bytes()
            (directory / "plain").unlink()
            path.write_bytes(gzip.compress(text) if form == "csv.gz" else text)
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_parts_of_every_format_agree_with_the_whole(tmp_path, tiny_pieces, form):
    small, large = (omnigraph.init(str(tmp_path / f"{name}.omni"), SCHEMA) for name in ("small", "large"))
    tables = {
        "append": ports(),
        "merge": ports(60, depth=pa.array([n + n // 20 for n in range(60)], pa.int64())),
        "overwrite": ports(17),
    }
    for mode, table in tables.items():
        data = write(tmp_path / mode, form, table)
        expected = small.load(data, mode=mode, type="Port", engine="local")
        loaded = in_pieces(large, data, mode=mode, type="Port")
        assert (loaded.tables, content(large)) == (expected.tables, content(small))
        assert in_pieces(large, data, mode="merge", type="Port").commit is None
    wrong = {
        "cells": ports(30, depth=pa.array([2**40 if n % 7 == 5 else n for n in range(30)], pa.int64())),
        "columns": ports(30).append_column("height", pa.array([1] * 30)).append_column("width", pa.array([1] * 30)),
        "repeats": pa.concat_tables([ports(20), ports(20)]),
        "holders": ports(30, mail=["same" if n in {2, 29} else None for n in range(30)]),
    }
    for name, table in wrong.items():
        data = write(tmp_path / name, form, table)
        told = refused(lambda: large.load(data, mode="overwrite", type="Port", engine="local"))  # noqa: B023
        assert refused(lambda: in_pieces(large, data, mode="overwrite", type="Port")) == told, name  # noqa: B023
    assert content(large) == content(small)
    assert not Path(large.uri, "__staging").exists()


def test_a_map_of_a_column_that_is_not_there_is_refused_by_workers_too(tmp_path, tiny_pieces):
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    data = write(tmp_path / "in", "parquet", ports())

    told = refused(lambda: graph.load(data, mode="append", type="Port", map={"deep": "depth"}, engine="local"))

    assert refused(lambda: in_pieces(graph, data, mode="append", type="Port", map={"deep": "depth"})) == told


@pytest.mark.parametrize("form", ["parquet", "arrow", "lance"])
def test_a_table_is_cut_at_its_own_units_and_anything_else_is_copied(tmp_path, tiny_pieces, form):
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    scratch = Scratch(GraphStore.open(graph.uri), "operation")

    def planned(name: str) -> list[tuple[bool, bool]]:
        tables = find_tables(str(write(tmp_path / name, name, ports())), "Port", store=inputs.store_of(str(tmp_path)))
        made = plan_table_pieces(tables, ColumnMap(), scratch, slots=2)
        return [(piece.part is not None, piece.spooled_as is not None) for piece in made]

    assert planned(form) == [(True, False)] * PARTS
    copied = planned("csv")
    assert len(copied) > 2
    assert set(copied) == {(False, True)}


def test_rows_of_a_program_are_read_in_pieces_too(tmp_path, tiny_pieces, monkeypatch):
    monkeypatch.setattr(inputs, "IN_MEMORY_BYTES_MAX", 300)
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)

    first = graph.load_table(ports(50).to_reader(max_chunksize=20), type="Port", mode="append")
    again = graph.load_table(ports(50), type="Port", mode="merge")

    assert (first.total_rows, again.total_rows, again.commit) == (50, 50, None)
    assert not Path(graph.uri, "__staging").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_spark_reads_tables_of_all_types_as_one_load(tmp_path):
    small, large = (omnigraph.init(str(tmp_path / f"{name}.omni"), SCHEMA) for name in ("small", "large"))
    routes = pa.table({"from": [f"p{n}" for n in range(20)], "to": [f"p{n + 1}" for n in range(20)]})
    data = tmp_path / "in"
    write(data / "node" / "Port", "parquet", ports())
    write(data / "edge" / "Route", "csv", routes)
    choice = EngineChoice.named("spark", {})

    expected = small.load(data, mode="append", engine="local")
    loaded = large.load(data, mode="append", engine=choice)
    again = large.load(data, mode="merge", engine=choice)

    assert (loaded.engine, loaded.tables, content(large)) == ("spark", expected.tables, content(small))
    assert again.commit is None
    assert not Path(large.uri, "__staging").exists()
