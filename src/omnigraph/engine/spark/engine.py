"""Tasks and relational steps on a Spark session. DataFrame API only, so that a Spark Connect session serves too."""

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, cast

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.engine.interface import Outcome, Produced, Relation, Relations, Task, Watch
from omnigraph.engine.local import worker_engine
from omnigraph.engine.meter import Meter
from omnigraph.engine.spark.baggage import Baggage
from omnigraph.engine.spark.failures import job_cause
from omnigraph.engine.spark.interrupts import JobGroup, plain_interrupts
from omnigraph.engine.spark.progress import watching
from omnigraph.engine.spark.session import OpenSession
from omnigraph.engine.spark.types import spark_schema
from omnigraph.engine.spark.worker import (
    OUTCOME,
    OUTCOME_TYPE,
    PLACE,
    TASK,
    LoneReader,
    LoneStatement,
    PartitionRunner,
    RelationReader,
    TaskRunner,
    group_runner,
    run_lone,
    unpack,
)
from omnigraph.errors import SparkJobFailed

LONE_ROWS_MAX = 4 << 20
"""Rows that a statement reads on one worker: a few hundred megabytes of keys, and a fraction of a shuffle's time."""
CARRIED_BYTES_MAX = 64 << 10
"""Tasks that travel with the function that runs them, all of them to every worker; more are sent each to its own."""

_SPREAD_PER_SLOT = 4
"""Groups find their task by a hash; with so many tasks none of them gets most of the groups."""

_CANCELLED = "the Spark job was cancelled and nothing was committed"


class SparkEngine:
    """Runs on one session, which outlives the engine: starting another costs seconds.

    `worker_environment` is set on the workers while they run tasks of this engine, and never shown.
    """

    name = "spark"

    def __init__(self, opened: OpenSession, worker_environment: Mapping[str, str]) -> None:
        self._opened = opened
        self._session = opened.session
        self._baggage = Baggage.of(self._session, worker_environment, os.environ)
        self._read: list[tuple[Produced, Any]] = []

    @property
    def slots(self) -> int:
        """What the cluster offers at the moment; a Connect session does not tell, so a few are assumed."""
        with self._opened.in_use():
            try:
                return int(self._session.conf.get("spark.default.parallelism"))
            except Exception:  # noqa: BLE001  # not set, or not known to this kind of session
                context = getattr(self._session, "_sc", None)
                return int(context.defaultParallelism) if context is not None else 8

    @property
    def is_here(self) -> bool:
        """Whether the executor is the driver itself."""
        return self._is_one_process

    def threads_each(self, tasks: int) -> int:
        """Divide one machine among few tasks; on a cluster, take what Spark reserves for a task; over Connect, one."""
        if self._is_one_process:
            return self.slots // min(tasks, self.slots)
        context = getattr(self._session, "_sc", None)
        return int(context.getConf().get("spark.task.cpus", "1")) if context is not None else 1

    def sql(self, relations: Relations, statement: str) -> pa.Table:
        """Run one statement on the cluster, small ones on one worker, and fetch its small result."""
        if (small := _small(relations)) is not None:
            return next(self.map(run_lone, [self._lone(small, statement)]))

        def run() -> pa.Table:
            with self._query(relations, statement) as frame:
                return frame.toArrow()

        return cast("pa.Table", self._run(run))

    def map(
        self,
        function: Callable[[Task], Outcome],
        tasks: Iterable[Task],
        *,
        weights: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> Iterator[Outcome]:
        """Run one Spark task per task; outcomes arrive when all of them are done."""
        packed = tuple(pickle.dumps(task) for task in tasks)
        if not packed:
            return
        group = JobGroup(self._session)
        meter = Meter.of(watch, weights, tasks=len(packed))
        with watching(self._session, group, meter, is_one_process=self._is_one_process) as reports:
            runner = TaskRunner(function=function, carried=_carried(packed), reports=reports)
            over = self._baggage.over_batches(runner)
            outcomes = self._run(lambda: self._tasks(packed).mapInArrow(over, OUTCOME_TYPE).toArrow(), group)
        for outcome in outcomes[OUTCOME].to_pylist():
            yield unpack(outcome)

    def map_groups(
        self,
        relations: Relations,
        statement: str,
        *,
        by: str,
        function: Callable[[int, pa.Table], Outcome],
        watch: Watch | None = None,
    ) -> Iterator[Outcome]:
        """Shuffle the result of the statement by the column and run each group where it lands."""
        group = JobGroup(self._session)
        meter = Meter(watch, None) if watch is not None else None
        with watching(self._session, group, meter, is_one_process=self._is_one_process) as reports:

            def run() -> pa.Table:
                runner = self._baggage.over_groups(group_runner(function, reports))
                with self._query(relations, statement) as frame:
                    # One worker may have run the statement, and would keep all groups, since they are where it is.
                    spread = frame.repartition(_SPREAD_PER_SLOT * self.slots, by)
                    return spread.groupBy(by).applyInArrow(runner, OUTCOME_TYPE).toArrow()

            outcomes = self._run(run, group)
        for outcome in outcomes[OUTCOME].to_pylist():
            yield unpack(outcome)

    def map_partitions(
        self,
        frame: Any,
        function: Callable[[int, Iterator[pa.RecordBatch]], Outcome],
        *,
        watch: Watch | None = None,
    ) -> list[Outcome]:
        """Compute a frame of the caller's once, in its own session, and hand each partition, numbered, to a worker.

        `watch` is told rows, as far as workers say how many they have done.
        """
        group = JobGroup(frame.sparkSession)
        meter = Meter(watch, None) if watch is not None else None
        with watching(frame.sparkSession, group, meter, is_one_process=self._is_one_process) as reports:
            runner = self._baggage.over_batches(PartitionRunner(function=function, reports=reports))
            outcomes = self._run(lambda: frame.mapInArrow(runner, OUTCOME_TYPE).toArrow(), group)
        return [unpack(outcome) for outcome in outcomes[OUTCOME].to_pylist()]

    def close(self) -> None:
        """Let go of the relations that the cluster keeps for this engine."""
        with self._opened.in_use():
            for _, frame in self._read:
                frame.unpersist()
            self._read.clear()

    def _lone(self, relations: Relations, statement: str) -> LoneStatement:
        return LoneStatement(relations=relations, text=statement, threads=self.threads_each(1))

    @contextmanager
    def _query(self, relations: Relations, statement: str) -> Iterator[Any]:
        """Return the result of a statement as a frame."""
        if (small := _small(relations)) is not None:
            nothing = {name: relation.schema.empty_table() for name, relation in small.items()}
            schema = spark_schema(worker_engine(1).sql(nothing, statement).schema)
            reader = LoneReader(statement=self._lone(small, statement), schema=schema)
            yield self._places(1).mapInArrow(self._baggage.over_batches(reader), _struct(schema))
            return
        views: list[str] = []
        try:
            yield self._frame_of(relations, statement, views)
        finally:
            self._drop(views)

    def _frame_of(self, relations: Relations, statement: str, views: list[str]) -> Any:
        """Describe a statement's result and remember the views that it needs, by names that nobody else uses."""
        prefix = f"omnigraph_{ids.new_ulid().lower()}"
        for name, relation in relations.items():
            self._frame(relation).createOrReplaceTempView(f"{prefix}_{name}")
            views.append(f"{prefix}_{name}")
        named = ", ".join(f"{name} AS (SELECT * FROM {prefix}_{name})" for name in relations)  # noqa: S608
        return self._session.sql(f"WITH {named} SELECT * FROM ({statement})")  # noqa: S608

    def _drop(self, views: list[str]) -> None:
        while views:
            self._session.catalog.dropTempView(views.pop())

    def _frame(self, relation: Relation) -> Any:
        schema = spark_schema(relation.schema)
        if isinstance(relation, pa.Table):
            return self._session.createDataFrame(relation.cast(schema))
        if not relation.tasks:
            return self._session.createDataFrame(schema.empty_table(), _struct(schema))
        for read, frame in self._read:
            if read == relation:
                return frame
        tasks = tuple(pickle.dumps(task) for task in relation.tasks)
        reader = self._baggage.over_batches(RelationReader(read=relation.read, carried=_carried(tasks), schema=schema))
        # A statement names a relation many times, and without this its workers would read it as many times.
        frame = self._tasks(tasks).mapInArrow(reader, _struct(schema)).persist()
        self._read.append((relation, frame))
        return frame

    @property
    def _is_one_process(self) -> bool:
        """Whether the executor is the driver itself."""
        context = getattr(self._session, "_sc", None)
        return context is not None and (context.master == "local" or context.master.startswith("local["))

    def _places(self, count: int) -> Any:
        """Return the numbers below `count`, one per partition, so that every task is one Spark task."""
        return self._session.range(0, count, 1, count)

    def _tasks(self, packed: tuple[bytes, ...]) -> Any:
        """Return one task per partition: its place and, unless the tasks are carried by their function, itself.

        With thousands of tasks, each worker would otherwise get to know all of them.
        """
        if _carried(packed) is not None:
            return self._places(len(packed))
        rows = pa.table({PLACE: pa.array(range(len(packed)), pa.int32()), TASK: pa.array(packed, pa.binary())})
        return self._session.createDataFrame(rows).repartitionById(len(packed), PLACE)

    def _run(self, work: Callable[[], Any], group: JobGroup | None = None) -> Any:
        """Run Spark work, cancel it when the caller is interrupted, and translate Spark's failures.

        The work has a thread of its own: an interrupt in the middle of a call to Java would leave this thread's
        connection with an answer that nobody reads, and the call that cancels the job would read it.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        group = group or JobGroup(self._session)
        with (
            self._opened.in_use(),
            plain_interrupts(),
            ThreadPoolExecutor(max_workers=1, thread_name_prefix="omnigraph-spark") as pool,
        ):
            running = pool.submit(group.run, work)
            try:
                return running.result()
            except KeyboardInterrupt:
                group.cancel()
                raise KeyboardInterrupt(_CANCELLED) from None
            except (PySparkException, Py4JError) as failure:
                text = str(failure)  # while Java, which knows it, can be asked
                raise self._failed(text) from RuntimeError(text)

    def _failed(self, text: str) -> SparkJobFailed:
        details = {}
        with suppress(Exception):  # a Connect session does not tell, nor a Java process that is gone
            details["app_id"] = self._session.sparkContext.applicationId
        return SparkJobFailed(
            f"The Spark job failed: {job_cause(text)}. Nothing was committed; run with --debug to see the stack trace.",
            **details,
        )


def _carried(packed: tuple[bytes, ...]) -> tuple[bytes, ...] | None:
    return packed if sum(map(len, packed)) <= CARRIED_BYTES_MAX else None


def _small(relations: Relations) -> Relations | None:
    """Return the relations if one worker can hold them all."""
    rows = [relation.num_rows if isinstance(relation, pa.Table) else relation.rows for relation in relations.values()]
    known = [count for count in rows if count is not None]
    return relations if len(known) == len(relations) and sum(known) <= LONE_ROWS_MAX else None


def _struct(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
