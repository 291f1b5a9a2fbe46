"""Observe: how every table of a branch lies on disk and which indexes it should have. No decisions, no locks."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace

from omnigraph.base.events import Events, ignore_events, phase
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.catalog.indexes import IndexIntent, index_intents
from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.errors import GraphCorrupt, HistoricalVersionReclaimed, OmniError
from omnigraph.graphs.capture import Capture
from omnigraph.maintenance.unreadable import UNREADABLE, problem_of, refuse_unreachable
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.file_references import FileKind, LostFile, lost_files_of
from omnigraph.storage.filters import Comparison
from omnigraph.storage.index_kinds import lance_index
from omnigraph.storage.layout import IndexLayout, TableLayout, read_layout, unreadable_indexes
from omnigraph.storage.tables import Table

UNREADABLE_LAYOUT = TableLayout(
    version=0, fragments=(), indexes=(), column_count=0, has_blobs=False, has_auto_cleanup=False
)
"""Stands for the layout of a state that is gone or cannot be read."""


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
    lost_indexes: tuple[IndexLayout, ...] = ()
    """Indexes whose files are gone or cannot be read; `layout` is without them."""
    problem: str | None = None
    """What is wrong with the table itself: it cannot be read, or files of its rows are lost."""

    @property
    def table_key(self) -> TableKey:
        """The table's name."""
        return self.pin.table_key

    @property
    def rows(self) -> int:
        """Rows of the pinned state, which the graph knows even when that state is gone."""
        return self.pin.row_count

    def at_pin(self) -> "TableFacts":
        """Return the table as the graph has it: where HEAD is ahead of the pin because a writer is at work."""
        return replace(self, head_version=self.pin.version)

    @property
    def is_drifted(self) -> bool:
        """Whether the table has moved on and nothing explains it."""
        return self.head_version is not None and self.head_version > self.pin.version

    @property
    def is_readable(self) -> bool:
        """Whether the pinned state is still there."""
        return self.layout is not UNREADABLE_LAYOUT

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
    """Read the facts of one table; of one that cannot be read only why, so that the others go on."""
    try:
        return observe_table(capture, table_key, opens_indexes=True)
    except (GraphCorrupt, HistoricalVersionReclaimed) as error:
        return _without_pinned_state(capture, table_key, error)
    except UNREADABLE as error:
        refuse_unreachable(error)
        return _set_aside(capture, table_key, problem_of(str(error)))


def _without_pinned_state(capture: Capture, table_key: TableKey, error: OmniError) -> TableFacts:
    """Tell of a table whose pinned state is gone which versions there are."""
    try:
        head = capture.context.store.tables.head(capture.snapshot.pins[table_key].address)
    except UNREADABLE as unreadable:
        refuse_unreachable(unreadable)
        return _set_aside(capture, table_key, problem_of(str(unreadable)))
    found = _set_aside(capture, table_key, None)
    if head is not None and head.version == found.pin.version:
        return replace(found, problem=problem_of(str(error)))
    return replace(found, head_version=None if head is None else head.version)


def _set_aside(capture: Capture, table_key: TableKey, problem: str | None) -> TableFacts:
    return TableFacts(
        pin=capture.snapshot.pins[table_key],
        layout=UNREADABLE_LAYOUT,
        head_version=None,
        intents=index_intents(capture.catalog.type_by_table_key[table_key]),
        problem=problem,
    )


def observe_table(capture: Capture, table_key: TableKey, *, opens_indexes: bool = False) -> TableFacts:
    """Read the facts of one table; whether index files are there is always told, whether they can be read if asked."""
    pin = capture.snapshot.pins[table_key]
    entity = capture.catalog.type_by_table_key[table_key]
    head = capture.context.store.tables.head(pin.address)
    if head is None or head.version < pin.version:
        found = "is gone" if head is None else f"ends at version {head.version}"
        raise GraphCorrupt(f"Table {table_key} is pinned at version {pin.version} but {found}.")
    table = head if head.version == pin.version else capture.table(table_key)
    layout = read_layout(table)
    # Lance opens a table without its files, and says so only to whoever reads them.
    files = lost_files_of(capture.context.store.objects, table.address, table.version)
    lost_rows = [str(file) for file in files if file.kind is not FileKind.INDEX]
    there = layout.index_by_name
    lost = {name for name, index in there.items() if _has_lost(index, files)}
    intents = index_intents(entity)
    if opens_indexes and not lost_rows:
        lost |= unreadable_indexes(table, {intent.name for intent in intents if intent.name in there} - lost)
    usable = replace(layout, indexes=tuple(index for index in layout.indexes if index.name not in lost))
    return TableFacts(
        pin=pin,
        layout=usable,
        head_version=head.version,
        intents=intents,
        vectors={} if lost_rows else _usable_vectors(table, usable, intents),
        dimensions=_dimensions(entity, intents),
        lost_indexes=tuple(index for index in layout.indexes if index.name in lost),
        problem=_described(lost_rows) if lost_rows else None,
    )


def _has_lost(index: IndexLayout, files: tuple[LostFile, ...]) -> bool:
    uuids = {segment.uuid for segment in index.segments}
    return any(file.kind is FileKind.INDEX and not uuids.isdisjoint(file.path.split("/")) for file in files)


def _described(lost: list[str]) -> str:
    also = f" and {counted(len(lost) - 1, 'other file')} it needs are lost" if len(lost) > 1 else ""
    return f"{lost[0]}{also}"


def _usable_vectors(table: Table, layout: TableLayout, intents: tuple[IndexIntent, ...]) -> dict[str, int]:
    """Count what an index could be trained on; Lance would happily build one over nothing but nulls."""
    missing = [i.column for i in intents if lance_index(i.kind).values_min and i.name not in layout.index_by_name]
    return {column: table.count_rows(Comparison(column, "!=", None).sql()) if layout.rows else 0 for column in missing}


def _dimensions(entity: EntityType, intents: tuple[IndexIntent, ...]) -> dict[str, int]:
    return {
        intent.column: entity.property_by_name[intent.column].type.dimension or 0
        for intent in intents
        if lance_index(intent.kind).values_min
    }
