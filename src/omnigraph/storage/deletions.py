"""Rows that go from a table: as deletion files, one for each fragment that keeps others, and emptied fragments.

Whoever knows which rows go may write the files, on any worker. Only while their ref does not exist yet must somebody
wait for it: deletion files lie in the tree of the ref that they belong to.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.storage.checksums import read_back
from omnigraph.storage.file_references import written_deletions
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table

_NUMBERS_AT_ONCE = 1 << 16

Offsets = Iterable[tuple[int, pa.Array]]
"""Fragments, each with the offsets of the rows that go from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedRows:
    """The rows that a change removes or replaces."""

    deletions: tuple[str, ...] = ()
    """What `write_deletions` says of fragments that keep rows."""
    emptied: tuple[int, ...] = ()
    waiting: Callable[[], Offsets] | None = None
    """Finds rows whose deletion files have no place yet: asked when they have one, fragment by fragment."""

    def __bool__(self) -> bool:
        """Whether any row goes."""
        return bool(self.deletions or self.emptied or self.waiting is not None)

    @property
    def checksums(self) -> dict[str, str]:
        """Return those of the deletion files that are written, see `checksums.py`."""
        return {name: value for text in self.deletions for name, value in json.loads(text)["crc32"].items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinnedFragments:
    """What is left of fragments: those that keep rows as a commit needs them, and the ids of those that keep none."""

    updated: list[Any] = field(default_factory=list)
    emptied: list[int] = field(default_factory=list)


def offsets_by_fragment(addresses: pa.Array) -> Iterator[tuple[int, pa.Array]]:
    """Divide row addresses: a fragment id in the upper and the row offset in the lower 32 bits."""
    addresses = addresses.take(pc.sort_indices(addresses))
    fragment_ids = pc.shift_right(addresses, pa.scalar(32, pa.uint64()))
    offsets = pc.bit_wise_and(addresses, pa.scalar(0xFFFFFFFF, pa.uint64()))
    start = 0
    for found in pc.value_counts(fragment_ids).to_pylist():
        yield found["values"], offsets.slice(start, found["counts"])
        start += found["counts"]


def delete_rows(table: Table, offsets: Offsets) -> ThinnedFragments:
    """Write deletion files."""
    thinned = ThinnedFragments()
    for fragment_id, gone in offsets:
        fragment = table.dataset.get_fragment(fragment_id)
        with translated(doing=f"writing a deletion file of {table.address.path}", uri=table.address.path):
            metadata = fragment.delete_rows(_numbers(gone))
        if metadata is None:
            thinned.emptied.append(fragment_id)
        else:
            thinned.updated.append(metadata)
    return thinned


def write_deletions(store: TableStore, table: Table, offsets: Offsets) -> RemovedRows:
    """Write deletion files on a worker; a commit will name them."""
    thinned = delete_rows(table, offsets)
    return RemovedRows(
        deletions=tuple(_described(store, table, metadata) for metadata in thinned.updated),
        emptied=tuple(thinned.emptied),
    )


def thinned_fragments(table: Table, removed: RemovedRows) -> ThinnedFragments:
    """Take in what workers said of their deletion files."""
    from lance.fragment import DeletionFile

    described = [json.loads(text) for text in removed.deletions]
    return ThinnedFragments(
        updated=[
            replace(
                table.dataset.get_fragment(made["fragment"]).metadata, deletion_file=DeletionFile(**made["deletion"])
            )
            for made in described
        ],
        emptied=list(removed.emptied),
    )


def _numbers(offsets: pa.Array) -> Iterator[int]:
    """Yield numbers a few at a time, without numpy, which a command does without."""
    for start in range(0, len(offsets), _NUMBERS_AT_ONCE):
        yield from offsets.slice(start, _NUMBERS_AT_ONCE).to_pylist()


def _described(store: TableStore, table: Table, metadata: Any) -> str:
    sums = read_back(store.objects, written_deletions(table.address, [metadata]), has_blobs=False)
    return json.dumps({"fragment": metadata.id, "deletion": metadata.deletion_file.asdict(), "crc32": sums})
