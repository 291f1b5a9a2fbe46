"""Exports to files: formats, parts, one snapshot, and outputs that are there whole or not at all."""

import datetime as dt
import os
import threading
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph
from omnigraph.base.events import Warned
from omnigraph.errors import EngineUnavailable, EntityNotFound, Io, NotConfirmed, StorageError, Usage
from omnigraph.pipeline.export import side_by_side
from omnigraph.storage import tables
from omnigraph.storage.tables import Table
from support import harbor


@pytest.fixture
def crew(local_root) -> omnigraph.Graph:
    return harbor.new_graph(local_root)


@pytest.fixture
def out(tmp_path) -> Path:
    """Where to export to; its parent holds nothing else."""
    parent = tmp_path / "exports"
    parent.mkdir()
    return parent / "out"


def files_below(path: Path) -> list[str]:
    return sorted(str(found.relative_to(path)) for found in path.rglob("*") if found.is_file())


def test_parquet_has_a_directory_per_type_and_the_documented_columns(crew, out):
    result = crew.export(out, format="parquet")

    assert files_below(out) == [
        "edge/Mentors/part-00000.parquet",
        "edge/ServesOn/part-00000.parquet",
        "node/Note/part-00000.parquet",
        "node/Sailor/part-00000.parquet",
        "node/Ship/part-00000.parquet",
    ]
    mentors = pq.read_table(out / "edge/Mentors/part-00000.parquet")
    assert mentors.column_names == ["id", "from", "to", "since"]
    assert mentors.schema.field("since").type == pa.date32()
    assert mentors.to_pylist()[0] == {"id": "m1", "from": "Ana", "to": "Bo", "since": dt.date(2019, 3, 1)}
    assert (result.total_rows, result.format, result.out) == (8, "parquet", str(out))
    assert pq.read_table(out / "node/Note/part-00000.parquet").num_rows == 0


def test_lance_datasets_open_by_themselves(crew, out):
    crew.export(out, format="lance", types=["Sailor", "edge:ServesOn"])

    assert sorted(str(path.relative_to(out)) for path in out.glob("*/*/*")) == [
        "edge/ServesOn/data.lance",
        "node/Sailor/data.lance",
    ]
    assert lance.dataset(out / "node/Sailor/data.lance").to_table(columns=["id"])["id"].to_pylist() == [
        "Ana",
        "Bo",
        "Cy",
    ]


@pytest.mark.parametrize("form", ["jsonl", "parquet", "lance"])
def test_a_directory_loads_back_into_an_equal_graph(crew, out, form, tmp_path):
    crew.export(f"{out}/", format=form)
    copy = omnigraph.init(str(tmp_path / "copy.omni"), harbor.SCHEMA)

    copy.load(out, mode="overwrite")

    assert harbor.content(copy) == harbor.content(crew)


def test_large_tables_are_split_into_parts_that_are_each_in_order(crew, out, monkeypatch, tmp_path):
    for letter in "hgf":
        crew.load(harbor.lines([harbor.sailor(f"{letter}{number}") for number in (2, 1)]), mode="append")
    monkeypatch.setattr(side_by_side, "PART_ROWS_MAX", 4)

    crew.export(f"{out}/", types=["Sailor"])

    assert files_below(out) == ["node.Sailor.00000.jsonl", "node.Sailor.00001.jsonl", "node.Sailor.00002.jsonl"]
    parts = [path.read_text().splitlines() for path in sorted(out.iterdir())]
    assert all(lines == sorted(lines) for lines in parts)
    copy = omnigraph.init(str(tmp_path / "copy.omni"), harbor.SCHEMA)
    copy.load(out, mode="overwrite")
    assert copy.snapshot().table("Sailor").to_arrow().sort_by("id") == crew.snapshot().table(
        "Sailor"
    ).to_arrow().sort_by("id")


def test_a_dataset_is_written_by_several_workers_and_keeps_the_order_of_the_table(crew, out, monkeypatch, tmp_path):
    crew.load(harbor.lines([harbor.sailor(f"s{number:02}") for number in range(20)]), mode="append")
    with crew.write() as batch:
        batch.delete("Sailor", ids=["s03", "s17"])
    crew.load(harbor.lines([harbor.sailor(name) for name in ("t", "u")]), mode="append")
    monkeypatch.setattr(side_by_side, "DATASET_PART_ROWS_MAX", 4)
    parts: list[int] = []
    plain = side_by_side.write_part

    def counted(task):
        if task.entity.name == "Sailor":
            parts.append(task.rows)
        return plain(task)

    monkeypatch.setattr(side_by_side, "write_part", counted)
    result = crew.export(out, format="lance")

    sailors = crew.snapshot().table("Sailor").to_arrow()
    assert sorted(parts) == [2, 2, 3, 4, 4, 4, 4]
    assert result.total_rows == sum(crew.snapshot().table(table.table_key).count_rows() for table in result.tables)
    found = lance.dataset(out / "node/Sailor/data.lance")
    assert found.to_table(columns=["id"])["id"].to_pylist() == sailors["id"].to_pylist()
    assert len(found.get_fragments()) == len(parts)
    assert lance.dataset(out / "node/Note/data.lance").count_rows() == 0
    copy = omnigraph.init(str(tmp_path / "copy.omni"), harbor.SCHEMA)
    copy.load(out, mode="overwrite")
    assert harbor.content(copy) == harbor.content(crew)


def test_files_of_attempts_that_do_not_count_are_no_part_of_a_dataset(crew, out, monkeypatch):
    plain = side_by_side.write_part
    monkeypatch.setattr(side_by_side, "write_part", lambda task: (plain(task), plain(task))[1])

    crew.export(out, format="lance", types=["Sailor"])

    assert lance.dataset(out / "node/Sailor/data.lance").count_rows() == 3
    assert len(list((out / "node/Sailor/data.lance/data").iterdir())) == 1


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_spark_writes_the_same_files(crew, out, monkeypatch):
    for letter in "hgf":
        crew.load(harbor.lines([harbor.sailor(f"{letter}{number}") for number in (2, 1)]), mode="append")
    monkeypatch.setattr(side_by_side, "PART_ROWS_MAX", 4)

    here = crew.export(f"{out}-local/", engine="local")
    there = crew.export(f"{out}-spark/", engine="spark")

    assert ((here.engine, here.engine_reason), there.engine) == (("local", "engine local"), "spark")
    assert there.tables == here.tables
    names = files_below(Path(f"{out}-local"))
    assert len(names) > 3
    assert files_below(Path(f"{out}-spark")) == names
    assert all(Path(f"{out}-spark", name).read_bytes() == Path(f"{out}-local", name).read_bytes() for name in names)
    with pytest.raises(EngineUnavailable, match="a single file is written in process"):
        crew.export(f"{out}.jsonl", engine="spark")


def test_rows_that_are_too_much_for_memory_come_in_the_same_order(crew, out, monkeypatch):
    crew.load(harbor.lines([harbor.sailor(f"s{number * 7 % 100}") for number in range(100)]), mode="append")
    crew.export(f"{out}-small/")
    crew.export(f"{out}-small.jsonl")
    monkeypatch.setattr(tables, "_SORT_BYTES_MAX", 0)
    monkeypatch.setattr(tables, "_CHUNK_BYTES", 500)

    crew.export(f"{out}-large/")
    crew.export(f"{out}-large.jsonl")

    for name in ("/node.Sailor.jsonl", "/edge.Mentors.jsonl", ".jsonl"):
        assert Path(f"{out}-large{name}").read_bytes() == Path(f"{out}-small{name}").read_bytes()
    assert len(list(crew.snapshot().table("Sailor").in_id_order())) > 1


def test_an_older_snapshot_can_be_exported(crew, out):
    crew.load(harbor.lines([harbor.sailor("Zoe")]), mode="append")

    crew.export(out, format="parquet", snapshot="main~1", types=["Sailor"])

    assert pq.read_table(out)["id"].to_pylist() == ["Ana", "Bo", "Cy"]


def test_a_directory_that_holds_something_is_left_alone(crew, out):
    out.mkdir()
    crew.export(out, format="parquet", types=["Ship"])  # an empty one is taken
    before = files_below(out)

    with pytest.raises(Io, match="not empty"):
        crew.export(out, format="parquet")

    assert files_below(out) == before
    file = out.parent / "file"
    file.write_text("mine")
    with pytest.raises(Io, match="a file"):
        crew.export(file, format="parquet")
    assert file.read_text() == "mine"


def test_a_file_is_replaced_only_with_consent(crew, out):
    out.write_text("mine")

    with pytest.raises(NotConfirmed, match="overwrite=True"):
        crew.export(out)
    assert out.read_text() == "mine"

    crew.export(out, overwrite=True)
    assert out.read_text().count("\n") == 8
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_pipe_is_written_to_and_not_replaced(crew, out):
    os.mkfifo(out)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(out.read_text()))
    reader.start()

    crew.export(out)

    reader.join(timeout=30)
    assert heard[0].count("\n") == 8
    assert out.is_fifo()


@pytest.mark.parametrize("target", ["out", "out/"])
def test_a_failure_leaves_nothing_behind(crew, out, target, monkeypatch):
    def broken(*_: object, **__: object) -> object:
        raise StorageError("the disk is gone", storage_kind="transient", uri="x")

    monkeypatch.setattr(Table, "scan", broken)

    with pytest.raises(StorageError):
        crew.export(f"{out.parent}/{target}")

    assert list(out.parent.iterdir()) == []


def test_an_unknown_type_fails_before_anything_is_written(crew, out):
    with pytest.raises(EntityNotFound, match="Ghost"):
        crew.export(out, format="parquet", types=["Ghost"])
    with pytest.raises(Usage, match="directory"):
        crew.export(out.open("wb"), format="lance")

    assert files_below(out.parent) == ["out"]


def test_a_graph_that_cannot_be_written_to_is_exported_with_a_warning(crew, out, monkeypatch):
    def refused(*_: object, **__: object) -> object:
        raise StorageError("Writing is not allowed.", storage_kind="configuration", uri=crew.uri)

    heard: list[object] = []
    monkeypatch.setattr(crew._context.store.objects, "create", refused)

    result = crew.export(out, events=heard.append)

    assert result.total_rows == 8
    assert ["not protected" in event.message for event in heard if isinstance(event, Warned)] == [True]


def test_an_export_leaves_no_lease_behind(crew, out):
    before = harbor.files_of(crew)

    crew.export(out)

    assert harbor.files_of(crew) == before


@pytest.mark.s3
@pytest.mark.parametrize("form", ["jsonl", "parquet", "lance"])
def test_a_prefix_of_a_bucket_receives_the_parts(crew, s3_root, form, tmp_path):
    prefix = f"{s3_root.rpartition('/')[0]}/export"

    crew.export(prefix, format=form)

    copy = omnigraph.init(str(tmp_path / "copy.omni"), harbor.SCHEMA)
    copy.load(prefix, mode="overwrite")
    assert harbor.content(copy) == harbor.content(crew)
    with pytest.raises(Io, match="not empty"):
        crew.export(prefix, format=form)
