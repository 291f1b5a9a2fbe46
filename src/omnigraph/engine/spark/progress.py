"""How far a Spark job is, found out while another thread waits for its result."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from omnigraph.base.ticking import ticking
from omnigraph.engine.meter import Meter
from omnigraph.engine.spark.interrupts import JobGroup
from omnigraph.engine.spark.reports import ReportAddress, listening

_PAUSE_SECONDS = 0.5


@contextmanager
def watching(
    session: Any, group: JobGroup, meter: Meter | None, *, is_one_process: bool
) -> Iterator[ReportAddress | None]:
    """Tell `meter` how far the jobs of `group` are until the block ends; yield where tasks may report to, if any."""
    context = getattr(session, "_sc", None)
    if meter is None:
        yield None
    elif is_one_process:
        with listening(meter) as address:
            yield address
    elif context is not None:
        with _polling(context, group, meter):
            yield None
    else:
        with _handling(session, meter):
            yield None


@contextmanager
def _polling(context: Any, group: JobGroup, meter: Meter) -> Iterator[None]:
    def poll() -> None:
        tracker = context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group.name)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        meter.finish_some(sum(stage.numCompletedTasks for stage in stages if stage is not None))

    with ticking(poll, pause_seconds=_PAUSE_SECONDS, name="omnigraph-progress"):
        yield


@contextmanager
def _handling(session: Any, meter: Meter) -> Iterator[None]:
    def handle(stages: Any, **_: Any) -> None:
        meter.finish_some(sum(stage.num_completed_tasks for stage in stages))

    session.registerProgressHandler(handle)
    try:
        yield
    finally:
        session.removeProgressHandler(handle)
