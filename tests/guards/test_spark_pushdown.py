"""Spark keeps the reader that took the filters of one plan for other plans of the same frame.

As long as this holds, a data source that takes filters reads too few rows whenever a frame is asked twice. When this
test fails, Spark has mended it, and `omnigraph.connectors.spark.source` may take filters again.
"""

from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def spark() -> Any:
    from support.spark_session import process_session

    session = process_session()
    before = session.conf.get("spark.sql.python.filterPushdown.enabled")
    session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    yield session
    session.conf.set("spark.sql.python.filterPushdown.enabled", before)


def test_a_pushed_filter_leaks_into_other_plans_of_the_frame(spark: Any) -> None:
    from pyspark.sql.datasource import DataSource, DataSourceReader, GreaterThan, InputPartition

    class Reader(DataSourceReader):
        def __init__(self) -> None:
            self.above = -1

        def pushFilters(self, filters: list[Any]) -> Iterator[Any]:  # noqa: N802 — Spark's name
            for condition in filters:
                if isinstance(condition, GreaterThan):
                    self.above = condition.value
                else:
                    yield condition

        def partitions(self) -> list[InputPartition]:
            return [InputPartition(self.above)]

        def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
            yield from ((number,) for number in range(10) if number > partition.value)

    class Numbers(DataSource):
        @classmethod
        def name(cls) -> str:
            return "guarded_numbers"

        def schema(self) -> str:
            return "n int"

        def reader(self, schema: Any) -> DataSourceReader:
            return Reader()

    spark.dataSource.register(Numbers)
    numbers = spark.read.format("guarded_numbers").load()

    assert numbers.where("n > 6").count() == 3
    assert numbers.count() == 3, "Spark no longer keeps the reader of another plan"
