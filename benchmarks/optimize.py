"""`python -m benchmarks.optimize`: optimize and cleanup against the raw calls of Lance, table by table.

Ours and the raw calls start from byte-identical copies: small fragments, half of them unknown to the indexes, some rows
deleted. Times of ours include everything that the raw calls do not do: planning, checking counts, the recovery record,
one commit for all tables and the compaction of the graph's own tables.
"""

import argparse
import io
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import lance

import omnigraph
from benchmarks.core import Figure, rows
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.storage import staging

PEOPLE = """
node Person { name: String @key  age: I32 @index  city: String  bio: String }
node Place { name: String @key  note: String @index }
edge Lives: Person -> Place { since: I32 }
"""
_SMALL_TABLES = 40
_SMALL_FRAGMENTS = 60
_KEPT_VERSIONS = 3


def timed(work: Callable[[], object]) -> float:
    """Return how long a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def people(first: int, last: int) -> io.BytesIO:
    """Make people, places and edges between them."""
    lines = []
    for number in range(first, last):
        person = {"name": f"p{number}", "age": number % 90, "city": f"city{number % 500}", "bio": "x" * (number % 40)}
        lines.append(json.dumps({"type": "Person", "data": person}))
        place = {"name": f"q{number}", "note": f"words about {number % 97}"}
        lines.append(json.dumps({"type": "Place", "data": place}))
        ends = {"from": f"p{number}", "to": f"q{first + number % (last - first)}"}
        lines.append(json.dumps({"edge": "Lives", **ends, "data": {"id": f"e{number}", "since": number % 100}}))
    return io.BytesIO(("\n".join(lines) + "\n").encode())


def three_large_tables(uri: Path, *, rows_each: int, fragments: int = 100) -> None:
    """Lay a graph out as many small writes would have: indexes know the first half only."""
    staging._FRAGMENT_ROWS_MAX = max(1, rows_each // fragments)  # noqa: SLF001 - one load instead of hundreds
    graph = omnigraph.init(str(uri), PEOPLE)
    graph.load(people(0, rows_each // 2), mode="append")
    graph.optimize(max_bytes=1)
    graph.load(people(rows_each // 2, rows_each), mode="append")
    with graph.write() as batch:
        batch.delete("Person", ids=[f"p{number}" for number in range(0, rows_each, 1_000)])


def many_small_tables(uri: Path, *, rows_each: int) -> None:
    """Lay out forty tables of sixty fragments: indexes know the first half only."""
    staging._FRAGMENT_ROWS_MAX = max(1, rows_each // _SMALL_FRAGMENTS)  # noqa: SLF001 - as above
    kinds = [f"T{number}" for number in range(_SMALL_TABLES)]
    graph = omnigraph.init(str(uri), "\n".join(f"node {kind} {{ size: I32 @index  label: String }}" for kind in kinds))
    for first, last in ((0, rows_each // 2), (rows_each // 2, rows_each)):
        records = [
            json.dumps({"type": kind, "data": {"id": f"{kind}-{number}", "size": number % 97, "label": f"l{number}"}})
            for kind in kinds
            for number in range(first, last)
        ]
        graph.load(io.BytesIO("\n".join(records).encode()), mode="append")
        if not first:
            graph.optimize(max_bytes=1)


def raw_tables(uri: Path) -> list[str]:
    """Return the data tables of a graph as somebody sees them who knows nothing of it."""
    return sorted(str(path) for path in (*uri.glob("nodes/*"), *uri.glob("edges/*")))


def raw_optimize(uri: Path) -> None:
    """Compact and fold every table on its own, as one would without a graph."""
    for path in raw_tables(uri):
        lance.dataset(path).optimize.compact_files()
        lance.dataset(path).optimize.optimize_indices()


def raw_cleanup(uri: Path) -> None:
    """Remove the old versions of every table on its own."""
    for path in raw_tables(uri):
        lance.dataset(path).cleanup_old_versions(retain_versions=_KEPT_VERSIONS, older_than=timedelta(0))


def fragment_count(uri: Path) -> int:
    """Count the fragments of all data tables at their newest version."""
    return sum(len(lance.dataset(path).get_fragments()) for path in raw_tables(uri))


def compared(what: str, directory: Path, lay_out: Callable[[Path], None]) -> list[Figure]:
    """Optimize, do it again and clean up: ours on one copy, the raw calls on the other."""
    ours, raw = directory / "ours.omni", directory / "raw.omni"
    lay_out(ours)
    shutil.copytree(ours, raw)
    before = fragment_count(ours)
    graph = omnigraph.open(str(ours))
    raw_seconds, raw_again = timed(lambda: raw_optimize(raw)), timed(lambda: raw_optimize(raw))
    our_seconds = timed(lambda: graph.optimize(engine="local"))
    our_again = timed(graph.optimize)
    left, raw_left = fragment_count(ours), fragment_count(raw)
    policy = CleanupPolicy(keep_versions=_KEPT_VERSIONS)
    raw_cleaned = timed(lambda: raw_cleanup(raw))
    our_cleaned = timed(lambda: graph.cleanup(policy, confirm=True))
    shutil.rmtree(ours)
    shutil.rmtree(raw)
    return [
        Figure(
            what=f"optimize {what}, engine local",
            ours=f"{our_seconds:.2f} s, {before:,} → {left} fragments",
            raw=f"{raw_seconds:.2f} s, → {raw_left} (compact_files + optimize_indices, table by table)",
            ratio=f"{our_seconds / raw_seconds:.2f}× the time",
        ),
        Figure(
            what=f"optimize {what}, a second run",
            ours=f"{our_again * 1000:.0f} ms, nothing to do",
            raw=f"{raw_again * 1000:.0f} ms",
            ratio=f"{our_again / raw_again:.2f}× the time",
        ),
        Figure(
            what=f"cleanup of {what}, all protections looked up",
            ours=f"{our_cleaned * 1000:.0f} ms",
            raw=f"{raw_cleaned * 1000:.0f} ms (cleanup_old_versions, table by table)",
            ratio=f"{our_cleaned / raw_cleaned:.2f}× the time",
        ),
    ]


def spark_figure(directory: Path, *, rows_each: int) -> Figure:
    """Optimize one copy in this process and one on a session that is warm, with enough to rewrite."""
    copies = {engine: directory / f"{engine}.omni" for engine in ("warm", "local", "spark")}
    three_large_tables(copies["warm"], rows_each=10_000)
    three_large_tables(copies["local"], rows_each=rows_each)
    shutil.copytree(copies["local"], copies["spark"])
    omnigraph.open(str(copies["warm"])).optimize(engine="spark")
    times = {
        engine: timed(lambda engine=engine: omnigraph.open(str(copies[engine])).optimize(engine=engine))
        for engine in ("local", "spark")
    }
    for copy in copies.values():
        shutil.rmtree(copy)
    return Figure(
        what=f"optimize three tables of {rows_each:,} rows, a warm Spark session",
        ours=f"{times['spark']:.1f} s on Spark",
        raw=f"{times['local']:.1f} s in process",
        ratio=f"{times['spark'] / times['local']:.2f}× the time",
    )


def measure(directory: Path, *, rows_each: int = 300_000, spark_rows_each: int = 2_000_000) -> list[Figure]:
    """Take the measurements for the table in the README."""
    small = _SMALL_FRAGMENTS * 100
    return [
        *compared(
            f"{_SMALL_TABLES} tables of {_SMALL_FRAGMENTS} small fragments",
            directory,
            lambda uri: many_small_tables(uri, rows_each=small),
        ),
        *compared(
            f"three tables of {rows_each:,} rows with full-text indexes",
            directory,
            lambda uri: three_large_tables(uri, rows_each=rows_each),
        ),
        spark_figure(directory, rows_each=spark_rows_each),
    ]


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000, help="of each of three large tables")
    parser.add_argument("--spark-rows", type=int, default=2_000_000, help="the same, for the comparison with Spark")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = measure(Path(directory), rows_each=options.rows, spark_rows_each=options.spark_rows)
    print(rows(figures))


if __name__ == "__main__":
    main()
