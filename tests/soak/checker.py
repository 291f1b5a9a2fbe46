"""The checker of a soak: replays the history on a model and compares every graph version with it.

Every commit leads to the intent that made it, and every intent says what it does to its parent. So the content of
each version is known exactly, whoever died when, and time travel must read it back. Maintenance changes no row, nor
does a change of the schema.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import omnigraph
from omnigraph.base import clock
from omnigraph.manifest.commits import Commit, CommitKind
from soak.ledger import LedgerReader
from soak.maintainer import repair
from soak.operations import TYPES, Content
from soak.places import open_graph
from support import harbor

EXPLAINED = {
    "read_set_conflict",
    "manifest_conflict",
    "key_conflict",
    "publish_contended",
    "branch_busy",
    # What schema changes and branches must expect of each other, and everybody of a meddler.
    "schema_apply_blocked",
    "schema_apply_locked",
    "drift_needs_repair",
}
"""Errors that writers of the same graph must expect; everything else is a finding."""

_SAME_ROWS = {CommitKind.GENESIS, CommitKind.ROLLBACK, CommitKind.MAINTENANCE, CommitKind.REPAIR}


@dataclass(kw_only=True)
class Checker:
    """One graph, what its writers said, and what the two have to do with each other."""

    uri: str
    directory: Path
    findings: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    unacknowledged: int = 0
    lost: int = 0
    versions_read: int = 0

    def __post_init__(self) -> None:
        self._ledger = LedgerReader(directory=self.directory)
        self._graph = omnigraph.open(self.uri, read_only=True)
        self._content: Content = {name: {} for name in TYPES}
        self._commit_by_actor: dict[str, str] = {}
        self._checked_version = 0
        self._judged: set[str] = set()

    def check(self) -> None:
        """Check all that is new, while writers go on or after the last one died."""
        # The ledger first: whatever it acknowledges was published before the look at the history.
        self._ledger.refresh()
        outcomes = dict(self._ledger.outcomes)
        head = self._graph.snapshot().graph_version
        fresh = [commit for commit in self._graph.commits() if self._checked_version < commit.graph_version <= head]
        self._ledger.refresh()
        for commit in reversed(fresh):
            self._replay(commit)
        for actor, outcome in outcomes.items():
            if actor not in self._judged:
                self._judged.add(actor)
                self._judge(actor, outcome.commit, outcome.error, outcome.effect, outcome.message)

    def finish(self) -> None:
        """Check the rest after the last writer died: recover, and demand that nothing is left over."""
        clock.wait_until(lambda: not harbor.pending(open_graph(self.uri)), timeout_seconds=60, pause_seconds=1.0)
        graph = open_graph(self.uri)
        # On S3 the lease of a maintainer that was killed has to run out.
        repair(graph, wait_seconds=60.0)
        self.check()
        self.unacknowledged = len(self._commit_by_actor) - self.acknowledged
        if harbor.pending(graph):
            self._find(f"sidecars are left: {harbor.pending(graph)}")
        if not harbor.pins_equal_heads(graph):
            self._find("a table moved past its pin")
        for problem in graph.verify(deep=True, all_branches=True).problems:
            self._find(f"verify: {problem.kind}: {problem.message}")
        history = graph.commits()
        if [commit.graph_version for commit in history] != [*range(len(history), 0, -1)]:
            self._find("the history has gaps")

    def _replay(self, commit: Commit) -> None:
        self._checked_version = commit.graph_version
        if commit.kind not in _SAME_ROWS:
            actor = commit.actor_id or ""
            if actor in self._commit_by_actor:
                self._find(f"{actor} was committed twice: {self._commit_by_actor[actor]}, {commit.graph_commit_id}")
            if actor not in self._ledger.intents:
                self._find(f"commit {commit.graph_commit_id} of {actor!r} was never intended")
                return
            self._commit_by_actor[actor] = commit.graph_commit_id
            self._content = self._ledger.intents[actor].applied_to(self._content)
        self._read_back(commit)

    def _read_back(self, commit: Commit) -> None:
        snapshot = self._graph.snapshot(commit=commit.graph_commit_id)
        self.versions_read += 1
        for name in TYPES:
            rows = snapshot.table(name).to_arrow().to_pylist()
            # A schema change adds or drops properties that nobody writes: null, or not there at all.
            found = {row["id"]: {name: value for name, value in row.items() if value is not None} for row in rows}
            if len(found) != len(rows):
                self._find(f"version {commit.graph_version} has {len(rows) - len(found)} ids of {name} twice")
            if found != self._content[name]:
                odd = {key for key in {*found, *self._content[name]} if found.get(key) != self._content[name].get(key)}
                self._find(f"version {commit.graph_version} by {commit.actor_id} has wrong {name}: {sorted(odd)[:5]}")

    def _judge(
        self, actor: str, commit: str | None, error: str | None, effect: str | None, message: str | None
    ) -> None:
        landed = self._commit_by_actor.get(actor)
        if error is None:
            self.acknowledged += commit is not None
            if commit != landed:
                self.lost += landed is None
                self._find(f"{actor} was told of commit {commit}, the history has {landed}")
            return
        self.refused[error] += 1
        if error not in EXPLAINED:
            self._find(f"{actor} met {error}: {message}")
        if effect == "none" and landed is not None:
            self._find(f"{actor} was told that nothing happened, the history has {landed}")

    def _find(self, what: str) -> None:
        self.findings.append(what)
