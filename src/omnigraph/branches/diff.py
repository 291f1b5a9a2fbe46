"""What merging a branch would bring: its changes since it parted from the other, as in a review."""

from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.branches.merge.sides import base_state
from omnigraph.changes.diff import Diff, diff_snapshots
from omnigraph.changes.filters import ChangesRequest
from omnigraph.errors import InvalidTarget, NoCommonAncestor
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.addresses import Located
from omnigraph.manifest.ancestry import merge_bases
from omnigraph.manifest.commits import Commit, CommitId


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BranchDiff(Shown):
    """What `source` has and `target` has not: everything since their histories parted at `base`."""

    source: Commit
    target: Commit
    base: Commit
    diff: Diff


def diff_branches(context: GraphContext, source: Located, target: Located, request: ChangesRequest) -> BranchDiff:
    """Compare a source with the commit at which it parted from a target; what the target did since is left out.

    Histories that were merged crosswise parted more than once; none of the places is picked silently.
    """
    history = context.log.recent(source.state.head, target.state.head)
    base_id = _only_base(
        source, target, merge_bases(history, source.commit.graph_commit_id, target.commit.graph_commit_id)
    )
    base = base_state(context, history, base_id, (source.state, target.state))
    diff = diff_snapshots(context, base, source.snapshot, request)
    return BranchDiff(source=source.commit, target=target.commit, base=history[base_id], diff=diff)


def _only_base(source: Located, target: Located, bases: tuple[CommitId, ...]) -> CommitId:
    if not bases:
        raise NoCommonAncestor(
            f"Branches '{source.branch}' and '{target.branch}' share no commit; there is nothing to compare.",
            source=source.commit.graph_commit_id,
            target=target.commit.graph_commit_id,
        )
    if len(bases) > 1:
        raise InvalidTarget(
            f"Branches '{source.branch}' and '{target.branch}' were merged into each other and parted at "
            f"{' and '.join(bases)}; compare with one of these."
        )
    return bases[0]
