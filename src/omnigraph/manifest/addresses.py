"""Snapshot addresses, and the commit each means.

An address is a branch, `branch@N`, `branch@TIME`, `branch~N`, a commit id or the beginning of one that no other commit
shares. Branches come first: a branch may be named like the beginning of an id.
"""

import re
from datetime import UTC, datetime, timedelta

from omnigraph.base import ids
from omnigraph.base.clock import iso_from_us
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.errors import BranchNotFound, CommitNotFound, InvalidTarget, SnapshotNotFound
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitId, check_name
from omnigraph.manifest.line import BranchLine
from omnigraph.manifest.log import CommitLog
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.manifest.state import ManifestReader, ManifestState, look_at_live_branches

_VERSION = re.compile(r"(?P<branch>.+)@(?P<version>[0-9]+)")
_MOMENT = re.compile(r"(?P<branch>[^@]+)@(?P<moment>.*)")
_BEGINNING_MIN = 4
_CANDIDATES_MAX = 8
_STEPS_BACK = re.compile(r"(?P<branch>.+)~(?P<steps>[0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A commit, and the live branch on whose first-parent line it lies."""

    state: ManifestState
    commit: Commit

    @property
    def branch(self) -> str:
        """The branch's name."""
        return self.state.branch.name

    @property
    def is_head(self) -> bool:
        """Whether the commit is the branch's newest."""
        return self.commit.graph_commit_id == self.state.head.graph_commit_id

    @property
    def snapshot(self) -> GraphSnapshot:
        """The graph version that the commit made."""
        if self.is_head:
            return self.state.snapshot
        return self.state.snapshot_at(self.commit.graph_version, self.commit.graph_commit_id)


class Addresses:
    """Finds what people mean by an address."""

    def __init__(self, manifest: ManifestReader, log: CommitLog) -> None:
        self._manifest = manifest
        self._log = log

    def resolve(self, text: str) -> Located:
        """Find the commit that a written address means."""
        check_name(text, what="The address of a snapshot")
        if ids.is_ulid(text):
            return self.at_commit(text)
        try:
            return self._on_branch(text)
        except BranchNotFound:
            begun = self._begun_by(text)
            if begun is None:
                raise
            return self.at_commit(begun.graph_commit_id)

    def _on_branch(self, text: str) -> Located:
        """Find what an address that names a branch means."""
        if match := _VERSION.fullmatch(text):
            return self.at_version(match["branch"], int(match["version"]))
        if match := _MOMENT.fullmatch(text):
            return self.at_moment(match["branch"], _read_moment(text, match["moment"]))
        if match := _STEPS_BACK.fullmatch(text):
            return self._steps_back(match["branch"], int(match["steps"]))
        return self.head(text)

    def head(self, branch: str) -> Located:
        """Find the newest commit of a branch."""
        state = self._manifest.load(branch)
        return Located(state=state, commit=state.head)

    def at_version(self, branch: str, version: int) -> Located:
        """Find the commit that made a graph version of a branch, inherited ones included."""
        state = self._manifest.load(branch)
        if not 1 <= version <= state.head.graph_version:
            raise SnapshotNotFound(
                f"Branch '{branch}' has no graph version {version}; it knows 1 to {state.head.graph_version}.",
                id=f"{branch}@{version}",
            )
        return Located(state=state, commit=BranchLine(self._log, state).at(version))

    def at_moment(self, branch: str, moment: datetime) -> Located:
        """Find the state of a branch at a moment: its newest commit that was not made later.

        The parents give the order, the clocks of the writers only the answer: a commit that a slow clock dates before
        its parent hides nothing that came after it.
        """
        if moment.tzinfo is None:
            raise InvalidTarget(f"{moment.isoformat()} does not say in which zone; give it one, such as UTC.")
        moment_us = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        state = self._manifest.load(branch)
        oldest = state.head
        for oldest in self._log.first_parents(state.head):
            if oldest.created_at_us <= moment_us:
                return Located(state=state, commit=oldest)
        raise SnapshotNotFound(
            f"Branch '{branch}' did not exist at {moment.isoformat()}; its first commit was made at "
            f"{iso_from_us(oldest.created_at_us)} UTC.",
            id=f"{branch}@{moment.isoformat()}",
        )

    def at_commit(self, address: str) -> Located:
        """Find a live branch that holds a commit, which is addressed as for `commit`."""
        commit = self.commit(address)
        commit_id = commit.graph_commit_id
        for branch in dict.fromkeys([commit.graph_branch, MAIN_BRANCH, *self._manifest.branch_names()]):
            try:
                state = self._manifest.load(branch)
            except BranchNotFound:
                continue
            if self._is_on_line(state, commit):
                return Located(state=state, commit=commit)
        raise SnapshotNotFound(
            f"Commit {commit_id} was made on branch '{commit.graph_branch}', which is gone; its state cannot be read.",
            id=commit_id,
        )

    def _is_on_line(self, state: ManifestState, commit: Commit) -> bool:
        """Whether a commit made the graph version of its number on this branch; later ones say nothing about it."""
        if commit.graph_version > state.head.graph_version:
            return False
        there = BranchLine(self._log, state).at(commit.graph_version)
        return there.graph_commit_id == commit.graph_commit_id

    def commit(self, address: str) -> Commit:
        """Return the commit that an address means; an id finds it also on a branch that is gone."""
        check_name(address, what="The address of a commit")
        if ids.is_ulid(address):
            return self._by_id(address)
        try:
            return self._on_branch(address).commit
        except BranchNotFound as missing:
            begun = self._begun_by(address)
            if begun is None:
                raise CommitNotFound(
                    f"'{address}' is no commit of this graph: it is neither an id nor the beginning of one, and no "
                    "address such as main, main~2 or main@7. `omnigraph commit list` shows them.",
                    id=address,
                ) from missing
            return begun

    def _begun_by(self, text: str) -> Commit | None:
        """Return the one commit whose id begins like this; None if there is none, and an error if there are several."""
        beginning = text.upper()
        if len(beginning) < _BEGINNING_MIN or not set(beginning) <= set(ids.CROCKFORD):
            return None
        heads = [state.head for state in look_at_live_branches(self._manifest, self._manifest.load).values()]
        found = [commit for id_, commit in sorted(self._log.history(*heads).items()) if id_.startswith(beginning)]
        if len(found) <= 1:
            return found[0] if found else None
        shown = [_described(commit) for commit in found[-_CANDIDATES_MAX:]]
        more = f" and {counted(len(found) - len(shown), 'older one')}" if len(found) > len(shown) else ""
        raise InvalidTarget(
            f"'{text}' is ambiguous: the ids of {counted(len(found), 'commit')} begin with it. Write more of the one "
            f"you mean: {'; '.join(shown)}{more}.",
            candidates=[commit.graph_commit_id for commit in found],
        )

    def _by_id(self, commit_id: str) -> Commit:
        # The newest commit of a branch may stand in its manifest only.
        try:
            return self._log.find(CommitId(commit_id), head=self._manifest.load(MAIN_BRANCH).head)
        except CommitNotFound:
            for state in look_at_live_branches(self._manifest, self._manifest.load).values():
                if state.head.graph_commit_id == commit_id:
                    return state.head
            raise

    def _steps_back(self, branch: str, steps: int) -> Located:
        state = self._manifest.load(branch)
        for back, commit in enumerate(self._log.first_parents(state.head)):
            if back == steps:
                return Located(state=state, commit=commit)
        raise SnapshotNotFound(
            f"Branch '{branch}' has only {counted(state.head.graph_version, 'commit')}; {counted(steps, 'step')} back "
            "is before its first.",
            id=f"{branch}~{steps}",
        )


def _described(commit: Commit) -> str:
    return f"{commit.graph_commit_id} ({commit.kind} on {commit.graph_branch}, version {commit.graph_version})"


def _read_moment(address: str, text: str) -> datetime:
    """Read the time in an address; raise if it is none, or means different moments in different places."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidTarget(
            f"'{address}' is not a state: after the @ stands a graph version, such as 7, or a time with its zone, "
            "such as 2026-01-31T18:00:00Z."
        )
    return moment
