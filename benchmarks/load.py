"""Load against `pyarrow.json` → `lance.write_dataset` on the same rows, by engine, size of data and workers."""

import time
from pathlib import Path

import lance
import pyarrow.json as pa_json

import omnigraph
from benchmarks.data import SCHEMA, Dataset, generate
from benchmarks.figures import Figure, apart, seconds
from omnigraph.engine.choice import EngineChoice, EngineName, SparkAddress

SIZES = ((200_000, 800_000), (2_000_000, 8_000_000))
GOAL = 1 / 0.6


def raw_load(data: Dataset, directory: Path) -> None:
    """Read bare NDJSON with Arrow and write it with Lance: no checks, no ids, no graph."""
    for name in ("nodes", "edges"):
        table = pa_json.read_json(getattr(data, name))
        lance.write_dataset(table, str(directory / f"{name}-{time.monotonic_ns()}"), enable_stable_row_ids=True)


def our_load(data: Dataset, directory: Path, choice: EngineChoice) -> None:
    """Load the same rows with all checks as one commit."""
    graph = omnigraph.init(str(directory / f"graph-{time.monotonic_ns()}.omni"), SCHEMA)
    graph.load(data.graph, mode="append", engine=choice)


def local() -> EngineChoice:
    """Choose the engine of this process."""
    return EngineChoice(engine=EngineName.LOCAL)


def spark(workers: str) -> EngineChoice:
    """Choose Spark on this machine with so many workers."""
    session = SparkAddress(url=f"local[{workers}]", is_remote=False, setting="benchmark")
    return EngineChoice(engine=EngineName.SPARK, session=session)


def load_seconds(data: Dataset, directory: Path, choice: EngineChoice, repeat: int) -> float:
    """Time a load in a process that has loaded once before: a session's start is measured elsewhere."""
    our_load(data, directory, choice)
    return seconds(lambda: our_load(data, directory, choice), repeat=repeat)


def measure(directory: Path) -> list[Figure]:
    """Compare each engine with the raw libraries at two sizes, and two workers with one."""
    figures = []
    for nodes, edges in SIZES:
        data = generate(directory, nodes=nodes, edges=edges)
        repeat = 3 if data.rows < 5_000_000 else 1
        raw = apart(_raw_seconds, data, directory, repeat)
        for engine, choice in (("local", local()), ("spark", spark("*"))):
            figures.append(
                Figure(
                    what=f"load {data.rows:,} rows, {data.bytes >> 20} MiB of NDJSON, all checks, engine {engine}",
                    ours=apart(load_seconds, data, directory, choice, repeat),
                    other=raw,
                    compared="Arrow JSON → Lance, no checks",
                    rows=data.rows,
                    goal=GOAL,
                )
            )
    one, two = (apart(load_seconds, data, directory, spark(workers), 1) for workers in ("1", "2"))
    figures.append(
        Figure(
            what=f"load {data.rows:,} rows on two Spark workers",
            ours=two,
            other=one,
            compared="one Spark worker",
            rows=data.rows,
            goal=1 / 1.7,
        )
    )
    return figures


def _raw_seconds(data: Dataset, directory: Path, repeat: int) -> float:
    return seconds(lambda: raw_load(data, directory), repeat=repeat)
