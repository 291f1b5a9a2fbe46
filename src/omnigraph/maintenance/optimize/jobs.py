"""Which index builds a table still needs, and on which state of it each is built."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from omnigraph.errors import OmniError
from omnigraph.maintenance.optimize.builds import IndexJob, cut, share_slots
from omnigraph.maintenance.optimize.table_plan import IndexBuild, PendingIndex, staying_fragments
from omnigraph.maintenance.optimize.table_work import TableWork, staying
from omnigraph.storage.access import TableAccess
from omnigraph.storage.foreseen import FRAGMENTS_MEANWHILE, ForeseenState, drop_foreseen, foresee
from omnigraph.storage.layout import FragmentLayout
from omnigraph.storage.store import GraphStore

_MORE_ROOM_EACH_TIME = 4
"""Sixteen times as much, as a power of two: writers used up what there was."""


def index_jobs(store: GraphStore, works: Sequence[TableWork], *, slots: int) -> Iterator[IndexJob]:
    """Yield what can be built at the pins, beside the rewrites."""
    chosen = [(work, build) for work in works for build in work.to_build if not _is_foreseen(work, build)]
    slots_each = share_slots(slots, [(build, work.plan.facts.layout.rows) for work, build in chosen])
    for (work, build), share in zip(chosen, slots_each, strict=True):
        fragments = staying(work) if build.holds_addresses else work.plan.facts.layout.fragments
        yield _job(work, build, TableAccess.to(store, work.pinned), fragments, slots=share)


@contextmanager
def foreseen_jobs(store: GraphStore, works: Sequence[TableWork], *, slots: int) -> Iterator[list[IndexJob]]:
    """Show tables as their rewrites will leave them for as long as the block lasts, and yield what is built on that."""
    chosen = [(work, build) for work in works for build in work.to_build if _is_foreseen(work, build)]
    shares = share_slots(slots, [(build, work.plan.facts.layout.rows) for work, build in chosen])
    with ExitStack() as states:
        yield [
            job for work in works for job in states.enter_context(_foreseen(store, work, slots=max(shares, default=1)))
        ]


@contextmanager
def _foreseen(store: GraphStore, work: TableWork, *, slots: int) -> Iterator[list[IndexJob]]:
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
        pieces=cut(fragments, slots=slots),
        bytes=sum(fragment.bytes for fragment in fragments),
    )
