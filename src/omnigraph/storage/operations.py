"""Which operation made a version of a table: read from Lance's own files, because its Python binding cannot say.

The binding raises `TypeError` for a rewrite that carries indexes and returns a nameless object for a reservation. The
files are exact: a version's manifest names and usually embeds its transaction, and the number of the one operation
field in it is the kind. A number we do not know is an unknown operation, never a harmless one.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import TABLE_IDENTITY_METADATA
from omnigraph.errors import StorageError
from omnigraph.storage.history_proto import VersionRecord, parse_transaction, parse_version
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.tables import AUTO_CLEANUP_PREFIX
from omnigraph.storage.version_files import manifest_message, message_at, version_file

VERSIONS_EXAMINED_MAX = 1_024
"""How many versions are read one by one; a longer way counts as unreadable."""


class OperationName(StrEnum):
    """Lance's operations as people and sidecars spell them."""

    APPEND = "Append"
    DELETE = "Delete"
    OVERWRITE = "Overwrite"
    CREATE_INDEX = "CreateIndex"
    REWRITE = "Rewrite"
    MERGE = "Merge"
    RESTORE = "Restore"
    RESERVE_FRAGMENTS = "ReserveFragments"
    UPDATE = "Update"
    PROJECT = "Project"
    UPDATE_CONFIG = "UpdateConfig"
    DATA_REPLACEMENT = "DataReplacement"
    UPDATE_MEM_WAL_STATE = "UpdateMemWalState"
    CLONE = "Clone"
    UPDATE_BASES = "UpdateBases"
    DATA_OVERLAY = "DataOverlay"
    APPEND_FRAGMENT_REUSE_TRANSITIONS = "AppendFragmentReuseTransitions"


# The format numbers its operations from 100 in exactly this order.
_NAME_BY_NUMBER: Mapping[int, OperationName] = dict(enumerate(OperationName, start=100))

_LAYOUT_OPERATIONS = (OperationName.RESERVE_FRAGMENTS, OperationName.REWRITE, OperationName.CREATE_INDEX)


class HistoryUnreadable(StorageError):
    """The operation behind a version cannot be told: its files are missing, damaged or contradict each other."""


class TableFiles(Protocol):
    """The bytes inside one table's directory, wherever it lies."""

    @property
    def uri(self) -> str:
        """The table's address, for messages."""

    def read(self, path: str) -> bytes:
        """Return the file at `path`, relative to the table's directory; raise FileNotFoundError when it is absent."""


class TableDirectory:
    """The files of the table at `location`, a directory relative to the graph's root, as the store has them.

    Used only to name operations; rows are never read like this.
    """

    def __init__(self, objects: ControlStore, location: str) -> None:
        self._objects = objects
        self._location = location

    @property
    def uri(self) -> str:
        """The table's address, for messages."""
        return self._objects.root.table_uri(self._location)

    def read(self, path: str) -> bytes:
        """Return the file at `path`, relative to the table's directory; raise FileNotFoundError when it is absent."""
        found = self._objects.read(f"{self._location}/{path}")
        if found is None:
            raise FileNotFoundError(f"{self.uri}/{path}")
        return found.content


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOperation:
    """The transaction that made one version.

    `restored_version` is set for Restore only. `is_upkeep` is true for an UpdateConfig that removes
    `lance.auto_cleanup.*` keys, writes the table's identity into its schema, or both, and does nothing else.
    """

    uuid: str
    read_version: int
    number: int
    properties: Mapping[str, str]
    restored_version: int | None
    is_upkeep: bool

    @property
    def name(self) -> str:
        """The operation's name, or `Unknown(<number>)`."""
        return _NAME_BY_NUMBER.get(self.number, f"Unknown({self.number})")

    @property
    def is_maintenance(self) -> bool:
        """Whether the operation changed layout, indexes, the cleanup setting or the identity mark, and no row."""
        return self.name in _LAYOUT_OPERATIONS or self.is_upkeep


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOperations:
    """What made some versions, in their order; `unreadable` says what is missing from that, and why."""

    operations: tuple[TableOperation, ...]
    unreadable: tuple[str, ...]


def operation(files: TableFiles, *, ref: str | None, version: int) -> TableOperation:
    """Tell which operation made `version` on `ref`; None is the table's main line.

    Reads one object when the manifest embeds its transaction, two otherwise. Raises HistoryUnreadable whenever the
    answer is not certain; failures of the store itself pass through.
    """
    tree = _tree(ref)
    path = _manifest_path(ref, version)
    try:
        manifest = files.read(path)
        record = _version_record(manifest, version)
        # The embedded copy comes first: cleanup may delete the transaction file of a version that it keeps.
        if record.transaction_offset is not None:
            return _table_operation(message_at(manifest, record.transaction_offset))
        path = f"{tree}_transactions/{record.transaction_file}"
        return _table_operation(files.read(path))
    except FileNotFoundError as exc:
        raise _unreadable(files, version=version, path=path, reason="the file is missing", kind="not_found") from exc
    except ValueError as exc:
        raise _unreadable(files, version=version, path=path, reason=str(exc), kind="permanent") from exc


def has_version(files: TableFiles, *, ref: str | None, version: int) -> bool:
    """Whether a version is still there; an open handle of it would not tell."""
    try:
        files.read(_manifest_path(ref, version))
    except FileNotFoundError:
        return False
    return True


def operations_between(
    files: TableFiles, *, ref: str | None, after: int, up_to: int
) -> tuple[TableOperation, ...] | None:
    """Tell what made each version in (after, up_to]; None when one of them cannot be told, or there are too many."""
    found = readable_operations(files, ref=ref, after=after, up_to=up_to)
    return None if found.unreadable else found.operations


def readable_operations(files: TableFiles, *, ref: str | None, after: int, up_to: int) -> ReadOperations:
    """Tell what made each version in (after, up_to], as far as that can be read, and what cannot."""
    if up_to - after > VERSIONS_EXAMINED_MAX:
        return ReadOperations(
            operations=(),
            unreadable=(f"{up_to - after:,} versions lie above version {after}, more than are read one by one",),
        )
    operations, unreadable = [], []
    for version in range(after + 1, up_to + 1):
        try:
            operations.append(operation(files, ref=ref, version=version))
        except HistoryUnreadable as problem:
            unreadable.append(problem.message.rstrip("."))
    return ReadOperations(operations=tuple(operations), unreadable=tuple(unreadable))


def _tree(ref: str | None) -> str:
    return f"tree/{ref}/" if ref else ""


def _manifest_path(ref: str | None, version: int) -> str:
    return f"{_tree(ref)}_versions/{version_file(version)}"


def _version_record(manifest: bytes, version: int) -> VersionRecord:
    record = parse_version(manifest_message(manifest))
    if record.version != version:
        raise ValueError(f"the manifest is of version {record.version}")
    if record.transaction_offset is None and not record.transaction_file:
        raise ValueError("the manifest names no transaction")
    return record


def _table_operation(content: bytes) -> TableOperation:
    record = parse_transaction(content)
    if not record.uuid or len(record.operation_numbers) != 1:
        raise ValueError(f"the transaction has uuid {record.uuid!r} and operations {record.operation_numbers}")
    (number,) = record.operation_numbers
    removed, marked = record.removed_config_keys, record.set_schema_keys
    return TableOperation(
        uuid=record.uuid,
        read_version=record.read_version,
        number=number,
        properties=record.properties,
        restored_version=record.restored_version,
        is_upkeep=(
            bool(removed or marked)
            and all(key.startswith(AUTO_CLEANUP_PREFIX) for key in removed)
            and all(key == TABLE_IDENTITY_METADATA for key in marked)
            and not record.has_other_config_changes
        ),
    )


def _unreadable(files: TableFiles, *, version: int, path: str, reason: str, kind: str) -> HistoryUnreadable:
    message = f"Cannot tell which operation made version {version} of {files.uri}: {reason} ({path})."
    return HistoryUnreadable(message, storage_kind=kind, uri=files.uri)
