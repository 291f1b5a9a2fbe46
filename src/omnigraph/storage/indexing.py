"""Building, replacing and folding indexes.

New indexes are built anywhere over the fragments of a pinned version and committed as one transaction of ours. Folding
uncovered fragments into an index is Lance's own commit: it cannot carry our identity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base import clock, ids
from omnigraph.errors import OmniError
from omnigraph.storage.access import TableAccess
from omnigraph.storage.lance_errors import LanceFailure, classify, storage_error
from omnigraph.storage.layout import IndexLayout
from omnigraph.storage.staging import CommitInterleaved, StagedCommit
from omnigraph.storage.tables import Table, TableAddress, TableStore

VECTORS_TO_TRAIN_MIN = 256
"""Fewer vectors than this are searched faster without an index than one could be trained on them."""
_VECTORS_PER_PARTITION = 4_096
_PRODUCT_QUANTIZED_FROM = 65_536
_FULL_TEXT = {
    "base_tokenizer": "simple",
    "language": "English",
    "lower_case": True,
    "ascii_folding": True,
    "stem": True,
    "remove_stop_words": True,
    "max_token_length": 40,
    "with_position": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTask:
    """One index over all given fragments; a plain value that any worker can carry out."""

    key: str
    """Names the build to whoever asked; comes back with the outcome."""
    access: TableAccess
    name: str
    column: str
    lance_type: str
    fragment_ids: tuple[int, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    not_after_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOutcome:
    """What became of one build: a segment that can be committed, or why there is none."""

    key: str
    segment: Any = None
    """Lance's description of the new segment; None when the build was not carried out."""
    seconds: float = 0.0
    error: str | None = None


def btree_parameters() -> tuple[str, Mapping[str, Any]]:
    """Return Lance's type and parameters of an index for equality, ranges and prefixes."""
    return "BTREE", {}


def full_text_parameters() -> tuple[str, Mapping[str, Any]]:
    """Return Lance's type and parameters of an index for words; every one is explicit, none a default of a library."""
    return "INVERTED", _FULL_TEXT


def vector_parameters(*, vectors: int, dimension: int) -> tuple[str, Mapping[str, Any]]:
    """Choose type and parameters of a vector index by how many vectors there are: exact while that is affordable."""
    partitions = max(1, vectors // _VECTORS_PER_PARTITION)
    sub_vectors = next((dimension // width for width in (8, 4) if dimension % width == 0), 0)
    if vectors < _PRODUCT_QUANTIZED_FROM or not sub_vectors:
        return "IVF_FLAT", {"metric": "cosine", "num_partitions": partitions}
    return "IVF_PQ", {"metric": "cosine", "num_partitions": partitions, "num_sub_vectors": sub_vectors}


def run_index_build(task: IndexTask) -> IndexOutcome:
    """Build one index without committing it; the segment is merged, since an unmerged full-text one cannot be read."""
    if task.not_after_us is not None and clock.now_us() > task.not_after_us:
        return IndexOutcome(key=task.key)
    started = clock.monotonic_seconds()
    try:
        dataset = task.access.open()
        built = dataset.create_index_uncommitted(
            task.column,
            task.lance_type,
            name=task.name,
            fragment_ids=list(task.fragment_ids),
            replace=True,
            **task.parameters,
        )
        merged = dataset.merge_existing_index_segments([built])
    except (OmniError, OSError, ValueError, RuntimeError) as error:
        reason = str(error).split(", /", 1)[0]
        return IndexOutcome(key=task.key, error=f"building the index on {task.column} failed: {reason}")
    return IndexOutcome(key=task.key, segment=merged, seconds=clock.monotonic_seconds() - started)


def stage_indexes(
    head: Table, segments: Sequence[Any], replaced: Sequence[IndexLayout], *, properties: Mapping[str, str]
) -> StagedCommit:
    """Plan one transaction on HEAD that adds new segments and removes those of the indexes they replace."""
    from lance import Index, LanceOperation

    removed = [
        Index(
            uuid=segment.uuid,
            name=index.name,
            fields=list(index.field_ids),
            dataset_version=segment.dataset_version,
            fragment_ids=set(segment.fragment_ids),  # type: ignore[arg-type]  # any iterable of numbers does
            index_version=segment.index_version,
        )
        for index in replaced
        for segment in index.segments
    ]
    operation = LanceOperation.CreateIndex(new_indices=list(segments), removed_indices=removed)
    return StagedCommit(
        uuid=ids.new_uuid(),
        read_version=head.version,
        operation="CreateIndex",
        properties=properties,
        build=lambda _: operation,
    )


def fold_indexes(store: TableStore, address: TableAddress, indexes: Sequence[IndexLayout]) -> Table:
    """Bring every fragment of HEAD into these indexes and leave each with one segment."""
    head = store.fresh_head(address)
    try:
        head.dataset.optimize.optimize_indices(
            index_names=[index.name for index in indexes],
            num_indices_to_merge=max(len(index.segments) for index in indexes) + 1,
        )
    except (OSError, ValueError, RuntimeError) as error:
        if classify(error) in {LanceFailure.CONFLICT, LanceFailure.INCOMPATIBLE}:
            raise CommitInterleaved(f"{address.path} moved past version {head.version}") from error
        raise storage_error(error, doing=f"folding indexes of {address.path}", uri=address.path) from error
    return store.fresh_head(address)
