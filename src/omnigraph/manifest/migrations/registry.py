"""All migration steps, and the chain that leads from any known stamp to the present one."""

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa

from omnigraph.errors import Internal
from omnigraph.manifest.migrations.from_1 import FROM_1
from omnigraph.manifest.migrations.from_2 import FROM_2
from omnigraph.manifest.migrations.from_3 import FROM_3
from omnigraph.manifest.migrations.migration import Migration
from omnigraph.manifest.migrations.old_graph import OldGraph
from omnigraph.manifest.stamp import INTERNAL_SCHEMA_VERSION, OLDEST_STAMP, Stamp


def checked(migrations: Mapping[int, Migration]) -> Mapping[int, Migration]:
    """Return the steps if they lead from the oldest stamp to the present one without a gap.

    Anything else is a mistake in this program, found when it starts and not when a graph needs the step.
    """
    wanted = {stamp: stamp + 1 for stamp in range(OLDEST_STAMP, INTERNAL_SCHEMA_VERSION)}
    found = {stamp: migration.to for stamp, migration in migrations.items()}
    if found != wanted:
        raise Internal(f"The registered migrations lead {found}, but they must lead {wanted}.")
    return migrations


MIGRATIONS: Final = checked({1: FROM_1, 2: FROM_2, 3: FROM_3})


def upgrade_rows(rows: pa.Table, stamp: Stamp, old: OldGraph) -> pa.Table:
    """Turn the rows of a manifest, whatever shape they have, into rows of the present shape; writes nothing."""
    for migration in _steps(stamp):
        rows = migration.upgrade_rows(rows, old)
    return rows


def _steps(stamp: Stamp) -> Iterator[Migration]:
    return (MIGRATIONS[step] for step in range(stamp.shape, INTERNAL_SCHEMA_VERSION))
