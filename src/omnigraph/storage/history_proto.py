"""The few protobuf fields of Lance's table format that tell how a version came to be.

Lance publishes the messages but ships no Python classes for them. Declaring the handful of fields we read, and letting
the protobuf runtime keep the rest as unknown fields, survives releases that add fields. The field numbers are pinned by
`tests/guards/test_history.py`.
"""

from dataclasses import dataclass
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.unknown_fields import UnknownFieldSet

_PACKAGE = "omnigraph.lance_history"
_OPERATION_NUMBER_MIN = 100
_OFFSET_NAMES = ("transaction_offset", "transaction_offset_older")
_TYPES = descriptor_pb2.FieldDescriptorProto.Type
_LABELS = descriptor_pb2.FieldDescriptorProto.Label


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
    """Read the manifest message; raise DecodeError when it is not one."""
    message = _VersionManifest.FromString(content)
    # Field 23 took over from field 21; older tables still have the latter, and offset 0 is a place like any other.
    offsets = [getattr(message, name) for name in _OFFSET_NAMES if message.HasField(name)]
    return VersionRecord(
        version=message.version,
        transaction_file=message.transaction_file,
        transaction_offset=offsets[0] if offsets else None,
    )


def parse_transaction(content: bytes) -> TransactionRecord:
    """Read the transaction message; raise DecodeError when it is not one."""
    message = _Transaction.FromString(content)
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
    unknown = UnknownFieldSet(message)
    return [unknown[index].field_number for index in range(len(unknown))]


def _field(
    name: str,
    number: int,
    kind: "descriptor_pb2.FieldDescriptorProto.Type.ValueType | str",
    *,
    repeated: bool = False,
) -> descriptor_pb2.FieldDescriptorProto:
    label = _LABELS.LABEL_REPEATED if repeated else _LABELS.LABEL_OPTIONAL
    if isinstance(kind, str):
        return descriptor_pb2.FieldDescriptorProto(
            name=name, number=number, label=label, type=_TYPES.TYPE_MESSAGE, type_name=f".{_PACKAGE}.{kind}"
        )
    return descriptor_pb2.FieldDescriptorProto(name=name, number=number, label=label, type=kind)


def _declare() -> dict[str, Any]:
    """Build message classes under our own package name, so that no other copy of the format in the process clashes."""
    file = descriptor_pb2.FileDescriptorProto(
        name="omnigraph/lance_history.proto",
        package=_PACKAGE,
        # Optional fields of proto2 know whether they were present: a removed key differs from one set to "".
        syntax="proto2",
    )
    messages = {
        "VersionManifest": [
            _field("version", 3, _TYPES.TYPE_UINT64),
            _field("transaction_file", 12, _TYPES.TYPE_STRING),
            _field("transaction_offset_older", 21, _TYPES.TYPE_UINT64),
            _field("transaction_offset", 23, _TYPES.TYPE_UINT64),
        ],
        # On the wire an entry of a string map and an edit of a config map have the same shape.
        "Pair": [_field("key", 1, _TYPES.TYPE_STRING), _field("value", 2, _TYPES.TYPE_STRING)],
        "MapUpdate": [_field("entries", 1, "Pair", repeated=True), _field("replace", 2, _TYPES.TYPE_BOOL)],
        "Restore": [_field("version", 1, _TYPES.TYPE_UINT64)],
        "UpdateConfig": [
            _field("delete_keys", 2, _TYPES.TYPE_STRING, repeated=True),
            _field("config_updates", 6, "MapUpdate"),
            _field("schema_metadata_updates", 8, "MapUpdate"),
        ],
        "Transaction": [
            _field("read_version", 1, _TYPES.TYPE_UINT64),
            _field("uuid", 2, _TYPES.TYPE_STRING),
            _field("properties", 4, "Pair", repeated=True),
            _field("restore", 106, "Restore"),
            _field("update_config", 110, "UpdateConfig"),
        ],
    }
    for name, fields in messages.items():
        file.message_type.add(name=name, field=fields)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in messages
    }


_CLASSES = _declare()
_VersionManifest = _CLASSES["VersionManifest"]
_Transaction = _CLASSES["Transaction"]
