"""Opening and reading Lance tables: the one door between the graph and `lance.dataset`.

A table state is `(location, ref, version)`: version numbers belong to a ref, and a handle on a ref reports the URI of
the main line, so nothing above this module ever sees a Lance URI or passes a dataset around. Writing is in
`staging.py` and `transactions.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from operator import attrgetter
from threading import Lock
from typing import Any, Final, NewType

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.grouping import grouped
from omnigraph.base.logs import logger_of
from omnigraph.base.values import dataclass
from omnigraph.errors import HistoricalVersionReclaimed, StorageError
from omnigraph.storage import filters
from omnigraph.storage.expected_tables import ExpectedTable, mark_of
from omnigraph.storage.known_heads import KnownHeads, identity
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, storage_error, translated
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.open_states import OpenStates
from omnigraph.storage.sessions import new_session
from omnigraph.storage.small_fragments import fragments_to_ask
from omnigraph.storage.uris import GraphRoot

TableVersion = NewType("TableVersion", int)
"""A Lance version of one table on one ref; never a graph version."""

_log = logger_of(__name__)

ROW_ID: Final = "_rowid"
ROW_ADDRESS: Final = "_rowaddr"
AUTO_CLEANUP_PREFIX: Final = "lance.auto_cleanup."
"""While keys with this prefix are stored, Lance deletes old versions inside any commit, pinned ones included."""

_THRIFTY: Final = {"io_buffer_size": 16 << 20, "batch_readahead": 2, "fragment_readahead": 1}
_SORT_BYTES_MAX = 256 * 2**20
_CHUNK_BYTES = 64 * 2**20
_LOOKUP_BY_FILTER_MAX = 2_000
"""Up to this many values a lookup goes through the scalar index as an IN list; above, one column scan is cheaper."""
_MATCHED_AT_ONCE_ROWS = 1 << 19
"""Every comparison with a set of values hashes the set first, so it should have many rows to compare."""


def lance_version() -> str:
    """Return the version of Lance that writes here."""
    import lance

    return str(lance.__version__)


@dataclass(frozen=True, slots=True)
class TableAddress:
    """Where a table lives: its directory below the graph root, and the ref (None is the main line)."""

    location: str
    ref: str | None = None
    expected: ExpectedTable | None = field(default=None, compare=False)
    """Which table has to be there; None where the caller has no pin to know it from."""

    @property
    def path(self) -> str:
        """The directory that holds this ref's own versions and files."""
        return self.location if self.ref is None else f"{self.location}/tree/{self.ref}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateAddress:
    """A table at a version: which state is meant, as a small value that travels and is opened where it is needed."""

    address: TableAddress
    version: int

    def open(self, store: "TableStore") -> "Table":
        """Open the state; raise `HistoricalVersionReclaimed` when that version is gone."""
        return store.open(self.address, self.version)


class Table:
    """One immutable state of one table."""

    def __init__(self, address: TableAddress, dataset: Any) -> None:
        self.address = address
        self._dataset = dataset
        self._has_warned_of_index = False

    @property
    def version(self) -> TableVersion:
        """The Lance version of this state."""
        return TableVersion(self._dataset.version)

    @property
    def state(self) -> StateAddress:
        """Which state of which table this is."""
        return StateAddress(address=self.address, version=self.version)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema with all its metadata."""
        return self._dataset.schema

    @property
    def dataset(self) -> Any:
        """The Lance dataset, for code inside `storage/` and for users who ask for a scanner of their own."""
        return self._dataset

    def own_handle(self) -> Any:
        """Return a dataset of this state that a write may move on; the shared one stays where it is."""
        return self._dataset.checkout_version(self._dataset.version)

    @property
    def transaction_uuid(self) -> str | None:
        """The uuid of the transaction that made this version; None when Lance's binding cannot tell.

        A store that fails to answer raises: it says nothing about whose the version is.
        """
        with self._reading():
            try:
                transaction = self._dataset.read_transaction(self._dataset.version)
            except TypeError:
                # The binding cannot decode every operation; whoever needs the truth reads the files (operations.py).
                return None
        return str(transaction.uuid) if transaction is not None else None

    @property
    def schema_metadata(self) -> dict[str, str]:
        """The schema metadata as text."""
        return {key.decode(): value.decode() for key, value in (self.schema.metadata or {}).items()}

    @cached_property
    def identity_mark(self) -> str | None:
        """Which table of which graph this is, by its own account; None from before tables said so."""
        return mark_of(self.schema)

    def versions(self) -> list[int]:
        """Return all versions of this ref that still exist, ascending."""
        with self._reading():
            return sorted(int(entry["version"]) for entry in self._dataset.versions())

    def latest_version(self) -> TableVersion:
        """Return HEAD: the newest version on this ref right now."""
        with translated(doing=f"reading the latest version of {self.address.path}", uri=self.address.path):
            return TableVersion(self._dataset.latest_version)

    def auto_cleanup_keys(self) -> tuple[str, ...]:
        """Return the stored configuration keys that would make Lance delete versions inside a commit."""
        return tuple(sorted(key for key in self._dataset.config() if key.startswith(AUTO_CLEANUP_PREFIX)))

    @cached_property
    def fragment_count(self) -> int:
        """How many fragments this state has, which is what it takes memory for."""
        return len(self._dataset.fragment_ids())

    def rows_by_fragment(self) -> dict[int, int]:
        """Return how many rows each fragment was written with, by its id."""
        return {fragment.fragment_id: fragment.physical_rows for fragment in self._dataset.get_fragments()}

    def bytes_by_fragment(self) -> dict[int, int]:
        """Return how large the data files of each fragment are, by its id; those of unknown size count as none."""
        return {
            fragment.fragment_id: sum(file.file_size_bytes or 0 for file in fragment.metadata.files)
            for fragment in self._dataset.get_fragments()
        }

    def count_rows(self, where: str | None = None) -> int:
        """Count live rows."""
        try:
            with self._reading():
                return int(self._dataset.count_rows(filter=where))
        except StorageError as failure:
            if where is None or failure.is_transient:
                raise
            with self._reading():
                found = int(self._dataset.scanner(filter=where, use_scalar_index=False).count_rows())
            self._warn_of_index(failure)
            return found

    def fragment_rows(self) -> dict[int, int]:
        """Return how many live rows each fragment has, in the order of the table."""
        with self._reading():
            return {fragment.fragment_id: fragment.count_rows() for fragment in self._dataset.get_fragments()}

    def scan(
        self,
        columns: Sequence[str] | None = None,
        *,
        where: Any = None,
        limit: int | None = None,
        offset: int | None = None,
        with_row_ids: bool = False,
        with_row_addresses: bool = False,
        fragment_ids: Sequence[int] | None = None,
        row_ids: pa.Array | None = None,
        insists_on_index: bool = False,
        is_thrifty: bool = False,
    ) -> pa.RecordBatchReader:
        """Stream rows, of all fragments or of some, all or those with some row ids, `limit` of them behind `offset`.

        `where` is a filter as `filters.py` spells it, or an Arrow expression.
        An index is derived state: where one cannot be read, the rows are looked through without it, unless the caller
        wants to know what the index says. Left alone, Lance reads ahead as much as it can; `is_thrifty` bounds that.
        """
        with self._reading():
            fragments = [self._dataset.get_fragment(number) for number in fragment_ids or ()]
        options = {
            "columns": list(columns) if columns is not None else None,
            "filter": where,
            "limit": limit,
            "offset": offset,
            "with_row_id": with_row_ids,
            "with_row_address": with_row_addresses,
            "fragments": fragments if fragment_ids is not None else None,
            "blob_handling": "all_binary",
            "row_addr_allowlist": None if row_ids is None else serialized_row_ids(row_ids),
            **(_THRIFTY if is_thrifty else {}),
        }
        reader = self._reader(options)
        may_use_index = where is not None and not insists_on_index
        batches = self._batches_or_all(reader, options) if may_use_index else self._batches(reader)
        return pa.RecordBatchReader.from_batches(reader.schema, batches)

    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        where: str | None = None,
        with_row_ids: bool = False,
        with_row_addresses: bool = False,
        fragment_ids: Sequence[int] | None = None,
    ) -> pa.Table:
        """Read rows into memory; see `scan`."""
        return self.scan(
            columns,
            where=where,
            with_row_ids=with_row_ids,
            with_row_addresses=with_row_addresses,
            fragment_ids=fragment_ids,
        ).read_all()

    def in_id_order(
        self,
        columns: Sequence[str] | None = None,
        *,
        fragment_ids: Sequence[int] | None = None,
        memory_bytes: int | None = None,
    ) -> Iterator[pa.Table]:
        """Yield all rows, or those of some fragments, in byte order of their ids, in chunks.

        What is small is sorted in memory. Of the rest memory holds the ids and one chunk, however wide the rows are.
        """
        names = list(columns or self.schema.names)
        memory_bytes = memory_bytes or _SORT_BYTES_MAX
        batches, size = [], 0
        for batch in self.scan(names, fragment_ids=fragment_ids):
            batches.append(batch)
            size += batch.nbytes
            if size > memory_bytes:
                break
        else:
            if batches:
                yield pa.Table.from_batches(batches).sort_by("id")
            return
        chunk_bytes = min(_CHUNK_BYTES, memory_bytes // 4 or _CHUNK_BYTES)
        chunk_rows = max(1, chunk_bytes * sum(batch.num_rows for batch in batches) // size)
        batches.clear()
        row_ids = self.read(["id"], with_row_ids=True, fragment_ids=fragment_ids).sort_by("id")[ROW_ID].combine_chunks()
        for start in range(0, len(row_ids), chunk_rows):
            yield self.take(row_ids.slice(start, chunk_rows), names).select(names).sort_by("id")

    def search(self, columns: Sequence[str], *, with_row_ids: bool = False, **options: Any) -> pa.Table:
        """Read what a search of Lance's own finds (`nearest`, `full_text_query`)."""
        with self._reading():
            return self._dataset.scanner(columns=list(columns), with_row_id=with_row_ids, **options).to_table()

    def read_added_since(self, older: "Table") -> pa.Table:
        """Read the rows of the fragments that an older state of this table does not have."""
        known = {fragment.fragment_id for fragment in older.dataset.get_fragments()}
        added = [fragment for fragment in self._dataset.get_fragments() if fragment.fragment_id not in known]
        with self._reading():
            return self._dataset.scanner(fragments=added).to_table() if added else self.schema.empty_table()

    def lookup(
        self,
        column: str,
        values: pa.Array,
        columns: Sequence[str],
        *,
        fragment_ids: Sequence[int] | None = None,
    ) -> pa.Table:
        """Return the rows whose `column` is one of `values`, with row ids and addresses; of some fragments, or of all.

        Few values go through the index; many through one scan of the column and a take of what matched, so that the
        cost follows the smaller side and memory never holds more than the column and the matches.
        """
        wanted = values.unique().drop_null()
        if len(wanted) <= _LOOKUP_BY_FILTER_MAX:
            where = filters.in_values(column, wanted) if len(wanted) else "false"
            if fragment_ids is None and pa.types.is_string(wanted.type):
                fragment_ids = fragments_to_ask(self._dataset, column, wanted, self.read)
            return self.read(
                columns, where=where, with_row_ids=True, with_row_addresses=True, fragment_ids=fragment_ids
            )
        matches = self._matching_row_ids(column, wanted, fragment_ids)
        return self.take(matches, columns)

    def _matching_row_ids(self, column: str, wanted: pa.Array, fragment_ids: Sequence[int] | None) -> pa.Array:
        wanted = _one_zero(wanted)
        found = [pa.array([], pa.uint64())]
        scanned = self.scan([column], with_row_ids=True, fragment_ids=fragment_ids)
        for batches in grouped(scanned, (attrgetter("num_rows"), _MATCHED_AT_ONCE_ROWS)):
            rows = pa.Table.from_batches(batches)
            values = _one_zero(rows[column].combine_chunks())
            found.append(rows[ROW_ID].combine_chunks().filter(pc.is_in(values, value_set=wanted)))
        return pa.concat_arrays(found)

    def take(self, row_ids: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return the rows with these row ids, in no particular order, with row ids and addresses."""
        return self.scan(columns, with_row_ids=True, with_row_addresses=True, row_ids=row_ids).read_all()

    def _reader(self, options: Mapping[str, Any]) -> pa.RecordBatchReader:
        with self._reading():
            return self._dataset.scanner(**options).to_reader()

    def _batches_or_all(self, reader: pa.RecordBatchReader, options: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        """Yield what a filter finds, and without any index if that fails at once: indexes are asked first."""
        is_begun = False
        try:
            for batch in self._batches(reader):
                is_begun = True
                yield batch
        except StorageError as failure:
            if is_begun or failure.is_transient:
                raise
            yield from self._batches(self._reader({**options, "use_scalar_index": False}))
            # What fails then as well has another cause, and is raised instead.
            self._warn_of_index(failure)

    def _warn_of_index(self, failure: StorageError) -> None:
        if self._has_warned_of_index:
            return
        self._has_warned_of_index = True
        _log.warning(
            "an index of %s version %s could not be used, so its rows were looked through instead; `omnigraph "
            "optimize` builds indexes anew that cannot be read: %s",
            self.address.path,
            self.version,
            failure.message,
        )

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        with self._reading():
            yield from reader

    def _reading(self) -> Any:
        return translated(doing=f"reading {self.address.path} version {self.version}", uri=self.address.path)


def serialized_row_ids(row_ids: pa.Array) -> bytes:
    """Spell a set of row ids as scans take it: spelled as a filter, a hundred thousand take a second to parse."""
    from lance.dataset import serialize_row_addrs

    return bytes(serialize_row_addrs(row_ids.to_pylist()))


def _one_zero(values: pa.Array) -> pa.Array:
    """Spell both zeros of a float column alike: Arrow tells them apart in a set, Lance's filters do not."""
    return pc.add(values, pa.scalar(0.0, values.type)) if pa.types.is_floating(values.type) else values


def _as_expected(table: Table, address: TableAddress, *, is_pin: bool = True) -> Table:
    """Return the table, or raise `TableReplaced` when it is not the one that the caller's pin means."""
    if address.expected is not None:
        address.expected.check(table.identity_mark, place=address.path, is_pin=is_pin)
    return table


class TableStore:
    """Opens tables below one graph root and keeps recently used states open.

    States are immutable. Only the directory of a deleted ref, or of a new table that was undone, is ever used again,
    and whoever removes one says so (`forget`, `forget_table`); so no handle goes stale.
    """

    def __init__(self, root: GraphRoot, storage_options: Mapping[str, str] | None, objects: ControlStore) -> None:
        self.objects = objects
        """The same store, for the bytes of a table's own files."""
        self._root = root
        self._local_root = f"{root.uri}/" if root.is_local else None
        self._storage_options = dict(storage_options) if storage_options else None
        self._session: Any = None
        self._session_lock = Lock()
        self._handles: OpenStates[TableAddress, Table] = OpenStates()
        self._heads = KnownHeads()

    @property
    def storage_options(self) -> dict[str, str] | None:
        """What Lance needs to reach the store; holds credentials, so never print it."""
        return self._storage_options

    @property
    def session(self) -> Any:
        """What Lance keeps in memory for all tables; who opens or makes one without it gets another, for good."""
        with self._session_lock:
            if self._session is None:
                self._session = new_session()
            return self._session

    def uri(self, address: TableAddress) -> str:
        """Return the Lance URI of an address."""
        return self._root.table_uri(address.path)

    def open(self, address: TableAddress, version: int) -> Table:
        """Open one state; raise `HistoricalVersionReclaimed` when that version is gone."""
        cached = self._handles.find(address, version)
        if cached is not None:
            return _as_expected(cached, address)
        try:
            table = Table(address, self._dataset(address, version))
        except lance_failures() as error:
            if classify(error) is LanceFailure.NOT_FOUND:
                raise HistoricalVersionReclaimed(
                    f"Version {version} of {address.path} is gone: cleanup, a hard drop or the deletion of its branch "
                    "removed it. Take a new snapshot.",
                    table_key=address.path,
                    version=version,
                ) from error
            raise storage_error(error, doing=f"opening {address.path} version {version}", uri=address.path) from error
        return self.remember(_as_expected(table, address))

    def head(self, address: TableAddress) -> Table | None:
        """Open the newest version on a ref; None when there is no table."""
        versions = self._versions(address)
        if versions is not None and (known := self._heads.find(versions)) is not None:
            cached = self._handles.find(address, known)
            if cached is not None:
                return _as_expected(cached, address, is_pin=False)
        directory = identity(versions) if versions is not None else None
        try:
            table = Table(address, self._dataset(address, None))
        except lance_failures() as error:
            if classify(error) is LanceFailure.NOT_FOUND:
                return None
            raise storage_error(error, doing=f"opening {address.path}", uri=address.path) from error
        self.remember(_as_expected(table, address, is_pin=False))
        if versions is not None:
            self._heads.remember(versions, table.version, directory=directory)
        return table

    def landed(self, table: Table) -> Table:
        """Keep a state that a commit of ours just made: nobody has to look for the newest one right after."""
        versions = self._versions(table.address)
        if versions is not None:
            self._heads.remember(versions, table.version, directory=identity(versions))
        return self.remember(table)

    def created(self, table: Table) -> Table:
        """Keep the first state of a table that a commit made by its address, in the session that all others share."""
        try:
            table = Table(table.address, self._dataset(table.address, table.version))
        except lance_failures():
            _log.debug("the new table %s stays open as it was made", table.address.path)
        return self.landed(table)

    def is_newest(self, table: Table) -> bool:
        """Whether a state is still the newest on its ref."""
        versions = self._versions(table.address)
        if versions is None:
            return table.latest_version() == table.version
        newest = self._heads.find(versions)
        if newest is None:
            directory = identity(versions)
            newest = table.latest_version()
            if newest == table.version:
                # A writer that is about to commit touches the directory; that is no reason to list it at every look.
                self._heads.remember(versions, newest, directory=directory)
        return newest == table.version

    def fresh_head(self, address: TableAddress) -> Table:
        """Open the newest version on a handle of its own, which a commit may move on; raise when there is no table."""
        return self.fresh(address, None)

    def fresh(self, address: TableAddress, version: int | None) -> Table:
        """Open a state on a handle of its own: some calls of Lance want a handle to themselves while they run."""
        known = self._handles.find(address, version) if version is not None else None
        if known is not None:
            return _as_expected(Table(address, known.own_handle()), address)
        with translated(doing=f"opening {address.path}", uri=address.path):
            dataset = self._dataset(address, version)
        return _as_expected(Table(address, dataset), address)

    def remember(self, table: Table) -> Table:
        """Keep a state open for later readers."""
        self._handles.keep(table.address, table.version, table)
        return table

    def forget(self, address: TableAddress) -> None:
        """Close all states of a ref that is being deleted: its name may come back with other content."""
        self._handles.forget(lambda held: held == address)
        self._forget_heads(address.path)

    def forget_table(self, location: str) -> None:
        """Close all states of a table, on every ref: some of them, or all, are being removed."""
        self._handles.forget(lambda held: held.location == location)
        self._forget_heads(location)

    def _forget_heads(self, path: str) -> None:
        if self._root.is_local:
            self._heads.forget(f"{self._root.uri}/{path}")

    def _versions(self, address: TableAddress) -> str | None:
        """Return the directory of a table's versions; None on S3, where a listing begins with the newest."""
        return None if self._local_root is None else f"{self._local_root}{address.path}/_versions"

    def _dataset(self, address: TableAddress, version: int | None) -> Any:
        import lance

        return lance.dataset(
            self.uri(address), version=version, storage_options=self._storage_options, session=self.session
        )
