"""Reading changes: as a stream whose offsets are the feed's cursors, or as a frame between two commits.

One process beside the driver plans: it looks at the commit log and at pins, and opens tables. Workers find and read
the changes themselves.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow

from omnigraph.base import clock, ids
from omnigraph.changes.carrying import carry_out
from omnigraph.changes.feed import Feed
from omnigraph.changes.pairs import TypePair
from omnigraph.changes.parts import ChangePart, batched, plan_parts
from omnigraph.connectors.spark.feed import FeedOptions, advising_readers
from omnigraph.connectors.spark.feed_rows import fitted, records_of, rows_of, type_schema
from omnigraph.connectors.spark.offsets import Beginning, Offset, stretch
from omnigraph.connectors.spark.telling import sentence_first
from omnigraph.errors import ChangeFeedGap, SchemaBoundary
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit
from omnigraph.storage.store import GraphStore
from omnigraph.storage.worker_files import shared_with_workers

_IDLE_SECONDS = 0.2
"""Spark asks for news without a pause; a look at a bucket is a request."""


class ChangesPartition(InputPartition):
    """The changes that one task reads."""

    def __init__(self, parts: tuple[ChangePart, ...]) -> None:
        super().__init__(parts)
        self.parts = parts


class _ChangesReader:
    """What both readers do; plain data, but for the graph that the planning process keeps open."""

    def __init__(self, options: FeedOptions, schema: Any) -> None:
        self._options = options
        self._schema: pa.Schema = to_arrow_schema(schema, timezone="UTC")
        self._context: GraphContext | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Travel to the workers without what is open."""
        return {**self.__dict__, "_context": None}

    def _opened(self) -> GraphContext:
        if self._context is None:
            self._context = self._options.context()
        return self._context

    def _feed(self) -> Feed:
        return self._options.feed(self._opened())

    def _plan(self, blocks: Sequence[tuple[Commit, tuple[TypePair, ...]]]) -> list[InputPartition]:
        operation_id = ids.new_ulid()
        parts = (
            part
            for cause, pairs in blocks
            for part in plan_parts(self._opened(), cause, pairs, operation_id=operation_id)
        )
        return [ChangesPartition(batch) for batch in batched(parts)]

    def _blocks(self, feed: Feed, line: Sequence[Commit]) -> Iterator[tuple[Commit, tuple[TypePair, ...]]]:
        for before, cause in pairwise(line):
            pairs = feed.pairs_of(before, cause)
            for pair in pairs:
                self._refuse_new_columns(cause, pair)
            yield cause, pairs

    def _refuse_new_columns(self, cause: Commit, pair: TypePair) -> None:
        """Refuse columns that the rows of this query have no place for: they would get lost in silence."""
        if self._options.type_name is None or pair.after is None:
            return
        for field in type_schema(pair.after.entity):
            if field.name not in self._schema.names:
                raise SchemaBoundary(
                    f"{pair.type.name} has the column {field.name} since commit {cause.graph_commit_id}, and this "
                    "query was started without it. Start it again: it goes on from its checkpoint, with the column.",
                    reason="schema_boundary",
                    graph_commit_id=cause.graph_commit_id,
                    type_name=pair.type.name,
                    column=field.name,
                )

    @contextmanager
    def _reaching_store(self, parts: Sequence[ChangePart]) -> Iterator[None]:
        """Let a worker find the store by what the options say of it, if they say anything."""
        with ExitStack() as held:
            for part in parts[:1] if self._options.storage else ():
                held.enter_context(
                    shared_with_workers(GraphStore.open(part.uri, self._options.storage), part.operation_id)
                )
            yield

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the changes of one partition, in a worker."""
        assert isinstance(partition, ChangesPartition)
        with advising_readers(), self._reaching_store(partition.parts):
            for part in partition.parts:
                for chunk in carry_out(part):
                    is_typed = self._options.type_name is not None
                    for rows in rows_of(chunk, self._schema.names) if is_typed else records_of(chunk):
                        yield from fitted(rows, self._schema).combine_chunks().to_batches()


@sentence_first("partitions", "read")
class ChangesReader(_ChangesReader, DataSourceReader):
    """Reads the changes between two commits, both included, as a frame."""

    def __init__(self, options: FeedOptions, schema: Any, begin: str, end: str) -> None:
        super().__init__(options, schema)
        self._begin = begin
        self._end = end

    def partitions(self) -> Sequence[InputPartition]:
        """Plan the changes; a frame without any has one partition with nothing to read."""
        with advising_readers():
            feed = self._feed()
            line = feed.line(self._begin, self._end)
            return self._plan(list(self._blocks(feed, line))) or [ChangesPartition(())]


@sentence_first("initialOffset", "latestOffset", "partitions", "read")
class ChangesStream(_ChangesReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows a branch; every batch is the changes of some whole commits."""

    def __init__(self, options: FeedOptions, schema: Any) -> None:
        super().__init__(options, schema)
        self._target: str | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 — Spark's name
        """Return where a query begins that has no checkpoint yet."""
        with advising_readers():
            feed = self._feed()
            begun = self._options.started(self._opened(), feed)
            commit = begun or feed.head
            beginning = Beginning(cursor=feed.cursor_behind(commit), has_state=begun is None)
            return Offset.initial(commit, beginning).to_document()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 — Spark's name
        """Return the end of the next batch: as many commits as are there and allowed, and whose changes can be told."""
        done = Offset.from_document(start)
        with advising_readers():
            feed = self._feed()
            if done.is_before_state:
                return done.behind_state().to_document()
            line = feed.line(done.cursor, self._target)
            if len(line) == 1:
                if self._target is None:
                    clock.sleep_seconds(_IDLE_SECONDS)
                return start
            if isinstance(limit, ReadMaxFiles):
                line = line[: limit.max_files + 1]
            last = self._last_told(feed, line)
            return done.moved(last, feed.cursor_behind(last)).to_document()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 — Spark's name
        """Bound a batch by its commits, for which Spark has no word of its own."""
        return ReadMaxFiles(self._options.commits_max)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 — Spark's name
        """Take the head as it is now as the end of the run."""
        with advising_readers():
            self._target = self._feed().head_cursor

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Plan a batch."""
        with advising_readers():
            feed = self._feed()
            begun, last = stretch(Offset.from_document(start), Offset.from_document(end))
            line = feed.line(begun.cursor, last.cursor)
            if begun.has_state:
                return self._plan([(line[0], feed.types_at(line[0]))])
            return self._plan(list(self._blocks(feed, line)))

    def _last_told(self, feed: Feed, line: Sequence[Commit]) -> Commit:
        """Return the last commit up to which all changes can be told; raise if that is none."""
        last = line[0]
        try:
            for cause, _ in self._blocks(feed, line):
                last = cause
        except (ChangeFeedGap, SchemaBoundary):
            if last is line[0]:
                raise
        return last
