"""Diffs of any two snapshots, and of what a branch would bring into another."""

from collections.abc import Sequence
from dataclasses import dataclass

from omnigraph.changes.diff import Diff
from omnigraph.changes.selection import resolve_selection
from omnigraph.errors import GraphCorrupt, InvalidTarget
from omnigraph.manifest.addresses import Located
from omnigraph.manifest.ancestry import merge_bases
from omnigraph.manifest.commits import Commit
from omnigraph.writes.context import GraphContext


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDiff:
    """What `source` has and `target` has not: everything since their histories parted at `base`."""

    source: Commit
    target: Commit
    base: Commit
    diff: Diff


def diff_snapshots(
    context: GraphContext,
    before: Located,
    after: Located,
    *,
    kinds: Sequence[str] = (),
    types: Sequence[str] = (),
    ops: Sequence[str] = (),
) -> Diff:
    """Compare two located commits, on whatever branches they lie."""
    snapshots = before.snapshot, after.snapshot
    catalogs = [context.schemas.catalog(snapshot.schema) for snapshot in snapshots]
    selection = resolve_selection(catalogs, kinds=kinds, types=types, ops=ops)
    return Diff(context, *snapshots, selection)


def diff_branches(
    context: GraphContext,
    source: Located,
    target: Located,
    *,
    kinds: Sequence[str] = (),
    types: Sequence[str] = (),
    ops: Sequence[str] = (),
) -> BranchDiff:
    """Compare a source with the commit at which it parted from a target: what a merge would bring.

    What the target did since is left out, as in a review. Histories that were merged crosswise parted more than once;
    none of the places is picked silently.
    """
    history = context.log.history(source.commit, target.commit)
    bases = merge_bases(history, source.commit.graph_commit_id, target.commit.graph_commit_id)
    if not bases:
        raise GraphCorrupt(f"Branches '{source.branch}' and '{target.branch}' share no commit, not even the first.")
    if len(bases) > 1:
        raise InvalidTarget(
            f"Branches '{source.branch}' and '{target.branch}' were merged into each other and parted at "
            f"{' and '.join(bases)}; compare with one of these."
        )
    base = context.addresses.at_commit(bases[0])
    diff = diff_snapshots(context, base, source, kinds=kinds, types=types, ops=ops)
    return BranchDiff(source=source.commit, target=target.commit, base=base.commit, diff=diff)
