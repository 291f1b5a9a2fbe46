"""The streaming sink: every micro-batch is one commit, and a batch that Spark repeats after a crash is left out.

Spark makes one writer for the workers of a batch and another for its commit, so that messages carry what both share.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from omnigraph.base.events import ignore_events
from omnigraph.errors import Usage
from omnigraph.pipeline.load.bulk.partitions import keep_partition
from omnigraph.pipeline.load.frames import FrameLoad
from omnigraph.pipeline.load.once import StreamBatch
from omnigraph.spark.writing import PartitionMessage, WriteOptions, kept_partitions, naming_records, partition_number

_QUERY_ID = "sql.streaming.queryId"
"""Where Spark tells tasks the id of their query. It stays the same as long as the query has its checkpoint."""


@dataclass(frozen=True)
class BatchMessage(PartitionMessage):
    """What a worker tells whoever commits the batch."""

    load: FrameLoad
    query_id: str


class StreamSink(DataSourceStreamArrowWriter):
    """Writes micro-batches as commits."""

    def __init__(self, options: WriteOptions, names: list[str], query_id: str | None) -> None:
        self._options = options
        self._query_id = query_id
        self._load = options.begin(names)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> BatchMessage:
        """Check and keep the rows of one partition, in a worker."""
        query_id = self._query_id or _query_of_task()
        kept = keep_partition(self._load.task, partition_number(), iterator)
        return BatchMessage(kept=kept, load=self._load, query_id=query_id)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 — Spark's name
        """Publish what the workers have kept, unless this batch is published."""
        for first in _messages(messages)[:1]:
            batch = StreamBatch(query_id=first.query_id, batch_id=batchId)
            with naming_records():
                first.load.commit(self._options.context(), kept_partitions(messages), ignore_events, batch=batch)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 — Spark's name
        """Remove what the workers have kept; one that failed has removed its own."""
        del batchId
        for first in _messages(messages)[:1]:
            first.load.abandon(self._options.context().store)


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
