"""Observe: how a graph is doing, or, where nothing happened since it was last found in order, merely that.

The short look reads the head of each branch and lists pending operations. What cannot be seen there, drift and the age
of versions, waits for the full look that every graph gets once a day.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta

from omnigraph.base.endings import is_failure
from omnigraph.base.values import dataclass
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import RecoveryRequired
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.admission import require_settled
from omnigraph.maintenance.health.judging import HealthReport, report_health
from omnigraph.maintenance.maintain.request import MaintainedGraph
from omnigraph.maintenance.maintain.settings import GraphSettings, OptimizeSettings
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.manifest.missing import no_graph_at
from omnigraph.manifest.rows import MANIFEST
from omnigraph.storage.refs import list_refs
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import TableAddress
from omnigraph.writes.pending import sidecars_of

LOOK_AGAIN = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """That a graph was in order: its state then, what it was judged by, and when."""

    state: str
    settings: str
    looked_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLook:
    """One graph as it was seen; with neither `health` nor `error`, as it was remembered."""

    graph: MaintainedGraph
    looked_at_us: int
    """When the graph was last looked at in full."""
    state: str | None = None
    """Stands for the heads of all branches; None where that could not be told."""
    health: HealthReport | None = None
    interrupted: tuple[str, ...] = ()
    """Operations that recovery has to settle before anything else can be judged."""
    error: str | None = None


def open_context(graph: MaintainedGraph) -> GraphContext:
    """Open a graph without settling what interrupted writers left; reads nothing yet."""
    return GraphContext.over(GraphStore.open(graph.uri), LocalEngine())


def settings_digest(settings: GraphSettings) -> str:
    """Stand for settings: a graph that was in order by others has to be looked at again."""
    return hashlib.sha256(repr(settings).encode()).hexdigest()[:16]


def look_at(
    context: GraphContext, graph: MaintainedGraph, *, now_us: int, remembered: Remembered | None = None
) -> GraphLook:
    """Look at a graph; whatever is wrong with one graph is no reason not to look at the next."""
    try:
        state = observe_state(context)
        if remembered is not None and _still_holds(remembered, graph, state, now_us):
            return GraphLook(graph=graph, looked_at_us=remembered.looked_at_us, state=state)
        if interrupted := _interrupted(context):
            # What else is due shows when that is settled: half of an operation looks like drift.
            return GraphLook(graph=graph, looked_at_us=now_us, state=state, interrupted=interrupted)
        settings = graph.settings
        retention = None if settings.cleanup is None else settings.cleanup.policy
        report = report_health(context, aim=_aim(settings.optimize), retention=retention)
    except BaseException as failure:
        if not is_failure(failure):
            raise
        return GraphLook(graph=graph, looked_at_us=now_us, error=str(failure) or type(failure).__name__)
    return GraphLook(graph=graph, looked_at_us=now_us, state=state, health=report)


def observe_state(context: GraphContext) -> str | None:
    """Stand for the newest commits of all branches; None while operations are pending, which change what follows."""
    main = _head(context, MANIFEST)
    if main is None:
        raise no_graph_at(context.store)
    if sidecars_of(context).pending():
        return None
    parts = [main]
    for name, ref in sorted(list_refs(context.store.tables, MANIFEST.location).items()):
        if not name.startswith("__"):
            parts.append(f"{name} {ref.incarnation} {_head(context, TableAddress(MANIFEST.location, name))}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def remembered_from(documents: Iterable[object]) -> dict[str, Remembered]:
    """Read from a journal line, as somebody left it, which graphs were in order."""
    found = {}
    for document in documents:
        if not isinstance(document, dict) or document.get("in_order") is not True:
            continue
        texts = [document.get(key) for key in ("graph", "state", "settings", "looked_at")]
        name, state, settings, looked_at = (text if isinstance(text, str) else "" for text in texts)
        moment = _read_moment(looked_at)
        if name and state and moment is not None:
            found[name] = Remembered(state=state, settings=settings, looked_at_us=moment)
    return found


def _read_moment(text: str) -> int | None:
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1_000_000)
    except ValueError:
        return None


def _head(context: GraphContext, address: TableAddress) -> str | None:
    table = context.store.tables.head(address)
    if table is None:
        return None
    head = context.manifest.head_of(table)
    return f"{table.version} {head.graph_commit_id if head is not None else None}"


def _still_holds(remembered: Remembered, graph: MaintainedGraph, state: str | None, now_us: int) -> bool:
    age_us = now_us - remembered.looked_at_us
    return (
        state is not None
        and remembered.state == state
        and remembered.settings == settings_digest(graph.settings)
        and 0 <= age_us < LOOK_AGAIN / timedelta(microseconds=1)
    )


def _interrupted(context: GraphContext) -> tuple[str, ...]:
    """Name the operations that no live writer is carrying out; one that is gets a moment to finish."""
    try:
        require_settled(context, "maintain")
    except RecoveryRequired as required:
        return tuple(required.details["operation_ids"])
    return ()


def _aim(optimize: OptimizeSettings | None) -> OptimizeRequest:
    return OptimizeRequest(dry_run=True, deleted_ratio=(optimize or OptimizeSettings()).deleted_ratio)
