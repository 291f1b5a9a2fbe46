"""Batches of a stream, each loaded once: what a batch is called stands on its commit, published together with its rows.

A stream repeats its last batch after a crash, because it cannot know whether the commit came through. Batches of a
stream are numbered upwards, so the newest commit of the stream tells: whatever is above its number is new. A number
that is there is no proof: a stream whose checkpoint was deleted, or put back from a copy, counts again from where it
finds itself, and brings rows that nobody has written. So the commit also says what the batch holds.
"""

from collections.abc import Iterator
from dataclasses import replace

from omnigraph.base.values import dataclass
from omnigraph.errors import StreamDiverged
from omnigraph.graphs.capture import Capture
from omnigraph.manifest.commits import Commit, CommitKind
from omnigraph.manifest.log import CommitLog
from omnigraph.writes.prepared import PreparedWrite, WriteIdentity, Writer
from omnigraph.writes.sidecar import SidecarKind

METADATA_NAME = "stream"
_WINDOW = 64
_GROWTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBatch:
    """One batch of one stream."""

    query_id: str
    batch_id: int
    content: str | None = None
    """What tells the rows of the batch from other rows, whatever their order; None trusts the number alone."""

    @classmethod
    def of(cls, commit: Commit) -> "StreamBatch | None":
        """Return the batch that a commit loaded, None if it is no commit of a stream."""
        found = commit.metadata.get(METADATA_NAME)
        if not found:
            return None
        return cls(query_id=found["query_id"], batch_id=found["batch_id"], content=found.get("content"))

    def metadata(self) -> dict[str, object]:
        """Spell the batch as it stands on its commit."""
        return {METADATA_NAME: {"query_id": self.query_id, "batch_id": self.batch_id, "content": self.content}}

    def is_on(self, log: CommitLog, head: Commit) -> bool:
        """Tell whether the history of a head holds this batch; looks back no further than to the stream's last one.

        Raises `StreamDiverged` when the number is taken and nothing shows that it stands for the same rows.
        """
        last: StreamBatch | None = None
        for commit in _backwards(log, head):
            found = StreamBatch.of(commit)
            if found is None or found.query_id != self.query_id:
                continue
            if last is None:
                last = found
                if last.batch_id < self.batch_id:
                    return False
                if self.content is None:
                    return True
            if found.batch_id == self.batch_id and found.content in {None, self.content}:
                return True
            if found.batch_id <= self.batch_id:
                break
        if last is None:
            return False
        raise self._diverged(last)

    def _diverged(self, last: "StreamBatch") -> StreamDiverged:
        return StreamDiverged(
            f"The stream {self.query_id} brings other rows as batch {self.batch_id} than were written under that "
            f"number; its last batch here is {last.batch_id}. Its checkpoint was deleted or replaced, or the query "
            "makes other rows each time it runs. Nothing was written. Go on with the checkpoint that belongs to it; to "
            'write all rows of the source again, give the stream another .option("queryId", …); for a query whose rows '
            'differ from run to run, set .option("batchIdentity", "number").',
            query_id=self.query_id,
            batch_id=self.batch_id,
        )


def _backwards(log: CommitLog, head: Commit) -> Iterator[Commit]:
    """Walk along the first parents, reading the log in growing steps: a live stream is found in the first."""
    newest, window = head.graph_version, _WINDOW
    while newest > 0:
        oldest = max(head.graph_version - window, 0)
        line = log.line_after(oldest, head=head)
        yield from (commit for commit in reversed(line) if commit.graph_version <= newest)
        newest, window = oldest, window * _GROWTH


@dataclass(kw_only=True)
class OnceWriter:
    """A write that happens unless its batch is there, judged anew on every head that it is prepared for."""

    inner: Writer
    batch: StreamBatch
    kind: SidecarKind
    commit_kind: CommitKind
    branch: str
    actor_id: str | None
    expected_head: str | None = None

    @classmethod
    def around(cls, inner: Writer, batch: StreamBatch) -> "OnceWriter":
        """Let a write happen once."""
        return cls(
            inner=inner,
            batch=batch,
            kind=inner.kind,
            commit_kind=inner.commit_kind,
            branch=inner.branch,
            actor_id=inner.actor_id,
        )

    @property
    def is_strict(self) -> bool:
        """As the write itself."""
        return self.inner.is_strict

    def prepare(self, capture: Capture, identity: WriteIdentity) -> PreparedWrite | None:
        """Prepare nothing if the batch is there, else the write with the batch on its commit."""
        context = capture.context
        if self.batch.is_on(context.log, context.manifest.load(self.branch).head):
            return None
        prepared = self.inner.prepare(capture, identity)
        return prepared and replace(prepared, metadata={**prepared.metadata, **self.batch.metadata()})
