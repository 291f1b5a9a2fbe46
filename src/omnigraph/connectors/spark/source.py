"""The Spark data source `omnigraph`: one type of one snapshot as a data frame, and frames as rows of a type."""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
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

from omnigraph.connectors.spark.feed import FeedOptions, asks_for_changes, refuse_forgotten_type
from omnigraph.connectors.spark.feed_reader import ChangesReader, ChangesStream
from omnigraph.connectors.spark.options import (
    CHANGES_EITHER,
    CHANGES_FRAME,
    CHANGES_STREAM,
    READ,
    STREAM,
    WRITE,
    Options,
)
from omnigraph.connectors.spark.partitions import FragmentPart
from omnigraph.connectors.spark.streaming import BatchNaming, BatchWriter, StreamSink
from omnigraph.connectors.spark.tables import is_new_table, remembered, remembering
from omnigraph.connectors.spark.telling import sentence_first
from omnigraph.connectors.spark.type_read import TypeRead
from omnigraph.connectors.spark.writing import FrameWriter, WriteOptions
from omnigraph.errors import Usage

_NOTHING = FragmentPart(fragment_ids=(), rows=0)


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
        self._chosen: TypeRead | None = None
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
            return self._kept_by_tables(from_arrow_schema(asked.schema(context)), CHANGES_EITHER)
        return self._kept_by_tables(from_arrow_schema(self._selection().spark_schema()), READ)

    def reader(self, schema: Any) -> DataSourceReader:
        """Return what plans and reads; a schema that somebody gave chooses columns by their names."""
        options = self.options or remembered(schema)
        refuse_forgotten_type(options)
        if asks_for_changes(options):
            return self._changes(schema, options)
        if self._chosen is None:
            self._chosen = TypeRead.of(options, schema.names)
            refuse_other_types(self._chosen, schema)
        return TypeReader(self._chosen, may_be_null=tuple(field.nullable for field in schema))

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
        batch_id = asked.number("batchId")
        options = WriteOptions.of(asked, overwrite=overwrite, is_batch=batch_id is not None)
        if batch_id is not None:
            return BatchWriter(options, schema.names, BatchNaming.of(asked), batch_id)
        for name in ("queryId", "batchIdentity"):
            if asked.get(name) is not None:
                raise Usage(f'The option "{name}" is for batches of a stream; say which with "batchId".', flag=name)
        return FrameWriter(options, options.begin(schema.names))

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 — Spark's name
        """Return what checks and commits micro-batches."""
        asked = Options.of(self.options, STREAM)
        options = WriteOptions.of(asked, overwrite=overwrite, is_batch=True)
        return StreamSink(options, schema.names, BatchNaming.of(asked))

    def _kept_by_tables(self, columns: Any, known: tuple[str, ...]) -> Any:
        return remembering(columns, Options.of(self.options, known)) if is_new_table(self.options) else columns

    def _changes(self, schema: Any, options: Mapping[str, str]) -> DataSourceReader:
        """Choose the commits once, as the snapshot is chosen."""
        asked = FeedOptions.of(Options.of(options, CHANGES_FRAME))
        return ChangesReader(asked, schema, *(self._between or asked.between(asked.context())))

    def _selection(self) -> TypeRead:
        """Choose once: Spark hands this very object on to whoever plans the read."""
        if self._chosen is None:
            self._chosen = TypeRead.of(self.options)
        return self._chosen


class FragmentsPartition(InputPartition):
    """What one task reads."""

    def __init__(self, part: FragmentPart) -> None:
        super().__init__(part)
        self.part = part


@sentence_first("partitions", "read")
class TypeReader(DataSourceReader):
    """Plans partitions by fragments and reads them with Lance."""

    def __init__(self, selection: TypeRead, *, may_be_null: tuple[bool, ...]) -> None:
        self._selection = selection
        self._may_be_null = may_be_null

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition per part of the table, and one with nothing to read for an empty table."""
        return [FragmentsPartition(part) for part in self._selection.parts() or [_NOTHING]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one partition, in a worker."""
        assert isinstance(partition, FragmentsPartition)
        if partition.part.rows:
            for batch in self._selection.read(partition.part):
                yield self._as_expected(batch)

    def _as_expected(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Spell columns that are never null as Spark has them in its schema; it compares the two."""
        if not batch.num_columns:
            return batch
        fields = [
            field.with_nullable(may_be_null) for field, may_be_null in zip(batch.schema, self._may_be_null, strict=True)
        ]
        return pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))


def refuse_other_types(chosen: TypeRead, schema: Any) -> None:
    """Refuse a schema that gives columns other types than they have: what was read would be something else."""
    for known, given in zip(from_arrow_schema(chosen.spark_schema()), schema, strict=True):
        stored, said = known.dataType.simpleString(), given.dataType.simpleString()
        if stored != said or (known.nullable and not given.nullable):
            optional = "" if stored != said else " and may be null"
            raise Usage(
                f"The schema says that {chosen.pin.type_name}.{known.name} is {said}, and it is {stored}{optional}; "
                "leave the schema out, or correct it."
            )
