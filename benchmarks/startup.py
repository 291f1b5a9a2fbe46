"""What a command costs before it does anything.

Every command runs in a fresh process and hardly works, so that what is measured is what it imports. Beside the time by
the clock stands the processor's time: on a machine that others use, only that can be compared.
"""

import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

import pyarrow as pa

import omnigraph
from benchmarks.data import SCHEMA
from benchmarks.figures import Figure, once

_REPEAT = 7
_OPENING_GOAL, _HELP_GOAL = 0.4, 0.12


def measure(directory: Path) -> list[Figure]:
    """Time commands that open a small graph, and those that open none, beside what they may take."""
    graph, data, schema = directory / "tiny.omni", directory / "tiny.jsonl", directory / "tiny.pg"
    schema.write_text(SCHEMA)
    opened = omnigraph.init(str(graph), SCHEMA)
    data.write_text(json.dumps({"type": "Person", "data": {"name": "a", "age": 1, "city": "x", "score": 0.5}}))
    opened.load(data, mode="append")
    opened.optimize()
    numbers = count()

    def load(engine: str) -> tuple[str, ...]:
        record = {"name": f"n{next(numbers)}", "age": 1, "city": "x", "score": 0.5}
        data.write_text(json.dumps({"type": "Person", "data": record}))
        return ("load", str(graph), "--data", str(data), "--mode", "append", "--engine", engine)

    completing = {"_OMNIGRAPH_COMPLETE": "bash_complete", "COMP_WORDS": "omnigraph br", "COMP_CWORD": "1"}
    return [
        _figure("`omnigraph --help`", lambda: ("--help",), goal=_HELP_GOAL),
        _figure("completion of a command's name", lambda: (), goal=_HELP_GOAL, environment=completing),
        _figure("`omnigraph branch list`", lambda: ("branch", "list", str(graph)), goal=_OPENING_GOAL),
        _figure(
            "`omnigraph optimize`, nothing to do",
            lambda: ("optimize", str(graph), "--engine", "local"),
            goal=_OPENING_GOAL,
        ),
        _figure("`omnigraph load` of one record", lambda: load("auto"), goal=_OPENING_GOAL),
        _figure(
            "`omnigraph branch create`",
            lambda: ("branch", "create", f"b{next(numbers)}", str(graph)),
            goal=_OPENING_GOAL,
        ),
        _figure(
            "`omnigraph init`",
            lambda: ("init", "--schema", str(schema), str(directory / f"{next(numbers)}.omni")),
            goal=_OPENING_GOAL,
        ),
        _figure(
            "`omnigraph load --engine spark` of one record, cold",
            lambda: load("spark"),
            goal=10,
            repeat=3,
        ),
    ]


def _figure(
    what: str,
    arguments: Callable[[], tuple[str, ...]],
    *,
    goal: float,
    repeat: int = _REPEAT,
    environment: Mapping[str, str] | None = None,
) -> Figure:
    program = str(Path(sys.executable).parent / "omnigraph")
    elapsed, busy = [], []
    for _ in range(repeat):
        command = [program, *arguments()]
        before = processor_seconds()
        elapsed.append(
            once(
                lambda command=command: subprocess.run(
                    command, check=True, capture_output=True, env={**os.environ, **(environment or {})}
                )
            )
        )
        busy.append(processor_seconds() - before)
    # The least of several: whatever else the machine does can only add to it.
    return Figure(what=what, ours=min(elapsed), goal=goal, note=processor_note(busy))


def processor_note(busy: Sequence[float]) -> str:
    """Say how long the processor worked, and where it compiled Python's packages in every run."""
    is_compiled = Path(importlib.util.cache_from_source(pa.__file__)).exists()
    return f"{statistics.median(busy) * 1000:.0f} ms of processor{'' if is_compiled else ', packages not compiled'}"


def processor_seconds() -> float:
    """Return how long the processor has worked for the processes that this one has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime
