"""Act, first half: rewrite fragments and build indexes on new files, without a lock and without a commit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from omnigraph.base import faults
from omnigraph.base.events import Events, phase
from omnigraph.base.values import dataclass
from omnigraph.engine.interface import Engine
from omnigraph.maintenance.optimize.builds import IndexJob, cut, job_key, train
from omnigraph.maintenance.optimize.grouping import RewriteGroup
from omnigraph.maintenance.optimize.options import OptimizeOptions
from omnigraph.maintenance.optimize.table_plan import IndexBuild, PendingIndex, TablePlan, staying_fragments
from omnigraph.storage.access import TableAccess
from omnigraph.storage.compaction import RewriteOutcome, RewriteTask, new_files, rewritten_files, run_rewrite
from omnigraph.storage.file_references import FileReference, written_index
from omnigraph.storage.indexing import IndexOutcome, IndexTask, run_index_build
from omnigraph.storage.layout import FragmentLayout
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import Table, TableAddress

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
    checksums: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedBuild:
    """An index whose new segment is written, over the fragments of `built_on`."""

    build: IndexBuild
    segment: Any
    built_on: Table

    @property
    def knows_every_fragment(self) -> bool:
        """Whether nothing was left out of it for a rewrite to bring in."""
        return {fragment.fragment_id for fragment in self.built_on.dataset.get_fragments()} <= set(
            self.segment.fragment_ids
        )


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
    rewritten: tuple[FinishedRewrite, ...] = ()
    """What is committed in the end."""
    is_contended: bool = False
    """Whether something had to be given up because writers kept changing it."""

    @property
    def left_bytes(self) -> int:
        """Bytes of the groups that were planned and are not rewritten, however far they got."""
        groups = (*self.to_rewrite, *(made.group for made in self.rewrites if made not in self.rewritten))
        return sum(group.bytes for group in groups)

    def new_files(self) -> Iterator[tuple[FinishedRewrite | FinishedBuild, tuple[FileReference, ...]]]:
        """Yield what is ready, each with the files that nothing refers to before it is committed."""
        address = self.pinned.address
        yield from ((made, rewritten_files(address, made.result)) for made in self.rewrites)
        yield from ((made, written_index(address, made.segment)) for made in self.builds)

    def make_again(self, lost: Sequence[FinishedRewrite | FinishedBuild]) -> None:
        """Forget what was ready and lost its files, so that it is still to be made."""
        gone = {id(made) for made in lost}
        self.to_rewrite += [made.group for made in self.rewrites if id(made) in gone]
        self.to_build += [made.build for made in self.builds if id(made) in gone]
        self.rewrites = [made for made in self.rewrites if id(made) not in gone]
        self.builds = [made for made in self.builds if id(made) not in gone]

    @classmethod
    def of(cls, plan: TablePlan, pinned: Table) -> "TableWork":
        """Begin with everything still to do."""
        return cls(plan=plan, pinned=pinned, to_rewrite=list(plan.groups), to_build=list(plan.builds))


def run_task(task: OptimizeTask) -> OptimizeOutcome:
    """Carry out one task, wherever this process is."""
    faults.reach("optimize.in_task")
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
    jobs = {job.key: (work, job) for work in works for job in _index_jobs(store, work, slots=engine.slots)}
    models = train(engine, [job for _, job in jobs.values()], not_after_us=not_after_us, events=events)
    tasks: list[tuple[int, OptimizeTask]] = []
    groups: dict[str, tuple[TableWork, RewriteGroup]] = {}
    for work in works:
        for group, task in _rewrites(store, work, options, not_after_us):
            groups[task.key] = (work, group)
            tasks.append((group.bytes, task))
    built: dict[str, list[IndexOutcome]] = {}
    for key, (work, job) in jobs.items():
        trained = models.get(key)
        if trained is not None and trained.model is None:
            built[key] = [IndexOutcome(key=key, seconds=trained.seconds, error=trained.error)]
            continue
        size = sum(fragment.bytes for fragment in work.plan.facts.layout.fragments) // len(job.pieces)
        tasks += [(size, task) for task in job.tasks(trained.model if trained is not None else None, not_after_us)]
    tasks.sort(key=lambda sized: -sized[0])
    weights = [size for size, _ in tasks]
    with phase(events, "rewriting and indexing", total=sum(weights), unit="bytes") as rewriting:
        for outcome in engine.map(run_task, [task for _, task in tasks], weights=weights, watch=rewriting.reach):
            if isinstance(outcome, RewriteOutcome):
                _take_rewrite(outcome, *groups[outcome.key])
            else:
                built.setdefault(job_key(outcome.key), []).append(outcome)
    with phase(events, "finishing indexes", total=len(built), unit="indexes") as finishing:
        for key, outcomes in built.items():
            work, job = jobs[key]
            _take_build(job.finish(outcomes), work, job.build)
            finishing.advance()


def _index_jobs(store: GraphStore, work: TableWork, *, slots: int) -> Iterator[IndexJob]:
    everything = work.plan.facts.layout.fragments
    for build in work.to_build:
        fragments = staying(work) if build.holds_addresses else everything
        yield IndexJob(
            key=f"{work.plan.table_key} {build.name}",
            build=build,
            access=TableAccess.to(store, work.pinned),
            pieces=cut(build, fragments, slots=slots),
        )


def staying(work: TableWork) -> Sequence[FragmentLayout]:
    """Return the fragments that no rewrite replaces: an index with row addresses takes in the others in the tail.

    If all are rewritten, the smallest stands for them: there has to be an index to fold the new ones into.
    """
    fragments = work.plan.facts.layout.fragments
    staying = staying_fragments(fragments, (*work.to_rewrite, *(made.group for made in work.rewrites)))
    return staying or [min(fragments, key=lambda fragment: fragment.live_rows)]


def _rewrites(
    store: GraphStore, work: TableWork, options: OptimizeOptions, not_after_us: int | None
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
    group: RewriteGroup, access: TableAccess, options: OptimizeOptions, *, key: str, has_blobs: bool
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


def batch_rows(group: RewriteGroup, options: OptimizeOptions, *, has_blobs: bool) -> int:
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


def _take_build(outcome: IndexOutcome, work: TableWork, build: IndexBuild) -> None:
    work.seconds += outcome.seconds
    if outcome.error is not None:
        # An index is derived state: one that cannot be built never fails the rest of its table.
        work.unbuilt.append(PendingIndex(column=build.column, reason=outcome.error))
        work.to_build.remove(build)
    elif outcome.segment is not None:
        work.builds.append(FinishedBuild(build=build, segment=outcome.segment, built_on=work.pinned))
        work.to_build.remove(build)


def drop_files(objects: ControlStore, work: TableWork) -> None:
    """Delete the new files of a table that is not going to be committed; its groups are still to be rewritten then."""
    for rewrite in work.rewrites:
        drop_rewrite(objects, work.pinned.address, rewrite.result)
    for made in work.builds:
        _drop_all(objects, f"{work.pinned.address.path}/_indices/{made.segment.uuid}")
    work.to_rewrite += [made.group for made in work.rewrites]
    work.to_build += [made.build for made in work.builds]
    work.rewrites.clear()
    work.builds.clear()


def drop_rewrite(objects: ControlStore, address: TableAddress, result: str) -> None:
    """Delete the new files of one rewrite; large blobs lie beside a data file, in a directory of its name."""
    for path in new_files(result):
        objects.delete(f"{address.path}/data/{path}")
        _drop_all(objects, f"{address.path}/data/{path.removesuffix('.lance')}")


def _drop_all(objects: ControlStore, directory: str) -> None:
    for path in list(objects.list(directory)):
        objects.delete(path)
