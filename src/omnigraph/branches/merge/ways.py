"""Where a merge is worked out: in this process while the changes are few, in bulk on an engine otherwise.

How much there is decides the way, and the engine that was asked for decides where the bulk way runs. Both come to the
same plan. Finding out needs no engine, so that a merge with nothing to do starts none.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryDirectory

from omnigraph.base import ids
from omnigraph.base.events import EngineChosen, Events, Warned, phase
from omnigraph.branches.merge.bulk.plan import COMPARING, plan_in_bulk
from omnigraph.branches.merge.plan import MergePlan, plan_in_process
from omnigraph.branches.merge.routes import Route, route
from omnigraph.branches.merge.sides import MergeSides
from omnigraph.catalog.model import TableKey
from omnigraph.changes.compare import change_bytes
from omnigraph.engine.choice import EngineChoice, Work
from omnigraph.engine.interface import Engine
from omnigraph.engine.opening import close_at_end, open_engine
from omnigraph.graphs.holding import hold_if_possible, hold_versions
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.store import GraphStore
from omnigraph.storage.worker_files import ScratchPlace, shared_with_workers


@dataclass(kw_only=True)
class MergePlanner:
    """Plans one merge, and remembers where and why there."""

    choice: EngineChoice
    events: Events
    show_values: bool
    writes_files: bool
    """Whether workers may write the files that the plan is about; a preview has none written."""
    leases: ExitStack
    """Ends when the merge has: the source may move on meanwhile, and a pointer may come to pin what it had."""
    engine: str = field(default="local", init=False)
    reason: str = field(default="", init=False)

    def plan(self, sides: MergeSides) -> MergePlan:
        """Plan the merge of these sides; what it compares is kept from a cleanup until `leases` ends."""
        routes = _routes(sides)
        if not routes:
            self.engine, self.reason = sides.target.context.engine.name, "nothing to compare"
            self.events(EngineChosen(engine=self.engine, reason=self.reason))
            return plan_in_process(sides, routes, show_values=self.show_values)
        compared = (state.pins[key] for state in (sides.source, *sides.bases) for key in routes)
        pins = {(pin.address, pin.version): pin for pin in compared}
        hold = hold_versions if self.writes_files else partial(hold_if_possible, warn=self._warn)
        self.leases.enter_context(hold(sides.target.context, pins.values(), operation="branch merge"))
        return self._plan(sides, routes)

    def _warn(self, message: str) -> None:
        self.events(Warned(message=message))

    def _plan(self, sides: MergeSides, routes: Mapping[TableKey, Route]) -> MergePlan:
        context = sides.target.context
        size_bytes = _size_bytes(sides, routes, limit=self.choice.session_min_bytes)
        engine, self.reason = open_engine(
            self.choice,
            Work.MERGE,
            size_bytes,
            local=context.engine,
            worker_environment=context.store.settings.environment,
            events=self.events,
        )
        self.engine = engine.name
        if engine is context.engine and size_bytes < self.choice.session_min_bytes:
            with phase(self.events, COMPARING):
                return plan_in_process(sides, routes, show_values=self.show_values)
        try:
            return plan_in_bulk(
                sides,
                routes,
                engine,
                scratch=self._scratch(context.store, engine),
                writes_files=self.writes_files,
                show_values=self.show_values,
                events=self.events,
            )
        finally:
            close_at_end(engine, self.events)

    def _scratch(self, store: GraphStore, engine: Engine) -> ScratchPlace:
        """Return where workers keep what they cut, until the merge has ended.

        That is beside the tables, where every worker can read it; but on this machine if all of them are here and the
        graph is elsewhere, or must not be written to.
        """
        operation_id = ids.new_ulid()
        self.leases.enter_context(shared_with_workers(store, operation_id))
        if engine.is_here and (not self.writes_files or not store.root.is_local):
            directory = self.leases.enter_context(TemporaryDirectory(prefix="omnigraph-", ignore_cleanup_errors=True))
            return ScratchPlace(uri=directory, operation_id=operation_id)
        self.leases.callback(Scratch(store, operation_id).clear_at_end, self.events)
        return ScratchPlace(uri=store.uri, operation_id=operation_id)


def _routes(sides: MergeSides) -> dict[TableKey, Route]:
    """Choose the route of every table that the merge may change."""
    if not sides.bases:
        return {}
    choose = partial(route, own_ref=sides.target.snapshot.own_ref, lasting_refs=sides.lasting_refs)
    chosen = {
        key: choose(source=sides.source.pins[key], target=pin, bases=[base.pins[key] for base in sides.bases])
        for key, pin in sides.target.snapshot.pins.items()
    }
    return {key: found for key, found in chosen.items() if found is not Route.SKIP}


def _size_bytes(sides: MergeSides, routes: Mapping[TableKey, Route], *, limit: int) -> int:
    """Estimate the changes of both sides since they parted."""
    total = 0
    for key, chosen in routes.items():
        entity = sides.target.catalog.type_by_table_key[key]
        changed = [sides.source_state(entity)]
        if chosen is Route.THREE_WAY:
            changed.append(sides.target_state(entity))
        for base in sides.base_states(entity):
            total += sum(change_bytes(sides.target.context, base, side, limit=limit) for side in changed)
    return total
