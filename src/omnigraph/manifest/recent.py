"""History from its newest end: of a long log only as much is read as somebody asks for."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

import pyarrow as pa

from omnigraph.manifest.commits import Commit, CommitId
from omnigraph.storage import filters
from omnigraph.storage.tables import Table

_FIRST_ROWS: Final = 16
_GROWTH: Final = 4
_FRAGMENT_ROWS_MAX: Final = 4_096
"""A fragment with more rows was made by optimize, and is read in parts."""
_FIRST_VERSIONS: Final = 256


class ReadCommits(Protocol):
    """Turns rows of the log into commits, with their actors."""

    def __call__(self, rows: pa.Table) -> list[Commit]:
        """Return the commits of these rows."""
        ...


class RecentHistory(Mapping[CommitId, Commit]):
    """Commits by id. Whoever asks for one that is not there yet has older parts of the log read until it is found."""

    def __init__(
        self,
        open_log: Callable[[], Table | None],
        heads: tuple[Commit, ...],
        read: ReadCommits,
        known: dict[CommitId, Commit],
    ) -> None:
        """Take the commits that were read before, which never change; what is read now is added to them."""
        self._commits = {head.graph_commit_id: head for head in heads}
        self._known = known
        self._read_commits = read
        newest = max((head.graph_version for head in heads), default=0)
        self._parts = _parts_newest_first(open_log, newest)

    def __getitem__(self, commit_id: CommitId) -> Commit:
        found = self._find(commit_id)
        if found is None:
            raise KeyError(commit_id)
        return found

    def __contains__(self, commit_id: object) -> bool:
        return isinstance(commit_id, str) and self._find(CommitId(commit_id)) is not None

    def _find(self, commit_id: CommitId) -> Commit | None:
        if commit_id not in self._commits and commit_id in self._known:
            self._commits[commit_id] = self._known[commit_id]
        while commit_id not in self._commits:
            if not self._read_on():
                return None
        return self._commits[commit_id]

    def __iter__(self) -> Iterator[CommitId]:
        self._read_all()
        return iter(self._commits)

    def __len__(self) -> int:
        self._read_all()
        return len(self._commits)

    def _read_all(self) -> None:
        while self._read_on():
            pass

    def _read_on(self) -> bool:
        rows = next(self._parts, None)
        if rows is None:
            return False
        for commit in self._read_commits(rows):
            self._commits.setdefault(commit.graph_commit_id, commit)
            self._known[commit.graph_commit_id] = commit
        return True


def _parts_newest_first(open_log: Callable[[], Table | None], newest_version: int) -> Iterator[pa.Table]:
    """Yield all rows of the log in parts that grow, roughly newest first.

    Every commit adds a fragment at the end, and optimize makes large ones of them. Of those the rows of the newest
    graph versions come first; on other branches there may be newer ones than `newest_version`.
    """
    log = open_log()
    if log is None:
        return
    rows_by_fragment = log.rows_by_fragment()
    part, rows, enough = list[int](), 0, _FIRST_ROWS
    for fragment_id, count in reversed(rows_by_fragment.items()):
        if count > _FRAGMENT_ROWS_MAX:
            continue
        part.append(fragment_id)
        rows += count
        if rows >= enough:
            yield log.read(fragment_ids=part)
            part, rows, enough = [], 0, enough * _GROWTH
    if part:
        yield log.read(fragment_ids=part)
    large = [fragment_id for fragment_id, count in rows_by_fragment.items() if count > _FRAGMENT_ROWS_MAX]
    if large:
        for where in _version_windows(newest_version):
            yield log.read(where=where, fragment_ids=large)


def _version_windows(newest: int) -> Iterator[str | None]:
    high, span = None, _FIRST_VERSIONS
    low = newest - span
    while True:
        bounds = [filters.Comparison("graph_version", ">", low)] if low > 0 else []
        if high is not None:
            bounds.append(filters.Comparison("graph_version", "<=", high))
        yield filters.all_of(bounds)
        if low <= 0:
            return
        span *= _GROWTH
        high, low = low, low - span
