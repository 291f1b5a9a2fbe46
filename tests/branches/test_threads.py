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


def come_and_go(graph: Graph, name: str, *, times: int = 6) -> None:
    for number in range(times):
        graph.branches.create(f"{name}-{number}")
        graph.branches.delete(f"{name}-{number}")


def many_come_and_go(graph: Graph, *, times: int) -> tuple[list[threading.Thread], list[BaseException]]:
    """Start threads that make and delete branches; return them, and the list of what fails."""
    failures: list[BaseException] = []
    threads = [
        threading.Thread(target=noting, args=(lambda name=name: come_and_go(graph, name, times=times), failures))
        for name in "abcde"
    ]
    for thread in threads:
        thread.start()
    return threads, failures


def test_branches_that_many_threads_delete_at_once_are_gone(local_root: str) -> None:
    """Lance looks at all refs to delete one, and does not find those that others delete: that is not this one gone."""
    graph = omnigraph.init(local_root, "node A { name: String @key }")
    threads, failures = many_come_and_go(graph, times=25)
    number = 0
    while any(thread.is_alive() for thread in threads):
        graph.mutate(INSERT, n=f"n{number}")
        number += 1

    assert failures == []
    assert [branch.name for branch in graph.branches.list()] == ["main"]
    graph.branches.create("last")
    graph.branches.delete("last")
    assert [branch.name for branch in graph.branches.list()] == ["main"]


def test_who_looks_at_branches_does_not_remember_those_that_go_meanwhile(local_root: str) -> None:
    graph = omnigraph.init(local_root, "node A { name: String @key }")
    threads, failures = many_come_and_go(graph, times=15)
    for thread in threads:
        thread.join(60)

    assert failures == []
    assert graph._context.manifest._branches.names() <= {"main"}
