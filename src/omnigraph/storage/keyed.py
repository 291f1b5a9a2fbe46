"""Internal tables with a key column: creation, idempotent inserts and row-level compare-and-swap.

Lance compares the keys of two racing merges only for a direct `execute()` on a table whose key is annotated and has
no scalar index in use. That is why these tables never get an index on their key and why nothing here stages.
"""

from typing import Any, Final

import pyarrow as pa

from omnigraph.base import faults
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, storage_error
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table, TableAddress

DATA_STORAGE_VERSION: Final = "2.2"


class SwapLost(Exception):
    """The compare-and-swap did not land, as far as Lance can tell; look at the state before trying again."""


def create_keyed_table(
    store: TableStore, address: TableAddress, schema: pa.Schema, rows: pa.Table | None = None
) -> Table:
    """Create an internal table in one commit; if somebody else was first, return theirs."""
    import lance

    try:
        dataset = lance.write_dataset(
            rows if rows is not None else schema.empty_table(),
            store.uri(address),
            schema=schema,
            mode="create",
            data_storage_version=DATA_STORAGE_VERSION,
            enable_stable_row_ids=True,
            storage_options=store.storage_options,
            session=store.session,
        )
    except lance_failures() as error:
        existing = store.head(address)
        if existing is not None and rows is None:
            return existing
        raise storage_error(error, doing=f"creating {address.path}", uri=address.path) from error
    return store.landed(Table(address, dataset))


def insert_missing(store: TableStore, table: Table, key: str, rows: pa.Table) -> None:
    """Insert the rows whose key is not there yet; rows that are there are left alone, so repeating is harmless."""
    try:
        handle = table.own_handle()
        _strip_auto_cleanup(table, handle)
        handle.merge_insert(key).when_not_matched_insert_all().use_index(False).execute(rows)
    except lance_failures() as error:
        raise storage_error(error, doing=f"writing to {table.address.path}", uri=table.address.path) from error
    store.landed(Table(table.address, handle))


def swap_rows(store: TableStore, table: Table, key: str, rows: pa.Table) -> Table:
    """Upsert rows by key on exactly this state of the table, or raise `SwapLost` and change nothing.

    A raised `SwapLost` is not proof of failure: an acknowledgement may have been lost. The caller re-reads.
    """
    try:
        handle = table.own_handle()
        if _strip_auto_cleanup(table, handle):
            # The strip may have been rebased over somebody's publish, so this handle no longer stands on our state.
            raise SwapLost(f"{table.address.path} was stripped of its auto-cleanup settings")
        faults.reach("write.publish_contended")
        (
            handle.merge_insert(key)
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .conflict_retries(0)
            .use_index(False)
            .execute(rows)
        )
        faults.reach("write.publish_ack_lost")
    except lance_failures() as error:
        if classify(error) in {LanceFailure.NOT_FOUND, LanceFailure.EXISTS}:
            raise storage_error(error, doing=f"publishing to {table.address.path}", uri=table.address.path) from error
        raise SwapLost(str(error)) from error
    return store.landed(Table(table.address, handle))


def _strip_auto_cleanup(table: Table, handle: Any) -> bool:
    # Lance's commit hook would delete old versions inside our very commit while these keys are stored.
    keys = table.auto_cleanup_keys()
    if keys:
        handle.delete_config_keys(list(keys))
    return bool(keys)
