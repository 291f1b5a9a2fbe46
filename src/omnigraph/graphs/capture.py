"""The one capture of a branch that a write is prepared against, compared as a whole and replaced as a whole."""

from omnigraph.base.values import dataclass
from omnigraph.catalog.admitting import with_blob_bases
from omnigraph.catalog.model import Catalog, TableKey
from omnigraph.errors import DriftNeedsRepair, GraphCorrupt, ReadSetConflict
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.publish import Preconditions
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.storage.worker_files import TablePlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What was true of a branch when a write began: head, schema and every pin."""

    context: GraphContext
    snapshot: GraphSnapshot
    catalog: Catalog

    @property
    def input_catalog(self) -> Catalog:
        """The same catalog for reading input: it knows which references the graph allows its blobs."""
        return with_blob_bases(self.catalog, self.context.find_blob_bases)

    def table(self, table_key: TableKey) -> Table:
        """Open a table at its captured pin."""
        return self.snapshot.pins[table_key].state.open(self.context.store.tables)

    def expect(self, *, ir_hash: str, head: str | None = None) -> None:
        """Raise `StaleView` when the schema, or the head if one is given, is not the one a caller started from."""
        if ir_hash != self.snapshot.schema.ir_hash:
            raise ReadSetConflict(
                "stale view of the schema: it changed while this write was being prepared — refresh and retry",
                member="ir_hash",
                expected=ir_hash,
                actual=self.snapshot.schema.ir_hash,
            )
        if head is not None and head != self.snapshot.commit_id:
            raise ReadSetConflict(
                f"stale view of branch '{self.snapshot.branch}': its head was {head} when this write began and is "
                f"{self.snapshot.commit_id} now — refresh and retry",
                member="graph_head",
                expected=head,
                actual=self.snapshot.commit_id,
            )

    def target(self, table_key: TableKey) -> TableAddress:
        """Return where this branch writes a table: its own ref, which does not exist before its first write."""
        return self.snapshot.pins[table_key].address_on(self.snapshot.own_ref)

    def place(self, table_key: TableKey) -> TablePlace:
        """Return what a worker needs to know to read a table and to write files of it."""
        return TablePlace(state=self.snapshot.pins[table_key].state, target=self.target(table_key))

    def preconditions(self, touched: tuple[TableKey, ...]) -> Preconditions:
        """Return what an exact publish demands: the captured head, schema and the pins of the touched tables."""
        pins = [self.snapshot.pins[table_key] for table_key in touched]
        return Preconditions.of(self.snapshot, pins, is_exact=True)


def capture_branch(context: GraphContext, branch: str) -> Capture:
    """Read the branch once and return what every later step is measured against."""
    snapshot = context.manifest.load(branch).snapshot
    catalog = context.schemas.catalog(snapshot.schema)
    snapshot.check_against(catalog)
    return Capture(context=context, snapshot=snapshot, catalog=catalog)


def head_at_pin(context: GraphContext, pin: TablePin) -> Table:
    """Open a table's HEAD and demand that it is the pin.

    Never build on drift: with HEAD one past the pin, recovery could later take that older commit for ours.
    """
    head = context.store.tables.head(pin.address)
    if head is None or head.version < pin.version:
        found = "is gone" if head is None else f"ends at version {head.version}"
        raise GraphCorrupt(f"Table {pin.table_key} is pinned at version {pin.version} but {found}.")
    if head.version > pin.version:
        raise DriftNeedsRepair(
            f"stale view of '{pin.table_key}': the table is at version {head.version} but the graph pins "
            f"{pin.version}, and no pending operation explains it. Nothing was written; run omnigraph repair.",
            tables=[pin.table_key],
        )
    return head
