"""Health and maintenance of a graph whose storage is opened here; a run goes on whoever looks, one at a time."""

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

from omnigraph.base import clock
from omnigraph.base.events import Event, Events, Warned
from omnigraph.base.progress_line import ProgressLine
from omnigraph.console.sources.shared import refuse_read_only
from omnigraph.errors import InvalidTarget

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.maintenance.cleanup.report import CleanupReport
    from omnigraph.maintenance.health.judging import HealthReport
    from omnigraph.maintenance.optimize.report import OptimizeResult
    from omnigraph.maintenance.repair.run import RepairReport


class UpkeepRun:
    """One run under way or ended: how far it is, and what came of it."""

    def __init__(self, verb: str) -> None:
        self.verb = verb
        self.warnings: list[str] = []
        self.result: Any = None
        self.error: Exception | None = None
        self.is_over = False
        self._lock = Lock()
        self._line = ProgressLine(f"beginning to {verb}", clock.monotonic_seconds())

    def receive(self, event: Event) -> None:
        """Take one event in, from the thread that works."""
        with self._lock:
            if isinstance(event, Warned):
                self.warnings.append(event.message)
            self._line.receive(event, clock.monotonic_seconds())

    @property
    def says(self) -> str:
        """What it is doing now, and how far that is."""
        with self._lock:
            return self._line.text(clock.monotonic_seconds())


class GraphUpkeep:
    """The verbs of maintenance, each in a thread."""

    def __init__(self, graph: "Graph", *, is_read_only: bool) -> None:
        self._graph = graph
        self._is_read_only = is_read_only
        self._task: asyncio.Task[None] | None = None
        self.run: UpkeepRun | None = None
        """The run under way, or the last one; whoever opens the page sees it."""

    async def health(self) -> "HealthReport":
        """Say how the graph is doing and what to do about it."""
        return await asyncio.to_thread(self._graph.health)

    async def optimize_plan(self, branch: str) -> "OptimizeResult":
        """Say what optimizing a branch would do."""
        return await asyncio.to_thread(self._graph.optimize, branch=branch, dry_run=True)

    async def cleanup_plan(self, *, keep: int) -> "CleanupReport":
        """Say what a cleanup would remove."""
        return await asyncio.to_thread(self._graph.cleanup, keep=keep)

    async def drift(self, *, review_limit: int = 20) -> "RepairReport":
        """Show tables whose newest version is not the one that the graph pins, with rows."""
        return await asyncio.to_thread(self._graph.repair, review_limit=review_limit)

    def start_optimize(self, branch: str) -> UpkeepRun:
        """Begin to optimize a branch."""
        refuse_read_only(is_read_only=self._is_read_only)
        return self._start("optimize", lambda events: self._graph.optimize(branch=branch, events=events))

    def start_cleanup(self, *, keep: int) -> UpkeepRun:
        """Begin to remove old versions."""
        refuse_read_only(is_read_only=self._is_read_only)
        return self._start("cleanup", lambda events: self._graph.cleanup(keep=keep, confirm=True, events=events))

    def start_verify(self, *, is_deep: bool) -> UpkeepRun:
        """Begin to check that everything that history names is there."""
        return self._start("verify", lambda events: self._graph.verify(deep=is_deep, all_branches=True, events=events))

    def _start(self, verb: str, work: Callable[[Events], Any]) -> UpkeepRun:
        if self.run is not None and not self.run.is_over:
            raise InvalidTarget(f"{self.run.verb} is still running; wait until it has ended.")
        run = self.run = UpkeepRun(verb)

        async def carried_out() -> None:
            try:
                run.result = await asyncio.to_thread(work, run.receive)
            except Exception as error:  # noqa: BLE001 — shown on the page
                run.error = error
            finally:
                run.is_over = True

        self._task = asyncio.ensure_future(carried_out())
        return run
