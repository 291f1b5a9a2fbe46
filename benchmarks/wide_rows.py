"""Rounds of a few wide rows and an optimize, on one table that keeps growing.

Rewriting all of a wide table in every round is what makes compaction explode in time and memory. Targets in bytes
prevent it: full fragments are left alone, so that a round costs what it adds.
"""

import base64
import io
import json
import os
import random
import time
from pathlib import Path

import omnigraph
from benchmarks.figures import Figure, Unit, apart

SCHEMA = "node Scan { name: String @key  image: Blob?  text: String }"
_ROUNDS = 20
_WARM_ROUNDS = 7
"""Fragments have been filled up and left alone twice by then; memory should not grow any more."""
_ROW_BYTES = 4 << 20
_ROWS_PER_ROUND = 5
_FILE_BYTES = 64 << 20
"""Full fragments of sixteen rows, so that the table has several of them within a benchmark's time."""


def scans(turn: int) -> io.BytesIO:
    """Make a few rows of four megabytes each, in turns as blobs and as text, that do not compress."""
    chance = random.Random(turn)
    records = []
    for number in range(_ROWS_PER_ROUND):
        content = base64.b64encode(chance.randbytes(_ROW_BYTES * 3 // 4)).decode()
        data: dict[str, str | None] = {"name": f"s{turn}-{number}", "text": "short", "image": f"base64:{content}"}
        if number % 2:
            data |= {"text": content, "image": None}
        records.append(json.dumps({"type": "Scan", "data": data}))
    return io.BytesIO("\n".join(records).encode())


def peak_mib_since_last_asked() -> int:
    """Return how much memory the process held at most, and begin anew."""
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    Path("/proc/self/clear_refs").write_text("5")
    return int(peak.split()[1]) >> 10


def measure(directory: Path) -> list[Figure]:
    """Load and optimize in rounds, with few heaps: glibc keeps one per thread, which hides what is really held."""
    os.environ["MALLOC_ARENA_MAX"] = "2"
    return apart(rounds, directory)


def rounds(directory: Path) -> list[Figure]:
    """Compare the last rounds with the first ones."""
    graph = omnigraph.init(str(directory / "wide.omni"), SCHEMA)
    times: list[float] = []
    peaks: list[int] = []
    rewritten: list[int] = []
    for turn in range(_ROUNDS):
        graph.load(scans(turn), mode="append", engine="local")
        start = time.perf_counter()
        result = graph.optimize(engine="local", max_bytes_per_file=_FILE_BYTES)
        times.append(time.perf_counter() - start)
        rewritten.append(sum(found.bytes_written for found in result.tables if found.table_key == "node:Scan"))
        peaks.append(peak_mib_since_last_asked())
    late, early = max(times[-3:]), max(times[1:4])
    return [
        Figure(
            what=f"optimize of a table of 4 MiB rows, round {_ROUNDS} of {_ROWS_PER_ROUND} rows each",
            ours=late,
            note=f"at most {max(rewritten) >> 20} MiB rewritten in a round",
            other=early,
            compared="rounds 2 to 4",
            goal=1.5,
        ),
        Figure(
            what=f"peak memory of rounds {_ROUNDS - 2} to {_ROUNDS} of 4 MiB rows, load included "
            "(`MALLOC_ARENA_MAX=2`)",
            ours=max(peaks[-3:]),
            other=max(peaks[_WARM_ROUNDS - 3 : _WARM_ROUNDS]),
            compared=f"that of rounds {_WARM_ROUNDS - 2} to {_WARM_ROUNDS}",
            goal=1.1,
            unit=Unit.MEBIBYTES,
        ),
    ]
