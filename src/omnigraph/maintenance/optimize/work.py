"""Act, first half: rewrite fragments and build indexes on new files, without a lock and without a commit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.events import Advanced, Events
from omnigraph.engine.interface import Engine
from omnigraph.maintenance.optimize.grouping import RewriteGroup
from omnigraph.maintenance.optimize.options import OptimizeOptions
from omnigraph.maintenance.optimize.plan import IndexBuild, PendingIndex, TablePlan
from omnigraph.storage.access import TableAccess
from omnigraph.storage.compaction import RewriteOutcome, RewriteTask, new_files, rewrite_task, run_rewrite
from omnigraph.storage.indexing import IndexOutcome, IndexTask, run_index_build
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import Table

_BATCH_ROWS_MAX = 8_192
_BLOB_BATCH_ROWS_MAX = 64
_BATCHES_IN_MEMORY = 8
"""A rewrite holds several batches at once: read ahead, being encoded, being written."""

OptimizeTask = RewriteTask | IndexTask
OptimizeOutcome = RewriteOutcome | IndexOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRewrite:
    """A group whose new files are written."""

    group: RewriteGroup
    result: str
    fragments_added: int
    bytes_written: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedBuild:
    """An index whose new segment is written, over the fragments of `built_on`."""

    build: IndexBuild
    segment: Any
    built_on: Table


@dataclass(slots=True, kw_only=True)
class TableWork:
    """One table on its way through a run: what is still to be made, and what is ready to be committed."""

    plan: TablePlan
    pinned: Table
    to_rewrite: list[RewriteGroup]
    to_build: list[IndexBuild]
    rewrites: list[FinishedRewrite] = field(default_factory=list)
    builds: list[FinishedBuild] = field(default_factory=list)
    unbuilt: list[PendingIndex] = field(default_factory=list)
    seconds: float = 0.0
    error: str | None = None
    is_contended: bool = False
    """Whether something had to be given up because writers kept changing it."""

    @classmethod
    def of(cls, plan: TablePlan, pinned: Table) -> "TableWork":
        """Begin with everything still to do."""
        return cls(plan=plan, pinned=pinned, to_rewrite=list(plan.groups), to_build=list(plan.builds))


def run_task(task: OptimizeTask) -> OptimizeOutcome:
    """Carry out one task, wherever this process is."""
    return run_rewrite(task) if isinstance(task, RewriteTask) else run_index_build(task)


def carry_out_tasks(
    engine: Engine,
    store: GraphStore,
    works: Sequence[TableWork],
    options: OptimizeOptions,
    *,
    not_after_us: int | None,
    events: Events,
) -> None:
    """Make everything that is still to be made, the tasks of all tables in one pool, the largest first.

    What a worker did not get to before the deadline stays to be made; what failed its check fails its table.
    """
    purposes: dict[str, tuple[TableWork, RewriteGroup | IndexBuild]] = {}
    tasks: list[tuple[int, OptimizeTask]] = []
    for work in works:
        access = TableAccess.to(store, work.pinned)
        for size, purpose, task in _tasks(work, access, options, not_after_us, first_key=len(purposes)):
            purposes[task.key] = (work, purpose)
            tasks.append((size, task))
    ordered = [task for _, task in sorted(tasks, key=lambda sized: -sized[0])]
    for done, outcome in enumerate(engine.map(run_task, ordered), start=1):
        _take(outcome, *purposes[outcome.key])
        events(Advanced(phase="rewrite", done=done, total=len(ordered), unit="tasks"))


def _tasks(
    work: TableWork, access: TableAccess, options: OptimizeOptions, not_after_us: int | None, *, first_key: int
) -> Iterator[tuple[int, RewriteGroup | IndexBuild, OptimizeTask]]:
    key = first_key
    layout = work.plan.facts.layout
    for group in work.to_rewrite:
        yield (
            group.bytes,
            group,
            rewrite_task(
                work.pinned,
                access,
                group.fragment_ids,
                key=str(key),
                live_rows=group.live_rows,
                has_btree=work.plan.btrees_after > 0,
                batch_rows=batch_rows(group, options, has_blobs=layout.has_blobs),
                verify=options.verify,
                not_after_us=not_after_us,
            ),
        )
        key += 1
    for build in work.to_build:
        task = IndexTask(
            key=str(key),
            access=access,
            name=build.name,
            column=build.column,
            lance_type=build.lance_type,
            fragment_ids=tuple(fragment.fragment_id for fragment in layout.fragments),
            parameters=build.parameters,
            not_after_us=not_after_us,
        )
        yield sum(fragment.bytes for fragment in layout.fragments), build, task
        key += 1


def batch_rows(group: RewriteGroup, options: OptimizeOptions, *, has_blobs: bool) -> int:
    """Choose how many rows a worker holds at a time, so that wide rows do not fill its memory."""
    bytes_per_row = max(1, group.bytes // max(1, group.physical_rows))
    fitting = options.max_memory // (_BATCHES_IN_MEMORY * bytes_per_row)
    return max(1, min(fitting, _BLOB_BATCH_ROWS_MAX if has_blobs else _BATCH_ROWS_MAX))


def _take(outcome: OptimizeOutcome, work: TableWork, purpose: RewriteGroup | IndexBuild) -> None:
    work.seconds += outcome.seconds
    if isinstance(outcome, RewriteOutcome):
        assert isinstance(purpose, RewriteGroup)
        if outcome.result is not None:
            work.rewrites.append(
                FinishedRewrite(
                    group=purpose,
                    result=outcome.result,
                    fragments_added=outcome.fragments_added,
                    bytes_written=outcome.bytes_written,
                )
            )
            work.to_rewrite.remove(purpose)
        work.error = work.error or outcome.error
        return
    assert isinstance(purpose, IndexBuild)
    if outcome.error is not None:
        # An index is derived state: one that cannot be built never fails the rest of its table.
        work.unbuilt.append(PendingIndex(column=purpose.column, reason=outcome.error))
        work.to_build.remove(purpose)
    elif outcome.segment is not None:
        work.builds.append(FinishedBuild(build=purpose, segment=outcome.segment, built_on=work.pinned))
        work.to_build.remove(purpose)


def drop_files(objects: ControlStore, work: TableWork) -> None:
    """Delete the new data files of a table that is not going to be committed."""
    for rewrite in work.rewrites:
        for path in new_files(rewrite.result):
            objects.delete(f"{work.pinned.address.path}/data/{path}")
    work.rewrites.clear()
