"""Maintenance in one process, readers and writers in others: nobody waits for a rewrite, nobody sees one."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from omnigraph.base import clock
from omnigraph.graph import Graph
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from support import harbor, library
from support.library import BOOK
from support.processes import Child, child

READER = """
    import hashlib, sys
    from pathlib import Path
    sys.path[:0] = [sys.argv[2], *sys.argv[3].split(":")]
    import omnigraph
    from support import harbor

    graph = omnigraph.open(sys.argv[1], read_only=True)
    for line in sys.stdin:
        seen, last = set(), False
        while not last:
            last = bool(seen) and Path(line.strip()).exists()
            seen.add(hashlib.sha256(harbor.content(graph).encode()).hexdigest())
            if len(seen) == 1 and not last:
                print("polling")
        print("saw", *sorted(seen))
"""
OPTIMIZER = """
    import sys
    sys.path[:0] = sys.argv[2].split(":")
    import omnigraph

    result = omnigraph.open(sys.argv[1], recover=False).optimize()
    print(result.failure, *[table.skipped for table in result.tables if table.skipped])
"""
TESTS = str(Path(__file__).parents[1])
PATH = ":".join(sys.path)


@pytest.fixture
def graph(local_root: str) -> Graph:
    """A library with more versions of its tables than cleanup keeps."""
    made = library.library(local_root)
    for number in range(14):
        with made.write() as batch:
            batch.update("Book", {"year": 1_900 + number}, ids=["b3"])
    return made


@contextmanager
def polling(graph: Graph, directory: Path) -> Iterator[list[str]]:
    """Let another process read the whole graph again and again; afterwards the list has the contents it saw."""
    said: list[str] = []
    stop = directory / "stop"
    with child(READER, graph.uri, TESTS, PATH) as reader:
        reader.tell(str(stop))
        assert reader.hear() == "polling"
        yield said
        stop.touch()
        while (heard := reader.hear()) == "polling":
            pass
        said += heard.split()[1:]
        stop.unlink()


def drift(graph: Graph) -> None:
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == BOOK]
    graph._context.store.tables.fresh_head(pin.address).dataset.optimize.compact_files()


def test_a_reader_in_another_process_sees_one_content_during_optimize_repair_and_cleanup(
    graph: Graph, tmp_path: Path
) -> None:
    with polling(graph, tmp_path) as said:
        drift(graph)
        assert [row.action.value for row in graph.repair(confirm=True).rows].count("healed") == 1
        assert graph.optimize().commit is not None
        cleaned = graph.cleanup(CleanupPolicy(keep_versions=10), confirm=True)
        assert sum(row.removed.versions for row in cleaned.rows) > 0
    with polling(graph, tmp_path) as afterwards:
        pass

    assert len(said) == 1
    assert said == afterwards


@contextmanager
def held_optimize(graph: Graph) -> Iterator[Child]:
    """Run optimize in another process that stops in the middle of its first rewrite or index build."""
    os.environ["OMNIGRAPH_FAILPOINT"] = "optimize.in_task:pause:0:1"
    try:
        with child(OPTIMIZER, graph.uri, PATH) as optimizer:
            assert clock.wait_until(lambda: _is_stopped(optimizer.pid), timeout_seconds=60, pause_seconds=0.05)
            yield optimizer
    finally:
        del os.environ["OMNIGRAPH_FAILPOINT"]


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_a_writer_on_the_same_table_commits_while_a_rewrite_is_held(graph: Graph) -> None:
    with held_optimize(graph) as optimizer:
        with graph.write() as batch:
            batch.update("Book", {"title": "a late edition"}, ids=["b4"])
            batch.delete("Book", ids=["b5"])
        graph.load(harbor.lines([library.book(500)]), mode="append")
        assert _is_stopped(optimizer.pid), "the writes did not wait for it"
        written = harbor.content(graph)
        optimizer.resume()
        assert optimizer.hear() == "None"

    assert harbor.content(graph) == written
    assert harbor.pins_equal_heads(graph)
    library.lookups_agree(graph)
