"""A snapshot, opened: one graph version, whose tables can be read one by one or with SQL.

A snapshot is pinned when it is made and never looks at the branch again: two reads of one snapshot see one state,
whatever is committed between them.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

from omnigraph.base.showing import html_table
from omnigraph.catalog.model import Catalog, TableKey
from omnigraph.catalog.type_names import bare_name, find_types, keys_named, nodes_first, only_one
from omnigraph.errors import Internal
from omnigraph.graphs.comparisons import Where
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.given import values_together
from omnigraph.graphs.table import SnapshotTable
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin
from omnigraph.storage.locks import HeldVersions
from omnigraph.storage.tables import Table

if TYPE_CHECKING:
    from omnigraph.engine.local import Parameters
    from omnigraph.graphs.blobs import Blob
    from omnigraph.graphs.result import Result
    from omnigraph.graphs.sql import SqlResult

__all__ = ["Snapshot", "SnapshotTable"]


class SparkFrames(Protocol):
    """Makes Spark frames of a snapshot; given by who knows Spark, which nothing here does."""

    def __call__(
        self,
        spark: Any,
        snapshot: "Snapshot",
        name: str,
        *,
        columns: Sequence[str] | None,
        where: Where,
        partition_bytes: int | None,
    ) -> Any:
        """Make the frame of one type."""
        ...


class Queries(Protocol):
    """Answers queries about a snapshot; given by who knows the language, which nothing here does."""

    def query(self, snapshot: "Snapshot", text: str, name: str | None, values: Mapping[str, object]) -> "Result":
        """Run one read."""
        ...

    def prepare(self, snapshot: "Snapshot", text: str, name: str | None) -> "PreparedQuery":
        """Check one read."""
        ...


class PreparedQuery(Protocol):
    """A read that has been checked; run it as often as you like, with other values each time."""

    @property
    def name(self) -> str:
        """What the query is called."""
        ...

    def run(self, params: Mapping[str, object] | None = None, /, **values: object) -> "Result":
        """Run the query; parameters come by name, or as one mapping."""
        ...


class Snapshot:
    """One graph version, ready to be read.

    Held for longer than a moment, it keeps its versions from a cleanup that runs elsewhere, until the `with` block
    ends or nobody refers to it any more. Where no lease can be written, or the process was stopped for a minute, a read
    may find its version gone, and raises `HistoricalVersionReclaimed`.
    """

    def __init__(
        self,
        context: GraphContext,
        pinned: GraphSnapshot,
        *,
        is_held: bool = False,
        spark_frames: SparkFrames | None = None,
        queries: Queries | None = None,
    ) -> None:
        self._context = context
        self._queries = queries
        self._pinned = pinned
        self.branch: str = pinned.branch
        """The branch that the snapshot was taken on."""
        self.commit_id: str = pinned.commit_id
        """The commit that made this graph version."""
        self._spark_frames = spark_frames
        self._held = (
            HeldVersions(context.store.objects, (pin.state for pin in pinned.pins.values())) if is_held else None
        )
        self.catalog: Catalog = context.schemas.catalog(pinned.schema)
        pinned.check_against(self.catalog)

    def __repr__(self) -> str:
        return f"<Snapshot {self.branch}@{self.graph_version} {self.commit_id}>"

    def _repr_html_(self) -> str:
        pins = (self._pinned.pins[key] for key in nodes_first(self._pinned.pins))
        rows = ((pin.entity_kind, pin.type_name, pin.row_count) for pin in pins)
        return html_table(("kind", "type", "rows"), rows, caption=f"{self.branch}@{self.graph_version}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let cleanup have the versions that nobody else needs; reading on works for as long as they are there."""
        if self._held is not None:
            self._held.release()

    @property
    def graph_version(self) -> int:
        """The graph version of the snapshot on its branch."""
        return self._pinned.graph_version

    @property
    def incarnation(self) -> str:
        """Which branch of that name this is: one that is deleted and created again has another."""
        return self._pinned.incarnation

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
        entity = self.catalog.type_by_table_key[table_key]
        return SnapshotTable(self._context, stored_table(self, table_key), pin, entity, self._held)

    def blob(self, type: str, id: str, property: str) -> "Blob":  # noqa: A002 — the words of the command line
        """Find a Blob value by its type, given by name or table key, its entity's id and its property."""
        from omnigraph.graphs.finding_blobs import find_in_table

        return find_in_table(self.table(type), id, property, branch=self.branch, commit_id=self.commit_id)

    def to_spark(
        self,
        spark: Any,
        name: str,
        *,
        columns: Sequence[str] | None = None,
        where: Where = (),
        partition_bytes: int | None = None,
    ) -> Any:
        """Return a type's rows as a Spark data frame, of a classic or a Connect session.

        Workers read `columns`, or all of them, and the rows that `where` lets through: a list of `(column, operator,
        value)`, a list of such lists, or SQL text, with Lance's indexes. Every action on the frame, and on frames made
        from it, reads this snapshot, which is kept from cleanup meanwhile. `partition_bytes` is about what one task
        reads; without it there are enough tasks to keep a cluster busy.
        """
        if self._spark_frames is None:
            raise Internal("this snapshot was made without a way to Spark")
        return self._spark_frames(spark, self, name, columns=columns, where=where, partition_bytes=partition_bytes)

    def query(
        self, text: str, name: str | None = None, /, *, params: Mapping[str, object] | None = None, **values: object
    ) -> "Result":
        """Run a read of the query language over this snapshot, again and again over the same state.

        The text is a query, a bare `match { … } return { … }`, or several queries of which `name` says one. Parameters
        come by name, or in `params`.
        """
        queries = self._queries or self._asked()
        return queries.query(
            self, text, name, values_together(params, values) if params and values else params or values
        )

    def prepare(self, text: str, name: str | None = None, /) -> PreparedQuery:
        """Check a read once, to run it with different values."""
        return self._asked().prepare(self, text, name)

    def _asked(self) -> Queries:
        if self._queries is None:
            raise Internal("this snapshot was made without a way to queries")
        return self._queries

    def sql(self, query: str, *, params: "Parameters" = None, frames: Mapping[str, Any] | None = None) -> "SqlResult":
        """Ask a question in SQL, over tables that are called like their types; edges have `src` and `dst`.

        Letter case does not matter. A name that a node and an edge type share is written `"node:Ship"`, and so is any
        type whose name is a word of SQL. `params` stand for `?` or `$name`; `frames` are further tables by name, of
        Arrow, pandas or polars. DuckDB reads the columns and rows that the query needs.
        """
        from omnigraph.graphs.sql import SqlResult

        return SqlResult(
            self._context,
            query,
            find_table=self._find_for_sql,
            known=self._pinned.pins,
            parameters=params,
            frames=frames,
        )

    def _find_for_sql(self, name: str) -> SnapshotTable | None:
        """Find the type that a query means; None leaves the name to the database."""
        named = keys_named(name, self._pinned.pins) or tuple(
            key for key in self._pinned.pins if name.casefold() in (key.casefold(), bare_name(key).casefold())
        )
        return self.table(only_one(name, named, self._pinned.pins)) if named else None

    def table_keys(self, names: Sequence[str]) -> tuple[TableKey, ...]:
        """Resolve type names and table keys, nodes before edges; an unknown name is an error that names it."""
        return find_types(names, self._pinned.pins, look_up=self._named)

    def _named(self, name: str) -> tuple[TableKey, ...]:
        """Find types by the name they have here, or by the one that their branch has for them now."""
        named = keys_named(name, self._pinned.pins)
        if named:
            return named
        today = self._context.manifest.load(self._pinned.branch).snapshot
        pins = (self._pinned.pin_of(today.pins[key].identity) for key in keys_named(name, today.pins))
        return tuple(pin.table_key for pin in pins if pin is not None)


def stored_table(snapshot: Snapshot, table_key: TableKey) -> Table:
    """Open the pinned version of a type's table as storage has it, for what searches it."""
    state = snapshot._pinned.pins[table_key].state  # noqa: SLF001  # its own module
    return state.open(snapshot._context.store.tables)  # noqa: SLF001  # the same


def pinned_state(snapshot: Snapshot) -> tuple[GraphContext, GraphSnapshot]:
    """Return what a snapshot reads, for what keeps it in memory."""
    return snapshot._context, snapshot._pinned  # noqa: SLF001  # its own module
