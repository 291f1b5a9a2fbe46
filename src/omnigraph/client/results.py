"""Rows that came as JSON: read as they are, and made into Arrow when somebody asks for it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from omnigraph.graphs.result import Result

if TYPE_CHECKING:
    import pyarrow as pa


class ServedResult(Result):
    """The answer to a query that a server ran.

    Values are those of JSON: dates and moments are texts, and a column has the type that fits all of its values.
    """

    def __init__(
        self,
        columns: Sequence[str],
        records: Sequence[Mapping[str, Any]],
        *,
        query_name: str,
        branch: str,
        commit_id: str,
    ) -> None:
        self._columns = tuple(columns)
        self._records = records
        self.query_name = query_name
        self.branch = branch
        self.commit_id = commit_id

    def __len__(self) -> int:
        return len(self._records)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the order of `return`."""
        return self._columns

    def json_rows(self, *, limit: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Return the values as they came, row by row."""
        records = self._records if limit is None else self._records[:limit]
        return (tuple(record[name] for name in self._columns) for record in records)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [dict(zip(self._columns, row, strict=True)) for row in self.json_rows()]

    @cached_property
    def _rows(self) -> "pa.Table":
        import pyarrow as pa

        columns = [_array([record[name] for record in self._records]) for name in self._columns]
        return pa.table(columns, names=list(self._columns))


def _array(values: list[Any]) -> "pa.Array":
    """Make a column of values of JSON; whole numbers beyond 63 bits have none, and what fits no type is text."""
    import json

    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        pass
    try:
        return pa.array(values, pa.uint64())
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError):
        return pa.array([None if value is None else json.dumps(value, ensure_ascii=False) for value in values])
