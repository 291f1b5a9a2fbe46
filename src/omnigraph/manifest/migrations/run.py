"""Bring one branch's manifest up to the present stamp, on disk.

Each step: one commit moves the stamp and leaves a marker, the step persists, one commit removes the marker. From the
first commit on older programs refuse the graph; while the marker stands, readers upgrade the rows in memory and the
next writer goes on where this one stopped. Every commit may be repeated, so a crash needs no sidecar.
"""

from omnigraph.base import clock, faults, ids, waits
from omnigraph.errors import PublishContended
from omnigraph.manifest.migrations.migration import Site
from omnigraph.manifest.migrations.registry import MIGRATIONS
from omnigraph.manifest.schemas import SchemaStore
from omnigraph.manifest.stamp import MARKER_KEY, STAMP_KEY, Stamp, read_stamp
from omnigraph.manifest.state import ManifestState
from omnigraph.storage.keyed import SwapLost
from omnigraph.storage.reshaping import stage_metadata
from omnigraph.storage.store import GraphStore
from omnigraph.storage.stored_settings import stage_auto_cleanup_strip
from omnigraph.storage.tables import Table
from omnigraph.storage.transactions import CommitInterleaved, StagedCommit, commit_staged

MIGRATION_RETRY_BUDGET = 5
_PAUSE_SECONDS = 0.02
_PROPERTIES = {"omnigraph.kind": "migrate"}


def migrate_branch(store: GraphStore, schemas: SchemaStore, state: ManifestState) -> None:
    """Migrate the branch that `state` shows; costs nothing when it is up to date. Re-read the branch afterwards."""
    if state.stamp.is_current:
        return
    branch = state.branch
    with store.locks.acquire(f"branch/{branch.name}", operation="migrate", wait_seconds=waits.GATE_SECONDS) as lock:
        carry_out(Site(store=store, schemas=schemas, branch=branch.name, address=branch.manifest, lock=lock))


def carry_out(site: Site) -> None:
    """Take all steps that are left, whoever began them.

    The lock keeps migrators apart, but correctness does not rest on it: a commit that meets somebody else's is given
    up, and the manifest says how far they are by now.
    """
    lost = 0
    while not (stamp := _read_stamp(site, manifest := site.manifest())).is_current:
        try:
            _advance(site, manifest, stamp)
        except (CommitInterleaved, SwapLost) as error:
            lost += 1
            if lost == MIGRATION_RETRY_BUDGET:
                raise PublishContended(
                    f"Migrating branch '{site.branch}' lost {lost} attempts against other commits; what was done so "
                    "far stands, and the next write goes on from there.",
                    attempts=lost,
                ) from error
            clock.sleep_seconds(_PAUSE_SECONDS * ids.jitter() * 2**lost)


def _advance(site: Site, manifest: Table, stamp: Stamp) -> None:
    """Do the next thing that is due."""
    strip = stage_auto_cleanup_strip(manifest, properties=_PROPERTIES)
    if strip is not None:
        # While these keys are stored, any commit may delete old versions of the table.
        _commit(site, strip)
        faults.reach("migrate.after_strip")
    elif stamp.migrating_from is None:
        _begin(site, manifest, stamp.version)
    else:
        MIGRATIONS[stamp.migrating_from].persist(site)
        faults.reach("migrate.after_persist")
        _end(site, stamp)


def _begin(site: Site, manifest: Table, step: int) -> None:
    migration = MIGRATIONS[step]
    extras = migration.extras(site, manifest)
    metadata = {STAMP_KEY: str(migration.to), MARKER_KEY: str(step), **extras.schema_metadata}
    _commit(site, stage_metadata(manifest, metadata, key_column=extras.key_column, properties=_PROPERTIES))
    faults.reach("migrate.after_stamp")


def _end(site: Site, stamp: Stamp) -> None:
    manifest = site.manifest()
    # Another migrator may have ended this step and begun the next one, whose marker is not ours to remove.
    if _read_stamp(site, manifest) == stamp:
        _commit(site, stage_metadata(manifest, {MARKER_KEY: None}, properties=_PROPERTIES))
        faults.reach("migrate.after_step")


def _commit(site: Site, staged: StagedCommit) -> None:
    site.lock.ensure_seconds_left()
    commit_staged(site.store.tables, site.address, staged)


def _read_stamp(site: Site, manifest: Table) -> Stamp:
    return read_stamp(manifest.schema_metadata, manifest.schema.names, uri=site.store.uri)
