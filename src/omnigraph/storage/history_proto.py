"""The few protobuf fields of Lance's table format that tell how a version came to be.

The field numbers are pinned by `tests/guards/test_history.py`.
"""

from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.storage.proto_messages import TYPES, declare_messages, field

_OPERATION_NUMBER_MIN = 100
_OFFSET_NAMES = ("transaction_offset", "transaction_offset_older")


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRecord:
    """What a version manifest says about itself; `transaction_offset` is None when nothing is embedded."""

    version: int
    transaction_file: str
    transaction_offset: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRecord:
    """A transaction as it lies on disk; `operation_numbers` has exactly one element unless the file is damaged."""

    uuid: str
    read_version: int
    properties: dict[str, str]
    operation_numbers: tuple[int, ...]
    restored_version: int | None
    removed_config_keys: tuple[str, ...]
    set_schema_keys: tuple[str, ...]
    has_other_config_changes: bool


def parse_version(content: bytes) -> VersionRecord:
    """Read the manifest message; raise `Undecodable` when it is not one."""
    message = _VersionManifest.read(content)
    # Field 23 took over from field 21; older tables still have the latter, and offset 0 is a place like any other.
    offsets = [getattr(message, name) for name in _OFFSET_NAMES if message.HasField(name)]
    return VersionRecord(
        version=message.version,
        transaction_file=message.transaction_file,
        transaction_offset=offsets[0] if offsets else None,
    )


def parse_transaction(content: bytes) -> TransactionRecord:
    """Read the transaction message; raise `Undecodable` when it is not one."""
    message = _Transaction.read(content)
    numbers = [field.number for field, _ in message.ListFields()] + _unknown_numbers(message)
    config = message.update_config
    edits = list(config.config_updates.entries)
    removed = [edit.key for edit in edits if not edit.HasField("value")]
    schema_edits = list(config.schema_metadata_updates.entries)
    set_in_schema = [edit.key for edit in schema_edits if edit.HasField("value")]
    return TransactionRecord(
        uuid=message.uuid,
        read_version=message.read_version,
        properties={pair.key: pair.value for pair in message.properties},
        operation_numbers=tuple(sorted({number for number in numbers if number >= _OPERATION_NUMBER_MIN})),
        restored_version=message.restore.version if message.HasField("restore") else None,
        removed_config_keys=tuple(sorted([*removed, *config.delete_keys])),
        set_schema_keys=tuple(sorted(set_in_schema)),
        has_other_config_changes=(
            len(removed) < len(edits)
            or len(set_in_schema) < len(schema_edits)
            or config.config_updates.replace
            or config.schema_metadata_updates.replace
            or bool(_unknown_numbers(config))
        ),
    )


def _unknown_numbers(message: Any) -> list[int]:
    from google.protobuf.unknown_fields import UnknownFieldSet

    unknown = UnknownFieldSet(message)
    return [unknown[index].field_number for index in range(len(unknown))]


_CLASSES = declare_messages(
    "omnigraph.lance_history",
    {
        "VersionManifest": [
            field("version", 3, TYPES.TYPE_UINT64),
            field("transaction_file", 12, TYPES.TYPE_STRING),
            field("transaction_offset_older", 21, TYPES.TYPE_UINT64),
            field("transaction_offset", 23, TYPES.TYPE_UINT64),
        ],
        # On the wire an entry of a string map and an edit of a config map have the same shape.
        "Pair": [field("key", 1, TYPES.TYPE_STRING), field("value", 2, TYPES.TYPE_STRING)],
        "MapUpdate": [field("entries", 1, "Pair", repeated=True), field("replace", 2, TYPES.TYPE_BOOL)],
        "Restore": [field("version", 1, TYPES.TYPE_UINT64)],
        "UpdateConfig": [
            field("delete_keys", 2, TYPES.TYPE_STRING, repeated=True),
            field("config_updates", 6, "MapUpdate"),
            field("schema_metadata_updates", 8, "MapUpdate"),
        ],
        "Transaction": [
            field("read_version", 1, TYPES.TYPE_UINT64),
            field("uuid", 2, TYPES.TYPE_STRING),
            field("properties", 4, "Pair", repeated=True),
            field("restore", 106, "Restore"),
            field("update_config", 110, "UpdateConfig"),
        ],
    },
)
_VersionManifest = _CLASSES["VersionManifest"]
_Transaction = _CLASSES["Transaction"]
