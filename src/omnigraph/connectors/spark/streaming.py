"""Batches of a stream: every one is a commit, and one that Spark repeats after a crash is left out.

Spark makes one writer for the workers of a batch and another for its commit, so that messages carry what both share.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from omnigraph.connectors.spark.options import Options
from omnigraph.connectors.spark.telling import sentence_first
from omnigraph.connectors.spark.writing import PartitionMessage, WriteOptions
from omnigraph.engine.local import worker_engine
from omnigraph.errors import Usage
from omnigraph.pipeline.load.frames import FrameLoad
from omnigraph.pipeline.load.once import StreamBatch

_SUM_SPACE = 1 << 64
_ROW_SUM = "SELECT CAST(sum(CAST(md5_number_lower(CAST(rows AS VARCHAR)) AS HUGEINT)) AS VARCHAR) AS total FROM rows"
_QUERY_ID = "sql.streaming.queryId"
"""Where Spark tells tasks the id of their query. It stays the same as long as the query has its checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNaming:
    """How a batch is told from others: by the name of its stream, its number and, unless told otherwise, its rows."""

    query_id: str | None
    """None is the name that Spark has for the query."""
    counts_content: bool

    @classmethod
    def of(cls, options: Options) -> "BatchNaming":
        """Read the options of a stream."""
        identity = options.get("batchIdentity") or "content"
        if identity not in {"content", "number"}:
            raise Usage(f'The option "batchIdentity" is {identity!r}; it is content or number.', flag="batchIdentity")
        return cls(query_id=options.get("queryId"), counts_content=identity == "content")


@dataclass(frozen=True)
class BatchMessage(PartitionMessage):
    """What a worker tells whoever commits the batch."""

    load: FrameLoad
    query_id: str
    content: int
    """The sum over the rows of the partition of a number that each row gives, whatever their order."""


class _Batches:
    """Keeps and commits batches, whoever calls for it."""

    def __init__(self, options: WriteOptions, names: list[str], naming: BatchNaming) -> None:
        self._options = options
        self._naming = naming
        self._load = options.begin(names)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> BatchMessage:
        """Check and keep the rows of one partition, in a worker."""
        query_id = self._naming.query_id or _query_of_task()
        content = RowSum()
        rows = content.over(iterator) if self._naming.counts_content else iterator
        kept = self._options.keep(self._load.task, rows)
        return BatchMessage(kept=kept, load=self._load, query_id=query_id, content=content.total)

    def _commit(self, messages: list[WriterCommitMessage | None], batch_id: int) -> None:
        for first in _messages(messages)[:1]:
            content = sum(message.content for message in _messages(messages)) % _SUM_SPACE
            batch = StreamBatch(
                query_id=first.query_id,
                batch_id=batch_id,
                content=f"{content:016x}" if self._naming.counts_content else None,
            )
            self._options.commit(
                first.load,
                messages,
                what=f"batch {batch_id} of {first.query_id}",
                batch=batch,
                bad_records=self._options.bad_records(first.query_id, f"batch-{batch_id:08d}"),
            )

    def _abort(self, messages: list[WriterCommitMessage | None]) -> None:
        for first in _messages(messages)[:1]:
            first.load.abandon(self._options.context().store)


@sentence_first("write", "commit", "abort")
class StreamSink(_Batches, DataSourceStreamArrowWriter):
    """Writes micro-batches as commits."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 — Spark's name
        """Publish what the workers have kept, unless this batch is published."""
        self._commit(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 — Spark's name
        """Remove what the workers have kept; one that failed has removed its own."""
        del batchId
        self._abort(messages)


@sentence_first("write", "commit", "abort")
class BatchWriter(_Batches, DataSourceArrowWriter):
    """Writes a frame as a batch whose number is known, as inside `foreachBatch`."""

    def __init__(self, options: WriteOptions, names: list[str], naming: BatchNaming, batch_id: int) -> None:
        super().__init__(options, names, naming)
        self._batch_id = batch_id

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish what the workers have kept, unless this batch is published."""
        self._commit(messages, self._batch_id)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove what the workers have kept; one that failed has removed its own."""
        self._abort(messages)


class RowSum:
    """Adds up what the rows say while they pass: equal for equal rows, in whatever order and batches they come."""

    def __init__(self) -> None:
        self.total = 0

    def over(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Hand the rows on."""
        for batch in batches:
            if batch.num_rows:
                answer = worker_engine(1).sql({"rows": pa.Table.from_batches([batch])}, _ROW_SUM)
                self.total = (self.total + int(answer["total"][0].as_py())) % _SUM_SPACE
            yield batch


def _messages(messages: list[WriterCommitMessage | None]) -> list[BatchMessage]:
    return [message for message in messages if isinstance(message, BatchMessage)]


def _query_of_task() -> str:
    context: Any = TaskContext.get()
    found = context.getLocalProperty(_QUERY_ID)
    if not found:
        raise Usage(
            "This Spark does not tell the sink which query it serves. Name the stream with "
            '.option("queryId", …): a name of its own, the same after every restart.',
            flag="queryId",
        )
    return str(found)
