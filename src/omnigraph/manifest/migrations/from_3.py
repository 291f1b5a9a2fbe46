"""3 to 4: identities, graph versions, the head and the schema move into the manifest.

The new rows are those that the present program would have published, commit by commit. They land in one commit
together with `graph_head`, so the presence of a head tells whether the rows are there. The old rows stay, without a
graph version, and are ignored from then on.

Only the last schema is known. It is accepted from the graph version on at which types were last added or dropped;
older graph versions keep their rows but cannot be read, because nothing says what they meant.
"""

from collections import defaultdict
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base import faults
from omnigraph.manifest.commits import CommitId
from omnigraph.manifest.migrations.migration import Migration, Site, StampingExtras
from omnigraph.manifest.migrations.old_graph import OldGraph, read_old_graph
from omnigraph.manifest.migrations.old_rows import OldPin, OldTable
from omnigraph.manifest.publish import ManifestChanges, PinMove, TableRegistration, manifest_rows
from omnigraph.manifest.rows import HEAD_OBJECT_ID, MANIFEST_SCHEMA, ManifestRow, ObjectType, rows_to_table
from omnigraph.manifest.schemas import schema_reference
from omnigraph.manifest.stamp import ROOT_KEY
from omnigraph.storage.keyed import swap_rows
from omnigraph.storage.reshaping import add_null_columns
from omnigraph.storage.tables import Table


def _record_root(site: Site, manifest: Table) -> StampingExtras:
    # An old manifest does not say where its graph was made; where it is now is the best that can be known.
    if ROOT_KEY in manifest.schema_metadata:
        return StampingExtras()
    return StampingExtras(schema_metadata={ROOT_KEY: site.store.root.uri})


def _upgrade_rows(rows: pa.Table, old: OldGraph) -> pa.Table:
    if _has_head(rows):
        return rows.filter(pc.is_valid(rows["graph_version"]))
    return rows_to_table(_rows_as_published(old), MANIFEST_SCHEMA)


def _persist(site: Site) -> None:
    # The columns come first: from here on no publisher of an older program lands, so the rows read next are all.
    _add_missing_columns(site)
    manifest = site.manifest()
    rows = manifest.read()
    if _has_head(rows):
        # A second run, and commits may have followed the first: the head is written once more as it stands.
        due = rows.filter(pc.equal(rows["object_id"], HEAD_OBJECT_ID))
    else:
        old = read_old_graph(rows, site.store.tables, site.schemas, branch=site.branch)
        site.lock.ensure_seconds_left()
        site.schemas.save(old.catalog, old.schema_source)
        faults.reach("migrate.after_schemas")
        due = _upgrade_rows(rows, old)
    site.lock.ensure_seconds_left()
    swap_rows(site.store.tables, manifest, "object_id", due.select(manifest.schema.names).cast(manifest.schema))


def _has_head(rows: pa.Table) -> bool:
    return bool(pc.any(pc.equal(rows["object_id"], HEAD_OBJECT_ID)).as_py())


def _add_missing_columns(site: Site) -> None:
    manifest = site.manifest()
    missing = [column for column in MANIFEST_SCHEMA if column.name not in manifest.schema.names]
    if missing:
        site.lock.ensure_seconds_left()
        add_null_columns(manifest, [column.with_nullable(True) for column in missing])
        faults.reach("migrate.after_columns")


def _rows_as_published(old: OldGraph) -> list[ManifestRow]:
    changes = _changes_by_commit(old)
    return [
        row
        for commit in old.history
        for row in manifest_rows(changes[commit.graph_commit_id], commit)
        if row.object_type is not ObjectType.GRAPH_HEAD or commit is old.head
    ]


def _changes_by_commit(old: OldGraph) -> Mapping[CommitId, ManifestChanges]:
    """Sort everything that the tables tell by the commit that did it."""
    graph_version = {commit.graph_commit_id: commit.graph_version for commit in old.history}
    pins: dict[CommitId, list[PinMove]] = defaultdict(list)
    added: dict[CommitId, list[TableRegistration]] = defaultdict(list)
    dropped: dict[CommitId, list[TableRegistration]] = defaultdict(list)
    for table in old.tables:
        # Pins come by version: of several in one commit the highest is the one that counted.
        pin_by_commit = {pin.commit_id: pin for pin in table.pins}
        for commit_id, pin in pin_by_commit.items():
            pins[commit_id].append(_pin_move(old, table, pin))
        added[min(pin_by_commit, key=graph_version.__getitem__)].append(_registration(old, table))
        if table.tombstone is not None:
            dropped[table.tombstone.commit_id].append(_registration(old, table))
    accepting = max({*added, *dropped}, key=graph_version.__getitem__)
    reference = schema_reference(old.catalog, old.schema_source)
    return {
        commit_id: ManifestChanges(
            pins=tuple(pins[commit_id]),
            registrations=tuple(added[commit_id]),
            tombstones=tuple(dropped[commit_id]),
            schema=reference if commit_id == accepting else None,
        )
        for commit_id in graph_version
    }


def _registration(old: OldGraph, table: OldTable) -> TableRegistration:
    return TableRegistration(
        table_key=table.table_key, identity=old.identity_by_table[table.table_key], location=table.location
    )


def _pin_move(old: OldGraph, table: OldTable, pin: OldPin) -> PinMove:
    return PinMove(
        table_key=table.table_key,
        identity=old.identity_by_table[table.table_key],
        ref=pin.ref,
        version=pin.version,
        row_count=pin.row_count,
    )


FROM_3 = Migration(to=4, upgrade_rows=_upgrade_rows, persist=_persist, extras=_record_root)
