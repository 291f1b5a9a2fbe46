"""Staging a change of a Lance table: its files are written, its transaction is planned, nothing is committed.

Only what workers wrote may be so much that it takes several transactions (`commit_steps.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from omnigraph.storage.blob_columns import is_blob
from omnigraph.storage.checksums import read_back, short_name
from omnigraph.storage.commit_steps import in_steps
from omnigraph.storage.data_files import fragment_of, write_data_files
from omnigraph.storage.deletions import (
    Offsets,
    RemovedRows,
    ThinnedFragments,
    delete_rows,
    offsets_by_fragment,
    thinned_fragments,
)
from omnigraph.storage.file_references import written_deletions, written_files
from omnigraph.storage.kept_row_ids import with_row_ids
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import ROW_ID, Table, TableAddress
from omnigraph.storage.transactions import StagedCommit, planned


def stage_change(
    store: TableStore,
    table: Table,
    target: TableAddress,
    *,
    rewritten: pa.Table | None,
    inserted: pa.Table | None,
    removed_addresses: pa.Array,
    properties: Mapping[str, str],
) -> StagedCommit:
    """Write the files of one mixed change of `table` and plan its transaction on `target`.

    `rewritten` rows carry `_rowid` of the row they replace, whose address is among `removed_addresses`; rows are in
    the canonical schema otherwise. Row ids travel along, so that history shows an update and not delete + insert.
    `target` is the table itself, or the ref that will be forked from exactly this state.
    """
    rows, row_ids = _rewritten_then_inserted(rewritten, inserted)
    fragments = write_data_files(store, table, target, rows) if rows is not None and rows.num_rows else []
    if len(removed_addresses) == 0:
        files = written_files(target, fragments)
        staged = planned(table, "Append", properties, lambda _: _append(fragments), files)
    else:
        fragments = with_row_ids(fragments, row_ids)
        staged = _stage_deleting(table, target, partial(offsets_by_fragment, removed_addresses), fragments, properties)
    return _with_checksums(store, table, staged)


def stage_replacement(
    store: TableStore,
    table: Table,
    target: TableAddress,
    rows: pa.Table,
    *,
    properties: Mapping[str, str],
) -> StagedCommit:
    """Write the files of a new content for the whole table, which keeps its columns."""
    from lance import LanceOperation

    fragments = write_data_files(store, table, target, rows) if rows.num_rows else []
    # Lance's own form of the schema, not Arrow's: a fresh one would be numbered otherwise than the files are.
    schema = table.dataset.lance_schema
    files = written_files(target, fragments)
    staged = planned(table, "Overwrite", properties, lambda _: LanceOperation.Overwrite(schema, fragments), files)
    return _with_checksums(store, table, staged)


def stage_written(
    store: TableStore,
    table: Table,
    target: TableAddress,
    fragments: Sequence[str],
    *,
    replacing: pa.Schema | None = None,
    removed_addresses: pa.Array | None = None,
    removed: RemovedRows | None = None,
    properties: Mapping[str, str],
) -> tuple[StagedCommit, ...]:
    """Plan the transactions for data files that workers wrote, as `described_fragment` tells of them.

    With `replacing`, the canonical schema, they become the whole content; otherwise they are added, and rows go: those
    at `removed_addresses`, or those whose deletion files workers wrote as well.
    """
    from lance import LanceOperation

    described = [fragment_of(text) for text in fragments]
    written = [fragment for fragment, _ in described]
    known = {name: value for _, sums in described for name, value in sums.items()}
    if replacing is not None:
        # An overwrite replaces the schema whole; by what it says beside the columns the graph knows the table again.
        schema = replacing.with_metadata(table.schema.metadata)
        files = written_files(target, written)
        staged = planned(table, "Overwrite", properties, lambda _: LanceOperation.Overwrite(schema, written), files)
        return (_with_checksums(store, table, staged, known),)
    if not removed and (removed_addresses is None or len(removed_addresses) == 0):
        staged = planned(table, "Append", properties, lambda _: _append(written), written_files(target, written))
        return (_with_checksums(store, table, staged, known),)
    *ahead, last = in_steps(written, [fragment.physical_rows for fragment in written])
    adding = [_stage_adding(table, target, step, properties) for step in ahead]
    if removed:
        removing = _stage_removed(table, target, removed, last, properties)
        known.update(removed.checksums)
    else:
        removing = _stage_deleting(table, target, partial(offsets_by_fragment, removed_addresses), last, properties)
    return tuple(
        _with_checksums(store, table, staged.on_top_of(table.version + step), known)
        for step, staged in enumerate([*adding, removing])
    )


def _with_checksums(
    store: TableStore, table: Table, staged: StagedCommit, known: Mapping[str, str] | None = None
) -> StagedCommit:
    """Add the checksums of the files that are written; workers have read theirs back already."""
    names = [short_name(file.path) for file in staged.files]
    sums = {name: known[name] for name in names if name in known} if known else {}
    unread = [file for file, name in zip(staged.files, names, strict=True) if name not in sums]
    has_blobs = any(is_blob(kind) for kind in table.schema.types)
    return replace(staged, checksums={**sums, **read_back(store.objects, unread, has_blobs=has_blobs)})


def _append(fragments: Sequence[Any]) -> Any:
    from lance import LanceOperation

    return LanceOperation.Append(fragments)


def _stage_adding(
    table: Table, target: TableAddress, fragments: Sequence[Any], properties: Mapping[str, str]
) -> StagedCommit:
    """Plan a step of a larger change: as an update, so that rows which keep their ids also keep when they were made."""
    operation = _deleting(ThinnedFragments(), fragments)
    return planned(table, "Update", properties, lambda _: operation, written_files(target, fragments))


def _stage_deleting(
    table: Table,
    target: TableAddress,
    offsets: Callable[[], Offsets],
    fragments: Sequence[Any],
    properties: Mapping[str, str],
) -> StagedCommit:
    """Plan a change that removes or replaces rows; deletion files are written now if there is a place for them."""
    if target != table.address:
        return _stage_waiting(table, target, offsets, fragments, properties)
    return _stage_thinned(table, target, delete_rows(table, offsets()), fragments, properties)


def _stage_removed(
    table: Table,
    target: TableAddress,
    removed: RemovedRows,
    fragments: Sequence[Any],
    properties: Mapping[str, str],
) -> StagedCommit:
    """Plan a change whose deletion files are written, unless they have to wait for their place."""
    if removed.waiting is not None:
        return _stage_waiting(table, target, removed.waiting, fragments, properties)
    return _stage_thinned(table, target, thinned_fragments(table, removed), fragments, properties)


def _stage_waiting(
    table: Table,
    target: TableAddress,
    offsets: Callable[[], Offsets],
    fragments: Sequence[Any],
    properties: Mapping[str, str],
) -> StagedCommit:
    files = written_files(target, fragments)
    return planned(
        table,
        _deleting_name(fragments),
        properties,
        lambda forked: _deleting(delete_rows(forked, offsets()), fragments),
        files,
    )


def _stage_thinned(
    table: Table,
    target: TableAddress,
    thinned: ThinnedFragments,
    fragments: Sequence[Any],
    properties: Mapping[str, str],
) -> StagedCommit:
    operation = _deleting(thinned, fragments)
    files = (*written_files(target, fragments), *written_deletions(target, thinned.updated))
    return planned(table, _deleting_name(fragments), properties, lambda _: operation, files)


def _deleting_name(fragments: Sequence[Any]) -> str:
    return "Update" if fragments else "Delete"


def _deleting(thinned: ThinnedFragments, fragments: Sequence[Any]) -> Any:
    from lance import LanceOperation

    if not fragments:
        return LanceOperation.Delete(thinned.updated, thinned.emptied, "id IN (…)")
    return LanceOperation.Update(
        removed_fragment_ids=thinned.emptied,
        updated_fragments=thinned.updated,
        new_fragments=list(fragments),
    )


def _rewritten_then_inserted(rewritten: pa.Table | None, inserted: pa.Table | None) -> tuple[pa.Table | None, pa.Array]:
    row_ids = pa.array([], pa.uint64())
    pieces = []
    if rewritten is not None and rewritten.num_rows:
        row_ids = rewritten[ROW_ID].combine_chunks()
        pieces.append(rewritten.drop_columns([ROW_ID]))
    if inserted is not None and inserted.num_rows:
        pieces.append(inserted)
    return (pa.concat_tables(pieces) if pieces else None), row_ids
