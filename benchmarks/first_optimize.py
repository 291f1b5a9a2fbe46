"""The first optimize of a graph that was loaded, at several sizes: what writers wait for, and what each process holds.

Nothing is indexed yet, and every load left a fragment below the target: everything is rewritten, and every index is
built. Neither the pause nor the memory of the driver may grow with the rows, and next to nothing may be left to do
after the last task of a worker. Each run is a process of its own, whose family is watched.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

import omnigraph
from benchmarks.figures import Figure, Unit
from benchmarks.memory import Role, RoleWatch
from omnigraph.base.events import Event, PhaseFinished

SCHEMA = """
node Person { name: String @key  age: I32 @index  bio: String @index }
edge Knows: Person -> Person { since: I32 }
"""
ROWS = (1_000_000, 5_000_000)
ROWS_LARGE = (*ROWS, 20_000_000)
_SLICE_ROWS = 400_000
_PAUSE_SECONDS_GOAL = 1.0
_GROWTH_GOAL = 1.2
_AFTER_TASKS_GOAL = 0.1
_WORDS = np.array(["harbor", "winter", "letter", "garden", "signal", "copper", "bridge", "meadow", "engine", "island"])


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRun:
    """How one run went."""

    rows: int
    seconds: float
    seconds_after_tasks: float
    pause_seconds: float
    peaks: dict[Role, int]


def lay_out(uri: str, rows: int) -> None:
    """Load people and four times as many edges, in slices that each leave a fragment to be merged."""
    graph = omnigraph.init(uri, SCHEMA)
    people = rows // 5
    for first in range(0, people, _SLICE_ROWS):
        graph.load_table(_people(first, min(_SLICE_ROWS, people - first)), type="Person", mode="append")
    for first in range(people, rows, _SLICE_ROWS):
        graph.load_table(_edges(first, min(_SLICE_ROWS, rows - first), people), type="Knows", mode="append")


def _people(first: int, count: int) -> pa.Table:
    chance = np.random.default_rng(first)
    words = _WORDS[chance.integers(0, len(_WORDS), size=(count, 4))]
    return pa.table(
        {
            "name": _names(np.arange(first, first + count)),
            "age": pa.array(chance.integers(0, 90, count), pa.int32()),
            "bio": [" ".join(line) for line in words],
        }
    )


def _edges(first: int, count: int, people: int) -> pa.Table:
    chance = np.random.default_rng(first)
    return pa.table(
        {
            "id": pa.array(np.char.add("e", np.arange(first, first + count).astype(str))),
            "from": _names(chance.integers(0, people, count)),
            "to": _names(chance.integers(0, people, count)),
            "since": pa.array(chance.integers(1990, 2026, count), pa.int32()),
        }
    )


def _names(numbers: np.ndarray) -> pa.Array:
    return pa.array(np.char.add("p", numbers.astype(str)))


def optimize_and_tell(uri: str, engine: str) -> None:
    """Optimize in this process; print how long it took, and how much of that was after the last task of a worker."""
    finished = [time.perf_counter()]

    def note(event: Event) -> None:
        if isinstance(event, PhaseFinished) and event.phase == "finishing indexes":
            finished.append(time.perf_counter())

    graph = omnigraph.open(uri)
    started = time.perf_counter()
    result = graph.optimize(engine=engine, events=note)
    ended = time.perf_counter()
    print(json.dumps([ended - started, ended - finished[-1], result.pause_ms / 1_000]))


def first_run(directory: Path, rows: int, engine: str) -> FirstRun:
    """Lay out a graph and optimize it for the first time, in a process that is watched."""
    uri = str(directory / f"{engine}-{rows}.omni")
    layout = [sys.executable, "-m", "benchmarks.first_optimize", "lay-out", uri, str(rows)]
    subprocess.run(layout, check=True)
    command = [sys.executable, "-m", "benchmarks.first_optimize", "optimize", uri, engine]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        with RoleWatch(process.pid) as watch:
            out, _ = process.communicate()
        seconds, after, pause = json.loads(out)
    return FirstRun(
        rows=rows, seconds=seconds, seconds_after_tasks=after, pause_seconds=pause, peaks=dict(watch.peak_bytes)
    )


def figures_of(run: FirstRun, smallest: FirstRun, engine: str) -> list[Figure]:
    """Say of one run what must not grow, beside the smallest."""
    what = f"first optimize of {run.rows:,} rows, engine {engine}"
    others = {role: peak for role, peak in run.peaks.items() if role is not Role.DRIVER and peak}
    beside = ", ".join(f"{role} {peak >> 20:,} MiB" for role, peak in others.items())
    return [
        Figure(
            what=f"{what}: pause of writers",
            ours=run.pause_seconds,
            goal=_PAUSE_SECONDS_GOAL,
            note=f"of {run.seconds:.0f} s",
        ),
        Figure(
            what=f"{what}: after the last task",
            ours=run.seconds_after_tasks,
            other=run.seconds,
            compared="the whole run",
            goal=_AFTER_TASKS_GOAL,
        ),
        Figure(
            what=f"{what}: memory of the driver",
            ours=run.peaks[Role.DRIVER] / (1 << 20),
            other=smallest.peaks[Role.DRIVER] / (1 << 20),
            compared=f"{smallest.rows:,} rows",
            goal=_GROWTH_GOAL,
            note=beside,
            unit=Unit.MEBIBYTES,
        ),
    ]


def measure(directory: Path, sizes: tuple[int, ...] = ROWS) -> list[Figure]:
    """Measure on both engines: some minutes."""
    figures = []
    for engine in ("local", "spark"):
        runs = [first_run(directory, rows, engine) for rows in sizes]
        figures += [figure for run in runs for figure in figures_of(run, runs[0], engine)]
    return figures


def measure_large(directory: Path) -> list[Figure]:
    """Measure twenty million rows as well."""
    return measure(directory, ROWS_LARGE)


if __name__ == "__main__":
    if sys.argv[1] == "lay-out":
        lay_out(sys.argv[2], int(sys.argv[3]))
    else:
        optimize_and_tell(sys.argv[2], sys.argv[3])
