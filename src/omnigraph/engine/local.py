"""The engine of this process: tasks on its threads, relational steps on DuckDB, straight over Arrow memory."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Lock
from typing import Any

import pyarrow as pa

from omnigraph.engine.interface import Outcome, Relations, Task


class LocalEngine:
    """Runs statements on one in-memory DuckDB; each call has a cursor of its own, so threads may share an engine."""

    name = "local"

    def __init__(self) -> None:
        self._database: Any = None
        self._lock = Lock()

    def sql(self, relations: Relations, statement: str) -> pa.Table:
        """Run one statement over the given relations."""
        with self._cursor() as cursor:
            for name, relation in relations.items():
                cursor.register(name, relation)
            return cursor.sql(statement).to_arrow_table()

    def map(self, function: Callable[[Task], Outcome], tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Run tasks on as many threads as this process may use cores."""
        with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0)), thread_name_prefix="omnigraph") as pool:
            running = [pool.submit(function, task) for task in tasks]
            try:
                for finished in as_completed(running):
                    yield finished.result()
            finally:
                for left in running:
                    left.cancel()

    def _cursor(self) -> Any:
        import duckdb

        with self._lock:
            if self._database is None:
                # Nothing here needs an extension, and a data tool must not reach for the network behind one's back.
                self._database = duckdb.connect(config={"autoinstall_known_extensions": "false"})
            return self._database.cursor()


def arrow_relation(rows: Any, connection: Any) -> Any:
    """Return a DuckDB relation over an Arrow table or dataset; None means DuckDB's default connection."""
    import duckdb

    return duckdb.from_arrow(rows, connection=connection) if connection is not None else duckdb.from_arrow(rows)
