"""How a table lies on disk: its fragments, what is deleted in them, and which of them each index covers.

Read from the metadata of one version alone: no data file is opened, so looking at a table costs the same at any size.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.catalog.index_kinds import IndexKind
from omnigraph.storage.blob_columns import blob_columns
from omnigraph.storage.index_kinds import kind_described, lance_index
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, storage_error, translated
from omnigraph.storage.tables import Table

_FOREIGN_KINDS_WITH_ADDRESSES = frozenset({"ZoneMap", "BloomFilter"})
"""What Lance calls indexes by address that others may have built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentLayout:
    """One fragment of a table."""

    fragment_id: int
    physical_rows: int
    deleted_rows: int
    bytes: int

    @property
    def live_rows(self) -> int:
        """Rows that readers see."""
        return self.physical_rows - self.deleted_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLayout:
    """One committed piece of an index, in the words that a transaction needs to replace it."""

    uuid: str
    dataset_version: int
    index_version: int
    fragment_ids: frozenset[int]
    is_inherited: bool
    """Whether its files lie with the table that a ref was forked from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLayout:
    """One index by name, all its segments together."""

    name: str
    kind: str
    """Lance's own word: `BTree`, `Inverted`, `IVF_PQ` and so on."""
    field_ids: tuple[int, ...]
    columns: tuple[str, ...]
    segments: tuple[SegmentLayout, ...]

    @property
    def covered(self) -> frozenset[int]:
        """The fragments that some segment covers; ids of fragments that are gone may be among them."""
        return frozenset().union(*(segment.fragment_ids for segment in self.segments))

    @property
    def index_kind(self) -> IndexKind | None:
        """Which kind of ours it is; None for one that others built."""
        return kind_described(self.kind)

    @property
    def follows_rewrites(self) -> bool:
        """Whether it is of a kind of ours that a rewrite takes rows out of: it can be built anew instead of folded."""
        kind = self.index_kind
        return kind is not None and lance_index(kind).holds_addresses

    @property
    def folds_like_a_build(self) -> bool:
        """Whether it is of a kind of ours that costs as much to fold as to build."""
        kind = self.index_kind
        return kind is not None and lance_index(kind).folds_like_a_build

    @property
    def is_btree(self) -> bool:
        """Whether the index answers equality, ranges and prefixes."""
        return self.index_kind is IndexKind.BTREE

    @property
    def holds_addresses(self) -> bool:
        """Whether the index knows rows by where they lie; all others know them by their id, which a rewrite keeps."""
        return self.follows_rewrites or self.kind in _FOREIGN_KINDS_WITH_ADDRESSES

    @property
    def is_full_text(self) -> bool:
        """Whether the index answers word searches."""
        return self.index_kind is IndexKind.FTS

    @property
    def is_vector(self) -> bool:
        """Whether the index answers nearest-neighbour searches."""
        return self.index_kind is IndexKind.VECTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """One state of one table, by its metadata."""

    version: int
    fragments: tuple[FragmentLayout, ...]
    """By ascending id."""
    indexes: tuple[IndexLayout, ...]
    column_count: int
    has_blobs: bool
    has_auto_cleanup: bool
    is_marked: bool = True
    """Whether the table says itself which table it is; those made before tables did do not."""

    @property
    def needs_upkeep(self) -> bool:
        """Whether a data table wants a commit that changes nothing but what the table says about itself."""
        return self.has_auto_cleanup or not self.is_marked

    @property
    def rows(self) -> int:
        """Live rows."""
        return sum(fragment.live_rows for fragment in self.fragments)

    @property
    def index_by_name(self) -> dict[str, IndexLayout]:
        """The indexes by name."""
        return {index.name: index for index in self.indexes}

    def is_stale(self, index: IndexLayout) -> bool:
        """Whether an index has something to fold: fragments that it does not know, or several segments."""
        return bool(self.uncovered(index)) or len(index.segments) > 1

    def coverage(self, index: IndexLayout) -> float:
        """Return the share of live rows that an index knows; 1.0 without rows."""
        return 1.0 - sum(fragment.live_rows for fragment in self.uncovered(index)) / self.rows if self.rows else 1.0

    def uncovered(self, index: IndexLayout) -> tuple[FragmentLayout, ...]:
        """Return the fragments that an index does not know."""
        covered = index.covered
        return tuple(fragment for fragment in self.fragments if fragment.fragment_id not in covered)


def read_layout(table: Table) -> TableLayout:
    """Read how one state of a table lies on disk."""
    dataset = table.dataset
    with translated(doing=f"reading the layout of {table.address.path}", uri=table.address.path):
        fragments = [_fragment(fragment) for fragment in dataset.get_fragments()]
        indexes = tuple(_index(described) for described in dataset.describe_indices())
    return TableLayout(
        version=table.version,
        fragments=tuple(sorted(fragments, key=lambda fragment: fragment.fragment_id)),
        indexes=indexes,
        column_count=len(table.schema.names),
        has_blobs=has_blobs(table.schema),
        has_auto_cleanup=bool(table.auto_cleanup_keys()),
        is_marked=table.identity_mark is not None,
    )


def unreadable_indexes(table: Table, names: Iterable[str]) -> set[str]:
    """Open some indexes of a state; return the names of those that cannot be read."""
    unreadable = set()
    for name in sorted(names):
        try:
            table.dataset.stats.index_stats(name)
        except lance_failures() as error:
            if classify(error) is LanceFailure.TRANSIENT:
                raise storage_error(error, doing=f"opening index {name}", uri=table.address.path) from error
            unreadable.add(name)
    return unreadable


def has_blobs(schema: pa.Schema) -> bool:
    """Whether a column holds blobs."""
    return bool(blob_columns(schema))


def _fragment(fragment: Any) -> FragmentLayout:
    return FragmentLayout(
        fragment_id=fragment.fragment_id,
        physical_rows=fragment.physical_rows,
        deleted_rows=fragment.num_deletions,
        bytes=sum(file.file_size_bytes or 0 for file in fragment.data_files()),
    )


def _index(described: Any) -> IndexLayout:
    segments: Sequence[Any] = described.segments
    return IndexLayout(
        name=described.name,
        kind=described.index_type,
        field_ids=tuple(described.fields),
        columns=tuple(described.field_names),
        segments=tuple(
            SegmentLayout(
                uuid=segment.uuid,
                dataset_version=segment.dataset_version_at_last_update,
                index_version=segment.index_version,
                fragment_ids=frozenset(segment.fragment_ids),
                is_inherited=segment.base_id is not None,
            )
            for segment in segments
        ),
    )
