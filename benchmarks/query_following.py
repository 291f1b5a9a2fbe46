"""A reader follows a writer in another process: how many commits a second, what each costs the reader, and its memory.

`python -m benchmarks.query_following URI SECONDS` is the writer: two edges per commit, twenty commits a second or as
many as it can. It prints each commit, and the processor time that all of them took.
"""

import os
import resource
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
_FIRST = 500
"""The people before have been given friends by other measurements."""


def write(uri: str, seconds: float) -> None:
    """Commit until the time is over."""
    graph = omnigraph.open(uri)
    turn, begun = 0, time.monotonic()
    while time.monotonic() < begun + seconds:
        with graph.write() as batch:
            batch.insert("Knows", [{"from": person(_FIRST + turn), "to": friend} for friend in _new_friends(turn)])
        made = batch.result.commit
        assert made is not None
        print(made.graph_commit_id, flush=True)
        turn += 1
        time.sleep(max(0.0, begun + turn / _COMMITS_PER_SECOND - time.monotonic()))
    spent = resource.getrusage(resource.RUSAGE_SELF)
    print(spent.ru_utime + spent.ru_stime, flush=True)


def following_figures(graph: omnigraph.Graph, data: Data, seconds: float) -> list[Figure]:
    """Ask about the next commit until it is there, and about the one behind it; hold every answer against the data."""
    graph.query(ONE_HOP, k=person(0))
    command = [sys.executable, "-m", "benchmarks.query_following", graph.uri, str(seconds)]
    last, memory = graph.snapshot().commit_id, [_process_mib()]
    answers: list[tuple[str, int, set[str]]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        told: list[str] = []
        listening = Thread(target=lambda: told.extend(line.strip() for line in writer.stdout or ()))
        listening.start()
        busy = time.process_time()
        while writer.poll() is None:
            found = graph.query(ONE_HOP, k=person(_FIRST + len(answers)))
            if found.commit_id == last:
                time.sleep(_PAUSE_SECONDS)
                continue
            answers.append((found.commit_id, len(answers), {row["b.name"] for row in found}))
            last = found.commit_id
            memory.append(_process_mib())
        busy = time.process_time() - busy
        listening.join()
    assert writer.returncode == 0
    *commits, writing = told
    _check(answers, {commit: turn for turn, commit in enumerate(commits)}, data)
    rate = f"{len(commits) / seconds:.1f} commits/s for {seconds:.0f} s"
    read = f"{len(answers):,} of {len(commits):,} read, every answer as the data has it"
    return [
        Figure(
            what=f"query: processor time of a reader per commit of another process that it follows, "
            f"{data.knows.num_rows:,} edges",
            ours=busy / max(len(answers), 1),
            note=f"{rate}, {read}",
        ),
        Figure(
            what="query: processor time of that writer per commit, its start included",
            ours=float(writing) / max(len(commits), 1),
        ),
        Figure(
            what="query: memory of that reader at the end",
            ours=memory[-1],
            other=memory[min(1, len(memory) - 1)],
            compared="after its first commit",
            unit=Unit.MEBIBYTES,
        ),
    ]


def _new_friends(turn: int) -> set[str]:
    return {person(_FIRST + turn + 1), person(_FIRST + turn + 2)}


def _check(answers: list[tuple[str, int, set[str]]], turn_by_commit: dict[str, int], data: Data) -> None:
    """Hold every answer against what the data and the commits up to its own say."""
    assert answers
    for commit, asked, found in answers:
        friends = {person(int(target)) for target in data.targets[data.sources == _FIRST + asked]}
        assert found == friends | (_new_friends(asked) if asked <= turn_by_commit[commit] else set()), asked


def _process_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


if __name__ == "__main__":
    write(sys.argv[1], float(sys.argv[2]))
