"""`graph.branches`: what users do with branches. Each verb imports what it runs; merging alone is thirty modules."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnigraph.base.endings import tell
from omnigraph.base.events import Events, Published, ignore_events
from omnigraph.engine.choice import EngineChoice
from omnigraph.graphs.authorizing import Admission, PolicyAction
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH, check_actor

if TYPE_CHECKING:
    from omnigraph.branches.diff import BranchDiff
    from omnigraph.branches.listing import BranchSummary
    from omnigraph.branches.merge.run import MergeResult


class Branches:
    """The branches of one graph."""

    def __init__(self, context: GraphContext, admit: Admission) -> None:
        self._context = context
        self._admit = admit

    def create(
        self, name: str, *, source: str = MAIN_BRANCH, actor: str | None = None, events: Events = ignore_events
    ) -> str:
        """Create a branch from a branch, a commit id or `branch@N`; return its name.

        Costs the same for any size of graph: tables are shared until the branch first writes to them.
        """
        from omnigraph.branches.create import create_branch

        self._admit(PolicyAction.BRANCH_CREATE, actor=actor, branch=source, target_branch=name)
        check_actor(actor)
        return create_branch(self._context, name, source=self._context.addresses.resolve(source), events=events)

    def list(self) -> "list[BranchSummary]":
        """Describe every branch, sorted by name."""
        from omnigraph.branches.listing import list_branches

        return list_branches(self._context)

    def diff(
        self,
        source: str,
        *,
        into: str = MAIN_BRANCH,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
        exclude_types: Sequence[str] = (),
    ) -> "BranchDiff":
        """Compare a branch with the commit at which it parted from another: what merging it would bring."""
        from omnigraph.branches.diff import diff_branches
        from omnigraph.changes.filters import ChangesRequest

        request = ChangesRequest(kinds=kinds, types=types, ops=ops, exclude_types=exclude_types)
        resolve = self._context.addresses.resolve
        return diff_branches(self._context, resolve(source), resolve(into), request)

    def merge(
        self,
        source: str,
        *,
        into: str = MAIN_BRANCH,
        delete_branch: bool = False,
        dry_run: bool = False,
        message: str | None = None,
        show_values: bool = False,
        actor: str | None = None,
        engine: str | EngineChoice | None = None,
        events: Events = ignore_events,
    ) -> "MergeResult":
        """Merge a branch into another one as one commit, or raise `MergeConflicts` and change nothing.

        Three-way and per entity: what only one side changed since the two parted is kept, what both changed
        differently is a conflict. A dry run says what would change. With `delete_branch` the source is deleted
        afterwards; a failure of that is reported in the result. With `show_values` conflicts carry the entities.
        `engine` is auto, local or spark, by default what `$OMNIGRAPH_ENGINE` says; it changes where large merges are
        worked out, and nothing else.
        """
        from omnigraph.branches.merge.run import MergeRequest, run_merge

        if not dry_run:
            self._admit(PolicyAction.BRANCH_MERGE, actor=actor, branch=source, target_branch=into)
            if delete_branch:
                self._admit(PolicyAction.BRANCH_DELETE, actor=actor, target_branch=source)
        request = MergeRequest(
            source=source,
            into=into,
            delete_branch=delete_branch,
            dry_run=dry_run,
            message=message,
            show_values=show_values,
            actor=actor,
            engine=EngineChoice.named(engine, os.environ),
        )
        return run_merge(self._context, request, events=events)

    def delete(self, name: str, *, actor: str | None = None, events: Events = ignore_events) -> None:
        """Delete a branch; refused while another branch was created from it or reads its tables."""
        from omnigraph.branches.delete import delete_branch

        self._admit(PolicyAction.BRANCH_DELETE, actor=actor, target_branch=name)
        check_actor(actor)
        delete_branch(self._context, name, events)
        tell(events, Published(what=f"the deletion of branch {name.strip()}"))
