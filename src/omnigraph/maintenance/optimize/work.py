"""Act, first half: rewrite fragments and build indexes on new files, without a lock and without a commit."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from omnigraph.base import faults
from omnigraph.base.events import Events, phase
from omnigraph.engine.interface import Engine
from omnigraph.maintenance.optimize.builds import IndexJob, job_key, train
from omnigraph.maintenance.optimize.grouping import RewriteGroup
from omnigraph.maintenance.optimize.jobs import foreseen_jobs, index_jobs
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.maintenance.optimize.table_plan import PendingIndex
from omnigraph.maintenance.optimize.table_work import FinishedBuild, FinishedRewrite, TableWork, drop_segment
from omnigraph.storage.access import TableAccess
from omnigraph.storage.compaction import RewriteOutcome, RewriteTask, run_rewrite
from omnigraph.storage.indexing import IndexOutcome, IndexTask, MergeTask, run_index_build, run_merge
from omnigraph.storage.store import GraphStore

_BATCH_ROWS_MAX = 8_192
_BLOB_BATCH_ROWS_MAX = 64
_BATCHES_IN_MEMORY = 8
"""A rewrite holds several batches at once: read ahead, being encoded, being written."""

OptimizeTask = RewriteTask | IndexTask
OptimizeOutcome = RewriteOutcome | IndexOutcome


def run_task(task: OptimizeTask) -> OptimizeOutcome:
    """Carry out one task, wherever this process is."""
    faults.reach("optimize.in_task")
    return run_rewrite(task) if isinstance(task, RewriteTask) else run_index_build(task)


def carry_out_tasks(
    engine: Engine,
    store: GraphStore,
    works: Sequence[TableWork],
    options: OptimizeRequest,
    *,
    not_after_us: int | None,
    events: Events,
) -> None:
    """Make everything that is still to be made, the tasks of all tables in one pool, the largest first.

    What a worker did not get to before the deadline stays to be made; what failed its check fails its table.
    """
    jobs = {job.key: job for job in index_jobs(store, works, slots=engine.slots)}
    models = train(engine, jobs.values(), not_after_us=not_after_us, events=events)
    tasks: list[tuple[int, OptimizeTask]] = []
    groups: dict[str, tuple[TableWork, RewriteGroup]] = {}
    for work in works:
        for group, task in _rewrites(store, work, options, not_after_us):
            groups[task.key] = (work, group)
            tasks.append((group.bytes, task))
    built: dict[str, list[IndexOutcome]] = {}
    for key, job in jobs.items():
        trained = models.get(key)
        if trained is not None and trained.model is None:
            built[key] = [IndexOutcome(key=key, seconds=trained.seconds, error=trained.error)]
            continue
        tasks += job.sized_tasks(trained.model if trained is not None else None, not_after_us)
    for outcome in _map(engine, tasks, "rewriting and indexing", events):
        if isinstance(outcome, RewriteOutcome):
            _take_rewrite(outcome, *groups[outcome.key])
        else:
            built.setdefault(job_key(outcome.key), []).append(outcome)
    with foreseen_jobs(store, works, slots=engine.slots) as late:
        if late:
            jobs |= {job.key: job for job in late}
            tasks = [sized for job in late for sized in job.sized_tasks(None, not_after_us)]
            for outcome in _map(engine, tasks, "indexing what was rewritten", events):
                assert isinstance(outcome, IndexOutcome)
                built.setdefault(job_key(outcome.key), []).append(outcome)
        _finish(engine, store, works, [(jobs[key], outcomes) for key, outcomes in built.items()], events)


def _map(
    engine: Engine, sized: Sequence[tuple[int, OptimizeTask]], name: str, events: Events
) -> Iterator[OptimizeOutcome]:
    ordered = sorted(sized, key=lambda pair: -pair[0])
    weights = [size for size, _ in ordered]
    with phase(events, name, total=sum(weights), unit="bytes") as running:
        yield from engine.map(run_task, [task for _, task in ordered], weights=weights, watch=running.reach)


def _finish(
    engine: Engine,
    store: GraphStore,
    works: Sequence[TableWork],
    built: Sequence[tuple[IndexJob, list[IndexOutcome]]],
    events: Events,
) -> None:
    """Make one segment of the pieces of each index, on workers like the pieces themselves."""
    by_table = {work.plan.table_key: work for work in works}
    jobs = {job.key: job for job, _ in built}
    finished = [job.finish(outcomes) for job, outcomes in built]
    merges = [left for left in finished if isinstance(left, MergeTask)]
    merged = engine.map(run_merge, merges) if merges else iter(())
    with phase(events, "finishing indexes", total=len(finished), unit="indexes") as finishing:
        for outcome in chain((made for made in finished if isinstance(made, IndexOutcome)), merged):
            _take_build(outcome, by_table[jobs[outcome.key].table_key], jobs[outcome.key])
            finishing.advance()
    # Only now: a worker that is slow may have been given company, and both read the pieces.
    for merge in merges:
        for piece in merge.pieces:
            drop_segment(store.objects, merge.access.address, piece)


def _rewrites(
    store: GraphStore, work: TableWork, options: OptimizeRequest, not_after_us: int | None
) -> Iterator[tuple[RewriteGroup, RewriteTask]]:
    for number, group in enumerate(work.to_rewrite):
        task = rewrite_task(
            group,
            TableAccess.to(store, work.pinned),
            options,
            key=f"{work.plan.table_key} {number}",
            has_blobs=work.plan.facts.layout.has_blobs,
        )
        yield group, replace(task, follow_addresses=work.plan.follows_addresses, not_after_us=not_after_us)


def rewrite_task(
    group: RewriteGroup, access: TableAccess, options: OptimizeRequest, *, key: str, has_blobs: bool
) -> RewriteTask:
    """Describe the rewrite of a group of fragments into one."""
    return RewriteTask(
        key=key,
        access=access,
        fragment_ids=group.fragment_ids,
        live_rows=group.live_rows,
        batch_rows=batch_rows(group, options, has_blobs=has_blobs),
        copy_pages=group.pays_to_copy,
        verify=options.verify,
    )


def batch_rows(group: RewriteGroup, options: OptimizeRequest, *, has_blobs: bool) -> int:
    """Choose how many rows a worker holds at a time, so that wide rows do not fill its memory."""
    bytes_per_row = max(1, group.bytes // max(1, group.physical_rows))
    fitting = options.max_memory // (_BATCHES_IN_MEMORY * bytes_per_row)
    return max(1, min(fitting, _BLOB_BATCH_ROWS_MAX if has_blobs else _BATCH_ROWS_MAX))


def _take_rewrite(outcome: RewriteOutcome, work: TableWork, group: RewriteGroup) -> None:
    work.seconds += outcome.seconds
    work.error = work.error or outcome.error
    if outcome.result is not None:
        work.rewrites.append(
            FinishedRewrite(
                group=group,
                result=outcome.result,
                fragments_added=outcome.fragments_added,
                bytes_written=outcome.bytes_written,
                checksums=outcome.checksums,
            )
        )
        work.to_rewrite.remove(group)


def _take_build(outcome: IndexOutcome, work: TableWork, job: IndexJob) -> None:
    work.seconds += outcome.seconds
    if outcome.error is not None:
        # An index is derived state: one that cannot be built never fails the rest of its table.
        work.unbuilt.append(PendingIndex(column=job.build.column, reason=outcome.error))
        work.to_build.remove(job.build)
    elif outcome.segment is not None:
        work.builds.append(
            FinishedBuild(build=job.build, segment=outcome.segment, built_on=work.pinned, awaited=job.awaited)
        )
        work.to_build.remove(job.build)
