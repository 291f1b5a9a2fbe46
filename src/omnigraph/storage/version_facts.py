"""What the manifest of one version says: its rows, its identity, the transaction that made it, and its files.

Read from the file itself, once per version, never by opening the table: a table whose data is gone opens like any
other, and thousands of old versions are looked at.
"""

from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import TABLE_IDENTITY_METADATA
from omnigraph.errors import StorageError
from omnigraph.storage.file_references import FileReference, manifest_path, references_in
from omnigraph.storage.history_proto import parse_transaction, parse_version
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.proto_messages import TYPES, declare_messages, field
from omnigraph.storage.tables import TableAddress
from omnigraph.storage.version_files import manifest_message, message_at


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionFacts:
    """One version of one ref, by its manifest."""

    version: int
    rows: int
    """Live rows."""
    identity_mark: str | None
    transaction_uuid: str | None
    """None when the manifest does not hold its transaction."""
    files: tuple[FileReference, ...]


class ManifestUnreadable(Exception):
    """The manifest of a version is missing or makes no sense; the message is the end of a sentence about it."""


def read_version_facts(objects: ControlStore, address: TableAddress, version: int) -> VersionFacts:
    """Read the manifest of a version; raise `ManifestUnreadable` when that cannot be done.

    A store that does not answer raises `StorageError`: it says nothing about the manifest.
    """
    try:
        stored = objects.read(manifest_path(address, version))
    except StorageError as error:
        if error.is_transient:
            raise
        raise ManifestUnreadable(f"cannot be read: {error.message}") from error
    if stored is None:
        raise ManifestUnreadable("is missing")
    try:
        return _facts(stored.content, address, version)
    except ValueError as error:
        raise ManifestUnreadable(f"cannot be read: {error}") from error


def _facts(content: bytes, address: TableAddress, version: int) -> VersionFacts:
    message = manifest_message(content)
    manifest = _Manifest.read(message)
    offset = parse_version(message).transaction_offset
    marks = [pair.value for pair in manifest.schema_metadata if pair.key == TABLE_IDENTITY_METADATA]
    return VersionFacts(
        version=version,
        rows=sum(fragment.physical_rows - fragment.deletion_file.num_deleted_rows for fragment in manifest.fragments),
        identity_mark=marks[0].decode() if marks else None,
        transaction_uuid=None if offset is None else parse_transaction(message_at(content, offset)).uuid,
        files=tuple(references_in(content, address, version)),
    )


_CLASSES = declare_messages(
    "omnigraph.lance_version_facts",
    {
        "Manifest": [
            field("fragments", 2, "Fragment", repeated=True),
            field("schema_metadata", 5, "Pair", repeated=True),
        ],
        # On the wire an entry of a map is a message with a key and a value.
        "Pair": [field("key", 1, TYPES.TYPE_STRING), field("value", 2, TYPES.TYPE_BYTES)],
        "Fragment": [
            field("deletion_file", 3, "DeletionFile"),
            field("physical_rows", 4, TYPES.TYPE_UINT64),
        ],
        "DeletionFile": [field("num_deleted_rows", 4, TYPES.TYPE_UINT64)],
    },
)
_Manifest = _CLASSES["Manifest"]
