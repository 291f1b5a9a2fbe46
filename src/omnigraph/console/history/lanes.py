"""Where commits and the lines between them stand in a drawing of history; nothing here draws."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from omnigraph.base.values import dataclass
from omnigraph.manifest.ancestry import parents_of
from omnigraph.manifest.commits import Commit


class LinePart(StrEnum):
    """Which part of a line lies in a row."""

    THROUGH = "through"
    """It passes by, from the upper edge to the lower one."""
    ARRIVES = "arrives"
    """It comes from the upper edge and ends at the row's commit."""
    LEAVES = "leaves"
    """It starts at the row's commit and goes on to the lower edge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePiece:
    """One piece of a line within one row; `lane` is where it meets the edge of the row."""

    part: LinePart
    lane: int
    branch: str
    """Whose line it is, for its colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRow:
    """One commit of the drawing, and the lines beside it."""

    commit: Commit
    lane: int
    pieces: tuple[LanePiece, ...]

    @property
    def width(self) -> int:
        """How many lanes the row needs."""
        return 1 + max([self.lane, *(piece.lane for piece in self.pieces)])


@dataclass(slots=True, kw_only=True)
class _Lane:
    """A line on its way down: which commit it looks for, and whose it is."""

    wanted: str
    branch: str


def in_order(commits: Iterable[Commit]) -> list[Commit]:
    """Put commits newest first: none stands above one that was made from it; between others, clocks decide."""
    by_id: dict[str, Commit] = {commit.graph_commit_id: commit for commit in commits}
    children = dict.fromkeys(by_id, 0)
    for commit in by_id.values():
        for parent in parents_of(commit):
            if parent in children:
                children[parent] += 1
    ready = [_age(commit) for commit in by_id.values() if children[commit.graph_commit_id] == 0]
    heapq.heapify(ready)
    ordered = []
    while ready:
        commit = by_id[heapq.heappop(ready)[-1]]
        ordered.append(commit)
        for parent in parents_of(commit):
            if parent in children:
                children[parent] -= 1
                if children[parent] == 0:
                    heapq.heappush(ready, _age(by_id[parent]))
    return ordered


def _age(commit: Commit) -> tuple[int, int, str]:
    return (-commit.created_at_us, -commit.graph_version, commit.graph_commit_id)


def lanes(ordered: Sequence[Commit], *, first: str | None = None) -> list[LaneRow]:
    """Give every commit a lane; `first` is the head whose line keeps the leftmost one.

    Lines to commits that are not among these run on to the lower end.
    """
    branch_of: Mapping[str, str] = {commit.graph_commit_id: commit.graph_branch for commit in ordered}
    active: list[_Lane | None] = []
    if first is not None and first in branch_of:
        active.append(_Lane(wanted=first, branch=branch_of[first]))
    is_reserved = bool(active)
    """The lane that is kept for a head has no line above that head."""
    rows = []
    for commit in ordered:
        commit_id = commit.graph_commit_id
        arriving = [number for number, lane in enumerate(active) if lane is not None and lane.wanted == commit_id]
        lane = arriving[0] if arriving else _free(active)
        pieces = [
            _piece(LinePart.ARRIVES if number in arriving else LinePart.THROUGH, number, each.branch)
            for number, each in enumerate(active)
            if each is not None and not (number == 0 and is_reserved)
        ]
        is_reserved = is_reserved and commit_id != first
        for number in arriving:
            active[number] = None
        leaving = _leave(active, commit, lane, branch_of)
        is_reserved = is_reserved and all(piece.lane != 0 for piece in leaving)
        pieces += leaving
        rows.append(LaneRow(commit=commit, lane=lane, pieces=tuple(pieces)))
        while active and active[-1] is None:
            active.pop()
    return rows


def _leave(active: list[_Lane | None], commit: Commit, lane: int, branch_of: Mapping[str, str]) -> list[LanePiece]:
    """Start the lines to the parents: the first goes straight down, the merged one joins its line or gets a lane."""
    pieces = []
    for parent in parents_of(commit):
        is_first = parent == commit.parent_commit_id
        branch = commit.graph_branch if is_first else branch_of.get(parent, commit.graph_branch)
        if is_first:
            number = lane
        else:
            looking = [index for index, each in enumerate(active) if each is not None and each.wanted == parent]
            number = looking[0] if looking else _free(active)
        _occupy(active, number, _Lane(wanted=parent, branch=branch))
        pieces.append(_piece(LinePart.LEAVES, number, branch))
    return pieces


def _piece(part: LinePart, lane: int, branch: str) -> LanePiece:
    return LanePiece(part=part, lane=lane, branch=branch)


def _free(active: list[_Lane | None]) -> int:
    return active.index(None) if None in active else len(active)


def _occupy(active: list[_Lane | None], number: int, lane: _Lane) -> None:
    if number == len(active):
        active.append(lane)
    elif active[number] is None:
        active[number] = lane
