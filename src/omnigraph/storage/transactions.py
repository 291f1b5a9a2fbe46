"""One planned transaction of a Lance table, and its commit as exactly the next version.

A staged change has a uuid minted beforehand and the properties that prove whose it is. Lance rebases stale commits
even with `max_retries=0`, so `commit_staged` checks afterwards that the new version is exactly the next one and
carries our uuid: that check, under the branch's gate, is what keeps keys unique.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

import pyarrow as pa

from omnigraph.base import faults, ids
from omnigraph.base.values import dataclass
from omnigraph.storage.file_references import FileReference
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, storage_error, translated
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table, TableAddress


class CommitInterleaved(Exception):
    """A commit did not land as exactly the next version with our uuid: somebody else got in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedCommit:
    """One Lance transaction that is planned on top of `read_version`; its new data files are written."""

    uuid: str
    read_version: int
    operation: str
    properties: Mapping[str, str]
    build: Callable[[Any], Any]
    """Makes Lance's operation on the state it lands on, which is None for a table that does not exist yet. Deletion
    files lie in the tree of the ref they belong to, so those of a ref that does not exist yet can only be written once
    it does."""
    files: tuple[FileReference, ...] = ()
    """The new files that are written already and that the commit will name: whoever commits looks for them first."""
    checksums: Mapping[str, str] = field(default_factory=dict)
    """Of these files, see `checksums.py`."""

    def on_top_of(self, read_version: int) -> "StagedCommit":
        """Move onto a later version that changed none of the fragments of its own, for chains of planned commits."""
        return replace(self, read_version=read_version)


def planned(
    table: Table,
    operation: str,
    properties: Mapping[str, str],
    build: Callable[[Table], Any],
    files: tuple[FileReference, ...] = (),
) -> StagedCommit:
    """Plan a transaction on top of a state, under a new uuid."""
    return StagedCommit(
        uuid=ids.new_uuid(),
        read_version=table.version,
        operation=operation,
        properties=properties,
        build=build,
        files=files,
    )


def stage_creation(schema: pa.Schema, *, properties: Mapping[str, str]) -> StagedCommit:
    """Plan the first version of an empty table; `schema` is the canonical one, metadata included."""
    from lance import LanceOperation

    return StagedCommit(
        uuid=ids.new_uuid(),
        read_version=0,
        operation="Overwrite",
        properties=properties,
        build=lambda _: LanceOperation.Overwrite(schema, []),
    )


def create_table(
    store: TableStore, address: TableAddress, schema: pa.Schema, *, uuid: str, properties: Mapping[str, str]
) -> Table:
    """Create an empty table as version 1 in one commit that carries our uuid."""
    from lance import LanceOperation, Transaction

    transaction = Transaction(
        read_version=0,
        operation=LanceOperation.Overwrite(schema, []),
        uuid=uuid,
        transaction_properties=dict(properties),
    )
    with translated(doing=f"creating {address.path}", uri=address.path):
        dataset = _commit(store, address, None, transaction)
    return store.created(Table(address, dataset))


def commit_staged(
    store: TableStore, address: TableAddress, staged: StagedCommit, *, fail_point: str = "write.commit_ack_lost"
) -> Table:
    """Commit a staged transaction as exactly the next version, or raise.

    An unclear error is settled by looking at the next version: if it carries our uuid the commit landed and only the
    acknowledgement was lost. Committing again is never tried: it would write the rows twice.
    """
    from lance import Transaction

    base = store.open(address, staged.read_version) if staged.read_version else None
    transaction = Transaction(
        read_version=staged.read_version,
        operation=staged.build(base),
        uuid=staged.uuid,
        transaction_properties=dict(staged.properties),
    )
    expected = staged.read_version + 1
    failure: BaseException | None = None
    try:
        committed = Table(address, _commit(store, address, base, transaction))
        faults.reach(fail_point)
        if committed.version == expected and committed.transaction_uuid == staged.uuid:
            return store.landed(committed) if base is not None else store.created(committed)
    except lance_failures() as error:
        failure = error
    landed = _version_with_uuid(store, address, expected, staged.uuid)
    if landed is not None:
        return landed
    if failure is None or classify(failure) in {LanceFailure.CONFLICT, LanceFailure.INCOMPATIBLE}:
        raise CommitInterleaved(f"{address.path} moved past version {staged.read_version}") from failure
    raise storage_error(failure, doing=f"committing to {address.path}", uri=address.path) from failure


def _commit(store: TableStore, address: TableAddress, base: Table | None, transaction: Any) -> Any:
    """Commit on top of an open state: by its address alone Lance would list all versions first, however many."""
    import lance

    return lance.LanceDataset.commit(
        base.dataset if base is not None else store.uri(address),
        transaction,
        storage_options=store.storage_options,
        max_retries=0,
        enable_stable_row_ids=True,
    )


def _version_with_uuid(store: TableStore, address: TableAddress, version: int, uuid: str) -> Table | None:
    head = store.head(address)
    if head is None or head.version < version:
        return None
    table = head if head.version == version else store.open(address, version)
    return table if table.transaction_uuid == uuid else None
