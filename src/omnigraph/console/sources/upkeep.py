"""Health and maintenance of a graph whose storage is opened here."""

import asyncio
from typing import TYPE_CHECKING

from omnigraph.base.events import Events, ignore_events

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.maintenance.health.judging import HealthReport
    from omnigraph.maintenance.optimize.report import OptimizeResult
    from omnigraph.maintenance.repair.run import RepairReport
    from omnigraph.maintenance.verify.report import VerifyReport


class GraphUpkeep:
    """The verbs of maintenance, each in a thread; `events` are told from that thread."""

    def __init__(self, graph: "Graph") -> None:
        self._graph = graph

    async def health(self) -> "HealthReport":
        """Say how the graph is doing and what to do about it."""
        return await asyncio.to_thread(self._graph.health)

    async def optimize(
        self, *, branch: str, dry_run: bool, events: Events = ignore_events, message: str | None = None
    ) -> "OptimizeResult":
        """Plan, or carry out, the optimization of a branch."""
        return await asyncio.to_thread(
            self._graph.optimize, branch=branch, dry_run=dry_run, events=events, message=message
        )

    async def drift(self, *, review_limit: int = 20) -> "RepairReport":
        """Show tables whose newest version is not the one that the graph pins, with rows."""
        return await asyncio.to_thread(self._graph.repair, review_limit=review_limit)

    async def verify(self, *, deep: bool, events: Events = ignore_events) -> "VerifyReport":
        """Check that everything that history names is there."""
        return await asyncio.to_thread(self._graph.verify, deep=deep, all_branches=True, events=events)
