"""`python -m benchmarks.commit_calls`: where the time of a one-row commit goes, call by call.

On a machine that others use the least of many is closest to what a call takes; docs/design/commit-cost.md explains the
calls.
"""

import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance

import omnigraph
from benchmarks.hot_paths import SCHEMA, one_row
from omnigraph.manifest.log import CommitLog
from omnigraph.manifest.publish import Publisher
from omnigraph.pipeline.load import run as load_run
from omnigraph.storage import staging, transactions
from omnigraph.storage.tables import Table
from omnigraph.writes import aftermath, protocol
from omnigraph.writes.pending import SidecarStore

_COMMITS = 80
_WARMING = 10

CALLS: tuple[tuple[Any, str, str], ...] = (
    (load_run, "_small_writer", "read and check the record"),
    (protocol, "_prepare", "prepare: look up, check, stage"),
    (Table, "lookup", "  of it: look the id up"),
    (staging, "write_data_files", "  of it: write the data file"),
    (SidecarStore, "arm", "arm the sidecar"),
    (transactions, "_commit", "commit the table"),
    (Publisher, "publish", "publish"),
    (CommitLog, "add", "log the commit"),
    (SidecarStore, "forget", "forget the sidecar"),
    (aftermath, "tidy_internal_tables", "tidy up"),
    (sys.modules["lance.dataset"].MergeInsertBuilder, "execute", "in both: Lance's keyed merges"),
    (os, "fsync", "in all: fsync"),
)


def main() -> None:
    """Commit one row again and again and print what each call took, in milliseconds."""
    spent: dict[str, float] = defaultdict(float)
    for owner, name, what in CALLS:
        setattr(owner, name, _timed(getattr(owner, name), spent, what))
    taken: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as directory:
        graph = omnigraph.init(str(Path(directory, "graph.omni")), SCHEMA)
        for turn in range(_WARMING + _COMMITS):
            spent.clear()
            started = time.perf_counter()
            one_row(graph, turn)
            if turn >= _WARMING:
                taken["all of it"].append(time.perf_counter() - started)
                for what, seconds in spent.items():
                    taken[what].append(seconds)
    print(f"Lance {lance.__version__}, {_COMMITS} commits; milliseconds\n\n| call | least | median |\n|---|---|---|")
    for what in ["all of it", *(what for _, _, what in CALLS)]:
        print(f"| {what} | {min(taken[what]) * 1000:.1f} | {statistics.median(taken[what]) * 1000:.1f} |")


def _timed(function: Callable[..., Any], spent: dict[str, float], what: str) -> Callable[..., Any]:
    def timed(*arguments: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            spent[what] += time.perf_counter() - started

    return timed


if __name__ == "__main__":
    main()
