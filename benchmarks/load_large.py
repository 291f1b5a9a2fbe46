"""`python -m benchmarks.load_large`: millions of edges in one commit on Spark, in bounded memory, and back out again.

Generates graph NDJSON in pieces, loads it with the command line as a user would, watches the memory of all processes
that takes, exports the graph and compares what went in with what came out by a checksum that ignores order. With
`--bad-line` one record in the middle is wrong: the load must name its file and line and leave nothing behind.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

import omnigraph
from benchmarks.data import SCHEMA
from benchmarks.memory import MemoryWatch

PROGRAM = str(Path(sys.executable).parent / "omnigraph")
FILE_ROWS = 1_000_000
BAD_RECORD = b'{"type": "Person", "data": {"name": "x", "age": "old", "city": "c", "score": 1.0}}\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """How a load went."""

    exit_code: int
    seconds: float
    peak_bytes: int
    document: Mapping[str, object]


def generate(directory: Path, *, nodes: int, edges: int) -> int:
    """Write all records; the same numbers give the same bytes. Return how many bytes."""
    directory.mkdir()
    size = 0
    for kind, count, render in (("nodes", nodes, _node_lines), ("edges", edges, _edge_lines)):
        for number, start in enumerate(range(0, count, FILE_ROWS)):
            path = directory / f"{kind}-{number:04}.jsonl"
            with path.open("wb") as file:
                for first in range(start, min(start + FILE_ROWS, count), FILE_ROWS // 8):
                    rows = min(FILE_ROWS // 8, start + FILE_ROWS - first, count - first)
                    file.write(render(_numbers(first, rows), nodes))
            size += path.stat().st_size
    return size


def _numbers(first: int, rows: int) -> pa.Array:
    return pc.add(pc.indices_nonzero(pa.repeat(pa.scalar(value=True), rows)), pa.scalar(first, pa.uint64())).cast(
        pa.int64()
    )


def _mixed(numbers: pa.Array, factor: int, below: int) -> pa.Array:
    """Return numbers below a bound that look shuffled and come out the same every time."""
    product = pc.add(pc.multiply(numbers, factor), factor // 3)
    return pc.subtract(product, pc.multiply(pc.divide(product, below), below))


def _text(numbers: pa.Array) -> pa.Array:
    return numbers.cast(pa.string())


def _lines(*parts: str | pa.Array) -> bytes:
    lines = pc.binary_join_element_wise(*parts, "\n", "")
    return b"".join((lines.cast(pa.large_string()).buffers()[2].to_pybytes(),))


def _node_lines(numbers: pa.Array, nodes: int) -> bytes:
    del nodes
    ages, cities = _text(_mixed(numbers, 7919, 90)), _text(_mixed(numbers, 104_729, 500))
    scores = _text(_mixed(numbers, 1_299_709, 1000))
    return _lines(
        *('{"type": "Person", "data": {"name": "p', _text(numbers), '", "age": ', ages),
        *(', "city": "city', cities, '", "score": 0.', scores, "}}"),
    )


def _edge_lines(numbers: pa.Array, nodes: int) -> bytes:
    sources, targets = _text(_mixed(numbers, 48_271, nodes)), _text(_mixed(numbers, 69_621, nodes))
    years, weights = _text(pc.add(_mixed(numbers, 31, 16), 2010)), _text(_mixed(numbers, 15_485_863, 100_000))
    return _lines(
        *('{"edge": "Knows", "from": "p', sources, '", "to": "p', targets),
        *('", "data": {"since": "', years, '-05-15", "weight": 0.', weights, "}}"),
    )


def checksum(directory: Path) -> list[tuple[str, int, int]]:
    """Return count and sum of hashes of the records of each type: the same for any order and any files."""
    columns = "{'type': 'VARCHAR', 'edge': 'VARCHAR', 'from': 'VARCHAR', 'to': 'VARCHAR', 'data': 'JSON'}"
    fields = ", ".join(f"data->>'{name}'" for name in ("name", "age", "city", "since"))
    numbers = ", ".join(f"CAST(data->>'{name}' AS DOUBLE)" for name in ("score", "weight"))
    with duckdb.connect(config={"memory_limit": "2GB"}) as database:
        return database.sql(
            f"""SELECT coalesce("type", "edge") AS kind, count(*), sum(hash("from", "to", {fields}, {numbers}))
            FROM read_json('{directory}/**/*.jsonl', columns={columns}, format='newline_delimited')
            GROUP BY kind ORDER BY kind"""  # noqa: S608  # a benchmark over files of its own
        ).fetchall()


def load(graph: Path, data: Path, *flags: str) -> Loaded:
    """Load on the command line and watch all processes that takes."""
    command = [PROGRAM, "load", str(graph), "--data", str(data), "--mode", "append", "--json", *flags]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with MemoryWatch(process.pid) as watch:
        out, _ = process.communicate()
    return Loaded(
        exit_code=process.returncode,
        seconds=time.perf_counter() - started,
        peak_bytes=watch.peak_bytes,
        document=json.loads(out),
    )


def spell(what: str, rows: int, loaded: Loaded) -> str:
    """Say how a load went in one line."""
    rate = rows / loaded.seconds / 1000
    peak = loaded.peak_bytes / 2**30
    return f"{what}: {loaded.seconds:.0f} s, {rate:,.0f}k rows/s, start of Spark included; peak memory {peak:.1f} GiB"


def show_round_trip(directory: Path, flags: list[str], *, nodes: int, edges: int) -> Iterator[str]:
    """Load everything, export it, and compare."""
    data, graph, out = directory / "input", directory / "large.omni", directory / "output"
    size = generate(data, nodes=nodes, edges=edges)
    yield f"input: {nodes:,} nodes and {edges:,} edges, {size >> 20:,} MiB of NDJSON"
    omnigraph.init(str(graph), SCHEMA)
    loaded = load(graph, data, *flags)
    assert loaded.exit_code == 0, loaded.document
    yield spell("load, one commit", nodes + edges, loaded)
    assert [commit.kind.value for commit in omnigraph.open(str(graph)).commits()] == ["load", "genesis"]
    started = time.perf_counter()
    subprocess.run([PROGRAM, "export", str(graph), "--out", f"{out}/", "--json"], check=True, capture_output=True)
    yield f"export: {time.perf_counter() - started:.0f} s"
    before, after = checksum(data), checksum(out)
    assert before == after, (before, after)
    yield f"checksums of input and export agree: {before}"


def show_bad_record(directory: Path, flags: list[str], *, nodes: int, edges: int) -> Iterator[str]:
    """Load with one bad record in the middle of the last file; the whole load must be refused."""
    data, graph = directory / "input", directory / "refused.omni"
    generate(data, nodes=nodes, edges=edges)
    bad = max(data.glob("edges-*"))
    lines = bad.read_bytes().splitlines(keepends=True)
    place = len(lines) // 2
    bad.write_bytes(b"".join((*lines[:place], BAD_RECORD, *lines[place:])))
    omnigraph.init(str(graph), SCHEMA)
    loaded = load(graph, data, *flags)
    found = loaded.document["invalid_record"]
    assert isinstance(found, dict)
    assert (loaded.exit_code, found["file"], found["line"], found["total_errors"]) == (1, bad.name, place + 1, 1), found
    yield spell(f"refused, {bad.name}:{place + 1} named", nodes + edges, loaded)
    opened = omnigraph.open(str(graph))
    assert [commit.kind.value for commit in opened.commits()] == ["genesis"]
    assert all(opened.snapshot().table(pin.table_key).to_arrow().num_rows == 0 for pin in opened.snapshot().tables)
    assert not (graph / "__staging").exists()
    yield "nothing is visible, nothing is pinned, nothing is staged"


def main() -> None:
    """Run one of the two showings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2_000_000)
    parser.add_argument("--edges", type=int, default=20_000_000)
    parser.add_argument("--engine", choices=("spark", "local"), default="spark")
    parser.add_argument("--bad-line", action="store_true", help="load with one bad record instead")
    parser.add_argument("--directory", type=Path, help="where to work; a temporary directory otherwise")
    options = parser.parse_args()
    show = show_bad_record if options.bad_line else show_round_trip
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        for line in show(Path(directory), ["--engine", options.engine], nodes=options.nodes, edges=options.edges):
            print(line, flush=True)


if __name__ == "__main__":
    main()
