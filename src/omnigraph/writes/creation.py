"""Tables that a write brings into being: planned like any other effect, absent before, removed if it is undone."""

from omnigraph.base import ids
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.errors import DriftNeedsRepair
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.publish import TableRegistration
from omnigraph.storage.tables import TableAddress
from omnigraph.storage.transactions import StagedCommit
from omnigraph.writes.sidecar import EffectKind, PlannedCommit, SidecarEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTable:
    """A table whose first version this write commits."""

    registration: TableRegistration
    creation: StagedCommit

    @property
    def table_key(self) -> TableKey:
        """What the table is called."""
        return self.registration.table_key

    @property
    def identity(self) -> TableIdentity:
        """What names it for ever."""
        return self.registration.identity

    @property
    def target(self) -> TableAddress:
        """Where it will be."""
        return TableAddress(self.registration.location)

    @property
    def chain(self) -> tuple[StagedCommit, ...]:
        """The one commit that makes it."""
        return (self.creation,)

    def effect(self) -> SidecarEffect:
        """Say in a sidecar what is about to be made."""
        return SidecarEffect(
            table_key=self.table_key,
            identity=self.identity,
            location=self.registration.location,
            ref=None,
            expected_version=0,
            effect=EffectKind.CREATE,
            planned=(
                PlannedCommit(
                    uuid=self.creation.uuid,
                    read_version=self.creation.read_version,
                    operation=self.creation.operation,
                ),
            ),
            compensation_uuid=ids.new_uuid(),
        )


def expect_absent_table(context: GraphContext, table: NewTable) -> None:
    """Refuse to create a table where one is: nothing here is ever adopted or overwritten."""
    if context.store.tables.head(table.target) is not None:
        raise DriftNeedsRepair(
            f"The place of the new table {table.table_key}, {table.target.path}, holds a table that the graph does not "
            "know and no pending operation explains. Nothing was written; move it out of the graph and try again.",
            tables=[table.table_key],
        )
