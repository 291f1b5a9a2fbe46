"""Naming the operation behind a version: every kind that pylance can make, on both lines, from every place it lies."""

import os
import struct
from collections.abc import Callable
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import DatasetBasePath, LanceOperation
from lance.file import LanceFileWriter
from lance.fragment import DataFile, write_fragments

from omnigraph.storage import history_proto
from omnigraph.storage.objects import open_objects
from omnigraph.storage.operations import HistoryUnreadable, OperationName, TableDirectory, TableOperation, operation
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("age", pa.int64())])


class LocalFiles:
    """The plainest `TableFiles`: a directory."""

    def __init__(self, root: Path) -> None:
        self.uri = str(root)

    def read(self, path: str) -> bytes:
        return Path(self.uri, path).read_bytes()


@pytest.fixture
def files(tmp_path) -> LocalFiles:
    return LocalFiles(tmp_path / "table")


def rows(*ids: str) -> pa.Table:
    return pa.table({"id": list(ids), "age": [0] * len(ids)}, schema=SCHEMA)


def create(uri: str) -> lance.LanceDataset:
    """Make a table of two fragments and two versions."""
    lance.write_dataset(rows("a", "b"), uri, enable_stable_row_ids=True, data_storage_version="2.2")
    return lance.write_dataset(rows("c", "d"), uri, mode="append")


def head(files: LocalFiles, ref: str | None = None) -> TableOperation:
    directory = Path(files.uri, "tree", ref) if ref else Path(files.uri)
    newest = min((directory / "_versions").glob("*.manifest"))
    return operation(files, ref=ref, version=2**64 - 1 - int(newest.stem))


def append(dataset: lance.LanceDataset) -> None:
    lance.write_dataset(rows("e"), dataset.uri, mode="append")


def overwrite(dataset: lance.LanceDataset) -> None:
    lance.write_dataset(rows("e"), dataset.uri, mode="overwrite")


def delete(dataset: lance.LanceDataset) -> None:
    dataset.delete("id = 'a'")


def upsert(dataset: lance.LanceDataset) -> None:
    dataset.merge_insert("id").when_matched_update_all().execute(rows("a"))


def build_index(dataset: lance.LanceDataset) -> None:
    dataset.create_scalar_index("id", "BTREE")


def drop_index(dataset: lance.LanceDataset) -> None:
    dataset.create_scalar_index("id", "BTREE")
    dataset.drop_index("id_idx")


def compact(dataset: lance.LanceDataset) -> None:
    dataset.create_scalar_index("id", "BTREE")
    dataset.optimize.compact_files()


def add_column(dataset: lance.LanceDataset) -> None:
    dataset.add_columns({"next": "age + 1"})


def drop_column(dataset: lance.LanceDataset) -> None:
    dataset.drop_columns(["age"])


def restore(dataset: lance.LanceDataset) -> None:
    dataset.checkout_version(1).restore()


def configure(dataset: lance.LanceDataset) -> None:
    dataset.update_schema_metadata({"stamp": "4"})


def add_base(dataset: lance.LanceDataset) -> None:
    dataset.add_bases([DatasetBasePath(f"{dataset.uri}-base", "base")])


def write_ages(dataset: lance.LanceDataset, ages: list[int]) -> DataFile:
    with LanceFileWriter(f"{dataset.uri}/data/ages.lance", pa.schema([SCHEMA.field("age")]), version="2.2") as writer:
        writer.write_batch(pa.record_batch({"age": ages}))
    return DataFile.create(dataset, "ages.lance")


def replace_data(dataset: lance.LanceDataset) -> None:
    dataset.drop_columns(["age"])
    dataset.add_columns(SCHEMA.field("age"))
    group = LanceOperation.DataReplacementGroup(0, write_ages(dataset, [7, 8]))
    lance.LanceDataset.commit(dataset, LanceOperation.DataReplacement([group]), read_version=dataset.version)


def overlay_data(dataset: lance.LanceDataset) -> None:
    overlay = LanceOperation.DataOverlayFile(write_ages(dataset, [7]), [1])
    change = LanceOperation.DataOverlay([LanceOperation.DataOverlayGroup(0, [overlay])])
    lance.LanceDataset.commit(dataset, change, read_version=dataset.version)


PRODUCERS = {
    OperationName.APPEND: [append],
    OperationName.DELETE: [delete],
    OperationName.OVERWRITE: [overwrite],
    OperationName.CREATE_INDEX: [build_index, drop_index],
    OperationName.REWRITE: [compact],
    OperationName.MERGE: [add_column],
    OperationName.RESTORE: [restore],
    OperationName.UPDATE: [upsert],
    OperationName.PROJECT: [drop_column],
    OperationName.UPDATE_CONFIG: [configure],
    OperationName.DATA_REPLACEMENT: [replace_data],
    OperationName.UPDATE_BASES: [add_base],
    OperationName.DATA_OVERLAY: [overlay_data],
}
CASES = [(name, change) for name, changes in PRODUCERS.items() for change in changes]


@pytest.mark.parametrize(("name", "change"), CASES)
def test_every_kind_is_named(files, name, change: Callable[[lance.LanceDataset], None]):
    change(create(files.uri))

    assert head(files).name == name


def test_names_follow_the_numbers_of_the_format(files):
    overwrite(create(files.uri))
    first, last = operation(files, ref=None, version=1), head(files)

    assert (first.number, first.name, first.read_version) == (102, "Overwrite", 0)
    assert (last.number, last.name, last.read_version) == (102, "Overwrite", 2)
    assert list(OperationName)[100 - 100] == "Append"
    assert list(OperationName)[113 - 100] == "Clone"
    assert list(OperationName)[116 - 100] == "AppendFragmentReuseTransitions"


def test_compaction_reads_as_reservation_then_rewrite(files):
    compact(create(files.uri))

    names = [operation(files, ref=None, version=version).name for version in (3, 4, 5)]

    assert names == ["CreateIndex", "ReserveFragments", "Rewrite"]


def test_uuid_and_properties_are_those_of_the_transaction(files):
    create(files.uri)
    change = lance.Transaction(
        read_version=2,
        operation=LanceOperation.Append(write_fragments(rows("e"), files.uri)),
        uuid="6f9619ff-8b86-4011-b42d-00c04fc964ff",
        transaction_properties={"omnigraph.operation_id": "01J", "empty": ""},
    )

    lance.LanceDataset.commit(files.uri, change)

    found = head(files)
    assert (found.uuid, found.read_version) == (change.uuid, 2)
    assert found.properties == change.transaction_properties


def test_restore_tells_its_target(files):
    restore(create(files.uri))

    assert head(files).restored_version == 1
    assert operation(files, ref=None, version=2).restored_version is None


def test_ref_has_its_own_history_that_starts_with_a_clone_of_the_same_number(files):
    create(files.uri).create_branch("review.1f2e", 2)
    lance.dataset(f"{files.uri}/tree/review.1f2e").delete("id = 'a'")

    clone, deletion = (operation(files, ref="review.1f2e", version=version) for version in (2, 3))

    assert (clone.name, clone.read_version) == ("Clone", 2)
    assert deletion.name == "Delete"
    assert operation(files, ref=None, version=2).name == "Append"


def test_nested_ref_names_are_found(files):
    create(files.uri).create_branch("team/review.1f2e", 2)

    assert head(files, "team/review.1f2e").name == "Clone"


@pytest.mark.parametrize(
    ("updates", "is_strip"),
    [
        ({"lance.auto_cleanup.interval": None}, True),
        ({"lance.auto_cleanup.interval": None, "lance.auto_cleanup.older_than": None}, True),
        ({"lance.auto_cleanup.interval": None, "other": None}, False),
        ({"lance.auto_cleanup.interval": None, "other": "1"}, False),
        ({"lance.auto_cleanup.interval": "1000"}, False),
    ],
)
def test_only_the_removal_of_cleanup_keys_is_a_strip(files, updates, is_strip):
    create(files.uri).update_config(updates)

    found = head(files)
    assert found.is_upkeep == is_strip
    assert found.is_maintenance == is_strip


def test_deleting_cleanup_keys_is_a_strip(files):
    create(files.uri).delete_config_keys(["lance.auto_cleanup.interval"])

    assert head(files).is_upkeep


def test_replacing_the_whole_config_is_no_strip(files):
    create(files.uri).update_config({"lance.auto_cleanup.interval": None}, replace=True)

    assert not head(files).is_upkeep


@pytest.mark.parametrize("extra", ["schema_metadata_updates", "table_metadata_updates"])
def test_strip_that_also_edits_metadata_is_no_strip(files, extra):
    dataset = create(files.uri)
    removal = LanceOperation.UpdateMap({"lance.auto_cleanup.interval": None})
    change = LanceOperation.UpdateConfig(config_updates=removal, **{extra: LanceOperation.UpdateMap({"a": "b"})})

    lance.LanceDataset.commit(dataset, change, read_version=2)

    assert not head(files).is_upkeep


def test_maintenance_is_layout_and_indexes_only(files):
    compact(create(files.uri))
    maintenance = {operation(files, ref=None, version=version).name for version in (3, 4, 5)}

    assert all(operation(files, ref=None, version=version).is_maintenance for version in (3, 4, 5))
    assert maintenance == {"CreateIndex", "ReserveFragments", "Rewrite"}
    assert not operation(files, ref=None, version=1).is_maintenance
    assert not operation(files, ref=None, version=2).is_maintenance


# Files as other releases of Lance, or accidents, would leave them.


def transaction(number: int | None = 100, uuid: str = "some-uuid") -> bytes:
    """Encode a transaction whose operation has any field number at all."""
    content = history_proto._Transaction(uuid=uuid, read_version=6).SerializeToString()
    if number is not None:
        tag = number << 3 | 2
        content += bytes([tag & 0x7F | 0x80, tag >> 7, 0])
    return content


def manifest(*, version: int = 7, embedded: bytes | None = None, named: str = "", offset_field: str = "") -> bytes:
    """Encode a version manifest the way Lance lays it out: transaction, message, trailer."""
    head = b"" if embedded is None else struct.pack("<I", len(embedded)) + embedded
    fields = {} if embedded is None else {offset_field or "transaction_offset": 0}
    message = history_proto._VersionManifest(version=version, transaction_file=named, **fields).SerializeToString()
    body = head + struct.pack("<I", len(message)) + message
    return body + struct.pack("<QHH4s", len(head), 0, 2, b"LANC")


@pytest.fixture
def forged(files) -> Callable[..., TableOperation]:
    """Write the given bytes as version 7 (and optionally a transaction file) and read its operation."""
    versions, transactions = Path(files.uri, "_versions"), Path(files.uri, "_transactions")
    versions.mkdir(parents=True)
    transactions.mkdir()

    def read(content: bytes, *, transaction_file: bytes | None = None) -> TableOperation:
        (versions / f"{2**64 - 8}.manifest").write_bytes(content)
        if transaction_file is not None:
            (transactions / "6-some-uuid.txn").write_bytes(transaction_file)
        return operation(files, ref=None, version=7)

    return read


def test_embedded_transaction_is_preferred(forged):
    found = forged(
        manifest(embedded=transaction(100, "embedded"), named="6-some-uuid.txn"),
        transaction_file=transaction(101, "file"),
    )

    assert (found.uuid, found.name, found.read_version) == ("embedded", "Append", 6)


def test_embedded_transaction_needs_no_file(forged):
    assert forged(manifest(embedded=transaction(), named="6-gone.txn")).name == "Append"


def test_offset_in_the_older_field_is_understood(forged):
    assert forged(manifest(embedded=transaction(101), offset_field="transaction_offset_older")).name == "Delete"


def test_transaction_file_is_the_fallback(forged):
    found = forged(manifest(named="6-some-uuid.txn"), transaction_file=transaction(104))

    assert found.name == "Rewrite"


@pytest.mark.parametrize("number", [117, 200, 1500])
def test_unknown_number_is_unknown_and_never_maintenance(forged, number):
    found = forged(manifest(embedded=transaction(number)))

    assert (found.number, found.name) == (number, f"Unknown({number})")
    assert not found.is_maintenance


UNREADABLE = {
    "no operation": manifest(embedded=transaction(None)),
    "two operations": manifest(embedded=transaction(100) + transaction(104)),
    "no uuid": manifest(embedded=transaction(uuid="")),
    "another version": manifest(version=8, embedded=transaction()),
    "no transaction at all": manifest(),
    "garbage transaction": manifest(embedded=b"\xff\xff\xff"),
    "empty file": b"",
    "no magic": manifest(embedded=transaction())[:-1] + b"X",
    "position beyond the end": struct.pack("<QHH4s", 9_999, 0, 2, b"LANC"),
    "message cut off": struct.pack("<I", 500) + struct.pack("<QHH4s", 0, 0, 2, b"LANC"),
    "garbage": b"\x00" * 64,
}


@pytest.mark.parametrize("damage", UNREADABLE)
def test_damaged_history_is_unreadable(forged, files, damage):
    with pytest.raises(HistoryUnreadable) as caught:
        forged(UNREADABLE[damage])

    assert "version 7" in caught.value.message
    assert caught.value.details["uri"] == files.uri


def test_missing_version_is_unreadable_and_not_found(files):
    create(files.uri)

    with pytest.raises(HistoryUnreadable) as caught:
        operation(files, ref=None, version=9)

    assert caught.value.details["storage_kind"] == "not_found"


def test_missing_transaction_file_is_unreadable(forged):
    with pytest.raises(HistoryUnreadable) as caught:
        forged(manifest(named="6-gone.txn"))

    assert "_transactions/6-gone.txn" in caught.value.message


def test_version_that_cleanup_kept_for_a_branch_is_still_named(files):
    dataset = create(files.uri)
    append(dataset)
    dataset.create_branch("b", 2)
    lance.dataset(files.uri).cleanup_old_versions(retain_versions=1)
    uuid = lance.dataset(files.uri).read_transaction(2).uuid

    assert not Path(files.uri, "_transactions", f"1-{uuid}.txn").exists()
    assert operation(files, ref=None, version=2).uuid == uuid


def test_table_directory_reads_through_the_control_store_of_the_graph(tmp_path):
    location = "nodes/0000000000000001-0000000000000001"
    create(str(tmp_path / location)).create_branch("b", 2)
    root = GraphRoot.parse(str(tmp_path))
    directory = TableDirectory(open_objects(root, StoreSettings()), location)

    assert directory.uri == str(tmp_path / location)
    assert operation(directory, ref=None, version=2).name == "Append"
    assert operation(directory, ref="b", version=2).name == "Clone"
    with pytest.raises(HistoryUnreadable) as caught:
        operation(directory, ref=None, version=3)
    assert caught.value.details["storage_kind"] == "not_found"


@pytest.mark.s3
def test_table_directory_reads_from_s3(s3_root):
    create(f"{s3_root}/nodes/t").create_branch("b", 2)
    root = GraphRoot.parse(s3_root)
    directory = TableDirectory(open_objects(root, StoreSettings.resolve(root, None, os.environ)), "nodes/t")

    assert operation(directory, ref=None, version=2).name == "Append"
    assert operation(directory, ref="b", version=2).name == "Clone"
    with pytest.raises(HistoryUnreadable) as caught:
        operation(directory, ref=None, version=3)
    assert caught.value.details["storage_kind"] == "not_found"
