"""All commits that a drawing of history needs, from all branches."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from omnigraph.base.values import dataclass
from omnigraph.console.history.lanes import LaneRow, in_order, lanes
from omnigraph.console.sources.reaching import known_ancestors
from omnigraph.errors import BranchNotFound
from omnigraph.manifest.commits import Commit

if TYPE_CHECKING:
    from omnigraph.console.sources.protocol import GraphSource

ROWS_PER_PAGE = 50
BRANCHES_DRAWN_MAX = 24
_AHEAD = 200
"""Commits read beyond those that are shown, so that a line between branches finds its other end."""
_AT_ONCE = 4
_COMPARED_MAX = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredHistory:
    """What is known of the history of a graph."""

    commit_by_id: Mapping[str, Commit]
    head_by_branch: Mapping[str, str]
    left_out: int
    """Branches that were not asked for."""

    @property
    def branches_by_head(self) -> dict[str, list[str]]:
        """The names of the branches that end at a commit."""
        found: dict[str, list[str]] = {}
        for branch, head in self.head_by_branch.items():
            found.setdefault(head, []).append(branch)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """Some rows of the drawing, and whether there are older ones."""

    rows: Sequence[LaneRow]
    width: int
    """How many lanes the widest of these rows has."""
    colours: Mapping[str, int]
    """A number for every branch that a commit was made on, `first` before all others."""
    has_older: bool
    history: GatheredHistory


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """How many commits only one of two branches has."""

    ahead: int
    behind: int
    is_exact: bool


async def gather(source: "GraphSource", branches: Sequence[str], *, limit: int) -> GatheredHistory:
    """Ask every branch for its newest commits; one that goes meanwhile is left out."""
    drawn = branches[:BRANCHES_DRAWN_MAX]
    turnstile = asyncio.Semaphore(_AT_ONCE)

    async def ask(branch: str) -> list[Commit]:
        async with turnstile:
            try:
                return await source.commits(branch, limit=limit)
            except BranchNotFound:
                return []

    found = await asyncio.gather(*map(ask, drawn))
    return GatheredHistory(
        commit_by_id={commit.graph_commit_id: commit for commits in found for commit in commits},
        head_by_branch={
            branch: commits[0].graph_commit_id for branch, commits in zip(drawn, found, strict=True) if commits
        },
        left_out=len(branches) - len(drawn),
    )


async def history_page(source: "GraphSource", branches: Sequence[str], *, number: int) -> HistoryPage:
    """Return one page of the drawing; the first branch has the leftmost lane."""
    end = number * ROWS_PER_PAGE
    history = await gather(source, branches, limit=end + _AHEAD)
    return await asyncio.to_thread(_drawn, history, branches[0], end)


def _drawn(history: GatheredHistory, first: str, end: int) -> HistoryPage:
    ordered = in_order(history.commit_by_id.values())
    rows = lanes(ordered[:end], first=history.head_by_branch.get(first))
    shown = rows[end - ROWS_PER_PAGE :]
    made_on = sorted({commit.graph_branch for commit in ordered}, key=lambda name: (name != first, name))
    return HistoryPage(
        rows=shown,
        width=max((row.width for row in shown), default=1),
        colours={name: number for number, name in enumerate(made_on)},
        has_older=len(ordered) > end,
        history=history,
    )


async def distance(source: "GraphSource", branch: str, into: str) -> Distance:
    """Count the commits that one branch has and the other does not."""
    history = await gather(source, [branch, into], limit=_COMPARED_MAX)
    behind_of = {name: known_ancestors(history.commit_by_id, head) for name, head in history.head_by_branch.items()}
    mine, theirs = behind_of.get(branch, set()), behind_of.get(into, set())
    return Distance(
        ahead=len(mine - theirs), behind=len(theirs - mine), is_exact=max(len(mine), len(theirs)) < _COMPARED_MAX
    )
