"""Values of the entities that a query has reached so far; what is asked for beyond them is read first."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.query.access import Codes, Numbers, Ordinals
from omnigraph.query.image.buffers import is_fixed, whole
from omnigraph.query.image.columns import plain_value
from omnigraph.query.run.arrays import arrow_of, distinct_sorted, numbers_of

_UNREAD, _ABSENT = -2, -1


class Cells:
    """Some columns of a table, which are read together, for more and more entities."""

    def __init__(self, schema: pa.Schema, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._schema = pa.schema([schema.field(name) for name in self.names])
        self._pieces: list[pa.Table] = []
        self._joined: dict[str, pa.Array] = {}
        self._count = 0
        self._places: NDArray[np.int64] = np.full(64, _UNREAD, np.int64)
        """By ordinal the place of its row among those that were read."""

    def unread(self, ordinals: Ordinals) -> Ordinals:
        """Return those of which nothing has been read, each once."""
        return distinct_sorted(ordinals[self._places_of(ordinals) == _UNREAD])

    def add(self, ordinals: Ordinals, rows: pa.Table) -> None:
        """Take the rows of entities, in the same order."""
        self._grow(ordinals)
        self._places[ordinals] = np.arange(self._count, self._count + len(ordinals))
        self._count += len(ordinals)
        self._pieces.append(rows.select(list(self.names)))
        self._joined.clear()

    def leave_out(self, ordinals: Ordinals) -> None:
        """Remember of whom there is no row, unless one has been taken."""
        self._grow(ordinals)
        missing = ordinals[self._places[ordinals] == _UNREAD]
        self._places[missing] = _ABSENT

    def is_there(self, ordinals: Ordinals) -> NDArray[np.bool_]:
        """Return which entities have a row among those that were read."""
        found: NDArray[np.bool_] = self._places_of(ordinals) >= 0
        return found

    def take(self, name: str, ordinals: Ordinals) -> pa.Array:
        """Return values in the order of the ordinals, null where there is no row."""
        places = self._places_of(ordinals)
        is_there = places >= 0
        values = self._values(name)
        if is_there.all():
            return values.take(arrow_of(places, pa.int64()))
        if not len(values):
            return pa.nulls(len(ordinals), values.type)
        return values.take(arrow_of(np.maximum(places, 0), pa.int64(), is_there))

    def _values(self, name: str) -> pa.Array:
        if name not in self._joined:
            chunks = [chunk for piece in self._pieces for chunk in piece[name].chunks]
            self._joined[name] = whole(pa.chunked_array(chunks, self._schema.field(name).type))
        return self._joined[name]

    def _places_of(self, ordinals: Ordinals) -> NDArray[np.int64]:
        self._grow(ordinals)
        return self._places[ordinals]

    def _grow(self, ordinals: Ordinals) -> None:
        size = int(ordinals.max(initial=-1)) + 1
        if size > len(self._places):
            more = np.full(max(size, 2 * len(self._places)) - len(self._places), _UNREAD, np.int64)
            self._places = np.concatenate((self._places, more))


class LookedUpColumn:
    """One property; the values that are asked for and have not been read are read first."""

    def __init__(
        self, kind: pa.DataType, take: Callable[[Ordinals], pa.Array], everyone: Callable[[], Ordinals]
    ) -> None:
        """Take what reads values, and what lists all ordinals that may be in use."""
        self.take = take
        self._everyone = everyone
        self._is_fixed = is_fixed(kind)

    def one(self, ordinal: int) -> Any:
        """Return one value, or None."""
        found = self.take(np.array([ordinal], np.int32))
        if not self._is_fixed:
            return plain_value(found, 0)
        values, valid = numbers_of(found)
        return values[0].item() if valid is None or valid[0] else None

    def numbers(self, ordinals: Ordinals | None = None) -> Numbers:
        """Return values of fixed width."""
        return numbers_of(self.take(self._everyone() if ordinals is None else ordinals))

    def codes(self, ordinals: Ordinals | None = None) -> Codes | None:  # noqa: ARG002 — as every column has it
        """Few strings are compared as they are."""
        return None
