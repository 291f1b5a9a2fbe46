"""2 to 3: no more `__run__…` staging branches, on `__manifest` or on the tables it names, dropped ones included."""

from collections.abc import Mapping

import pyarrow as pa

from omnigraph.base import faults
from omnigraph.manifest.migrations.migration import Migration, Site
from omnigraph.manifest.migrations.old_graph import OldGraph
from omnigraph.manifest.migrations.old_rows import read_old_tables
from omnigraph.manifest.rows import MANIFEST
from omnigraph.storage.refs import Ref, delete_ref, list_refs

_STAGING_PREFIX = "__run__"


def _keep_rows(rows: pa.Table, _old: OldGraph) -> pa.Table:
    return rows


def _sweep_staging_refs(site: Site) -> None:
    _sweep(site, MANIFEST.location)
    for table in read_old_tables(site.manifest().read()):
        _sweep(site, table.location)


def _sweep(site: Site, location: str) -> None:
    # The list is read again before every delete: another migrator may be sweeping too. Each round removes one.
    while (leftover := _removable(list_refs(site.store.tables, location))) is not None:
        site.lock.ensure_seconds_left()
        delete_ref(site.store.tables, location, leftover)
        faults.reach("migrate.after_ref")


def _removable(ref_by_name: Mapping[str, Ref]) -> str | None:
    """Choose a staging ref that nothing builds on; one that a branch was made from stays, as Lance would insist."""
    parents = {ref.parent for ref in ref_by_name.values()}
    return next(
        (name for name in sorted(ref_by_name) if name.startswith(_STAGING_PREFIX) and name not in parents), None
    )


FROM_2 = Migration(to=3, upgrade_rows=_keep_rows, persist=_sweep_staging_refs)
