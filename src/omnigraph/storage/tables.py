"""Reading Lance tables, one immutable state at a time.

A table state is `(location, ref, version)`: version numbers belong to a ref, and a handle on a ref reports the URI of
the main line. States are opened by `table_store.py`; writing is in `staging.py` and `transactions.py`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NewType

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.grouping import grouped
from omnigraph.base.logs import logger_of
from omnigraph.base.values import dataclass
from omnigraph.errors import StorageError
from omnigraph.storage import filters
from omnigraph.storage.blob_columns import DESCRIBED, BlobForm, blob_columns, read_blobs, read_schema
from omnigraph.storage.expected_tables import ExpectedTable, mark_of
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.small_fragments import fragments_to_ask

if TYPE_CHECKING:
    from omnigraph.storage.table_store import TableStore

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

    @cached_property
    def _blob_columns(self) -> list[str]:
        return blob_columns(self.schema)

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

    def fragment_ids(self) -> tuple[int, ...]:
        """Return the ids of all fragments."""
        return tuple(self._dataset.fragment_ids())

    def bytes_of(self, fragment_ids: Sequence[int]) -> int:
        """Return how large the data files of some fragments are together; those of unknown size count as none."""
        files = (file for number in fragment_ids for file in self._dataset.get_fragment(number).metadata.files)
        return sum(file.file_size_bytes or 0 for file in files)

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
        blobs: BlobForm = BlobForm.CELLS,
    ) -> pa.RecordBatchReader:
        """Stream rows, of all fragments or of some, all or those with some row ids, `limit` of them behind `offset`.

        `where` is a filter as `filters.py` spells it, or an Arrow expression.
        An index is derived state: where one cannot be read, the rows are looked through without it, unless the caller
        wants to know what the index says. Left alone, Lance reads ahead as much as it can; `is_thrifty` bounds that.
        No reference of a blob is opened.
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
            "row_addr_allowlist": None if row_ids is None else serialized_row_ids(row_ids),
            **(_THRIFTY if is_thrifty else {}),
        }
        described = [name for name in self._blob_columns if columns is None or name in columns]
        if described:
            options |= DESCRIBED
        reader = self._reader(options)
        may_use_index = where is not None and not insists_on_index
        batches = self._batches_or_all(reader, options) if may_use_index else self._batches(reader)
        if not described:
            return pa.RecordBatchReader.from_batches(reader.schema, batches)
        schema = read_schema(reader.schema, described, blobs, with_row_addresses=with_row_addresses)
        read = read_blobs(self._dataset, batches, schema, described, blobs)
        return pa.RecordBatchReader.from_batches(schema, self._batches(read))

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
        blobs: BlobForm = BlobForm.CELLS,
    ) -> Iterator[pa.Table]:
        """Yield all rows, or those of some fragments, in byte order of their ids, in chunks.

        What is small is sorted in memory. Of the rest memory holds the ids and one chunk, however wide the rows are.
        """
        names = list(columns or self.schema.names)
        memory_bytes = memory_bytes or _SORT_BYTES_MAX
        batches, size = [], 0
        for batch in self.scan(names, fragment_ids=fragment_ids, blobs=blobs):
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
            yield self.take(row_ids.slice(start, chunk_rows), names, blobs=blobs).select(names).sort_by("id")

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

    def take(self, row_ids: pa.Array, columns: Sequence[str], *, blobs: BlobForm = BlobForm.CELLS) -> pa.Table:
        """Return the rows with these row ids, in no particular order, with row ids and addresses."""
        return self.scan(columns, with_row_ids=True, with_row_addresses=True, row_ids=row_ids, blobs=blobs).read_all()

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

    def _batches(self, reader: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
