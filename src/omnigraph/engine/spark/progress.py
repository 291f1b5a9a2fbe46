"""How many tasks of a Spark job are done, asked while another thread waits for its result."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from omnigraph.engine.interface import Watch

_PAUSE_SECONDS = 0.5


@contextmanager
def watching(session: Any, watch: Watch | None) -> Iterator[None]:
    """Tell `watch` how many tasks have finished until the block ends."""
    context = getattr(session, "_sc", None)
    if watch is None:
        yield
    elif context is not None:
        with _polling(context, watch):
            yield
    else:
        with _handling(session, watch):
            yield


@contextmanager
def _polling(context: Any, watch: Watch) -> Iterator[None]:
    ended = Event()

    def poll() -> None:
        tracker = context.statusTracker()
        while not ended.wait(_PAUSE_SECONDS):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            done = sum(stage.numCompletedTasks for stage in stages if stage is not None)
            if done:
                watch(done)

    thread = Thread(target=poll, name="omnigraph-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _handling(session: Any, watch: Watch) -> Iterator[None]:
    def handle(stages: Any, **_: Any) -> None:
        watch(sum(stage.num_completed_tasks for stage in stages))

    session.registerProgressHandler(handle)
    try:
        yield
    finally:
        session.removeProgressHandler(handle)
