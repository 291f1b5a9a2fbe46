"""How long a writer waits while optimize works on its table.

A process of its own commits one row after the other to the very table that is being rewritten and indexed, and takes
the time of every commit. What counts is the longest one beside the run's own word for it (`pause_ms`, which the dry run
estimates) and beside the longest commit before optimize began.
"""

import io
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

import omnigraph
from benchmarks.data import fragments_of
from benchmarks.figures import Figure

DIMENSION = 64
PLAIN = "node Note { slug: String @key  text: String }"
INDEXED = f"node Note {{ slug: String @key  text: String @index  vec: Vector({DIMENSION})? @index }}"
_QUIET_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class Waits:
    """How long the commits of another process took, in milliseconds, before and during a piece of work."""

    before: list[float] = field(default_factory=list)
    during: list[float] = field(default_factory=list)


def write_until_told(uri: str, stop: Path) -> None:
    """Commit one row after the other; print when each began and how long it took."""
    graph = omnigraph.open(uri, recover=False)
    turn = 0
    while not stop.exists():
        row = {"type": "Note", "data": {"slug": f"written-{turn}", "text": "a line"}}
        began, start = time.time(), time.perf_counter()
        graph.load(io.BytesIO(json.dumps(row).encode()), mode="append")
        print(json.dumps([began, (time.perf_counter() - start) * 1_000]), flush=True)
        turn += 1


@contextmanager
def beside_a_writer(uri: str, directory: Path) -> Iterator[Waits]:
    """Let another process write for a few quiet seconds and then for as long as the block runs."""
    stop = directory / "stop"
    command = [sys.executable, "-m", "benchmarks.pauses", uri, str(stop)]
    waits = Waits()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(_QUIET_SECONDS)
        began = time.time()
        yield waits
        ended = time.time()
        time.sleep(1)
        stop.touch()
        for line in writer.stdout:
            at, milliseconds = json.loads(line)
            if at + milliseconds / 1_000 < began:
                waits.before.append(milliseconds)
            elif at < ended:
                waits.during.append(milliseconds)
    stop.unlink()


def notes(first: int, rows: int, *, with_vectors: bool, width: int) -> pa.Table:
    """Make rows of text that does not compress, with vectors if asked for."""
    chance = np.random.default_rng(first)
    letters = chance.integers(97, 123, size=(rows, width), dtype=np.uint8)
    texts = [bytes(line).decode() for line in letters]
    columns = {"slug": [f"n{number}" for number in range(first, first + rows)], "text": texts}
    if with_vectors:
        vectors = chance.normal(size=rows * DIMENSION).astype(np.float32)
        columns["vec"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors), DIMENSION)
    return pa.table(columns)


def fragmented(uri: str, schema: str, loads: Iterable[pa.Table]) -> omnigraph.Graph:
    """Lay a table out in many fragments with a deleted row in each, so that every byte has to be encoded again."""
    graph = omnigraph.init(uri, schema)
    for rows in loads:
        each = rows.num_rows // 100
        with fragments_of(each):
            graph.load_table(rows, type="Note", mode="append")
        with graph.write() as batch:
            batch.delete("Note", ids=rows["slug"].take(pa.array(range(0, rows.num_rows, each))).to_pylist())
    return graph


def pause_figures(directory: Path, name: str, schema: str, loads: Iterable[pa.Table], *, reindex: bool) -> list[Figure]:
    """Optimize one table beside a writer; say how long its longest commit took, and how well that was foretold."""
    uri = str(directory / f"{name}.omni")
    graph = fragmented(uri, schema, loads)
    estimate = graph.optimize(dry_run=True, reindex=reindex).pause_ms
    with beside_a_writer(uri, directory) as waits:
        start = time.perf_counter()
        result = graph.optimize(reindex=reindex, engine="local")
        seconds = time.perf_counter() - start
    return [
        Figure(
            what=f"longest commit of a writer during {seconds:.0f} s of optimize on its table, {name}",
            ours=max(waits.during) / 1_000,
            note=f"{len(waits.during)} commits meanwhile, median {statistics.median(waits.during):.0f} ms",
            other=max(waits.before) / 1_000,
            compared=f"its longest before, median {statistics.median(waits.before):.0f} ms",
        ),
        Figure(
            what=f"pause of writers at the end of that run, {name}",
            ours=result.pause_ms / 1_000,
            other=max(1, estimate) / 1_000,
            compared="as the dry run estimated",
            goal=2,
        ),
    ]


def measure(directory: Path) -> list[Figure]:
    """Measure a table without indexes and one with all kinds of them: three minutes, 8 GiB of disk."""
    plain = (notes(first, 400_000, with_vectors=False, width=1_500) for first in range(0, 2_400_000, 400_000))
    indexed = [notes(0, 400_000, with_vectors=True, width=40)]
    return [
        *pause_figures(directory, "no indexes", PLAIN, plain, reindex=False),
        *pause_figures(directory, "all kinds of indexes", INDEXED, indexed, reindex=True),
    ]


if __name__ == "__main__":
    write_until_told(sys.argv[1], Path(sys.argv[2]))
