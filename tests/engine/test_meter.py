"""What is told of a job while its tasks run: never more than there is, never less than before, and before the end."""

import threading

import pyarrow as pa

from omnigraph.base import work
from omnigraph.engine.local import LocalEngine
from omnigraph.engine.meter import Meter
from omnigraph.engine.spark.reports import listening


def test_a_task_counts_for_no_more_than_its_weight_and_never_goes_back() -> None:
    told: list[int] = []
    meter = Meter(told.append, [10, 5])

    meter.reach(0, 4)
    meter.reach(0, 2)  # the task runs a second time
    meter.reach(1, 50)
    meter.reach(0, 10)

    assert told == [4, 9, 15]


def test_a_count_of_tasks_is_turned_into_their_share() -> None:
    told: list[int] = []
    meter = Meter(told.append, [10, 10, 10, 10])

    for finished in (1, 1, 3, 2, 9):
        meter.finish_some(finished)

    assert told == [10, 30, 40]


def test_tasks_of_this_process_are_heard_while_they_run() -> None:
    """One task says that it is half done and waits until that was told: it is told before any task has ended."""
    half_told = threading.Event()
    told: list[int] = []

    def watch(done: int) -> None:
        told.append(done)
        half_told.set()

    def task(size: int) -> int:
        work.did(size // 2)
        assert half_told.wait(timeout=30)
        return size

    outcomes = list(LocalEngine().map(task, [100], weights=[100], watch=watch))

    assert outcomes == [100]
    assert told == [50, 100]


def test_without_weights_finished_tasks_are_counted() -> None:
    told: list[int] = []

    list(LocalEngine().map(str, range(7), watch=told.append))

    assert told == [1, 2, 3, 4, 5, 6, 7]


def test_groups_are_told_by_their_rows() -> None:
    told: list[int] = []
    rows = pa.table({"part": [1, 1, 1, 2]})

    sizes = LocalEngine().map_groups(
        {"r": rows},
        "SELECT part FROM r",
        by="part",
        function=lambda part, group: (part, group.num_rows),
        watch=told.append,
    )

    assert sorted(sizes) == [(1, 3), (2, 1)]
    assert told[-1] == 4


def test_a_task_without_anybody_to_listen_says_so_to_nobody() -> None:
    work.did(5)

    assert list(LocalEngine().map(work.did, [1, 2])) == [None, None]


def test_what_another_process_reports_arrives_and_strangers_are_ignored() -> None:
    heard = threading.Event()
    told: list[int] = []

    def watch(done: int) -> None:
        told.append(done)
        heard.set()

    with listening(Meter(watch, [10])) as address:
        stranger = type(address)(port=address.port, token=b"0" * len(address.token))
        with stranger.reporting(0):
            work.did(9)
        with address.reporting(0):
            work.did(4)
            assert heard.wait(timeout=30)

    assert told[0] == 4
