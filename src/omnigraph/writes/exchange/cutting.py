"""Rows cut by their values: those that a statement must see together are in one bucket, whoever read them."""

from collections.abc import Iterator
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.engine.local import worker_engine
from omnigraph.errors import EngineUnavailable

BUCKETS_MAX = 4096
_BUCKET_ROWS = 1 << 20
"""Rows of all relations together whose statements need a few hundred megabytes."""
_LONE_ROWS = 1 << 17
"""So few stay together: to cut them would take longer than to look at them on one worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """How many buckets there are, and proof that everyone cuts alike."""

    count: int
    mark: int

    @classmethod
    def of(cls, count: int, *, slots: int) -> "Buckets":
        """Return at least so many buckets, equally many for every slot if they are many."""
        if count > slots:
            count = min(-(-count // slots) * slots, BUCKETS_MAX)
        return cls(count=count, mark=_mark() if count > 1 else 0)

    @classmethod
    def for_rows(cls, rows: int, *, slots: int) -> "Buckets":
        """Choose buckets of bounded size, and one for every slot as soon as that is worth it."""
        return cls.of(1 if rows <= _LONE_ROWS else max(-(-rows // _BUCKET_ROWS), slots), slots=slots)

    def cut(self, rows: pa.Table, by: tuple[str, ...]) -> Iterator[tuple[int, pa.Table]]:
        """Cut rows by the values of columns: equal ones come into one bucket, on whichever machine."""
        if self.count == 1:
            yield 0, rows
            return
        if self.mark != _mark():
            raise EngineUnavailable(
                "Workers and driver run different versions of DuckDB, so they would cut keys differently. Give the "
                "executors the environment of the driver. Nothing was written.",
                engine="spark",
                missing="one version of DuckDB on all machines",
            )
        hashed = f"SELECT CAST(hash({', '.join(by)}) % {self.count} AS SMALLINT) AS bucket FROM rows"  # noqa: S608
        buckets = worker_engine(1).sql({"rows": rows.select(by)}, hashed)["bucket"]
        yield from cut_by_number(rows, buckets)


def cut_by_number(rows: pa.Table, numbers: pa.ChunkedArray) -> Iterator[tuple[int, pa.Table]]:
    """Cut rows by a number that stands beside each."""
    order = pc.sort_indices(numbers)
    rows, start = rows.take(order), 0
    for found in pc.value_counts(numbers.take(order)).to_pylist():
        yield found["values"], rows.slice(start, found["counts"])
        start += found["counts"]


@cache
def _mark() -> int:
    """Return how this process's DuckDB hashes; not every version does it alike."""
    return int(worker_engine(1).sql({}, "SELECT hash('omnigraph', 'mark') AS mark")["mark"][0].as_py())
