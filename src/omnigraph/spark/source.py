"""The Spark data source `omnigraph`: one type of one snapshot as a data frame, and frames as rows of a type."""

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema

from omnigraph.spark.pushdown import spell_filter
from omnigraph.spark.selection import TypeSelection
from omnigraph.spark.streaming import StreamSink
from omnigraph.spark.writing import FrameWriter, WriteOptions


def register(spark: Any) -> None:
    """Make `spark.read.format("omnigraph")` known to a session, and let filters go down into Lance."""
    spark.dataSource.register(OmniGraphSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


class OmniGraphSource(DataSource):
    """Reads `graph`, `type` and optionally `branch`, `commit`, `version` and `columns`.

    The graph version is chosen when the frame is made, so that all its actions read the same rows. A write takes
    `graph`, `type`, `loadMode` and optionally `branch`, `actor` and `maxErrors`, a stream also `queryId`.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._chosen: TypeSelection | None = None

    @classmethod
    def name(cls) -> str:
        """Return what follows `format`."""
        return "omnigraph"

    def schema(self) -> Any:
        """Return the columns as Spark spells them."""
        return from_arrow_schema(self._selection().spark_schema())

    def reader(self, schema: Any) -> DataSourceReader:
        """Return what plans and reads."""
        del schema
        return TypeReader(self._selection())

    def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
        """Return what checks and commits a frame."""
        options = WriteOptions.of(self.options, overwrite=overwrite)
        return FrameWriter(options, options.begin(schema.names))

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 — Spark's name
        """Return what checks and commits micro-batches."""
        options = WriteOptions.of(self.options, overwrite=overwrite)
        return StreamSink(options, schema.names, self.options.get("queryId"))

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


class TypeReader(DataSourceReader):
    """Plans partitions by fragments and reads them with Lance."""

    def __init__(self, selection: TypeSelection) -> None:
        self._selection = selection
        self._where: list[str] = []

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 — Spark's name
        """Keep the filters that Lance can apply; yield the others back to Spark."""
        schema = self._selection.open().schema
        for condition in filters:
            spelled = spell_filter(condition, schema)
            if spelled is None:
                yield condition
            else:
                self._where.append(f"({spelled})")

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition per group of fragments, and one without any for an empty table."""
        return [FragmentsPartition(fragment_ids) for fragment_ids in self._selection.partitions() or [()]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one partition, in a worker."""
        assert isinstance(partition, FragmentsPartition)
        if partition.fragment_ids:
            yield from self._selection.read(partition.fragment_ids, " AND ".join(self._where) or None)
