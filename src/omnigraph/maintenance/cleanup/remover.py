"""Where files are removed: in this process, or by a worker of the engine that was asked for."""

from functools import cached_property

from omnigraph.base.events import EngineChosen, Events
from omnigraph.engine.choice import EngineChoice, EngineDecision, EngineName, Work
from omnigraph.engine.interface import Engine
from omnigraph.engine.opening import open_engine
from omnigraph.graphs.context import GraphContext
from omnigraph.storage.access import ANY_OPERATION
from omnigraph.storage.retention import Doomed, RemovalTask, remove_files, run_removal
from omnigraph.storage.tables import Table


class Remover:
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

    def remove_versions(self, table: Table, doomed: Doomed) -> None:
        """Remove versions with the files that only they refer to."""
        if not doomed.of_versions:
            return
        tables = self._context.store.tables
        tables.forget(table.address)
        if self._engine is self._context.engine:
            remove_files(self._context.store.objects, doomed.of_versions)
            return
        task = RemovalTask(graph_uri=self._context.store.uri, operation=ANY_OPERATION, paths=tuple(doomed.of_versions))
        (outcome,) = self._engine.map(run_removal, [task])
        tables.forget(table.address)
        if outcome.error is not None:
            raise outcome.error

    def remove_abandoned(self, doomed: Doomed) -> None:
        """Remove files that no version refers to; they alone are not worth a worker."""
        remove_files(self._context.store.objects, doomed.abandoned)

    @cached_property
    def _decision(self) -> EngineDecision:
        """Take Spark only where somebody asked for it: no data is moved, so that no size of it calls for a cluster."""
        session = self._choice.session
        if self._choice.engine is EngineName.AUTO and (session is None or session.is_ambient):
            return EngineDecision(engine=EngineName.LOCAL, reason="removing versions moves no data")
        return self._choice.decide(Work.CLEANUP, None)

    @cached_property
    def _engine(self) -> Engine:
        if self._decision.engine is EngineName.LOCAL:
            self._events(EngineChosen(engine=self.engine_name, reason=self.reason))
            return self._context.engine
        engine, _ = open_engine(
            self._choice,
            Work.CLEANUP,
            None,
            local=self._context.engine,
            worker_environment=self._context.store.settings.environment,
            events=self._events,
        )
        return engine
