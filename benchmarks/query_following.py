"""A reader follows a writer in another process: how many commits a second, what each costs the reader, and its memory.

`python -m benchmarks.query_following URI SECONDS` is the writer: two edges per commit, twenty commits a second or as
many as it can. It prints each commit with the person whose edges it made.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import omnigraph
from benchmarks.figures import Figure, Unit
from benchmarks.query_data import Data, person
from benchmarks.query_first import ONE_HOP

_COMMITS_PER_SECOND = 20
_PAUSE_SECONDS = 0.005


def write(uri: str, seconds: float) -> None:
    """Commit until the time is over."""
    graph = omnigraph.open(uri)
    turn, begun = 0, time.monotonic()
    while time.monotonic() < begun + seconds:
        key, others = person(turn), (person(turn + 1), person(turn + 2))
        with graph.write() as batch:
            batch.insert("Knows", [{"from": key, "to": other} for other in others])
        made = batch.result.commit
        assert made is not None
        print(made.graph_commit_id, key, flush=True)
        turn += 1
        time.sleep(max(0.0, begun + turn / _COMMITS_PER_SECOND - time.monotonic()))


def following_figures(graph: omnigraph.Graph, data: Data, seconds: float) -> list[Figure]:
    """Ask about each commit that is seen, as soon as it is."""
    graph.query(ONE_HOP, k=person(0))
    command = [sys.executable, "-m", "benchmarks.query_following", graph.uri, str(seconds)]
    last, seen, memory = graph.snapshot().commit_id, 0, [_process_mib()]
    keys: dict[str, str] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        listening = Thread(target=_listen, args=(writer, keys))
        listening.start()
        busy = time.process_time()
        while writer.poll() is None:
            found = graph.query(ONE_HOP, k=keys.get(last, person(0)))
            if found.commit_id == last:
                time.sleep(_PAUSE_SECONDS)
                continue
            last, seen = found.commit_id, seen + 1
            memory.append(_process_mib())
        busy = time.process_time() - busy
        listening.join()
    assert writer.returncode == 0
    key = keys[graph.snapshot().commit_id]
    assert len(graph.query(ONE_HOP, k=key)) >= 2  # those that the last commit made
    note = f"{len(keys) / seconds:.1f} commits/s for {seconds:.0f} s, {seen} of {len(keys)} read"
    return [
        Figure(
            what=f"query: processor time of a reader per commit of another process that it follows, "
            f"{data.knows.num_rows:,} edges",
            ours=busy / max(seen, 1),
            note=note,
        ),
        Figure(
            what="query: memory of that reader at the end",
            ours=memory[-1],
            other=memory[min(1, len(memory) - 1)],
            compared="after its first commit",
            unit=Unit.MEBIBYTES,
        ),
    ]


def _listen(writer: "subprocess.Popen[str]", keys: dict[str, str]) -> None:
    assert writer.stdout is not None
    for line in writer.stdout:
        commit, key = line.split()
        keys[commit] = key


def _process_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


if __name__ == "__main__":
    write(sys.argv[1], float(sys.argv[2]))
