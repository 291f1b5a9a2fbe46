"""What runs inside Spark's Python workers: unpack a task, run it, pack what it returns.

Nothing here imports Lance. Workers are forked from a daemon, which Lance's threads would not survive; the task itself
imports it, in the worker.
"""

import pickle
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.base import work
from omnigraph.engine.interface import Relations
from omnigraph.engine.local import worker_engine
from omnigraph.engine.spark.reports import ALL, ReportAddress
from omnigraph.errors import OmniError

OUTCOME = "outcome"
OUTCOME_TYPE = f"{OUTCOME} binary"
PLACE, TASK = "place", "task"
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRunner:
    """Runs the tasks whose places arrive; an error that was raised on purpose travels back as it is."""

    function: Callable[[Any], Any]
    carried: tuple[bytes, ...] | None
    """All tasks, if they are few; otherwise each arrives beside its place."""
    reports: ReportAddress | None = None
    """Where to say how far a task is, if anywhere."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run what Spark put into this partition."""
        for place, task in _tasks(batches, self.carried):
            with self.reports.reporting(place, at_end=ALL) if self.reports is not None else nullcontext():
                packed = _packed(self.function, task)
            yield pa.RecordBatch.from_pydict({OUTCOME: [packed]})


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationReader:
    """Reads the rows of a relation for the tasks whose places arrive."""

    read: Callable[[Any], Iterator[pa.RecordBatch]]
    carried: tuple[bytes, ...] | None
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read what Spark put into this partition."""
        for _, task in _tasks(batches, self.carried):
            for batch in self.read(pickle.loads(task)):  # noqa: S301  # packed by our own driver
                yield batch.cast(self.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoneStatement:
    """A statement over relations that one worker can hold: its own DuckDB is done before a shuffle has begun."""

    relations: Relations
    text: str
    threads: int


def run_lone(statement: LoneStatement) -> pa.Table:
    """Read the relations here and run the statement over them."""
    return worker_engine(statement.threads).sql(statement.relations, statement.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoneReader:
    """Gives the result of a statement as rows of a frame."""

    statement: LoneStatement
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the statement once, for the one place that arrives."""
        for _ in _places(batches):
            yield from run_lone(self.statement).cast(self.schema).to_batches(max_chunksize=_BATCH_ROWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRunner:
    """Runs a function over the rows of one partition of a frame."""

    function: Callable[[int, Iterator[pa.RecordBatch]], Any]
    reports: ReportAddress | None = None
    """Where to say how many rows are done, if anywhere."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run what Spark put into this partition."""
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        number = context.partitionId()
        with self.reports.reporting(number) if self.reports is not None else nullcontext():
            packed = _packed(lambda partition: self.function(partition, batches), pickle.dumps(number))
        yield pa.RecordBatch.from_pydict({OUTCOME: [packed]})


def group_runner(
    function: Callable[[int, pa.Table], Any], reports: ReportAddress | None
) -> Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]:
    """Return what Spark calls for a group; it counts the parameters, so this is no object with a call."""

    def run(key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
        place = int(key[0].as_py())
        with reports.reporting(place) if reports is not None else nullcontext():
            packed = _packed(lambda _: function(place, rows), pickle.dumps(None))
            work.did(rows.num_rows)
        return pa.table({OUTCOME: pa.array([packed], pa.binary())})

    return run


def unpack(outcome: bytes) -> Any:
    """Return what a task returned, or raise what it raised."""
    value, error = pickle.loads(outcome)  # noqa: S301  # packed by our own workers
    if error is not None:
        raise error
    return value


def _packed(function: Callable[[Any], Any], task: bytes) -> bytes:
    try:
        return pickle.dumps((function(pickle.loads(task)), None))  # noqa: S301  # packed by our own driver
    except OmniError as error:
        return pickle.dumps((None, error))


def _tasks(batches: Iterator[pa.RecordBatch], carried: tuple[bytes, ...] | None) -> Iterator[tuple[int, bytes]]:
    for batch in batches:
        for row, place in enumerate(batch.column(0).to_pylist()):
            yield place, carried[place] if carried is not None else batch.column(1)[row].as_py()


def _places(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()
