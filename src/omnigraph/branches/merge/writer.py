"""A merge as the write protocol sees it: a captured source commit on one side, the captured target on the other."""

from dataclasses import dataclass
from typing import Any

from omnigraph.base import faults
from omnigraph.branches.merge.plan import MergePlan
from omnigraph.branches.merge.sides import MergeOutcome, observe_sides
from omnigraph.branches.merge.ways import MergePlanner
from omnigraph.graphs.capture import Capture
from omnigraph.manifest.bases import MERGE_OUTCOME, MERGED_PINS, spell_merged_pins
from omnigraph.manifest.commits import CommitKind
from omnigraph.manifest.state import ManifestState
from omnigraph.writes.prepared import PreparedWrite, WriteIdentity
from omnigraph.writes.sidecar import SidecarKind


@dataclass(kw_only=True)
class MergeWriter:
    """The description of a merge for the write protocol.

    Strict: who merges has looked at both sides, so a target that moved meanwhile is for the caller to look at again.
    The source may move on; the merge is of the captured commit, never of whatever is newest.
    """

    source: ManifestState
    branch: str
    actor_id: str | None
    planner: MergePlanner
    expected_head: str | None = None
    kind: SidecarKind = SidecarKind.BRANCH_MERGE
    commit_kind: CommitKind = CommitKind.BRANCH_MERGE
    is_strict: bool = True
    plan: MergePlan | None = None

    def prepare(self, capture: Capture, identity: WriteIdentity) -> PreparedWrite | None:
        """Plan the merge against the captured target and stage it; a merge that nets to nothing still has a commit."""
        plan = self.plan = self.planner.plan(observe_sides(capture, self.source))
        if plan.conflicts:
            raise plan.conflicts.error(source=self.source.branch.name, target=self.branch)
        if plan.outcome is MergeOutcome.ALREADY_UP_TO_DATE:
            return None
        tables = plan.stage(identity)
        # Once the source is deleted, its newest commit would be in no log, and a later merge would find an older base.
        capture.context.log.add(self.source.head)
        faults.reach("merge.after_log_import")
        return PreparedWrite(
            tables=tables,
            metadata=self._metadata(plan.outcome, capture),
            pointers=plan.pointers,
            merged_parent=self.source.head.graph_commit_id,
            also_gated=(self.source.branch.name,),
        )

    def _metadata(self, outcome: MergeOutcome, target: Capture) -> dict[str, Any]:
        metadata: dict[str, Any] = {"merged_branch": self.source.branch.name, MERGE_OUTCOME: outcome.value}
        if outcome is MergeOutcome.MERGED:
            metadata[MERGED_PINS] = spell_merged_pins(self.source.snapshot, target.snapshot)
        return metadata
