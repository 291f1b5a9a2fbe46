"""What small fragments hold, remembered: so that a look-up opens those that matter and not all.

Every small commit adds a fragment, and until optimize folds them into the index on a column, Lance opens each of them
for each value that is looked up. A data file is written once, so what a column of it holds is known for good once it
was read; what was deleted since is found out by whoever opens it.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any, Final

import pyarrow as pa

from omnigraph.storage.data_paths import data_path

FRAGMENTS_MIN: Final = 32
"""Fewer are opened in no time."""
ROWS_MAX: Final = 256
"""Larger fragments are few, and take more memory than they save time."""
_VALUES_MAX: Final = 100_000

Column = tuple[str, str]
"""A data file, whose name is like no other, and a column in it."""


class KnownValues:
    """The values of columns of small files, as many as fit; several threads may share it."""

    def __init__(self, values_max: int = _VALUES_MAX) -> None:
        self._values: OrderedDict[Column, frozenset[str]] = OrderedDict()
        self._values_max = values_max
        self._count = 0
        self._lock = Lock()

    def find(self, columns: Iterable[Column]) -> dict[Column, frozenset[str]]:
        """Return what is known of these columns."""
        with self._lock:
            found = {column: values for column in columns if (values := self._values.get(column)) is not None}
            for column in found:
                self._values.move_to_end(column)
        return found

    def keep(self, values: Mapping[Column, frozenset[str]]) -> None:
        """Remember what columns hold; what was asked for least recently goes first."""
        with self._lock:
            for column, held in values.items():
                if column not in self._values:
                    self._values[column] = held
                    self._count += len(held)
            while self._count > self._values_max:
                self._count -= len(self._values.popitem(last=False)[1])


_known = KnownValues()


def small_fragments(dataset: Any) -> dict[int, tuple[str, bool]]:
    """Return the small fragments of a state: the name of each one's file, and whether rows of it are deleted."""
    fragments = dataset.get_fragments()
    if len(fragments) < FRAGMENTS_MIN:
        return {}
    found = {}
    for fragment in fragments:
        described = fragment.metadata
        if described.physical_rows <= ROWS_MAX and len(described.files) == 1 and not described.overlays:
            found[fragment.fragment_id] = (data_path(described.files[0]), described.deletion_file is not None)
    return found if len(found) >= FRAGMENTS_MIN else {}


def unknown_fragments(small: Mapping[int, tuple[str, bool]], column: str) -> list[int]:
    """Return those of which nothing is known yet, and of which no row is deleted: only then is all of a file read."""
    known = _known.find((path, column) for path, _ in small.values())
    return [number for number, (path, is_thinned) in small.items() if not is_thinned and (path, column) not in known]


def learn(small: Mapping[int, tuple[str, bool]], column: str, rows: pa.Table, addresses: pa.Array) -> None:
    """Remember what fragments hold, of which `rows` are all."""
    held: dict[int, set[str]] = {}
    for value, address in zip(rows[column].to_pylist(), addresses.to_pylist(), strict=True):
        held.setdefault(address >> 32, set()).add(value)
    _known.keep({(small[number][0], column): frozenset(values) for number, values in held.items()})


def without_needless(
    fragment_ids: Iterable[int], small: Mapping[int, tuple[str, bool]], column: str, wanted: frozenset[str]
) -> list[int]:
    """Leave out the fragments that are known to hold none of the values."""
    known = _known.find((path, column) for path, _ in small.values())
    return [
        number
        for number in fragment_ids
        if number not in small
        or (values := known.get((small[number][0], column))) is None
        or not values.isdisjoint(wanted)
    ]
