"""How much one interactive write may hold in memory, found out before any of it has an effect."""

import pyarrow as pa

from omnigraph.base.units import spell_bytes
from omnigraph.base.values import dataclass
from omnigraph.errors import ResourceLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteLimits:
    """The most that one write changes and reads to change it."""

    rows: int
    bytes: int


MUTATION_LIMITS = WriteLimits(rows=1_000_000, bytes=1 << 30)


class Budget:
    """What is left for one attempt of a write; without limits it never ends."""

    def __init__(self, limits: WriteLimits | None) -> None:
        self._limits = limits
        self._rows = 0
        self._bytes = 0

    def spend(self, rows: pa.Table) -> None:
        """Count rows that the write puts in, changes or removes."""
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        self._check(self._rows, self._bytes)

    def read_all(self, reader: pa.RecordBatchReader) -> pa.Table:
        """Read rows that are about to be changed, as long as they fit beside what is spent."""
        batches, rows, size = [], self._rows, self._bytes
        for batch in reader:
            batches.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
            self._check(rows, size)
        return pa.Table.from_batches(batches, reader.schema)

    def _check(self, rows: int, size: int) -> None:
        limits = self._limits
        if limits is None:
            return
        if rows > limits.rows:
            raise _too_large("mutation_rows", limits.rows, rows, f"more than {limits.rows:,} rows")
        if size > limits.bytes:
            raise _too_large("mutation_bytes", limits.bytes, size, f"rows of more than {spell_bytes(limits.bytes)}")


def _too_large(resource: str, limit: int, actual: int, extent: str) -> ResourceLimit:
    return ResourceLimit(
        f"The mutation would change {extent}, removed edges included; nothing was written. Split it, or change data "
        "with `omnigraph load`.",
        resource=resource,
        limit=limit,
        actual=actual,
    )
