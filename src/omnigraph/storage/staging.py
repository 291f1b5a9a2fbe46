"""Changing Lance tables: stage new files without committing, then commit exactly one planned transaction.

A staged change has a uuid minted beforehand and the properties that prove whose it is. Lance rebases stale commits
even with `max_retries=0`, so `commit_staged` checks afterwards that the new version is exactly the next one and
carries our uuid: that check, under the branch's gate, is what keeps keys unique.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from omnigraph.base import faults, ids
from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import TABLE_IDENTITY_METADATA
from omnigraph.storage.checksums import read_back, short_name
from omnigraph.storage.deletions import (
    Offsets,
    RemovedRows,
    ThinnedFragments,
    delete_rows,
    offsets_by_fragment,
    thinned_fragments,
)
from omnigraph.storage.expected_tables import ExpectedTable
from omnigraph.storage.field_ids import flat_field_ids
from omnigraph.storage.file_references import FileReference, written_deletions, written_files
from omnigraph.storage.kept_row_ids import packed_row_ids, unpacked_row_ids, with_row_ids
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, storage_error, translated
from omnigraph.storage.tables import ROW_ID, Table, TableAddress, TableStore

_FRAGMENT_ROWS_MAX = 1 << 20
_FRAGMENT_BYTES_MAX = 1 << 30
_DETACHED_MIN = 1 << 63
_DETACHED_RETRIES = 5
"""Lance draws the number of a detached version; without a retry it gives up before the first draw."""


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
        """Move onto a later version that changed no fragment, for chains of planned commits."""
        return replace(self, read_version=read_version)


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
        staged = _staged(table, "Append", properties, lambda _: _append(fragments), files)
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
    staged = _staged(table, "Overwrite", properties, lambda _: LanceOperation.Overwrite(schema, fragments), files)
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
) -> StagedCommit:
    """Plan the transaction for data files that workers wrote, as `described_fragment` tells of them.

    With `replacing`, the canonical schema, they become the whole content; otherwise they are added, and rows go: those
    at `removed_addresses`, or those whose deletion files workers wrote as well.
    """
    from lance import LanceOperation

    written, known = [], {}
    for described in fragments:
        fragment, sums = _fragment_of(described)
        written.append(fragment)
        known.update(sums)
    files = written_files(target, written)
    if replacing is not None:
        # An overwrite replaces the schema whole; by what it says beside the columns the graph knows the table again.
        schema = replacing.with_metadata(table.schema.metadata)
        staged = _staged(table, "Overwrite", properties, lambda _: LanceOperation.Overwrite(schema, written), files)
    elif removed:
        staged = _stage_removed(table, target, removed, written, properties)
        known.update(removed.checksums)
    elif removed_addresses is None or len(removed_addresses) == 0:
        staged = _staged(table, "Append", properties, lambda _: _append(written), files)
    else:
        staged = _stage_deleting(table, target, partial(offsets_by_fragment, removed_addresses), written, properties)
    return _with_checksums(store, table, staged, known)


def described_fragment(store: TableStore, target: TableAddress, fragment: Any, *, has_blobs: bool) -> str:
    """Spell what a commit needs to know of a fragment that a worker wrote, the checksums of its files included."""
    sums = read_back(store.objects, written_files(target, [fragment]), has_blobs=has_blobs)
    row_ids = packed_row_ids(fragment.row_id_meta) if fragment.row_id_meta is not None else None
    return json.dumps({"fragment": replace(fragment, row_id_meta=None).to_json(), "row_ids": row_ids, "crc32": sums})


def _fragment_of(described: str) -> tuple[Any, dict[str, str]]:
    """Return a fragment as it was described, and the checksums of its files."""
    from lance.fragment import FragmentMetadata

    document = json.loads(described)
    fragment = FragmentMetadata.from_json(json.dumps(document["fragment"]))
    if document["row_ids"] is not None:
        fragment.row_id_meta = unpacked_row_ids(document["row_ids"])
    return fragment, document["crc32"]


def _with_checksums(
    store: TableStore, table: Table, staged: StagedCommit, known: Mapping[str, str] | None = None
) -> StagedCommit:
    """Add the checksums of the files that are written; workers have read theirs back already."""
    sums = dict(known or {})
    unread = [file for file in staged.files if short_name(file.path) not in sums]
    has_blobs = any(_is_blob(kind) for kind in table.schema.types)
    return replace(staged, checksums={**sums, **read_back(store.objects, unread, has_blobs=has_blobs)})


def stage_auto_cleanup_strip(table: Table, *, properties: Mapping[str, str]) -> StagedCommit | None:
    """Plan the commit that removes stored auto-cleanup settings; None when there are none."""
    return stage_upkeep(table, None, properties=properties)


def stage_upkeep(table: Table, expected: ExpectedTable | None, *, properties: Mapping[str, str]) -> StagedCommit | None:
    """Plan the commit that strips stored auto-cleanup settings and marks a table that has no mark yet, if it should."""
    from lance import LanceOperation

    keys = table.auto_cleanup_keys()
    mark = expected.mark if expected is not None and table.identity_mark is None else None
    if not keys and mark is None:
        return None
    strip = LanceOperation.UpdateMap(updates=dict.fromkeys(keys), replace=False) if keys else None
    marking = (
        LanceOperation.UpdateMap(updates={TABLE_IDENTITY_METADATA: mark}, replace=False) if mark is not None else None
    )
    operation = LanceOperation.UpdateConfig(config_updates=strip, schema_metadata_updates=marking)
    return _staged(table, "UpdateConfig", properties, lambda _: operation)


def stage_restore(table: Table, earlier: Table, *, uuid: str, properties: Mapping[str, str]) -> StagedCommit:
    """Plan a restore of an earlier state on top of `table`, which must be HEAD."""
    from lance import LanceOperation

    staged = _staged(table, "Restore", properties, lambda _: LanceOperation.Restore(_without_auto_cleanup(earlier)))
    return replace(staged, uuid=uuid)


def is_detached(version: int) -> bool:
    """Whether a version stands beside the line of versions that a table's readers see."""
    return version >= _DETACHED_MIN


def _without_auto_cleanup(table: Table) -> int:
    """Return a version with the content of a state and without stored auto-cleanup settings.

    A restore brings settings back too, and Lance obeys them inside that very commit: it would delete versions that
    branches read. Where a state has any, its stripped twin is committed beside the line of versions.
    """
    strip = stage_auto_cleanup_strip(table, properties={})
    return table.version if strip is None else _commit_detached(table.dataset, strip.build(table), table.address)


def commit_beside_the_line(table: Table, build: Callable[[], Any]) -> int:
    """Commit a change of a state as a version that stands beside the line of versions; return its number.

    No reader sees it, and HEAD stays where it is. Stored auto-cleanup settings are left behind first: Lance would obey
    them inside the commit.
    """
    from lance import LanceDataset

    base: LanceDataset = table.dataset
    strip = stage_auto_cleanup_strip(table, properties={})
    if strip is not None:
        base = base.checkout_version(_commit_detached(base, strip.build(table), table.address))
    return _commit_detached(base, build(), table.address)


def _commit_detached(base: Any, operation: Any, address: TableAddress) -> int:
    import lance
    from lance import Transaction

    transaction = Transaction(
        read_version=base.version, operation=operation, uuid=ids.new_uuid(), transaction_properties={}
    )
    with translated(doing=f"writing a version beside those of {address.path}", uri=address.path):
        made = lance.LanceDataset.commit(base, transaction, detached=True, max_retries=_DETACHED_RETRIES)
    return int(made.version)


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
            return store.landed(committed)
    except lance_failures() as error:
        failure = error
    landed = _version_with_uuid(store, address, expected, staged.uuid)
    if landed is not None:
        return landed
    if failure is None or classify(failure) in {LanceFailure.CONFLICT, LanceFailure.INCOMPATIBLE}:
        raise CommitInterleaved(f"{address.path} moved past version {staged.read_version}") from failure
    raise storage_error(failure, doing=f"committing to {address.path}", uri=address.path) from failure


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
    return store.landed(Table(address, dataset))


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


def _staged(
    table: Table,
    operation: str,
    properties: Mapping[str, str],
    build: Callable[[Table], Any],
    files: tuple[FileReference, ...] = (),
) -> StagedCommit:
    return StagedCommit(
        uuid=ids.new_uuid(),
        read_version=table.version,
        operation=operation,
        properties=properties,
        build=build,
        files=files,
    )


def _append(fragments: Sequence[Any]) -> Any:
    from lance import LanceOperation

    return LanceOperation.Append(fragments)


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
    return _staged(
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
    return _staged(table, _deleting_name(fragments), properties, lambda _: operation, files)


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


def write_data_files(
    store: TableStore, table: Table, target: TableAddress, rows: pa.Table | Iterable[pa.RecordBatch]
) -> list[Any]:
    """Write rows, or a stream of them, as data files below `target`.

    A target that is not the table should not exist yet. If it does, a writer that takes its gate first has just made
    it, or one that died left it: whoever commits these files finds out, so they are written all the same.
    """
    from lance.fragment import write_fragments

    existing = table if target == table.address else store.head(target)
    with translated(doing=f"writing new files of {target.path}", uri=target.path):
        fragments = write_fragments(
            with_blob_columns(rows, table.schema) if isinstance(rows, pa.Table) else _stream(rows, table.schema),
            store.uri(target) if existing is None else existing.dataset,
            schema=table.schema if existing is None else None,
            mode="create" if existing is None else "append",
            max_rows_per_file=_FRAGMENT_ROWS_MAX,
            max_bytes_per_file=_FRAGMENT_BYTES_MAX,
            storage_options=store.storage_options,
            enable_stable_row_ids=True,
        )
    return [_with_field_ids(fragment, table) for fragment in fragments] if existing is None else list(fragments)


def _with_field_ids(fragment: Any, table: Table) -> Any:
    """Give files that were written without their table the field ids of that table.

    A table whose columns came and went has other ids than a new one of the same columns would get.
    """
    from lance.fragment import DataFile, FragmentMetadata
    from lance.schema import LanceSchema

    fresh = flat_field_ids(LanceSchema.from_pyarrow(table.schema).fields())
    known = dict(zip(fresh, flat_field_ids(table.dataset.lance_schema.fields()), strict=True))
    files = [
        DataFile(
            file.path,
            [known[field] for field in file.fields],
            file.column_indices,
            file.file_major_version,
            file.file_minor_version,
            file.file_size_bytes,
        )
        for file in fragment.files
    ]
    return FragmentMetadata(id=fragment.id, files=files, physical_rows=fragment.physical_rows)


def with_blob_columns(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Give plain binary columns the blob type that the table's schema declares, and order columns by it."""
    import lance

    columns = []
    for column_field in schema:
        column = rows[column_field.name]
        if _is_blob(column_field.type):
            column = lance.blob_array(column.to_pylist())
        columns.append(column)
    return pa.table(columns, schema=schema)


def _stream(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(
        schema,
        (
            made
            for batch in batches
            for made in with_blob_columns(pa.Table.from_batches([batch]), schema).combine_chunks().to_batches()
        ),
    )


def _is_blob(data_type: pa.DataType) -> bool:
    return getattr(data_type, "extension_name", None) == "lance.blob.v2"
