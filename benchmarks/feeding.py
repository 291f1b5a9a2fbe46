"""What a small append through Spark costs beside a large table, and whether `auto` takes the right engine for a load.

`python -m benchmarks feeding` appends to tables of nothing and of a million rows, and loads 10, 100 and 300 MiB.
`python -m benchmarks.feeding --rows 0 1000000 4000000 --mib 1024` names other sizes: 4 million rows take a few minutes,
1 GiB takes three.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import omnigraph
from benchmarks.data import SCHEMA
from benchmarks.figures import Figure, Unit, apart, once, spell_table
from benchmarks.load_large import PROGRAM, generate
from benchmarks.memory import Watch, processes_below
from omnigraph.engine.choice import EngineChoice, EngineName, Work

ROWS = (0, 1_000_000)
MEBIBYTES = (10, 100, 300)
APPENDED = 100
REPEAT = 5
EDGE_BYTES = 113
"""What an edge takes in the generated input, its share of nodes included."""
WITHIN = 1.3


def people(first: int, rows: int) -> pa.Table:
    """Make people whose names have never been used."""
    numbers = range(first, first + rows)
    return pa.table(
        {
            "name": [f"p{number}" for number in numbers],
            "age": pa.array([number % 90 for number in numbers], pa.int32()),
            "city": [f"city{number % 500}" for number in numbers],
            "score": [number / 7 for number in numbers],
        }
    )


def make_graph(uri: str, rows: int) -> None:
    """Make a graph with so many people, indexed as they are after an optimize."""
    graph = omnigraph.init(uri, SCHEMA)
    if rows:
        graph.load_table(people(0, rows), type="Person", mode="append")
        graph.optimize(engine="local")


def append_seconds(uri: str, first: int) -> tuple[float, float, int]:
    """Append rows through the data source; return the median time, that of a Python upsert, and the peak of memory.

    The peak is that of the largest Python process below this one: Spark runs planning, tasks and commit in such.
    """
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    from omnigraph.spark import register

    register(spark)
    turn = iter(range(first, first + 10**9, APPENDED))

    def append() -> None:
        frame: Any = spark.createDataFrame(people(next(turn), APPENDED))
        writing = frame.coalesce(1).write.format("omnigraph").mode("append")
        writing.option("graph", uri).option("type", "Person").option("loadMode", "append").save()

    append()
    with PythonPeak() as peak:
        times = [once(append) for _ in range(REPEAT)]
    graph = omnigraph.open(uri)

    def upsert() -> None:
        graph.load_table(people(next(turn), APPENDED), type="Person", mode="merge")

    upsert()
    return statistics.median(times), statistics.median(once(upsert) for _ in range(REPEAT)), peak.bytes


class PythonPeak(Watch):
    """Remembers the largest resident memory that any Python process below this one had."""

    pause_seconds = 0.02

    def __init__(self) -> None:
        super().__init__(os.getpid())
        self.bytes = 0

    def look(self) -> None:
        """Look at all of them."""
        found = processes_below(self.pid)
        self.bytes = max([self.bytes, *(process.peak_bytes for process in found if "python" in process.name)])


def append_figures(directory: Path, sizes: Sequence[int]) -> list[Figure]:
    """Append the same few rows to tables of several sizes; the first is what the others are compared with."""
    figures = []
    smallest: tuple[float, int] | None = None
    for rows in sizes:
        uri = str(directory / f"append-{rows}.omni")
        apart(make_graph, uri, rows)
        taken, upsert, peak = apart(append_seconds, uri, max(rows, 1))
        smallest = smallest or (taken, peak)
        what = f"append {APPENDED} rows through the data source to {rows:,} rows"
        figures.append(
            Figure(
                what=what,
                ours=taken,
                note=f"a Python upsert takes {upsert * 1000:.0f} ms",
                other=smallest[0],
                compared=f"to {sizes[0]:,} rows",
                goal=1.2,
            )
        )
        figures.append(
            Figure(
                what=f"{what}, peak of the largest Python process",
                ours=peak / 2**20,
                other=smallest[1] / 2**20,
                compared=f"to {sizes[0]:,} rows",
                goal=1.2,
                unit=Unit.MEBIBYTES,
            )
        )
    return figures


def auto_figures(directory: Path, sizes: Sequence[int]) -> list[Figure]:
    """Load inputs of several sizes on either engine, start of Spark included, and ask which one `auto` takes."""
    figures = []
    for mebibytes in sizes:
        data = directory / f"input-{mebibytes}"
        edges = mebibytes * 2**20 // EDGE_BYTES
        size = generate(data, nodes=max(1, edges // 10), edges=edges)
        taken = {engine: _load_seconds(directory, data, engine) for engine in (EngineName.LOCAL, EngineName.SPARK)}
        chosen = EngineChoice().decide(Work.LOAD, size).engine
        figures.append(
            Figure(
                what=f"load {size >> 20} MiB with --engine auto, which takes {chosen}",
                ours=taken[chosen],
                other=min(taken.values()),
                compared=" and ".join(f"{name} {value:.1f} s" for name, value in taken.items()),
                goal=WITHIN,
            )
        )
    return figures


def _load_seconds(directory: Path, data: Path, engine: EngineName) -> float:
    graph = directory / f"{data.name}-{engine}.omni"
    omnigraph.init(str(graph), SCHEMA)
    command = [PROGRAM, "load", str(graph), "--data", str(data), "--mode", "append", "--engine", engine, "--quiet"]
    return once(lambda: subprocess.run(command, check=True, capture_output=True))


def measure(directory: Path) -> list[Figure]:
    """Measure both with sizes that take a few minutes together."""
    return [*append_figures(directory, ROWS), *auto_figures(directory, MEBIBYTES)]


def main() -> None:
    """Measure named sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=(), help="rows of tables to append to")
    parser.add_argument("--mib", type=int, nargs="*", default=(), help="sizes of inputs to load")
    options = parser.parse_args()
    parts: list[tuple[Callable[[Path, Sequence[int]], list[Figure]], Sequence[int]]] = [
        (append_figures, options.rows),
        (auto_figures, options.mib),
    ]
    for figures_of, sizes in parts:
        if sizes:
            began = time.perf_counter()
            with tempfile.TemporaryDirectory() as directory:
                print(spell_table(figures_of(Path(directory), sizes)), flush=True)
            print(f"{time.perf_counter() - began:.0f} s\n", flush=True)


if __name__ == "__main__":
    main()
