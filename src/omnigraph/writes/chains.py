"""The chain of transactions that a write plans for one table, whoever wrote the files.

Stored auto-cleanup settings come off first: Lance would obey them inside the commit, and delete what branches read.
"""

from collections.abc import Sequence

import pyarrow as pa

from omnigraph.catalog.model import TableKey
from omnigraph.graphs.capture import Capture
from omnigraph.storage.deletions import RemovedRows
from omnigraph.storage.staging import stage_written
from omnigraph.storage.stored_settings import stage_auto_cleanup_strip
from omnigraph.storage.transactions import StagedCommit
from omnigraph.writes.prepared import PreparedTable, WriteIdentity


def prepare_staged(
    capture: Capture,
    identity: WriteIdentity,
    table_key: TableKey,
    *staged: StagedCommit,
    renamed_to: TableKey | None = None,
) -> PreparedTable:
    """Plan a staged change, in one step or several, on top of a table's captured pin."""
    chain = staged
    strip = stage_auto_cleanup_strip(capture.table(table_key), properties=identity.transaction_properties)
    if strip is not None:
        # The strip touches no data, so what was staged against the pin stays valid one version later.
        chain = (strip, *(step.on_top_of(step.read_version + 1) for step in staged))
    return PreparedTable(
        pin=capture.snapshot.pins[table_key], target=capture.target(table_key), chain=chain, renamed_to=renamed_to
    )


def prepare_written(
    capture: Capture,
    identity: WriteIdentity,
    table_key: TableKey,
    fragments: Sequence[str],
    *,
    replacing: pa.Schema | None = None,
    removed_addresses: pa.Array | None = None,
    removed: RemovedRows | None = None,
) -> PreparedTable:
    """Plan the change of a table for data files that workers wrote (`storage/worker_files.py`)."""
    staged = stage_written(
        capture.context.store.tables,
        capture.table(table_key),
        capture.target(table_key),
        fragments,
        replacing=replacing,
        removed_addresses=removed_addresses,
        removed=removed,
        properties=identity.transaction_properties,
    )
    return prepare_staged(capture, identity, table_key, *staged)
