"""The Spark data source `omnigraph`: one type of one snapshot as a data frame, and frames as rows of a type."""

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema

from omnigraph.errors import Usage
from omnigraph.spark.feed import FeedOptions, asks_for_changes
from omnigraph.spark.feed_reader import ChangesReader, ChangesStream
from omnigraph.spark.options import CHANGES_EITHER, CHANGES_FRAME, CHANGES_STREAM, STREAM, WRITE, Options
from omnigraph.spark.selection import TypeSelection
from omnigraph.spark.streaming import BatchNaming, BatchWriter, StreamSink
from omnigraph.spark.telling import sentence_first
from omnigraph.spark.writing import FrameWriter, WriteOptions


@sentence_first("schema", "reader", "writer", "streamWriter")  # not `streamReader`: behind it, Spark fails by itself
class OmniGraphSource(DataSource):
    """Reads and writes one type of a graph; `options` has the names that each of them takes.

    The graph version is chosen when the frame is made, so that all its actions read the same rows.

    Filters are an option, `where`, and not taken from Spark's plans: Spark 4.1 to 4.3 keep the reader that took the
    filters of one plan for all other plans of the same frame, which would then read too few rows
    (`tests/guards/test_spark_pushdown.py` tells when that is over).
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._chosen: TypeSelection | None = None
        self._between: tuple[str, str] | None = None

    @classmethod
    def name(cls) -> str:
        """Return what follows `format`."""
        return "omnigraph"

    def schema(self) -> Any:
        """Return the columns as Spark spells them."""
        if asks_for_changes(self.options):
            asked = FeedOptions.of(Options.of(self.options, CHANGES_EITHER))
            context = asked.context()
            if asked.start is not None:
                self._between = asked.between(context)
            return from_arrow_schema(asked.schema(context))
        return from_arrow_schema(self._selection().spark_schema())

    def reader(self, schema: Any) -> DataSourceReader:
        """Return what plans and reads."""
        if asks_for_changes(self.options):
            return self._changes(schema)
        return TypeReader(self._selection())

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 — Spark's name
        """Return what follows a branch."""
        if not asks_for_changes(self.options):
            raise Usage(
                'A stream reads changes: say .option("readChangeFeed", "true") with a type, for its columns and '
                "what happened to each row, or leave the type out for changes of all types as records.",
                flag="readChangeFeed",
            )
        return ChangesStream(FeedOptions.of(Options.of(self.options, CHANGES_STREAM)), schema)

    def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
        """Return what checks and commits a frame."""
        asked = Options.of(self.options, WRITE)
        options = WriteOptions.of(asked, overwrite=overwrite)
        batch_id = asked.number("batchId")
        if batch_id is not None:
            return BatchWriter(options, schema.names, BatchNaming.of(asked), batch_id)
        for name in ("queryId", "batchIdentity"):
            if asked.get(name) is not None:
                raise Usage(f'The option "{name}" is for batches of a stream; say which with "batchId".', flag=name)
        return FrameWriter(options, options.begin(schema.names))

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 — Spark's name
        """Return what checks and commits micro-batches."""
        asked = Options.of(self.options, STREAM)
        return StreamSink(WriteOptions.of(asked, overwrite=overwrite), schema.names, BatchNaming.of(asked))

    def _changes(self, schema: Any) -> DataSourceReader:
        """Choose the commits once, as the snapshot is chosen."""
        asked = FeedOptions.of(Options.of(self.options, CHANGES_FRAME))
        return ChangesReader(asked, schema, *(self._between or asked.between(asked.context())))

    def _selection(self) -> TypeSelection:
        """Choose once: Spark hands this very object on to whoever plans the read."""
        if self._chosen is None:
            self._chosen = TypeSelection.of(self.options)
        return self._chosen


class FragmentsPartition(InputPartition):
    """The fragments that one task reads."""

    def __init__(self, fragment_ids: tuple[int, ...]) -> None:
        super().__init__(fragment_ids)
        self.fragment_ids = fragment_ids


@sentence_first("partitions", "read")
class TypeReader(DataSourceReader):
    """Plans partitions by fragments and reads them with Lance."""

    def __init__(self, selection: TypeSelection) -> None:
        self._selection = selection

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition per group of fragments, and one without any for an empty table."""
        return [FragmentsPartition(fragment_ids) for fragment_ids in self._selection.partitions() or [()]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one partition, in a worker."""
        assert isinstance(partition, FragmentsPartition)
        if partition.fragment_ids:
            yield from self._selection.read(partition.fragment_ids)
