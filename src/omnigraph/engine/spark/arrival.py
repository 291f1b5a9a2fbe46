"""How a task of ours begins and ends in a Python worker that may know nothing of us.

What is defined here travels by value (`baggage.py` sees to that) and uses nothing that Spark's workers lack: it makes
the package importable before anything of the package is unpacked. A worker serves whoever comes next, the owner of the
session for instance, so that a task leaves its environment and its path as they were.
"""

import os
import pickle
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa

Sealed: TypeAlias = Callable[[], tuple[bytes, dict[str, str], dict[str, str], tuple[str, ...]]]
"""What a task takes along, in a form that no plan, log or printed local variable shows."""


def sealed(packed: bytes, variables: dict[str, str], defaults: dict[str, str], path: tuple[str, ...]) -> Sealed:
    """Hide what a task takes along: its function, variables that it sets, those it sets if missing, import paths."""

    def contents() -> tuple[bytes, dict[str, str], dict[str, str], tuple[str, ...]]:
        return packed, variables, defaults, path

    return contents


def over_batches(contents: Sealed) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what Spark calls once with the rows of a partition."""

    def omnigraph_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        leave = _settle(contents)
        try:
            yield from _unpacked(contents)(batches)
        finally:
            leave()

    return omnigraph_task


def over_groups(contents: Sealed) -> Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]:
    """Return what Spark calls with every group; it counts the parameters, so this is no object with a call."""
    unpacked: list[Any] = []

    def omnigraph_group(key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
        leave = _settle(contents)
        try:
            if not unpacked:
                unpacked.append(_unpacked(contents))
            return unpacked[0](key, rows)
        finally:
            leave()

    return omnigraph_group


def _settle(contents: Sealed) -> Callable[[], None]:
    """Make this process fit for the task; return what undoes it.

    Lance reads how many threads it may have when it is first imported, which is in the task.
    """
    _, variables, defaults, path = contents()
    wanted = {name: value for name, value in defaults.items() if name not in os.environ} | variables
    here = dict(os.environ)
    before = {variable: here.get(variable) for variable in wanted}
    added = [entry for entry in path if entry not in sys.path]
    os.environ.update(wanted)
    sys.path[:0] = added

    def leave() -> None:
        os.environ.update({variable: value for variable, value in before.items() if value is not None})
        for variable in (variable for variable, value in before.items() if value is None):
            os.environ.pop(variable, None)
        for entry in added:
            if entry in sys.path:
                sys.path.remove(entry)

    return leave


def _unpacked(contents: Sealed) -> Any:
    try:
        return pickle.loads(contents()[0])  # noqa: S301  # packed by our own driver
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"{sys.executable}, the Python of Spark's worker on {socket.gethostname()}, has no package "
            f"`{missing.name}`. Ship an environment that has omnigraph with spark.archives and name its Python with "
            "spark.pyspark.python"
        ) from None
