"""The engine of this process: tasks on its threads, relational steps on DuckDB, straight over Arrow memory."""

import json
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from tempfile import gettempdir
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base import ids
from omnigraph.engine.interface import Outcome, Produced, Relations, Task, Watch
from omnigraph.engine.meter import Meter
from omnigraph.errors import QueryFailed

Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any] | None
"""What stands for `?`, `$1` or `$name` in a query."""

_WORKER_MEMORY = "1GiB"
"""What a statement on a worker may hold before it spills to disk: workers share a machine with each other."""
_QUERY_BATCH_ROWS = 1 << 16
_STREAM = "__stream"


class LocalEngine:
    """Runs statements on one in-memory DuckDB; each call has a cursor of its own, so threads may share an engine."""

    name = "local"
    is_here = True

    def __init__(self, **settings: str) -> None:
        self._settings = settings
        self._database: Any = None
        self._lock = Lock()

    @property
    def slots(self) -> int:
        """As many as this process may use cores."""
        return len(os.sched_getaffinity(0))

    def threads_each(self, tasks: int) -> int:
        """Divide the cores among the tasks that run at the same time."""
        return self.slots // min(tasks, self.slots)

    def sql(self, relations: Relations, statement: str) -> pa.Table:
        """Run one statement over the given relations."""
        with self._cursor() as cursor:
            for name, relation in relations.items():
                if isinstance(relation, Produced):
                    self._take_in(cursor, name, relation)
                else:
                    cursor.register(name, relation)
            return cursor.sql(statement).to_arrow_table()

    @contextmanager
    def querying(
        self, relations: Mapping[str, Any], statement: str, parameters: Parameters = None
    ) -> Iterator[pa.RecordBatchReader]:
        """Run a user's query over Arrow tables and datasets, and stream its rows for as long as the block lasts.

        Whatever the database says against it is a `QueryFailed`. More memory than the machine has goes to disk.
        """
        with self._cursor() as cursor, _query_failures():
            # Only what was named counts, not what the variables of some caller happen to be called.
            cursor.execute("SET python_enable_replacements = false")
            for name, relation in relations.items():
                cursor.register(name, relation)
            yield cursor.sql(statement, params=parameters).to_arrow_reader(_QUERY_BATCH_ROWS)

    def tables_in(self, statement: str) -> frozenset[str]:
        """Return the tables that a query names, its own common tables among them.

        Raises `QueryFailed` unless it is one query that only reads.
        """
        with self._cursor() as cursor, _query_failures():
            # DuckDB's own list of names looks them up first, and knows nothing of parameters.
            parsed = json.loads(cursor.execute("SELECT json_serialize_sql(?)", [statement]).fetchone()[0])
            if not parsed["error"] and len(parsed["statements"]) == 1:
                return frozenset(_base_tables(parsed))
            kinds = [found.type.name for found in cursor.extract_statements(statement)]
        raise QueryFailed(
            f"A snapshot answers one SELECT at a time, not {' and '.join(kinds) or 'nothing'}. "
            "Write with graph.load and graph.write."
        )

    def map(
        self,
        function: Callable[[Task], Outcome],
        tasks: Iterable[Task],
        *,
        weights: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> Iterator[Outcome]:
        """Run tasks on as many threads as this process may use cores."""
        tasks = list(tasks)
        meter = Meter.of(watch, weights, tasks=len(tasks))
        with ThreadPoolExecutor(max_workers=self.slots, thread_name_prefix="omnigraph") as pool:
            if meter is None:
                running = [pool.submit(function, task) for task in tasks]
            else:
                running = [pool.submit(meter.run, place, partial(function, task)) for place, task in enumerate(tasks)]
            try:
                for finished in as_completed(running):
                    yield finished.result()
            finally:
                for left in running:
                    left.cancel()

    def map_groups(
        self,
        relations: Relations,
        statement: str,
        *,
        by: str,
        function: Callable[[int, pa.Table], Outcome],
        watch: Watch | None = None,
    ) -> Iterator[Outcome]:
        """Run the statement here and the groups on threads."""
        rows = self.sql(relations, statement).combine_chunks()
        # Sorted once, every group is a slice of the order; looking for each in all rows would cost groups times rows.
        order = pc.sort_indices(rows[by])
        counts = pc.value_counts(rows[by]).sort("ascending", by="values") if rows.num_rows else pa.array([])
        groups = list(_slices([(group["values"], group["counts"]) for group in counts.to_pylist()]))
        return self.map(
            lambda group: function(group.key, rows.take(order.slice(group.start, group.rows))),
            groups,
            weights=[group.rows for group in groups],
            watch=watch,
        )

    def close(self) -> None:
        """Keep nothing, let go of nothing."""

    def _take_in(self, cursor: Any, name: str, relation: Produced) -> None:
        """Give a relation to the database as it is read: what does not fit into memory goes to disk."""
        import duckdb

        failures: list[BaseException] = []
        batches = _noting(failures, self._batches(relation))
        cursor.register(_STREAM, pa.RecordBatchReader.from_batches(relation.schema, batches))
        try:
            cursor.execute(f'CREATE TEMP TABLE "{name}" AS SELECT * FROM {_STREAM}')  # noqa: S608 — names of our own
        except duckdb.Error:
            # The database knows only the text of what happened in its source.
            if failures:
                raise failures[0] from None
            raise
        finally:
            batches.close()
        cursor.unregister(_STREAM)

    def _batches(self, relation: Produced) -> Iterator[pa.RecordBatch]:
        """Read on all threads, in order, no further ahead than there are threads."""
        with ThreadPoolExecutor(max_workers=self.slots, thread_name_prefix="omnigraph") as pool:
            waiting = iter(relation.tasks)
            running = deque(pool.submit(_read_all, relation.read, task) for task in islice(waiting, self.slots + 1))
            try:
                while running:
                    batches = running.popleft().result()
                    running.extend(pool.submit(_read_all, relation.read, task) for task in islice(waiting, 1))
                    yield from batches
            finally:
                for left in running:
                    left.cancel()

    def _cursor(self) -> Any:
        import duckdb

        with self._lock:
            if self._database is None:
                self._database = duckdb.connect(
                    config={
                        # Nothing here needs an extension, and a data tool must not reach for the network on its own.
                        "autoinstall_known_extensions": "false",
                        # Made when something spills; DuckDB would use the directory that the user happens to be in.
                        "temp_directory": str(Path(gettempdir(), f"omnigraph-{ids.new_ulid()}")),
                        **self._settings,
                    }
                )
            return self._database.cursor()


def _base_tables(parsed: Any) -> Iterator[str]:
    """Yield the names of all tables in a parsed query, however deep they stand in it."""
    if isinstance(parsed, dict):
        if parsed.get("type") == "BASE_TABLE":
            yield parsed["table_name"]
        parsed = list(parsed.values())
    if isinstance(parsed, list):
        for part in parsed:
            yield from _base_tables(part)


@contextmanager
def _query_failures() -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise QueryFailed(str(error).strip(), names_unknown_table=isinstance(error, duckdb.CatalogException)) from error


@lru_cache(maxsize=2)
def worker_engine(threads: int) -> LocalEngine:
    """Return the engine for the relational part of a task: one per worker, within the worker's share of the machine."""
    return LocalEngine(threads=str(threads), memory_limit=_WORKER_MEMORY)


def _noting(failures: list[BaseException], batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch, None, None]:
    try:
        yield from batches
    except GeneratorExit:
        raise
    except BaseException as failure:
        failures.append(failure)
        raise


class _Group(NamedTuple):
    key: int
    start: int
    rows: int


def _slices(counts: Iterable[tuple[int, int]]) -> Iterator[_Group]:
    start = 0
    for key, count in counts:
        yield _Group(key, start, count)
        start += count


def _read_all(read: Callable[[Any], Iterator[pa.RecordBatch]], task: Any) -> list[pa.RecordBatch]:
    return list(read(task))


def arrow_relation(rows: Any, connection: Any) -> Any:
    """Return a DuckDB relation over an Arrow table or dataset; None means DuckDB's default connection."""
    import duckdb

    return duckdb.from_arrow(rows, connection=connection) if connection is not None else duckdb.from_arrow(rows)
