"""1 to 2: `object_id` becomes the key that racing merges are compared by.

The annotation rides in the commit of the stamp. It can never be taken back, so duplicates are looked for before.
"""

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import GraphCorrupt
from omnigraph.manifest.migrations.migration import Migration, Site, StampingExtras
from omnigraph.manifest.migrations.old_graph import OldGraph
from omnigraph.storage.reshaping import is_annotated_key
from omnigraph.storage.tables import Table

_KEY = "object_id"


def _annotate_key(site: Site, manifest: Table) -> StampingExtras:
    counted = manifest.read([_KEY])[_KEY].value_counts()
    repeated = sorted(entry["values"] for entry in counted.filter(pc.greater(counted.field("counts"), 1)).to_pylist())
    if repeated:
        raise GraphCorrupt(
            f"__manifest of branch '{site.branch}' holds more than one row each for {', '.join(repeated)}; nothing was "
            "written. Remove the surplus rows before writing to the graph."
        )
    return StampingExtras(key_column=None if is_annotated_key(manifest, _KEY) else _KEY)


def _keep_rows(rows: pa.Table, _old: OldGraph) -> pa.Table:
    return rows


def _persist_nothing(_site: Site) -> None:
    """Leave everything to the commit of the stamp."""


FROM_1 = Migration(to=2, upgrade_rows=_keep_rows, persist=_persist_nothing, extras=_annotate_key)
