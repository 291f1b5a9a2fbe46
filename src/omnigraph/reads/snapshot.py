"""A snapshot, opened: the tables of one graph version as Arrow, as a Lance scanner or as a DuckDB relation.

A snapshot is pinned when it is made and never looks at the branch again: two reads of one snapshot see one state,
whatever is committed between them.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Self

from omnigraph.catalog.model import Catalog, EntityType, Scalar, TableKey
from omnigraph.catalog.type_names import each_name, keys_named, no_such_type, nodes_first, only_one
from omnigraph.errors import EntityNotFound
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin
from omnigraph.reads.reclaimed import telling_reclaimed
from omnigraph.storage.filters import Operator, all_of
from omnigraph.storage.locks import HeldVersions
from omnigraph.storage.tables import Table
from omnigraph.writes.comparisons import comparison_with
from omnigraph.writes.context import GraphContext
from omnigraph.writes.holding import pinned_versions

if TYPE_CHECKING:
    import pyarrow as pa


class SnapshotTable:
    """One type's rows in a snapshot."""

    def __init__(
        self, context: GraphContext, table: Table, pin: TablePin, entity: EntityType, held: HeldVersions | None
    ) -> None:
        self._context = context
        self._table = table
        self._held = held  # The table outlives its snapshot in `graph.snapshot().table(…)`.
        self.pin = pin
        self.entity = entity

    @property
    def schema(self) -> "pa.Schema":
        """The Arrow schema of the table as it is stored."""
        return self._table.schema

    def count_rows(self) -> int:
        """Count the rows."""
        with self._reading():
            return self._table.count_rows()

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        where: Sequence[tuple[str, Operator, Any]] = (),
    ) -> "pa.Table":
        """Read rows into memory; `where` is a list of `(column, operator, value)` that must all hold."""
        return self.to_reader(columns, where=where).read_all()

    def to_reader(
        self,
        columns: Sequence[str] | None = None,
        *,
        where: Sequence[tuple[str, Operator, Any]] = (),
    ) -> "pa.RecordBatchReader":
        """Stream rows in batches; for tables that do not fit into memory."""
        import pyarrow as pa

        with self._reading():
            reader = self._table.scan(self._known(columns), where=self._filter(where))
        return pa.RecordBatchReader.from_batches(reader.schema, self._batches(reader))

    def scanner(self, **options: Any) -> Any:
        """Return a Lance scanner of the pinned version, for vector and full-text search and everything Lance offers."""
        with self._reading():
            scanner = self._table.dataset.scanner(**options)
        scanner.omnigraph_held = self._held  # for as long as somebody scans
        return scanner

    def to_duckdb(self, connection: Any = None) -> Any:
        """Return a DuckDB relation over the rows, on the given connection or the default one.

        Filters and columns go down into Lance, and the relation can be queried as often as one likes. A type with
        blobs is read into memory, because only a plain read turns them into bytes.
        """
        from omnigraph.engine.local import arrow_relation

        has_blobs = any(declared.type.scalar is Scalar.BLOB for declared in self.entity.properties)
        if has_blobs:
            return arrow_relation(self.to_arrow(), connection)
        dataset = self._table.own_handle()
        dataset.omnigraph_held = self._held  # for as long as the relation is there
        return arrow_relation(dataset, connection)

    def in_id_order(self, columns: Sequence[str] | None = None) -> "Iterator[pa.Table]":
        """Yield all rows in byte order of their ids, in chunks, without holding more than one large chunk at a time."""
        with self._reading():
            yield from self._table.in_id_order(columns)

    def _batches(self, reader: "pa.RecordBatchReader") -> "Iterator[pa.RecordBatch]":
        """Stream batches and hold the versions until the last of them, whoever else has let go."""
        with self._reading():
            yield from reader

    def _reading(self) -> AbstractContextManager[None]:
        if self._held is not None:
            self._held.renew_after_fork()
        return telling_reclaimed(self._context, [self.pin])

    def _known(self, columns: Sequence[str] | None) -> Sequence[str] | None:
        unknown = sorted(set(columns or ()) - set(self.schema.names))
        if unknown:
            raise EntityNotFound(
                f"{self.entity.name} has no column {unknown[0]!r}; it has {', '.join(self.schema.names)}.",
                selector=f"{self.entity.name}.{unknown[0]}",
            )
        return columns

    def _filter(self, where: Sequence[tuple[str, Operator, Any]]) -> str | None:
        return all_of(comparison_with(self.entity, *triple) for triple in where)


class Snapshot:
    """One graph version, ready to be read.

    Held for longer than a moment, it keeps its versions from a cleanup that runs elsewhere, until the `with` block
    ends or nobody refers to it any more. Where no lease can be written, or the process was stopped for a minute, a read
    may find its version gone, and raises `HistoricalVersionReclaimed`.
    """

    def __init__(self, context: GraphContext, pinned: GraphSnapshot, *, is_held: bool = False) -> None:
        self._context = context
        self._pinned = pinned
        self._held = HeldVersions(context.store.objects, pinned_versions(pinned.pins.values())) if is_held else None
        self.catalog: Catalog = context.schemas.catalog(pinned.schema)
        pinned.check_against(self.catalog)

    def __repr__(self) -> str:
        return f"<Snapshot {self.branch}@{self.graph_version} {self.commit_id}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let cleanup have the versions that nobody else needs; reading on works for as long as they are there."""
        if self._held is not None:
            self._held.release()

    @property
    def branch(self) -> str:
        """The branch that the snapshot was taken on."""
        return self._pinned.branch

    @property
    def graph_version(self) -> int:
        """The graph version of the snapshot on its branch."""
        return self._pinned.graph_version

    @property
    def commit_id(self) -> str:
        """The commit that made this graph version."""
        return self._pinned.commit_id

    @property
    def internal_schema_version(self) -> int:
        """The on-disk shape of the graph."""
        return self._context.manifest.load(self._pinned.branch).stamp.version

    @property
    def tables(self) -> tuple[TablePin, ...]:
        """The pins of all tables, by table key."""
        return tuple(self._pinned.pins.values())

    @property
    def schema_source(self) -> str:
        """The schema text that this graph version is read with."""
        return self._context.schemas.source(self._pinned.schema)

    def table(self, name: str) -> SnapshotTable:
        """Open a type's table by its name or table key; a name that a node and an edge type share needs the key.

        A name that the type got later is understood, too: what counts is that it is the same type.
        """
        table_key = only_one(name, self._named(name), self._pinned.pins)
        pin = self._pinned.pins[table_key]
        table = self._context.store.tables.open(pin.address, pin.version)
        return SnapshotTable(self._context, table, pin, self.catalog.type_by_table_key[table_key], self._held)

    def table_keys(self, names: Sequence[str]) -> tuple[TableKey, ...]:
        """Resolve type names and table keys, nodes before edges; an unknown name is an error that names it."""
        found: list[TableKey] = []
        for name in each_name(names):
            keys = self._named(name)
            if not keys:
                raise no_such_type(name, self._pinned.pins)
            found.extend(keys)
        return nodes_first(found)

    def _named(self, name: str) -> tuple[TableKey, ...]:
        """Find types by the name they have here, or by the one that their branch has for them now."""
        named = keys_named(name, self._pinned.pins)
        if named:
            return named
        today = self._context.manifest.load(self._pinned.branch).snapshot
        pins = (self._pinned.pin_of(today.pins[key].identity) for key in keys_named(name, today.pins))
        return tuple(pin.table_key for pin in pins if pin is not None)
