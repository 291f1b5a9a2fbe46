"""What a migration step consists of, and what it has at hand while it is carried out."""

from collections.abc import Callable, Mapping
from dataclasses import field

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.errors import BranchNotFound
from omnigraph.manifest.migrations.old_graph import OldGraph
from omnigraph.manifest.schemas import SchemaStore
from omnigraph.storage.locks import HeldLock
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import Table, TableAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One branch's manifest while it is being migrated, under the branch's lock."""

    store: GraphStore
    schemas: SchemaStore
    branch: str
    address: TableAddress
    lock: HeldLock

    def manifest(self) -> Table:
        """Open the newest state of the manifest."""
        table = self.store.tables.head(self.address)
        if table is None:
            raise BranchNotFound(f"Branch '{self.branch}' was not found in {self.store.uri}.", branch=self.branch)
        return table


@dataclass(frozen=True, slots=True, kw_only=True)
class StampingExtras:
    """What the commit that moves the stamp changes besides."""

    schema_metadata: Mapping[str, str] = field(default_factory=dict)
    key_column: str | None = None


def no_extras(_site: Site, _manifest: Table) -> StampingExtras:
    """Move the stamp and nothing else."""
    return StampingExtras()


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step, from exactly one stamp to the next."""

    to: int
    upgrade_rows: Callable[[pa.Table, OldGraph], pa.Table]
    """Turn rows of the older shape into the newer one. Pure, and idempotent: rows of the newer shape stay as they are.
    Readers apply it in memory; that is how an old graph is served without writing a byte."""
    persist: Callable[[Site], None]
    """Make the disk match, in commits that may each be repeated. If the older shape has a `graph_head`, the last of
    them rewrites it: a publisher that read its state before must conflict, and a new stamp alone does not stop it."""
    extras: Callable[[Site, Table], StampingExtras] = no_extras
    """Check that the step may begin, and say what the commit of the stamp changes besides."""
