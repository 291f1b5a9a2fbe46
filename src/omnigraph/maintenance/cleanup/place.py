"""Where versions are removed: in this process, or by a worker of the engine that was asked for."""

from collections.abc import Sequence
from functools import cached_property

from omnigraph.base.events import EngineChosen, Events
from omnigraph.engine.choice import Decision, EngineChoice, EngineName
from omnigraph.engine.interface import Engine
from omnigraph.engine.opening import open_engine
from omnigraph.storage.access import TableAccess
from omnigraph.storage.retention import Removal, RemovalTask, remove_versions, run_removal
from omnigraph.storage.tables import Table
from omnigraph.writes.context import GraphContext


class RemovalPlace:
    """Removes the versions of one table after the other; opens an engine with the first version that goes.

    One task at a time: who needs what is asked right before each table, not at the start of a batch of them.
    """

    def __init__(self, context: GraphContext, choice: EngineChoice, events: Events) -> None:
        self._context = context
        self._choice = choice
        self._events = events

    @property
    def engine_name(self) -> str:
        """Which engine removes."""
        return self._decision.engine.value

    @property
    def reason(self) -> str:
        """Why that engine was taken."""
        return self._decision.reason

    def remove_versions(self, table: Table, versions: Sequence[int]) -> Removal:
        """Remove versions, and old files of failed writes, which alone are not worth a worker."""
        engine = self._engine if versions else self._context.engine
        if engine is self._context.engine:
            return remove_versions(self._context.store.tables, table, versions)
        task = RemovalTask(access=TableAccess.to(self._context.store, table), versions=tuple(versions))
        (outcome,) = engine.map(run_removal, [task])
        self._context.store.tables.forget(table.address)
        if outcome.error is not None:
            raise outcome.error
        return outcome.removed

    @cached_property
    def _decision(self) -> Decision:
        """Take Spark only where somebody asked for it: no data is moved, so that no size of it calls for a cluster."""
        if self._choice.engine is EngineName.AUTO and self._choice.session is None:
            return Decision(engine=EngineName.LOCAL, reason="removing versions moves no data")
        return self._choice.decide(None)

    @cached_property
    def _engine(self) -> Engine:
        if self._decision.engine is EngineName.LOCAL:
            self._events(EngineChosen(engine=self.engine_name, reason=self.reason))
            return self._context.engine
        engine, _ = open_engine(
            self._choice,
            None,
            local=self._context.engine,
            worker_environment=self._context.store.settings.environment,
            events=self._events,
        )
        return engine
