"""Building, replacing and folding indexes.

New indexes are built anywhere over the fragments of a pinned version and committed as one transaction of ours. Folding
uncovered fragments into an index is Lance's own commit: it cannot carry our identity.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from omnigraph.base import clock, ids, stopping
from omnigraph.base.values import dataclass
from omnigraph.errors import OmniError
from omnigraph.storage.access import TableAccess
from omnigraph.storage.index_kinds import kind_built
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, storage_error
from omnigraph.storage.layout import IndexLayout
from omnigraph.storage.tables import Table
from omnigraph.storage.transactions import CommitInterleaved, StagedCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorModel:
    """What a vector index is trained to: pieces of one index have to share it, or their answers cannot be merged."""

    centroids: Any
    codebook: Any = None
    """Of product quantization; None for an index that keeps vectors as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainTask:
    """The training of one vector index, for pieces of it that are built side by side."""

    key: str
    access: TableAccess
    column: str
    parameters: Mapping[str, Any]
    not_after_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOutcome:
    """What became of one training."""

    key: str
    model: VectorModel | None = None
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTask:
    """One index over all given fragments, or a piece of it; a plain value that any worker can carry out."""

    key: str
    """Names the build to whoever asked; comes back with the outcome."""
    access: TableAccess
    name: str
    column: str
    lance_type: str
    fragment_ids: tuple[int, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    model: VectorModel | None = None
    is_piece: bool = False
    """Whether other tasks build the rest, so that the segment is of no use before it is merged with theirs."""
    not_after_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOutcome:
    """What became of one build: a segment that can be committed, or why there is none."""

    key: str
    segment: Any = None
    """Lance's description of the new segment; None when the build was not carried out."""
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTask:
    """The pieces of one index, all new and of one version, to be made one; a plain value like the others."""

    key: str
    access: TableAccess
    column: str
    pieces: tuple[Any, ...]
    seconds: float = 0.0
    """What building the pieces took, to be added to what this takes."""


def run_training(task: TrainTask) -> TrainOutcome:
    """Train a vector index on a sample of its vectors; writes nothing."""
    from lance.indices import IndicesBuilder

    if stopping.is_over(task.not_after_us):
        return TrainOutcome(key=task.key)
    started = clock.monotonic_seconds()
    try:
        builder = IndicesBuilder(task.access.open(), task.column)
        ivf = builder.train_ivf(task.parameters["num_partitions"], distance_type=task.parameters["metric"])
        sub_vectors = task.parameters.get("num_sub_vectors")
        codebook = builder.train_pq(ivf, sub_vectors).codebook if sub_vectors is not None else None
    except (OmniError, OSError, ValueError, RuntimeError) as error:
        return TrainOutcome(key=task.key, error=_failed(task.column, error))
    model = VectorModel(centroids=ivf.centroids, codebook=codebook)
    return TrainOutcome(key=task.key, model=model, seconds=clock.monotonic_seconds() - started)


def run_index_build(task: IndexTask) -> IndexOutcome:
    """Build one index without committing it; a full-text one is merged, since unmerged it cannot be read."""
    if stopping.is_over(task.not_after_us):
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
            **_trained(task.model),
        )
        needs_merge = not task.is_piece and not kind_built(task.lance_type).is_whole_when_built
        segment = dataset.merge_existing_index_segments([built]) if needs_merge else built
    except (OmniError, OSError, ValueError, RuntimeError) as error:
        return IndexOutcome(key=task.key, error=_failed(task.column, error))
    return IndexOutcome(key=task.key, segment=segment, seconds=clock.monotonic_seconds() - started)


def run_merge(task: MergeTask) -> IndexOutcome:
    """Make one segment of the pieces of one index; nothing is committed.

    Never to be called with a committed segment: it would bring back the old words of updated rows.
    """
    started = clock.monotonic_seconds()
    try:
        merged = task.access.open().merge_existing_index_segments(list(task.pieces))
    except (OmniError, OSError, ValueError, RuntimeError) as error:
        return IndexOutcome(key=task.key, seconds=task.seconds, error=_failed(task.column, error))
    return IndexOutcome(key=task.key, segment=merged, seconds=task.seconds + clock.monotonic_seconds() - started)


def as_built_on(segment: Any, head: Table, fragment_ids: Iterable[int]) -> Any:
    """Let a segment stand for some of its fragments at HEAD, which are the same there as where it was built.

    What it knows beside these is never asked for: to Lance that is an index whose other fragments are gone.
    """
    return replace(segment, dataset_version=head.version, fragment_ids=set(fragment_ids))


def _trained(model: VectorModel | None) -> dict[str, Any]:
    if model is None:
        return {}
    codebook = {} if model.codebook is None else {"pq_codebook": model.codebook}
    return {"ivf_centroids": model.centroids, **codebook}


def _failed(column: str, error: Exception) -> str:
    return f"building the index on {column} failed: {str(error).split(', /', 1)[0]}"


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


def fold_indexes(head: Table, indexes: Sequence[IndexLayout]) -> None:
    """Bring every fragment of HEAD into these indexes and leave each with one segment.

    `head` has a handle of its own, which moves on to the new version.
    """
    path = head.address.path
    try:
        head.dataset.optimize.optimize_indices(
            index_names=[index.name for index in indexes],
            num_indices_to_merge=max(len(index.segments) for index in indexes) + 1,
        )
    except lance_failures() as error:
        if classify(error) in {LanceFailure.CONFLICT, LanceFailure.INCOMPATIBLE}:
            raise CommitInterleaved(f"{path} moved past version {head.version}") from error
        raise storage_error(error, doing=f"folding indexes of {path}", uri=path) from error
