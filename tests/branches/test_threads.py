"""One handle, several threads: branches come and go while others read and write."""

import threading

import omnigraph
from omnigraph.errors import OmniError

READ = "query q() { match { $a: A } return { $a.name } }"
INSERT = "query add($n: String) { insert A { name: $n } }"


def test_branches_come_and_go_beside_readers_of_one_handle(local_root: str) -> None:
    """Lance lends a handle that makes a branch to nobody else, so each is made on a handle of its own."""
    graph = omnigraph.init(local_root, "node A { name: String @key }")
    graph.mutate(INSERT, n="first")
    ending = threading.Event()
    failures: list[BaseException] = []

    def repeat(work) -> None:
        try:
            while not ending.is_set():
                work()
        except (OmniError, RuntimeError) as failure:
            failures.append(failure)

    def branches(name: str) -> None:
        try:
            for number in range(6):
                graph.branches.create(f"{name}-{number}")
                graph.branches.delete(f"{name}-{number}")
        except (OmniError, RuntimeError) as failure:
            failures.append(failure)

    readers = [
        threading.Thread(target=repeat, args=(work,))
        for work in (lambda: graph.query(READ).rows(), graph.branches.list, lambda: graph.commits(limit=1))
    ]
    for thread in readers:
        thread.start()
    writers = [threading.Thread(target=branches, args=(name,)) for name in ("x", "y")]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join(60)
    ending.set()
    for thread in readers:
        thread.join(60)

    assert failures == []
    assert [branch.name for branch in graph.branches.list()] == ["main"]
