"""Where Lance keeps the operation behind a version, and why its Python binding is not asked for names.

Pins lance-notes 3, recovery 6, lessons 50 and 51. `storage/operations.py` reads exactly these bytes.
"""

import struct
from pathlib import Path

import lance
import pytest
from lance import LanceOperation

from omnigraph.storage import history_proto


def manifest_of(root: str, version: int) -> bytes:
    return (Path(root) / "_versions" / f"{2**64 - 1 - version:020d}.manifest").read_bytes()


def message_at(content: bytes, position: int) -> bytes:
    (length,) = struct.unpack_from("<I", content, position)
    return content[position + 4 : position + 4 + length]


def compacted_with_index(table) -> lance.LanceDataset:
    dataset = table.create("a", "b")
    dataset.create_scalar_index("id", "BTREE")
    table.open().optimize.compact_files()
    return table.open()


def test_manifest_is_named_by_the_distance_to_the_highest_version_and_ends_with_its_position(table):
    table.create("a")

    content = manifest_of(table.uri, 1)

    position, major, minor, magic = struct.unpack("<QHH4s", content[-16:])
    assert (major, minor, magic) == (0, 2, b"LANC")
    assert history_proto.parse_version(message_at(content, position)).version == 1


def test_manifest_names_its_transaction_file_and_embeds_the_same_bytes(table):
    table.create("a", "b")

    content = manifest_of(table.uri, 2)
    (position,) = struct.unpack_from("<Q", content, len(content) - 16)
    record = history_proto.parse_version(message_at(content, position))

    assert record.transaction_offset is not None
    file = Path(table.uri) / "_transactions" / record.transaction_file
    assert message_at(content, record.transaction_offset) == file.read_bytes()
    assert record.transaction_file == f"1-{table.open().read_transaction(2).uuid}.txn"


def test_ref_keeps_its_own_versions_and_transactions_and_starts_as_a_clone_of_the_same_number(table):
    table.create("a", "b").create_branch("b")
    ref = table.ref_uri("b")

    content = manifest_of(ref, 2)
    (position,) = struct.unpack_from("<Q", content, len(content) - 16)
    record = history_proto.parse_version(message_at(content, position))

    assert record.version == 2
    assert (Path(ref) / "_transactions" / record.transaction_file).exists()
    assert history_proto.parse_transaction(message_at(content, record.transaction_offset)).operation_numbers == (113,)


def test_compaction_of_an_indexed_table_commits_reservation_then_rewrite(table):
    dataset = compacted_with_index(table)

    numbers = []
    for version in range(3, dataset.version + 1):
        content = manifest_of(table.uri, version)
        (position,) = struct.unpack_from("<Q", content, len(content) - 16)
        record = history_proto.parse_version(message_at(content, position))
        transaction = history_proto.parse_transaction(message_at(content, record.transaction_offset))
        numbers.append((transaction.operation_numbers, transaction.read_version))

    assert numbers == [((103,), 2), ((107,), 3), ((104,), 3)]


def test_binding_cannot_read_a_rewrite_that_carries_indexes(table):
    dataset = compacted_with_index(table)

    with pytest.raises(TypeError):
        dataset.read_transaction(dataset.version)


def test_binding_returns_a_nameless_operation_for_a_reservation(table):
    dataset = compacted_with_index(table)

    assert type(dataset.read_transaction(dataset.version - 1).operation) is LanceOperation.BaseOperation


def test_cleanup_may_delete_the_transaction_file_of_a_version_that_a_branch_keeps(table):
    dataset = table.create("a", "b", "c")
    dataset.create_branch("b", 2)
    uuid = dataset.read_transaction(2).uuid

    table.open().cleanup_old_versions(retain_versions=1)

    assert table.open().read_transaction(2).uuid == uuid
    assert not (Path(table.uri) / "_transactions" / f"1-{uuid}.txn").exists()
