"""Optimize and cleanup against the raw calls of Lance, table by table.

Ours and the raw calls start from byte-identical copies: small fragments, half of them unknown to the indexes, some rows
deleted. Times of ours include everything that the raw calls do not do: planning, checking counts, the recovery record,
one commit for all tables and the compaction of the graph's own tables.
"""

import io
import json
import shutil
import statistics
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import lance

import omnigraph
from benchmarks.data import fragments_of
from benchmarks.figures import Figure, apart, once
from omnigraph.maintenance.cleanup.policy import CleanupPolicy

PEOPLE = """
node Person { name: String @key  age: I32 @index  city: String  bio: String }
node Place { name: String @key  note: String @index }
edge Lives: Person -> Place { since: I32 }
"""
_SMALL_TABLES = 40
_SMALL_FRAGMENTS = 60
_KEPT_VERSIONS = 3
_ROUNDS = 3
_LARGE_ROWS = 300_000
_SPARK_ROWS = 2_000_000
"""Enough for more than ten seconds of rewriting."""


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
    graph = omnigraph.init(str(uri), PEOPLE)
    with fragments_of(rows_each // fragments):
        graph.load(people(0, rows_each // 2), mode="append")
        graph.optimize(max_bytes=1)
        graph.load(people(rows_each // 2, rows_each), mode="append")
    with graph.write() as batch:
        batch.delete("Person", ids=[f"p{number}" for number in range(0, rows_each, 1_000)])


def many_small_tables(uri: Path, *, rows_each: int) -> None:
    """Lay out forty tables of sixty fragments: indexes know the first half only."""
    kinds = [f"T{number}" for number in range(_SMALL_TABLES)]
    graph = omnigraph.init(str(uri), "\n".join(f"node {kind} {{ size: I32 @index  label: String }}" for kind in kinds))
    for first, last in ((0, rows_each // 2), (rows_each // 2, rows_each)):
        records = [
            json.dumps({"type": kind, "data": {"id": f"{kind}-{number}", "size": number % 97, "label": f"l{number}"}})
            for kind in kinds
            for number in range(first, last)
        ]
        with fragments_of(rows_each // _SMALL_FRAGMENTS):
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
    """Optimize in turns, the median of some; do it again and clean up: ours on one copy, raw calls on the other."""
    source, ours, raw = (directory / f"{name}.omni" for name in ("source", "ours", "raw"))
    lay_out(source)
    before = fragment_count(source)
    raw_times, our_times = [], []
    for _ in range(_ROUNDS):
        for copy in (ours, raw):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(source, copy)
        graph = omnigraph.open(str(ours))
        raw_times.append(once(lambda: raw_optimize(raw)))
        our_times.append(once(partial(graph.optimize, engine="local")))
    left, raw_left = fragment_count(ours), fragment_count(raw)
    raw_again, our_again = once(lambda: raw_optimize(raw)), once(graph.optimize)
    policy = CleanupPolicy(keep_versions=_KEPT_VERSIONS)
    raw_cleaned = once(lambda: raw_cleanup(raw))
    our_cleaned = once(lambda: graph.cleanup(policy, confirm=True))
    for copy in (source, ours, raw):
        shutil.rmtree(copy)
    return [
        Figure(
            what=f"optimize {what}, engine local",
            ours=statistics.median(our_times),
            note=f"{before:,} → {left} fragments",
            other=statistics.median(raw_times),
            compared=f"compact_files and optimize_indices, table by table → {raw_left} fragments",
            goal=0.7,
        ),
        Figure(
            what=f"optimize {what}, a second run",
            ours=our_again,
            note="nothing to do",
            other=raw_again,
            compared="the same raw calls again",
        ),
        Figure(
            what=f"cleanup of {what}, all protections looked up",
            ours=our_cleaned,
            other=raw_cleaned,
            compared="cleanup_old_versions, table by table",
        ),
    ]


def spark_figure(directory: Path, rows_each: int = _SPARK_ROWS) -> Figure:
    """Optimize one copy in this process and one on a session that is warm, with enough to rewrite."""
    copies = {engine: directory / f"{engine}.omni" for engine in ("warm", "local", "spark")}
    three_large_tables(copies["warm"], rows_each=10_000)
    three_large_tables(copies["local"], rows_each=rows_each)
    shutil.copytree(copies["local"], copies["spark"])
    omnigraph.open(str(copies["warm"])).optimize(engine="spark")
    times = {
        engine: once(partial(omnigraph.open(str(copies[engine])).optimize, engine=engine))
        for engine in ("local", "spark")
    }
    for copy in copies.values():
        shutil.rmtree(copy)
    return Figure(
        what=f"optimize three tables of {rows_each:,} rows on a warm Spark session",
        ours=times["spark"],
        other=times["local"],
        compared="the engine of this process",
        goal=1.3,
    )


def measure(directory: Path) -> list[Figure]:
    """Measure many small tables and few large ones, then Spark beside the engine of this process."""
    return [
        *compared(
            f"{_SMALL_TABLES} tables of {_SMALL_FRAGMENTS} small fragments",
            directory,
            lambda uri: many_small_tables(uri, rows_each=_SMALL_FRAGMENTS * 100),
        ),
        *compared(
            f"three tables of {_LARGE_ROWS:,} rows with full-text indexes",
            directory,
            lambda uri: three_large_tables(uri, rows_each=_LARGE_ROWS),
        ),
        apart(spark_figure, directory),
    ]
