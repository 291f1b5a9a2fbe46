"""A snapshot, opened: the tables of one graph version as Arrow, as a Lance scanner or as a DuckDB relation.

A snapshot is pinned when it is made and never looks at the branch again: two reads of one snapshot see one state,
whatever is committed between them.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import Catalog, EntityType, Scalar, TableKey
from omnigraph.catalog.type_names import each_name, keys_named, no_such_type, nodes_first, only_one
from omnigraph.errors import EntityNotFound
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin
from omnigraph.storage.filters import Operator, all_of
from omnigraph.storage.tables import Table
from omnigraph.writes.comparisons import comparison_with
from omnigraph.writes.context import GraphContext

if TYPE_CHECKING:
    import pyarrow as pa


class SnapshotTable:
    """One type's rows in a snapshot."""

    def __init__(self, table: Table, pin: TablePin, entity: EntityType) -> None:
        self._table = table
        self.pin = pin
        self.entity = entity

    @property
    def schema(self) -> "pa.Schema":
        """The Arrow schema of the table as it is stored."""
        return self._table.schema

    def count_rows(self) -> int:
        """Count the rows."""
        return self._table.count_rows()

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        where: Sequence[tuple[str, Operator, Any]] = (),
    ) -> "pa.Table":
        """Read rows into memory; `where` is a list of `(column, operator, value)` that must all hold."""
        return self._table.read(self._known(columns), where=self._filter(where))

    def to_reader(
        self,
        columns: Sequence[str] | None = None,
        *,
        where: Sequence[tuple[str, Operator, Any]] = (),
    ) -> "pa.RecordBatchReader":
        """Stream rows in batches; for tables that do not fit into memory."""
        return self._table.scan(self._known(columns), where=self._filter(where))

    def scanner(self, **options: Any) -> Any:
        """Return a Lance scanner of the pinned version, for vector and full-text search and everything Lance offers."""
        return self._table.dataset.scanner(**options)

    def to_duckdb(self, connection: Any = None) -> Any:
        """Return a DuckDB relation over the rows, on the given connection or the default one.

        Filters and columns go down into Lance, and the relation can be queried as often as one likes. A type with
        blobs is read into memory, because only a plain read turns them into bytes.
        """
        from omnigraph.engine.local import arrow_relation

        has_blobs = any(declared.type.scalar is Scalar.BLOB for declared in self.entity.properties)
        return arrow_relation(self.to_arrow() if has_blobs else self._table.dataset, connection)

    def in_id_order(self, columns: Sequence[str] | None = None) -> "Iterator[pa.Table]":
        """Yield all rows in byte order of their ids, in chunks, without holding more than one large chunk at a time."""
        yield from self._table.in_id_order(columns)

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
    """One graph version, ready to be read."""

    def __init__(self, context: GraphContext, pinned: GraphSnapshot) -> None:
        self._context = context
        self._pinned = pinned
        self.catalog: Catalog = context.schemas.catalog(pinned.schema)
        pinned.check_against(self.catalog)

    def __repr__(self) -> str:
        return f"<Snapshot {self.branch}@{self.graph_version} {self.commit_id}>"

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
        return SnapshotTable(table, pin, self.catalog.type_by_table_key[table_key])

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
