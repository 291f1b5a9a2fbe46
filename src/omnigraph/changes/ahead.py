"""Reading ahead along a branch: the diffs of as many commits as a page may hold, held and looked at together."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from omnigraph.changes.commit import gap_at
from omnigraph.changes.diff import Diff
from omnigraph.errors import OmniError
from omnigraph.manifest.commits import Commit
from omnigraph.manifest.line import snapshots_along
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.manifest.state import ManifestState

_COMMITS_MAX = 64
"""How many commits are looked at together, and named in one lease."""


class CommitStep(NamedTuple):
    """A commit and what it did."""

    cause: Commit
    diff: Diff


class ReadAhead:
    """The commits of a line one after another, some at a time; one that cannot be told fails when it is reached."""

    def __init__(
        self, state: ManifestState, line: Sequence[Commit], compare: Callable[[GraphSnapshot, GraphSnapshot], Diff]
    ) -> None:
        self._steps = _steps(state, line, compare)
        self._failure: OmniError | None = None

    def take(self, changes: int) -> list[CommitStep]:
        """Return the next commits, by their pins enough for so many changes; none behind the last."""
        taken: list[CommitStep] = []
        while changes > 0 and len(taken) < _COMMITS_MAX and self._failure is None:
            try:
                step = next(self._steps, None)
            except OmniError as failure:
                self._failure = failure
                break
            if step is None:
                break
            taken.append(step)
            changes -= _changes_min(step.diff)
        if not taken and self._failure is not None:
            raise self._failure
        return taken


def _steps(
    state: ManifestState, line: Sequence[Commit], compare: Callable[[GraphSnapshot, GraphSnapshot], Diff]
) -> Iterator[CommitStep]:
    snapshots = snapshots_along(state, line)
    before: GraphSnapshot | None = None
    for cause in line[1:]:
        with gap_at(cause.graph_commit_id):
            before = next(snapshots) if before is None else before
            after = next(snapshots)
            diff = compare(before, after)
            diff.pairs  # noqa: B018 — read from pins now, so that it fails here
        yield CommitStep(cause, diff)
        before = after


def _changes_min(diff: Diff) -> int:
    """Return how many changes a commit has at least, if it did anything by value, told from the counts in its pins."""
    counts = (
        (pair.before.pin.row_count if pair.before else 0, pair.after.pin.row_count if pair.after else 0)
        for pair in diff.pairs
    )
    return sum(max(1, abs(was - now)) for was, now in counts)
