"""Frames of records: each row is one line of graph NDJSON, so that nodes and edges of all types come in one frame."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog
from omnigraph.errors import Usage
from omnigraph.records.parse import ParsedChunk, parse_chunk

VALUE = "value"
"""What the column is called, as in Spark's text and Kafka sources."""

_NO_RECORD = b"null"
_BROKEN = b"\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLines:
    """How the rows of a frame become records of any type."""

    catalog: Catalog
    name: str
    """How error reports call the frame."""

    def parse(
        self, batches: Iterable[pa.RecordBatch], *, file_index: int, max_errors: int, is_start: bool = True
    ) -> Iterator[ParsedChunk]:
        """Read and check rows, batch by batch; their numbers begin with 1."""
        del is_start  # there is nothing to say about the frame as a whole
        first_line = 1
        for batch in batches:
            if not batch.num_rows:
                continue
            yield parse_chunk(
                b"".join(map(_line, batch[VALUE].cast(pa.large_binary()).to_pylist())),
                first_line=first_line,
                file_index=file_index,
                catalog=self.catalog,
                max_errors=max_errors,
            )
            first_line += batch.num_rows

    def check_columns(self, names: Sequence[str], *, max_errors: int) -> None:
        """Refuse a frame that holds something else."""
        del max_errors
        if list(names) != [VALUE]:
            raise Usage(
                f"A frame without a type has one column, {VALUE}, with a record in each row as load reads them; this "
                f"one has {', '.join(names)}. Make such a column, or name the type whose properties the columns are."
            )


def _line(value: bytes | None) -> bytes:
    """Spell a value as one line. A missing one is refused as what it is: to pass over it would lose a record."""
    if value is None:
        return _NO_RECORD + b"\n"
    # A value is one record on one line; with a line end inside it is none, and must not become two.
    return value.rstrip().replace(b"\n", _BROKEN) + b"\n"
