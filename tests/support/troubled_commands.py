"""Commands one after the other in one session, each of which loses a Python worker and an executor.

    python -m support.troubled_commands

A line of the input is a directory, where tasks write down which of them were lost, and the words of a command that
prints JSON; a line of the output is its exit code and what it printed. Work is cut so small that there are several
tasks of every kind.
"""

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from typing import Any
from unittest.mock import patch

from pyspark import cloudpickle

from omnigraph.cli.main import main
from omnigraph.engine.spark.engine import SparkEngine
from omnigraph.maintenance.verify import contents
from omnigraph.pipeline.load import inputs
from omnigraph.pipeline.load.bulk import pieces
from omnigraph.writes.exchange import cutting, removing
from support import lost_tasks

_SMALL = [
    (inputs, "IN_MEMORY_BYTES_MAX", -1),
    (pieces, "PIECE_BYTES_MIN", 4_000),
    (pieces, "PIECE_BYTES_MAX", 4_000),
    (cutting, "_LONE_ROWS", 0),
    (cutting, "_BUCKET_ROWS", 40),
    (removing, "_TASK_ROWS", 1),
    (removing, "_FEW_ROWS", 0),
    (contents, "_TASK_BYTES", 1),
    (contents, "_TASK_ROWS", 1),
]


@contextmanager
def losing(directory: str) -> Iterator[None]:
    """Let every task of this process's engine be one that may be lost."""
    run, run_groups = SparkEngine.map, SparkEngine.map_groups

    def run_losing(self: SparkEngine, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        return run(self, lost_tasks.Losing(function, directory), *arguments, **options)

    def run_groups_losing(self: SparkEngine, *arguments: Any, function: Callable[..., Any], **options: Any) -> Any:
        return run_groups(self, *arguments, function=lost_tasks.Losing(function, directory), **options)

    with patch.object(SparkEngine, "map", run_losing), patch.object(SparkEngine, "map_groups", run_groups_losing):
        yield


def run_losing_workers(directory: str, *command: str) -> dict[str, Any]:
    """Run one command line, and return what came of it."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with losing(directory), redirect_stdout(printed):
        code = main(command)
    return {"code": code, "document": json.loads(printed.buffer.getvalue().decode())}  # type: ignore[attr-defined]


if __name__ == "__main__":
    cloudpickle.register_pickle_by_value(lost_tasks)
    with ExitStack() as small:
        for module, name, value in _SMALL:
            small.enter_context(patch.object(module, name, value))
        for line in sys.stdin:
            print(json.dumps(run_losing_workers(*json.loads(line))), flush=True)
