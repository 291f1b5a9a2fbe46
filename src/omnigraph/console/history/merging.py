"""What a merge would do or did, and the writes that settle its conflicts; nothing here draws."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from omnigraph.base.values import dataclass
from omnigraph.console.history.conflicts import Conflict, Remedy, conflicts_of, delete_mutation, with_values
from omnigraph.errors import MergeConflicts, ReadSetConflict

if TYPE_CHECKING:
    from omnigraph.branches.merge.run import MergeResult
    from omnigraph.client.values import ServedMerge
    from omnigraph.console.sources.protocol import GraphSource

_CHANGES_COMPARED_MAX = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeView:
    """What is known of a merge."""

    source: str
    into: str
    heads: Mapping[str, str]
    """The newest commit of both branches when this was found out."""
    result: "MergeResult | ServedMerge | None" = None
    """None where there are conflicts, and where only merging itself can tell."""
    conflicts: Sequence[Conflict] = ()
    total: int = 0
    """How many conflicts there are, listed or not."""

    @property
    def outcome(self) -> str | None:
        """The word for what the merge is; None where that is not known."""
        return None if self.result is None else str(self.result.outcome)

    @property
    def is_done(self) -> bool:
        """Whether this is a merge that was made, and not only looked at."""
        return self.result is not None and self.result.commit is not None


async def previewed(graph: "GraphSource", source: str, into: str) -> MergeView:
    """Say what a merge would do."""
    heads = await _heads(graph, source, into)
    try:
        result = await graph.preview_merge(source, into)
    except MergeConflicts as refused:
        return await _refused(graph, refused, source, into, heads)
    return MergeView(source=source, into=into, heads=heads, result=result)


async def merged(graph: "GraphSource", source: str, into: str, *, message: str | None) -> MergeView:
    """Merge, or say what stands against it."""
    heads = await _heads(graph, source, into)
    try:
        result = await graph.merge(source, into, message=message)
    except MergeConflicts as refused:
        return await _refused(graph, refused, source, into, heads)
    return MergeView(source=source, into=into, heads=heads, result=result)


async def _refused(
    graph: "GraphSource", refused: MergeConflicts, source: str, into: str, heads: Mapping[str, str]
) -> MergeView:
    conflicts, total = conflicts_of(refused)
    if not any(conflict.has_values for conflict in conflicts):
        theirs, ours = await asyncio.gather(
            graph.compare(source, into, limit=_CHANGES_COMPARED_MAX),
            graph.compare(into, source, limit=_CHANGES_COMPARED_MAX),
        )
        conflicts = with_values(conflicts, into=ours.changes, source=theirs.changes)
    return MergeView(source=source, into=into, heads=heads, conflicts=conflicts, total=total)


async def settle(graph: "GraphSource", view: MergeView, conflict: Conflict, remedy: Remedy) -> None:
    """Make one branch say what the other says; refused if either has moved since the conflict was shown."""
    now = await _heads(graph, view.source, view.into)
    moved = [branch for branch, head in now.items() if head != view.heads.get(branch)]
    if moved:
        raise ReadSetConflict(
            f"Branch '{moved[0]}' has moved since this conflict was shown; nothing was written. Look again.",
            member="branch head",
            expected=view.heads.get(moved[0]),
            actual=now[moved[0]],
        )
    if remedy.record is None:
        await graph.mutate(delete_mutation(conflict), params={"id": conflict.entity_id}, branch=remedy.branch)
        return
    line = json.dumps(dict(remedy.record), ensure_ascii=False).encode()
    other = view.source if remedy.branch == view.into else view.into
    name = f"{conflict.type_name} {conflict.entity_id}"
    await graph.put(line, branch=remedy.branch, message=f"take {other}'s values of {name}"[:200])


async def _heads(graph: "GraphSource", *branches: str) -> dict[str, str]:
    newest = await asyncio.gather(*(graph.commits(branch, limit=1) for branch in branches))
    return {branch: found[0].graph_commit_id for branch, found in zip(branches, newest, strict=True) if found}
