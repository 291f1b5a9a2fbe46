"""Which index builds a table still needs, and on which state of it each is built."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from omnigraph.errors import OmniError
from omnigraph.maintenance.optimize.builds import IndexJob, cut
from omnigraph.maintenance.optimize.table_plan import IndexBuild, PendingIndex, staying_fragments
from omnigraph.maintenance.optimize.table_work import TableWork, staying
from omnigraph.storage.access import TableAccess
from omnigraph.storage.foreseen import FRAGMENTS_MEANWHILE, ForeseenState, drop_foreseen, foresee
from omnigraph.storage.layout import FragmentLayout
from omnigraph.storage.store import GraphStore

_MORE_ROOM_EACH_TIME = 4
"""Sixteen times as much, as a power of two: writers used up what there was."""


def index_jobs(store: GraphStore, work: TableWork, *, slots: int) -> Iterator[IndexJob]:
    """Yield what can be built at the pin, beside the rewrites."""
    everything = work.plan.facts.layout.fragments
    for build in work.to_build:
        if not _is_foreseen(work, build):
            fragments = staying(work) if build.holds_addresses else everything
            yield _job(work, build, TableAccess.to(store, work.pinned), fragments, slots=slots)


@contextmanager
def foreseen_jobs(store: GraphStore, work: TableWork, *, slots: int) -> Iterator[list[IndexJob]]:
    """Show the table as its rewrites will leave it for as long as the block lasts, and yield what is built on that."""
    builds = [build for build in work.to_build if _is_foreseen(work, build)]
    # What is built already goes by the numbers that the rewrites have; others would make it worthless.
    if not builds or work.error is not None or any(made.awaited for made in work.builds):
        yield []
        return
    fragments = staying_fragments(work.plan.facts.layout.fragments, [made.group for made in work.rewrites])
    if not work.rewrites:
        access = TableAccess.to(store, work.pinned)
        yield [_job(work, build, access, fragments, slots=slots) for build in builds]
        return
    state = _state(store, work, builds)
    if state is None:
        yield []
        return
    try:
        fragments += state.new_fragments
        jobs = (_job(work, build, state.access, fragments, slots=slots) for build in builds)
        yield [replace(job, awaited=state.numbers) for job in jobs]
    finally:
        drop_foreseen(store.objects, state)


def _is_foreseen(work: TableWork, build: IndexBuild) -> bool:
    return work.plan.foresees and build.holds_addresses


def _state(store: GraphStore, work: TableWork, builds: Sequence[IndexBuild]) -> ForeseenState | None:
    """Show the table after its rewrites, which get their numbers with that; where it cannot be, no BTREE is built."""
    room = FRAGMENTS_MEANWHILE << (_MORE_ROOM_EACH_TIME * work.foresights)
    work.foresights += 1
    try:
        state = foresee(store, work.pinned, [made.result for made in work.rewrites], meanwhile=room)
    except (OmniError, OSError) as error:
        for build in builds:
            work.unbuilt.append(PendingIndex(column=build.column, reason=str(error)))
            work.to_build.remove(build)
        return None
    work.rewrites = [replace(made, result=result) for made, result in zip(work.rewrites, state.results, strict=True)]
    return state


def _job(
    work: TableWork, build: IndexBuild, access: TableAccess, fragments: Sequence[FragmentLayout], *, slots: int
) -> IndexJob:
    return IndexJob(
        key=f"{work.plan.table_key} {build.name}",
        table_key=work.plan.table_key,
        build=build,
        access=access,
        pieces=cut(build, fragments, slots=slots),
        bytes=sum(fragment.bytes for fragment in fragments),
    )
