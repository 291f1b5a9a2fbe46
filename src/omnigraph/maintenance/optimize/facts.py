"""Observe: how every table of a branch lies on disk and which indexes it should have. No decisions, no locks."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from omnigraph.base.events import Events, ignore_events, phase
from omnigraph.catalog.indexes import IndexIntent, IndexKind, index_intents
from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.errors import GraphCorrupt, HistoricalVersionReclaimed
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.filters import Comparison
from omnigraph.storage.layout import TableLayout, read_layout
from omnigraph.storage.tables import Table
from omnigraph.writes.authority import Capture

UNREADABLE = TableLayout(version=0, fragments=(), indexes=(), column_count=0, has_blobs=False, has_auto_cleanup=False)
"""Stands for the layout of a state that is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One table of the branch, at its pin."""

    pin: TablePin
    layout: TableLayout
    head_version: int | None
    """Ahead of the pin only on a drifted table, below it or None only on a damaged one."""
    intents: tuple[IndexIntent, ...]
    vectors: Mapping[str, int] = field(default_factory=dict)
    """Usable vectors of each column whose vector index is missing."""
    dimensions: Mapping[str, int] = field(default_factory=dict)
    """Width of each vector column that should have an index."""

    @property
    def table_key(self) -> TableKey:
        """The table's name."""
        return self.pin.table_key

    @property
    def rows(self) -> int:
        """Rows of the pinned state, which the graph knows even when that state is gone."""
        return self.pin.row_count

    @property
    def is_drifted(self) -> bool:
        """Whether the table has moved on and nothing explains it."""
        return self.head_version is not None and self.head_version > self.pin.version

    @property
    def is_readable(self) -> bool:
        """Whether the pinned state is still there."""
        return self.layout is not UNREADABLE

    @property
    def is_behind(self) -> bool:
        """Whether the pinned state is newer than everything that is left of the table."""
        return self.head_version is None or self.head_version < self.pin.version

    def coverage(self, layout: TableLayout | None = None) -> float:
        """Return the share of rows that the least complete declared index knows; 1.0 without rows or indexes."""
        seen = layout or self.layout
        if not self.intents or not seen.rows:
            return 1.0
        return min(_share(seen, intent) for intent in self.intents)


def _share(layout: TableLayout, intent: IndexIntent) -> float:
    index = layout.index_by_name.get(intent.name)
    return 0.0 if index is None else layout.coverage(index)


def observe_tables(
    capture: Capture, table_keys: tuple[TableKey, ...], *, concurrency: int, events: Events = ignore_events
) -> tuple[TableFacts, ...]:
    """Read the facts of the given tables that the branch owns, in the order given."""
    owned = [key for key in table_keys if capture.snapshot.pins[key].ref == capture.snapshot.own_ref]
    with (
        phase(events, "looking at the tables", total=len(owned), unit="tables") as looking,
        ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="optimize") as pool,
    ):
        found = []
        for facts in pool.map(lambda key: _observe_or_set_aside(capture, key), owned):
            found.append(facts)
            looking.advance()
        return tuple(found)


def _observe_or_set_aside(capture: Capture, table_key: TableKey) -> TableFacts:
    """Read the facts of one table; of one whose pinned state is gone only its versions, so that the others go on."""
    pin = capture.snapshot.pins[table_key]
    try:
        return observe_table(capture, table_key)
    except (GraphCorrupt, HistoricalVersionReclaimed):
        head = capture.context.store.tables.head(pin.address)
        if head is not None and head.version == pin.version:
            raise
        return TableFacts(
            pin=pin,
            layout=UNREADABLE,
            head_version=None if head is None else head.version,
            intents=index_intents(capture.catalog.type_by_table_key[table_key]),
        )


def observe_table(capture: Capture, table_key: TableKey) -> TableFacts:
    """Read the facts of one table."""
    pin = capture.snapshot.pins[table_key]
    entity = capture.catalog.type_by_table_key[table_key]
    head = capture.context.store.tables.head(pin.address)
    if head is None or head.version < pin.version:
        found = "is gone" if head is None else f"ends at version {head.version}"
        raise GraphCorrupt(f"Table {table_key} is pinned at version {pin.version} but {found}.")
    table = head if head.version == pin.version else capture.table(table_key)
    layout = read_layout(table)
    intents = index_intents(entity)
    return TableFacts(
        pin=pin,
        layout=layout,
        head_version=head.version,
        intents=intents,
        vectors=_usable_vectors(table, layout, intents),
        dimensions=_dimensions(entity, intents),
    )


def _usable_vectors(table: Table, layout: TableLayout, intents: tuple[IndexIntent, ...]) -> dict[str, int]:
    """Count what an index could be trained on; Lance would happily build one over nothing but nulls."""
    missing = [i.column for i in intents if i.kind is IndexKind.VECTOR and i.name not in layout.index_by_name]
    return {column: table.count_rows(Comparison(column, "!=", None).sql()) if layout.rows else 0 for column in missing}


def _dimensions(entity: EntityType, intents: tuple[IndexIntent, ...]) -> dict[str, int]:
    return {
        intent.column: entity.property_by_name[intent.column].type.dimension or 0
        for intent in intents
        if intent.kind is IndexKind.VECTOR
    }
