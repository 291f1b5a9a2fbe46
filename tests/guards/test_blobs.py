"""Blob columns: null, empty and large values stay byte for byte, whatever rewrites them.

Pins lance-notes 7, lessons 78.
"""

import lance
import pyarrow as pa
import pytest
from lance import LanceOperation
from lance.fragment import write_fragments
from lance.optimize import Compaction, CompactionTask, RewriteResult

SIZES = {
    "one byte": 1,
    "below inline": 65_535,
    "64 KiB": 65_536,
    "above": 65_537,
    "100 kB": 100_000,
    "4 MiB - 1": 4_194_303,
    "4 MiB": 4_194_304,
    "4 MiB + 1": 4_194_305,
}
VALUES = {"null": None, "empty": b"", **{name: bytes([len(name)]) * size for name, size in SIZES.items()}}
SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), lance.blob_field("content")])


def blobs(values: dict[str, bytes | None]) -> pa.Table:
    return pa.table([pa.array(values), lance.blob_array(list(values.values()))], schema=SCHEMA)


def contents(dataset: lance.LanceDataset) -> dict[str, bytes | None]:
    table = dataset.to_table(with_row_id=True, blob_handling="all_binary")
    return dict(zip(table["id"].to_pylist(), table["content"].to_pylist(), strict=True))


@pytest.fixture
def dataset(table) -> lance.LanceDataset:
    """Write the values in two fragments, null and empty in different ones and next to large neighbours."""
    names = list(VALUES)
    for mode, part in (("create", names[::2]), ("append", names[1::2])):
        lance.write_dataset(
            blobs({name: VALUES[name] for name in part}),
            table.uri,
            mode=mode,
            enable_stable_row_ids=True,
            data_storage_version="2.2",
        )
    return table.open()


def test_blobs_read_back_as_written(dataset):
    assert contents(dataset) == VALUES


def test_distributed_compaction_keeps_every_blob(table, dataset):
    tasks = [CompactionTask.from_json(task.json()) for task in Compaction.plan(dataset, {}).tasks]
    results = [RewriteResult.from_json(task.execute(table.open()).json()) for task in tasks]

    Compaction.commit(table.open(), results)

    assert len(table.open().get_fragments()) == 1
    assert contents(table.open()) == VALUES


def test_staged_append_and_upsert_keep_every_blob(table, dataset):
    staged = write_fragments(blobs({"staged": b"s" * 70_000}), table.uri, mode="append")
    table.commit(2, LanceOperation.Append(staged))

    table.open().merge_insert("id").when_matched_update_all().execute(blobs({"null": b"now", "empty": None}))

    assert contents(table.open()) == VALUES | {"staged": b"s" * 70_000, "null": b"now", "empty": None}
