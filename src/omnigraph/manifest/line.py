"""The first-parent line of a branch, a stretch at a time.

The rows of a branch's manifest name the commit of nearly every graph version, and they are in memory. So a stretch is
found from its own numbers, wherever in a long history it lies; nobody walks there from the newest commit.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.manifest.commits import Commit, CommitId
from omnigraph.manifest.log import CommitLog
from omnigraph.manifest.snapshot import GraphSnapshot, advance
from omnigraph.manifest.state import ManifestState


class BranchLine:
    """The commits of one branch as one state of its manifest knows them, genesis first."""

    def __init__(self, log: CommitLog, state: ManifestState) -> None:
        self._log = log
        self._state = state

    def at(self, graph_version: int) -> Commit:
        """Return the commit that made a graph version; the branch has it."""
        return self.stretch(graph_version, graph_version)[0]

    def first(self) -> Commit:
        """Return the oldest commit."""
        if self._state.head.graph_version >= 1:
            found = self.stretch(1, 1)
            if found and found[0].parent_commit_id is None:
                return found[0]
        return self._log.line_after(0, head=self._state.head)[0]

    def stretch(self, first: int, last: int) -> list[Commit]:
        """Return the commits that made these graph versions, oldest first; reads them and hardly any others."""
        head = self._state.head
        last = min(last, head.graph_version)
        if last < first:
            return []
        version, commit_id = self._named_from(last)
        line = self._log.line_down(commit_id, version=version, down_to=first, head=head)
        return [commit for commit in line if commit.graph_version <= last]

    def _named_from(self, version: int) -> tuple[int, CommitId]:
        """Return the oldest commit from a graph version on that some row names: one without rows of its own is in none.

        Those that are not named are found as the parents of the one that is.
        """
        head = self._state.head
        if version < head.graph_version:
            rows = self._state.rows.select(["graph_version", "graph_commit_id"])
            wanted = pa.scalar(version, pa.uint64())
            for compare in (pc.equal, pc.greater_equal):
                found = rows.filter(compare(rows["graph_version"], wanted))
                found = found.filter(pc.is_valid(found["graph_commit_id"]))
                if found.num_rows:
                    oldest = pc.index(found["graph_version"], pc.min(found["graph_version"])).as_py()
                    return found["graph_version"][oldest].as_py(), CommitId(found["graph_commit_id"][oldest].as_py())
        return head.graph_version, head.graph_commit_id


def snapshots_along(state: ManifestState, line: Sequence[Commit]) -> Iterator[GraphSnapshot]:
    """Yield the snapshots of neighbouring commits of a branch, oldest first.

    Each is made of the one before, so that it costs what the commit published and not all of history. Raises where
    `snapshot_at` does.
    """
    first, last = line[0].graph_version, line[-1].graph_version
    versions = state.rows["graph_version"]
    published = state.rows.filter(
        pc.and_(
            pc.greater(versions, pa.scalar(first, pa.uint64())),
            pc.less_equal(versions, pa.scalar(last, pa.uint64())),
        )
    )
    snapshot = state.snapshot_at(first, line[0].graph_commit_id)
    yield snapshot
    for commit in line[1:]:
        rows = published.filter(pc.equal(published["graph_version"], pa.scalar(commit.graph_version, pa.uint64())))
        moved = advance(snapshot, rows, head=commit)
        snapshot = moved or state.snapshot_at(commit.graph_version, commit.graph_commit_id)
        yield snapshot
