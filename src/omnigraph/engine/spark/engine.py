"""Tasks and relational steps on a Spark session. DataFrame API only, so that a Spark Connect session serves too."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.engine.interface import Outcome, Produced, Relations, Task, Watch
from omnigraph.engine.spark.interrupts import plain_interrupts
from omnigraph.engine.spark.progress import watching
from omnigraph.engine.spark.worker import (
    OUTCOME,
    OUTCOME_TYPE,
    PartitionRunner,
    RelationReader,
    TaskRunner,
    group_runner,
    signed_schema,
    unpack,
)
from omnigraph.errors import SparkJobFailed

_CANCELLED = "the Spark job was cancelled and nothing was committed"


class SparkEngine:
    """Runs on one session, which outlives the engine: starting another costs seconds."""

    name = "spark"

    def __init__(self, session: Any) -> None:
        self._session = session
        self._kept: list[tuple[Produced, Any]] = []

    @property
    def slots(self) -> int:
        """What the cluster offers at the moment; a Connect session does not tell, so a few are assumed."""
        try:
            return int(self._session.conf.get("spark.default.parallelism"))
        except Exception:  # noqa: BLE001  # not set, or not known to this kind of session
            context = getattr(self._session, "_sc", None)
            return int(context.defaultParallelism) if context is not None else 8

    def sql(self, relations: Relations, statement: str) -> pa.Table:
        """Run one statement on the cluster and fetch its small result."""

        def run() -> pa.Table:
            with self._query(relations, statement) as frame:
                return frame.toArrow()

        return self._run(run)

    def map(
        self, function: Callable[[Task], Outcome], tasks: Iterable[Task], *, watch: Watch | None = None
    ) -> Iterator[Outcome]:
        """Run one Spark task per task; outcomes arrive when all of them are done."""
        packed = tuple(pickle.dumps(task) for task in tasks)
        if not packed:
            return
        runner = TaskRunner(function=function, tasks=packed)
        with watching(self._session, watch):
            outcomes = self._run(lambda: self._places(len(packed)).mapInArrow(runner, OUTCOME_TYPE).toArrow())
        for outcome in outcomes[OUTCOME].to_pylist():
            yield unpack(outcome)

    def map_groups(
        self, relations: Relations, statement: str, *, by: str, function: Callable[[int, pa.Table], Outcome]
    ) -> Iterator[Outcome]:
        """Shuffle the result of the statement by the column and run each group where it lands."""

        def run() -> pa.Table:
            with self._query(relations, statement) as frame:
                return frame.groupBy(by).applyInArrow(group_runner(function), OUTCOME_TYPE).toArrow()

        for outcome in self._run(run)[OUTCOME].to_pylist():
            yield unpack(outcome)

    def map_partitions(self, frame: Any, function: Callable[[int, Iterator[pa.RecordBatch]], Outcome]) -> list[Outcome]:
        """Compute a frame of this session once and hand each partition, with its number, to a worker."""
        outcomes = self._run(lambda: frame.mapInArrow(PartitionRunner(function=function), OUTCOME_TYPE).toArrow())
        return [unpack(outcome) for outcome in outcomes[OUTCOME].to_pylist()]

    def close(self) -> None:
        """Let go of the relations that the cluster keeps for this engine."""
        for _, frame in self._kept:
            frame.unpersist()
        self._kept.clear()

    @contextmanager
    def _query(self, relations: Relations, statement: str) -> Iterator[Any]:
        """Give the relations names that nobody else uses: the session may be the caller's, with views of its own."""
        prefix = f"omnigraph_{ids.new_ulid().lower()}"
        views = {name: f"{prefix}_{name}" for name in relations}
        try:
            for name, view in views.items():
                self._frame(relations[name]).createOrReplaceTempView(view)
            named = ", ".join(f"{name} AS (SELECT * FROM {view})" for name, view in views.items())  # noqa: S608
            yield self._session.sql(f"WITH {named} SELECT * FROM ({statement})")  # noqa: S608
        finally:
            for view in views.values():
                self._session.catalog.dropTempView(view)

    def _frame(self, relation: pa.Table | Produced) -> Any:
        schema = signed_schema(relation.schema)
        if isinstance(relation, pa.Table):
            return self._session.createDataFrame(relation.cast(schema))
        if not relation.tasks:
            return self._session.createDataFrame([], _struct(schema))
        for kept, frame in self._kept:
            if kept == relation:
                return frame
        tasks = tuple(pickle.dumps(task) for task in relation.tasks)
        reader = RelationReader(read=relation.read, tasks=tasks, schema=schema)
        # A statement names a relation many times, and without this its workers would read it as many times.
        frame = self._places(len(tasks)).mapInArrow(reader, _struct(schema)).persist()
        self._kept.append((relation, frame))
        return frame

    def _places(self, count: int) -> Any:
        """Return the numbers below `count`, one per partition, so that every task is one Spark task."""
        return self._session.range(0, count, 1, count)

    def _run(self, work: Callable[[], pa.Table]) -> pa.Table:
        """Run Spark work, cancel it when the caller is interrupted, and translate Spark's failures.

        The work has a thread of its own: an interrupt in the middle of a call to Java would leave this thread's
        connection with an answer that nobody reads, and the call that cancels the job would read it.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        tag = f"omnigraph-{ids.new_ulid()}"

        def tagged() -> pa.Table:
            self._session.addTag(tag)
            try:
                return work()
            finally:
                self._session.removeTag(tag)

        with plain_interrupts(), ThreadPoolExecutor(max_workers=1, thread_name_prefix="omnigraph-spark") as pool:
            running = pool.submit(tagged)
            try:
                return running.result()
            except KeyboardInterrupt:
                self._session.interruptTag(tag)
                raise KeyboardInterrupt(_CANCELLED) from None
            except (PySparkException, Py4JError) as failure:
                raise self._failed(failure) from failure

    def _failed(self, failure: Exception) -> SparkJobFailed:
        context = getattr(self._session, "_sc", None)
        details = {"app_id": context.applicationId} if context is not None else {}
        return SparkJobFailed(
            f"The Spark job failed: {_first_cause(str(failure))}. Nothing was committed; run with --debug to see "
            "the stack trace.",
            **details,
        )


def _struct(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def _first_cause(text: str) -> str:
    """Return the line of a Python traceback, or of Spark's message, that names what went wrong."""
    lines = [line.strip(" :") for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]  # what the bridge to Java says of every failure
    raised = [line for line in lines if not line.startswith(("at ", "File ", "Traceback", "...")) and ": " in line]
    cause = raised[-1] if "Traceback (most recent call last)" in text and raised else lines[0] if lines else "no reason"
    return cause.rstrip(".")
