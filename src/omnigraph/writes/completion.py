"""What follows the publish of a schema change: readable copies, and the removal of what the operator gave up for good.

Nothing here can undo the commit. It is done before the sidecar goes, so that a crash in between leaves it to recovery;
every step may be repeated.
"""

from omnigraph.base import faults
from omnigraph.catalog.arrow import PROPERTY_ID_METADATA
from omnigraph.storage.removal import remove_table, remove_versions_with_fields
from omnigraph.writes.context import GraphContext
from omnigraph.writes.purge import Purge
from omnigraph.writes.sidecar import Sidecar


def complete_schema_change(context: GraphContext, sidecar: Sidecar) -> None:
    """Refresh the readable copies of the schema and remove what was given up; does nothing for other writers."""
    if sidecar.manifest.schema is not None:
        faults.reach("schema.after_publish")
        context.schemas.write_copies(context.manifest.load(sidecar.branch_name).snapshot.schema)
    for purge in sidecar.purges:
        faults.reach("schema.before_purge")
        _remove(context, sidecar.branch_name, purge)


def _remove(context: GraphContext, branch: str, purge: Purge) -> None:
    tables = context.store.tables
    if purge.property_ids is None:
        remove_table(tables, context.store.objects, purge.location)
        return
    pins = context.manifest.load(branch).snapshot.pins.values()
    pin = next((pin for pin in pins if pin.location == purge.location), None)
    if pin is not None:
        remove_versions_with_fields(
            tables,
            purge.location,
            key=PROPERTY_ID_METADATA,
            values={str(number) for number in purge.property_ids},
            before=pin.version,
        )
