"""`python -m benchmarks.core`: load, export, schema changes, commits and start-up against the raw libraries.

Every figure is a ratio to the raw library on the same rows in the same run, because machines differ and ratios differ
less. The table replaces the one between the markers in README.md.
"""

import argparse
import io
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.json as pa_json

import omnigraph
from benchmarks.data import SCHEMA, Dataset, generate

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- benchmarks:begin -->", "<!-- benchmarks:end -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table."""

    what: str
    ours: str
    raw: str
    ratio: str


def seconds(work: Callable[[], object], *, repeat: int = 3) -> float:
    """Return the median time of a piece of work."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def raw_load(data: Dataset, directory: Path) -> None:
    """Read bare NDJSON with Arrow and write it with Lance: no checks, no ids, no graph."""
    for name in ("nodes", "edges"):
        table = pa_json.read_json(getattr(data, name))
        lance.write_dataset(table, str(directory / f"{name}-{time.monotonic_ns()}"), enable_stable_row_ids=True)


def our_load(data: Dataset, directory: Path, *, engine: str = "local") -> omnigraph.Graph:
    """Load the same rows with all checks as one commit."""
    graph = omnigraph.init(str(directory / f"graph-{time.monotonic_ns()}.omni"), SCHEMA)
    graph.load(data.graph, mode="append", engine=engine)
    return graph


def load_figure(data: Dataset, directory: Path, *, engine: str = "local") -> Figure:
    """Compare a load with reading and writing the same rows unchecked; the median leaves out Spark's cold start."""
    raw = seconds(lambda: raw_load(data, directory))
    ours = seconds(lambda: our_load(data, directory, engine=engine))
    return Figure(
        what=f"load {data.rows:,} rows, {data.bytes >> 20} MiB of NDJSON, all checks, engine {engine}",
        ours=f"{ours:.2f} s ({data.rows / ours / 1000:,.0f}k rows/s)",
        raw=f"{raw:.2f} s (Arrow JSON → Lance, no checks)",
        ratio=f"{raw / ours:.2f}× the throughput",
    )


def tiny_spark_figure(directory: Path) -> Figure:
    """Compare a one-record load in a fresh process on Spark with the same in process."""
    graph, data = directory / "tiny.omni", directory / "tiny.jsonl"
    omnigraph.init(str(graph), SCHEMA)
    data.write_text(json.dumps({"type": "Person", "data": {"name": "a", "age": 1, "city": "x", "score": 0.5}}))
    program = str(Path(sys.executable).parent / "omnigraph")

    def load(engine: str) -> object:
        command = [program, "load", str(graph), "--data", str(data), "--mode", "merge", "--engine", engine]
        return subprocess.run(command, check=True, capture_output=True)

    ours, raw = seconds(lambda: load("spark")), seconds(lambda: load("local"))
    return Figure(
        what="`omnigraph load --engine spark` of one record, cold",
        ours=f"{ours:.1f} s",
        raw=f"{raw:.1f} s (--engine local)",
        ratio=f"{ours / raw:.1f}× the time",
    )


def export_figure(graph: omnigraph.Graph, data: Dataset) -> Figure:
    """Compare an export with scanning the same tables into memory."""
    snapshot = graph.snapshot()
    raw = seconds(lambda: [snapshot.table(pin.table_key).to_arrow() for pin in snapshot.tables])
    ours = seconds(lambda: graph.export(io.BytesIO()))
    return Figure(
        what=f"export {data.rows:,} rows as NDJSON in id order",
        ours=f"{ours:.2f} s ({data.rows / ours / 1000:,.0f}k rows/s)",
        raw=f"{raw:.2f} s (Lance scan into memory)",
        ratio=f"{ours / raw:.1f}× the time",
    )


def commit_figure(directory: Path) -> Figure:
    """Compare a one-row commit with a one-row append to a single Lance table."""
    graph = omnigraph.init(str(directory / "commits.omni"), SCHEMA)
    plain = str(directory / "commits.lance")
    lance.write_dataset(pa.table({"id": ["x"], "n": [1]}), plain, enable_stable_row_ids=True)

    def ours(turn: int) -> None:
        row = {"name": f"c{turn}", "age": 1, "city": "x", "score": 0.5}
        graph.load(io.BytesIO(json.dumps({"type": "Person", "data": row}).encode()), mode="append")

    ours_ms = [seconds(lambda turn=turn: ours(turn), repeat=1) * 1000 for turn in range(100)]
    raw_ms = [
        seconds(lambda: lance.write_dataset(pa.table({"id": ["y"], "n": [1]}), plain, mode="append"), repeat=1) * 1000
        for _ in range(100)
    ]
    return Figure(
        what="one-row commit, median of 100, a long-lived handle",
        ours=f"{statistics.median(ours_ms):.0f} ms",
        raw=f"{statistics.median(raw_ms):.0f} ms (one Lance append)",
        ratio=f"{statistics.median(ours_ms) / statistics.median(raw_ms):.1f}× the time",
    )


def schema_figure(graph: omnigraph.Graph, data: Dataset, directory: Path) -> Figure:
    """Compare a schema change that renames, drops and fills columns with writing the same tables anew."""
    changed = SCHEMA.replace("city: String", 'town: String @rename_from("city")  paid: Bool @default(false)').replace(
        "weight: F64", ""
    )
    snapshot = graph.snapshot()

    def rewrite() -> None:
        for pin in snapshot.tables:
            target = str(directory / f"rewritten-{time.monotonic_ns()}")
            lance.write_dataset(snapshot.table(pin.table_key).to_arrow(), target, enable_stable_row_ids=True)

    raw = seconds(rewrite)
    ours = seconds(lambda: graph.apply_schema(changed), repeat=1)
    return Figure(
        what=f"rename, drop and fill columns of {data.rows:,} rows, one commit",
        ours=f"{ours:.2f} s",
        raw=f"{raw:.2f} s (Lance writes the tables anew)",
        ratio=f"{ours / raw:.2f}× the time",
    )


def start_figure() -> Figure:
    """Compare the help page with starting Python at all."""
    command = [str(Path(sys.executable).parent / "omnigraph"), "--help"]
    ours = seconds(lambda: subprocess.run(command, check=True, capture_output=True), repeat=9)
    raw = seconds(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), repeat=9)
    return Figure(
        what="`omnigraph --help`",
        ours=f"{ours * 1000:.0f} ms",
        raw=f"{raw * 1000:.0f} ms (an empty Python)",
        ratio=f"{ours / raw:.1f}× the time",
    )


def measure(directory: Path, *, nodes: int, edges: int) -> list[Figure]:
    """Take all measurements in one run."""
    data = generate(directory, nodes=nodes, edges=edges)
    graph = our_load(data, directory)
    return [
        load_figure(data, directory),
        load_figure(data, directory, engine="spark"),
        tiny_spark_figure(directory),
        export_figure(graph, data),
        schema_figure(graph, data, directory),
        commit_figure(directory),
        start_figure(),
    ]


def rows(figures: list[Figure]) -> str:
    """Spell the measurements as the rows of a Markdown table."""
    lines = ["| what | OmniGraph | raw library | ratio |", "|---|---|---|---|"]
    return "\n".join(
        lines + [f"| {figure.what} | {figure.ours} | {figure.raw} | {figure.ratio} |" for figure in figures]
    )


def table(figures: list[Figure]) -> str:
    """Spell the measurements of a whole run as a Markdown table, with its peak memory."""
    lines = [rows(figures)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    lines.append("")
    lines.append(f"2 cores, medians of three runs, peak memory of the whole run {peak:.1f} GiB.")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and refresh the README if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--edges", type=int, default=800_000)
    parser.add_argument("--update-readme", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        measured = table(measure(Path(directory), nodes=options.nodes, edges=options.edges))
    print(measured)
    if options.update_readme:
        text = README.read_text()
        head, _, rest = text.partition(BEGIN)
        _, _, tail = rest.partition(END)
        README.write_text(f"{head}{BEGIN}\n{measured}\n{END}{tail}")


if __name__ == "__main__":
    main()
