"""One handle, several threads: branches come and go while others read."""

import threading
from collections.abc import Callable

import omnigraph
from omnigraph.errors import OmniError
from omnigraph.graph import Graph

READ = "query q() { match { $a: A } return { $a.name } }"
INSERT = "query add($n: String) { insert A { name: $n } }"


def test_branches_come_and_go_beside_readers_of_one_handle(local_root: str) -> None:
    """Lance lends a handle that makes a branch to nobody else, so each is made on a handle of its own."""
    graph = omnigraph.init(local_root, "node A { name: String @key }")
    graph.mutate(INSERT, n="first")
    ending = threading.Event()
    failures: list[BaseException] = []

    def start(work: Callable[[], object]) -> threading.Thread:
        thread = threading.Thread(target=noting, args=(work, failures))
        thread.start()
        return thread

    reads = (lambda: graph.query(READ).rows(), graph.branches.list, lambda: graph.commits(limit=1))
    readers = [start(lambda read=read: until(ending, read)) for read in reads]
    writers = [start(lambda name=name: come_and_go(graph, name)) for name in ("x", "y")]
    for thread in writers:
        thread.join(60)
    ending.set()
    for thread in readers:
        thread.join(60)

    assert failures == []
    assert [branch.name for branch in graph.branches.list()] == ["main"]


def noting(work: Callable[[], object], failures: list[BaseException]) -> None:
    try:
        work()
    except (OmniError, RuntimeError) as failure:
        failures.append(failure)


def until(ending: threading.Event, work: Callable[[], object]) -> None:
    while not ending.is_set():
        work()


def come_and_go(graph: Graph, name: str) -> None:
    for number in range(6):
        graph.branches.create(f"{name}-{number}")
        graph.branches.delete(f"{name}-{number}")
