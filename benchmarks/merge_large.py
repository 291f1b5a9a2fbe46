"""`python -m benchmarks.merge_large`: one large merge in bounded memory, and the same merge done small.

A graph of people and of who knows whom is loaded; a branch changes `changes` entities and main as many others: half of
them people that are updated, a quarter edges that are added, an eighth each edges that are updated and people that are
new. Then the branch is merged. Peak memory is told by role: this process, Java, its Python workers. `--compare` makes
the same merge in process as well, on a graph of `--compare-rows`, and compares both exports.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import omnigraph
from benchmarks.figures import Figure, Unit
from benchmarks.memory import Role, RoleWatch, family, own_bytes
from omnigraph.base.events import Event, PhaseFinished, PhaseStarted
from omnigraph.engine.choice import EngineChoice, EngineName

SCHEMA = """
node Person { name: String @key  age: I32?  city: String  mail: String? @unique }
edge Knows: Person -> Person { since: I32?  note: String? }
"""
_LIMIT_GIB = 8


def person(number: int, *, age: int) -> dict[str, object]:
    """Spell one person."""
    data = {"name": f"p{number:09d}", "age": age, "city": f"city{number % 500}", "mail": f"p{number}@example.org"}
    return {"type": "Person", "data": data}


def knows(number: int, *, people: int, since: int) -> dict[str, object]:
    """Spell one edge."""
    data = {"id": f"k{number:09d}", "since": since, "note": f"they met in city{number % 977}"}
    return {"edge": "Knows", "from": f"p{number % people:09d}", "to": f"p{(number * 7 + 1) % people:09d}", "data": data}


def base(rows: int) -> Iterator[dict[str, object]]:
    """Make half as many people as rows, and as many edges."""
    people = rows // 2
    yield from (person(number, age=number % 80) for number in range(people))
    yield from (knows(number, people=people, since=number % 70) for number in range(people))


def side(rows: int, changes: int, place: int) -> Iterator[dict[str, object]]:
    """Make the changes of one of two sides; the sides have no entity in common."""
    people = rows // 2
    updated, added = changes // 2, changes // 4
    few = changes - updated - added
    yield from (person(2 * number + place, age=100 + place) for number in range(updated))
    yield from (person(people + 2 * number + place, age=place) for number in range(few // 2))
    yield from (knows(people + 2 * number + place, people=people, since=place) for number in range(added))
    yield from (knows(2 * number + place, people=people, since=200 + place) for number in range(few - few // 2))


def build(uri: str, directory: Path, *, rows: int, changes: int) -> omnigraph.Graph:
    """Load the graph and both sides."""
    graph = omnigraph.init(uri, SCHEMA)
    for name, records, branch in (
        ("base", base(rows), "main"),
        ("source", side(rows, changes, 0), "review"),
        ("target", side(rows, changes, 1), "main"),
    ):
        file = directory / f"{name}.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(record) + "\n" for record in records)
        graph.load(file, mode="append" if name == "base" else "merge", branch=branch, engine="local")
        file.unlink()
        if name == "base":
            graph.branches.create("review")
    return graph


class SessionStart:
    """Takes the time that a merge waits for its Spark session; a user's cluster has one already."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._started: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        """Look for the phase in which the session starts."""
        if isinstance(event, PhaseStarted):
            self._started[event.phase] = time.perf_counter()
        elif isinstance(event, PhaseFinished) and event.phase == "starting Spark":
            self.seconds = time.perf_counter() - self._started[event.phase]


def merge(uri: str, engine: str, *, in_process: bool) -> dict[str, Any]:
    """Merge the branch and say what it took."""
    limit = sys.maxsize if in_process else 0
    choice = EngineChoice(engine=EngineName(engine), spark_min_bytes=limit)
    graph = omnigraph.open(uri)
    session = SessionStart()
    with RoleWatch(os.getpid(), measure=own_bytes) as watch:
        start = time.perf_counter()
        result = graph.branches.merge("review", engine=choice, events=session)
        seconds = time.perf_counter() - start
        processors = processor_seconds()
        watch.look()
    changed = {table.table_key: [table.inserted, table.updated, table.deleted] for table in result.tables}
    return {
        "engine": result.engine,
        "seconds": seconds,
        "session_seconds": session.seconds,
        "processors": processors,
        "peaks": {role: peak >> 20 for role, peak in watch.peak_bytes.items()},
        "changed": changed,
    }


def processor_seconds() -> float:
    """Return what this process and all that it started and that still lives have used of processors: busy ones wait."""
    ticks = 0
    for pid in family(os.getpid()):
        try:
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue  # it ended meanwhile
    return ticks / os.sysconf("SC_CLK_TCK")


def in_a_process(uri: str, engine: str, *, in_process: bool = False) -> dict[str, Any]:
    """Merge in a process of its own, so that nothing else counts as its memory."""
    command = [sys.executable, "-m", "benchmarks.merge_large", "--merge", uri, "--engine", engine]
    done = subprocess.run(
        [*command, *(["--in-process"] if in_process else [])], check=True, stdout=subprocess.PIPE, text=True
    )
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def digest(uri: str, directory: Path) -> str:
    """Return a hash of all entities of main, in the order of their ids."""
    out = directory / "export.jsonl"
    omnigraph.open(uri, read_only=True).export(out, overwrite=True)
    with out.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    out.unlink()
    return found


def row(rows: int, changes: int, way: str, said: dict[str, Any], same: str) -> str:
    """Spell one row of the table."""
    peaks = " | ".join(f"{said['peaks'][role]:,} MiB" for role in Role)
    return (
        f"| {rows:,} | {changes:,} | {way} | {said['seconds']:.1f} s | {said['processors']:.1f} s | {peaks} | {same} |"
    )


def measure(directory: Path) -> list[Figure]:
    """Merge a fifth of a million and a million changes per side, on Spark beside the threads of one process."""
    figures, first = [], None
    for changes in (200_000, 1_000_000):
        uri, kept = directory / f"{changes}.omni", directory / f"{changes}.kept"
        build(str(uri), directory, rows=4 * changes, changes=changes)
        # Branches know their graph by its place, so both merge the same graph there, one after the other.
        shutil.copytree(uri, kept)
        local = in_a_process(str(uri), "local")
        shutil.rmtree(uri)
        kept.rename(uri)
        spark = in_a_process(str(uri), "spark")
        shutil.rmtree(uri)
        what = f"merge of {changes:,} × {changes:,} changed rows on Spark"
        compared = "the same in bulk, engine local"
        warm = spark["seconds"] - spark["session_seconds"]
        figures += [
            Figure(what=what, ours=spark["seconds"], other=local["seconds"], compared=compared, rows=changes),
            Figure(
                what=f"{what}, without starting Spark",
                ours=warm,
                other=local["seconds"],
                compared=compared,
                rows=changes,
                goal=1.5,
            ),
        ]
        first = first or spark["peaks"]
        figures += [
            Figure(
                what=f"{what}, memory of {named}",
                ours=spark["peaks"][role],
                other=first[role] if first is not spark["peaks"] else None,
                compared="of 200,000 × 200,000",
                goal=1.2 if first is not spark["peaks"] else None,
                unit=Unit.MEBIBYTES,
            )
            for role, named in (
                (Role.DRIVER, "the driver's Python"),
                (Role.JVM, "the JVM"),
                (Role.WORKERS, "the Python workers"),
            )
        ]
    return figures


def main() -> None:
    """Print one row per merge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--engine", default="spark", choices=["spark", "local"])
    parser.add_argument("--compare-rows", type=int, default=200_000)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--merge", metavar="URI", help=argparse.SUPPRESS)
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.merge:
        print(json.dumps(merge(arguments.merge, arguments.engine, in_process=arguments.in_process)))
        return
    print("| rows | changes per side | way | time | of processors | driver's Python | JVM | Python workers | result |")
    print("| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        if arguments.compare:
            rows, changes = arguments.compare_rows, arguments.compare_rows // 4
            digests = {}
            for way in ("in process", arguments.engine):
                uri = str(directory / f"{way.replace(' ', '-')}.omni")
                build(uri, directory, rows=rows, changes=changes)
                engine = "local" if way == "in process" else way
                said = in_a_process(uri, engine, in_process=way == "in process")
                digests[way] = digest(uri, directory)
                same = "the same" if len(set(digests.values())) == 1 else "DIFFERENT"
                print(row(rows, changes, way, said, same), flush=True)
        uri = str(directory / "large.omni")
        build(uri, directory, rows=arguments.rows, changes=arguments.changes)
        said = in_a_process(uri, arguments.engine)
        ages = omnigraph.open(uri, read_only=True).snapshot().table("Person").to_arrow(["age"])["age"].to_numpy()
        updated = int((ages == 100).sum()), int((ages == 101).sum())
        expected = (arguments.changes // 2, arguments.changes // 2)
        fits = sum(said["peaks"].values()) < _LIMIT_GIB * 1024
        print(row(arguments.rows, arguments.changes, arguments.engine, said, "counted" if updated == expected else "?"))
        print(f"changed: {said['changed']}; within {_LIMIT_GIB} GiB: {fits}")
        sys.exit(0 if fits and updated == expected else 1)


if __name__ == "__main__":
    main()
