"""Where a graph was made: refs name their base tables by absolute path, so a moved graph must not use them."""

from omnigraph.errors import InvalidTarget
from omnigraph.manifest.rows import MANIFEST
from omnigraph.manifest.stamp import ROOT_KEY
from omnigraph.storage.refs import list_refs
from omnigraph.storage.reshaping import stage_metadata
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.transactions import CommitInterleaved, commit_staged
from omnigraph.storage.uris import GraphRoot


def moved_from(tables: TableStore, root: GraphRoot) -> str | None:
    """Return where the graph was made, if that is another place than where it is now."""
    manifest = tables.head(MANIFEST)
    made_at = manifest.schema_metadata.get(ROOT_KEY) if manifest is not None else None
    if made_at is None or GraphRoot.parse(made_at).identity == root.identity:
        return None
    return made_at


def refuse_moved(tables: TableStore, root: GraphRoot) -> None:
    """Refuse to open or make refs of a graph that was copied or moved together with some."""
    made_at = moved_from(tables, root)
    if made_at is not None:
        raise InvalidTarget(
            f"{root.uri} was moved from {made_at}, and branches still read the old place. Reads and writes of main "
            "work. Merge or delete branches before moving a graph, or export and load it."
        )


def adopt_root(tables: TableStore, root: GraphRoot) -> None:
    """Write down the present place of a moved graph, if it has no refs that depend on the old one."""
    if moved_from(tables, root) is None or list_refs(tables, MANIFEST.location):
        return
    manifest = tables.head(MANIFEST)
    assert manifest is not None
    try:
        commit_staged(tables, MANIFEST, stage_metadata(manifest, {ROOT_KEY: root.uri}, properties={}))
    except CommitInterleaved:
        return  # Somebody else is writing; whoever opens the graph next tries again.
