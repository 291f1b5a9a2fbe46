"""What follows the publish of a schema change: readable copies, and the removal of what the operator gave up for good.

Nothing here can undo the commit. It is done before the sidecar goes, so that a crash in between leaves it to recovery;
every step may be repeated.
"""

from collections.abc import Collection

import pyarrow as pa

from omnigraph.base import faults
from omnigraph.catalog.arrow import PROPERTY_ID_METADATA, SYSTEM_COLUMNS
from omnigraph.graphs.context import GraphContext
from omnigraph.storage.refs import delete_ref, list_refs
from omnigraph.storage.removal import mark_dropped, remove_doomed_versions, remove_table
from omnigraph.writes.sidecar import Purge, Sidecar


def complete_schema_change(context: GraphContext, sidecar: Sidecar) -> None:
    """Refresh the readable copies of the schema, date what was dropped and remove what was given up for good.

    Does nothing for other writers.
    """
    if sidecar.manifest.schema is not None:
        faults.reach("schema.after_publish")
        context.schemas.write_copies(context.manifest.load(sidecar.branch_name).snapshot.schema)
    for table in sidecar.manifest.tombstone:
        faults.reach("schema.before_drop_mark")
        mark_dropped(context.store.objects, table.location, sidecar.commit_id.encode())
    for purge in sidecar.purges:
        faults.reach("schema.before_purge")
        _remove(context, sidecar.branch_name, purge)


def _remove(context: GraphContext, branch: str, purge: Purge) -> None:
    tables = context.store.tables
    if purge.property_ids is None:
        remove_table(tables, context.store.objects, purge.location)
        return
    if not context.manifest.branch_names():
        # What a deleted branch left holds the lost data too, and nobody reads it any more.
        for ref in list_refs(tables, purge.location):
            delete_ref(tables, purge.location, ref)
    lost = {str(number).encode() for number in purge.property_ids}
    pins = context.manifest.load(branch).snapshot.pins.values()
    pin = next((pin for pin in pins if pin.location == purge.location), None)
    if pin is not None:
        remove_doomed_versions(
            tables,
            context.store.objects,
            purge.location,
            before=pin.version,
            is_doomed=lambda schema: _may_hold(schema, lost),
        )


def _may_hold(schema: pa.Schema, lost: Collection[bytes]) -> bool:
    """Whether a version may hold a lost property; tables of old graphs do not say what their columns are."""
    numbers = [(field.metadata or {}).get(PROPERTY_ID_METADATA.encode()) for field in schema]
    return any(
        number in lost or (number is None and field.name not in SYSTEM_COLUMNS)
        for number, field in zip(numbers, schema, strict=True)
    )
