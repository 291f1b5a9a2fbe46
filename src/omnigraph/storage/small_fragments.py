"""What small fragments hold, remembered: so that a look-up opens those that matter and not all.

Every small commit adds a fragment, and until optimize folds them into the index on a column, Lance opens each of them
for each value that is looked up. A data file is written once, so what a column of it holds is known for good once it
was read; what was deleted since is found out by whoever opens it.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Final, NamedTuple, Protocol

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


class ReadSome(Protocol):
    """Reads a column of some fragments."""

    def __call__(self, columns: Sequence[str], *, with_row_addresses: bool, fragment_ids: Sequence[int]) -> pa.Table:
        """Return the rows."""
        ...


def fragments_to_ask(dataset: Any, column: str, wanted: pa.Array, read: ReadSome) -> list[int] | None:
    """Return the fragments of a state that may hold one of the values; None where all should be asked."""
    small = _small_fragments(dataset)
    if not small:
        return None
    known = _known.find((small_one.path, column) for small_one in small.values())
    unknown = [number for number, held in small.items() if not held.is_thinned and (held.path, column) not in known]
    if unknown:
        new = _held(small, column, read([column], with_row_addresses=True, fragment_ids=unknown))
        _known.keep(new)
        known |= new
    sought = frozenset(wanted.to_pylist())
    everywhere = [fragment.fragment_id for fragment in dataset.get_fragments()]
    asked = [number for number in everywhere if _may_hold(small.get(number), column, known, sought)]
    return asked or everywhere[:1]  # An empty list would mean all of them.


class _Small(NamedTuple):
    """A small fragment."""

    path: str
    is_thinned: bool
    """Whether rows of it are deleted: then not all of its file is read, and nothing is learned of it."""


def _small_fragments(dataset: Any) -> dict[int, _Small]:
    fragments = dataset.get_fragments()
    if len(fragments) < FRAGMENTS_MIN:
        return {}
    found = {}
    for fragment in fragments:
        described = fragment.metadata
        if described.physical_rows <= ROWS_MAX and len(described.files) == 1 and not described.overlays:
            found[fragment.fragment_id] = _Small(data_path(described.files[0]), described.deletion_file is not None)
    return found if len(found) >= FRAGMENTS_MIN else {}


def _held(small: Mapping[int, _Small], column: str, rows: pa.Table) -> dict[Column, frozenset[str]]:
    """Return what fragments hold, of which `rows` are all."""
    held: dict[int, set[str]] = {}
    for value, address in zip(rows[column].to_pylist(), rows["_rowaddr"].to_pylist(), strict=True):
        held.setdefault(address >> 32, set()).add(value)
    return {(small[number].path, column): frozenset(values) for number, values in held.items()}


def _may_hold(
    small: _Small | None, column: str, known: Mapping[Column, frozenset[str]], sought: frozenset[str]
) -> bool:
    values = known.get((small.path, column)) if small is not None else None
    return values is None or not values.isdisjoint(sought)
