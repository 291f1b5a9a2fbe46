"""Diffs of any two snapshots."""

from collections.abc import Sequence

from omnigraph.changes.diff import Diff
from omnigraph.changes.filters import resolve_selection
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.snapshot import GraphSnapshot


def diff_snapshots(
    context: GraphContext,
    before: GraphSnapshot,
    after: GraphSnapshot,
    *,
    kinds: Sequence[str] = (),
    types: Sequence[str] = (),
    ops: Sequence[str] = (),
    exclude_types: Sequence[str] = (),
) -> Diff:
    """Compare two snapshots, on whatever branches they lie."""
    catalogs = [context.schemas.catalog(snapshot.schema) for snapshot in (before, after)]
    selection = resolve_selection(catalogs, kinds=kinds, types=types, ops=ops, exclude_types=exclude_types)
    return Diff(context, before, after, selection)
