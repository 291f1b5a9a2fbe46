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


REFERENCES = {"bucket": "s3://no-such-bucket-anywhere/a%20b.jpg", "file": "file:///no/such/file.bin"}


@pytest.fixture
def referring(table, dataset) -> lance.LanceDataset:
    """Add references beside the values; whoever opens one fails."""
    staged = write_fragments(
        blobs({**REFERENCES, "beside": b"b" * 70_000}), table.uri, mode="append", allow_external_blob_outside_bases=True
    )
    table.commit(2, LanceOperation.Append(staged))
    return table.open()


def described(dataset: lance.LanceDataset) -> dict[str, dict[str, object] | None]:
    found = dataset.scanner(blob_handling="blobs_descriptions").to_table()
    return dict(zip(found["id"].to_pylist(), found["content"].to_pylist(), strict=True))


def addresses(dataset: lance.LanceDataset) -> dict[str, str]:
    return {name: what["blob_uri"] for name, what in described(dataset).items() if what and what["kind"] == 3}


def test_a_reference_is_stored_as_it_is_spelled_and_nothing_is_opened(referring):
    assert addresses(referring) == REFERENCES
    assert {name for name, what in described(referring).items() if what is None} == {"null"}
    assert {name: what["size"] for name, what in described(referring).items() if what} == {
        **{name: len(value) for name, value in VALUES.items() if value is not None},
        **dict.fromkeys(REFERENCES, 0),
        "beside": 70_000,
    }


def test_a_scan_of_binary_opens_references(referring):
    """Why scans ask for descriptions first."""
    with pytest.raises((OSError, pa.ArrowException)):
        contents(referring)


def test_content_beside_references_is_read_by_row_address(referring):
    found = referring.scanner(blob_handling="blobs_descriptions", with_row_address=True).to_table().to_pylist()
    held = {row["_rowaddr"]: row["id"] for row in found if row["id"] not in REFERENCES}

    read = {held[address]: content for address, content in referring.read_blobs("content", addresses=list(held))}

    assert read == VALUES | {"beside": b"b" * 70_000}


@pytest.mark.parametrize("mode", ["reencode", "try_binary_copy"])
def test_distributed_compaction_carries_references_unopened(table, referring, mode):
    tasks = [task.json() for task in Compaction.plan(referring, {"compaction_mode": mode}).tasks]
    results = [CompactionTask.from_json(task).execute(table.open()).json() for task in tasks]

    Compaction.commit(table.open(), [RewriteResult.from_json(result) for result in results])

    assert len(table.open().get_fragments()) == 1
    assert addresses(table.open()) == REFERENCES
    assert {name for name, what in described(table.open()).items() if what is None} == {"null"}


@pytest.mark.parametrize("uri", ["https://example.org/a.jpg", "http://example.org/a.jpg", "a.jpg", "/tmp/a.jpg"])
def test_references_of_other_kinds_are_refused(table, dataset, uri):
    """Why bases are in buckets and directories only: what Lance refuses here, a compaction could not rewrite either."""
    with pytest.raises(OSError, match=r"Unknown scheme|not a valid absolute URI"):
        write_fragments(blobs({"a": uri}), table.uri, mode="append", allow_external_blob_outside_bases=True)


def test_a_reference_that_leads_upwards_is_stored_as_another_one(table, dataset):
    """Why references have one spelling: this one would have been compared as it was given."""
    staged = write_fragments(
        blobs({"a": "s3://bucket/base/%2e%2e/secret"}), table.uri, mode="append", allow_external_blob_outside_bases=True
    )
    table.commit(2, LanceOperation.Append(staged))

    assert addresses(table.open()) == {"a": "s3://bucket/secret"}
