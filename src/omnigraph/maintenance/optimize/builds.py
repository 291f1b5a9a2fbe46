"""Index builds as tasks: a small index is one of them, a large one is cut into pieces that workers build side by side.

Training comes first where pieces need it, in one job for all tables; merging comes last, in another, of new pieces of
one version only. None of it needs a lock, and none of it is done by the driver.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from omnigraph.base.events import Events, phase
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.engine.interface import Engine
from omnigraph.maintenance.optimize.table_plan import IndexBuild
from omnigraph.storage.access import TableAccess
from omnigraph.storage.index_kinds import kind_built
from omnigraph.storage.indexing import (
    IndexOutcome,
    IndexTask,
    MergeTask,
    TrainOutcome,
    TrainTask,
    VectorModel,
    run_training,
)
from omnigraph.storage.layout import FragmentLayout

PIECE_ROWS: Final = 1 << 20
"""Rows that are worth a task of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexJob:
    """One index of one table on its way: which pieces it is cut into."""

    key: str
    table_key: TableKey
    build: IndexBuild
    access: TableAccess
    pieces: tuple[tuple[int, ...], ...]
    """The fragments of each piece; a single piece is the whole index."""
    bytes: int = 0
    """Of all these fragments."""
    awaited: frozenset[int] = frozenset()
    """Those of them that a rewrite has yet to bring."""

    @property
    def is_cut(self) -> bool:
        """Whether several workers build it."""
        return len(self.pieces) > 1

    @property
    def needs_training(self) -> bool:
        """Whether the pieces need a model before they can be built."""
        return self.is_cut and kind_built(self.build.lance_type).is_trained

    def tasks(self, model: VectorModel | None, not_after_us: int | None) -> Iterator[IndexTask]:
        """Describe the pieces; their keys tell which is which."""
        for number, fragment_ids in enumerate(self.pieces):
            yield IndexTask(
                key=f"{self.key}/{number}",
                access=self.access,
                name=self.build.name,
                column=self.build.column,
                lance_type=self.build.lance_type,
                fragment_ids=fragment_ids,
                parameters=self.build.parameters,
                model=model,
                is_piece=self.is_cut,
                not_after_us=not_after_us,
            )

    def sized_tasks(self, model: VectorModel | None, not_after_us: int | None) -> Iterator[tuple[int, IndexTask]]:
        """Describe the pieces, each with about how many bytes it is of."""
        size = self.bytes // len(self.pieces)
        yield from ((size, task) for task in self.tasks(model, not_after_us))

    def finish(self, outcomes: Sequence[IndexOutcome]) -> IndexOutcome | MergeTask:
        """Say what became of the pieces, or what is left to do: a missing or failed one leaves nothing to commit."""
        seconds = sum(outcome.seconds for outcome in outcomes)
        error = next((outcome.error for outcome in outcomes if outcome.error is not None), None)
        segments: list[Any] = [outcome.segment for outcome in outcomes if outcome.segment is not None]
        if error is not None or len(segments) < len(self.pieces):
            return IndexOutcome(key=self.key, seconds=seconds, error=error)
        if not self.is_cut:
            return IndexOutcome(key=self.key, segment=segments[0], seconds=seconds)
        return MergeTask(
            key=self.key, access=self.access, column=self.build.column, pieces=tuple(segments), seconds=seconds
        )


def job_key(task_key: str) -> str:
    """Return the key of the job that a task is a piece of."""
    return task_key.rpartition("/")[0]


def share_slots(slots: int, builds: Sequence[tuple[IndexBuild, int]]) -> list[int]:
    """Say of builds, given with their rows, into how many pieces each may be cut.

    Merging the pieces of an index takes half as long as building it whole, so it pays to cut only as far as the other
    large ones leave slots idle. Vectors are the exception: merging those is nothing beside building them.
    """
    large = sum(rows >= 2 * PIECE_ROWS for build, rows in builds if not kind_built(build.lance_type).is_trained)
    share = max(1, slots // max(1, large))
    return [slots if kind_built(build.lance_type).is_trained else share for build, _ in builds]


def cut(fragments: Sequence[FragmentLayout], *, slots: int) -> tuple[tuple[int, ...], ...]:
    """Cut the fragments of a table into runs of about equal rows, at most one per slot; small tables stay whole."""
    rows = sum(fragment.live_rows for fragment in fragments)
    count = min(slots, rows // PIECE_ROWS, len(fragments))
    if count < 2:  # one piece is no cut
        return (tuple(fragment.fragment_id for fragment in fragments),)
    pieces: list[list[int]] = [[] for _ in range(count)]
    before = 0
    for fragment in fragments:
        pieces[min(count - 1, before * count // max(1, rows))].append(fragment.fragment_id)
        before += fragment.live_rows
    return tuple(tuple(piece) for piece in pieces if piece)


def train(
    engine: Engine, jobs: Iterable[IndexJob], *, not_after_us: int | None, events: Events
) -> Mapping[str, TrainOutcome]:
    """Train the models of all jobs that need one, as one piece of work; starts nothing when none does."""
    tasks = [
        TrainTask(
            key=job.key,
            access=job.access,
            column=job.build.column,
            parameters=job.build.parameters,
            not_after_us=not_after_us,
        )
        for job in jobs
        if job.needs_training
    ]
    if not tasks:
        return {}
    with phase(events, "training indexes", total=len(tasks), unit="indexes") as training:
        return {outcome.key: outcome for outcome in engine.map(run_training, tasks, watch=training.reach)}
