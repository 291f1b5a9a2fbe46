"""Tasks of the local engine: every outcome arrives once, and one failure stops what has not begun."""

import threading
import time

import pytest

from omnigraph.engine.local import LocalEngine


def test_every_task_gives_its_outcome_exactly_once() -> None:
    outcomes = LocalEngine().map(lambda number: number * number, range(50))

    assert sorted(outcomes) == [number * number for number in range(50)]


def test_nothing_to_do_gives_nothing() -> None:
    assert list(LocalEngine().map(str, [])) == []


def test_a_failing_task_raises_and_tasks_that_have_not_begun_never_run() -> None:
    begun: list[int] = []
    failed = threading.Event()

    def task(number: int) -> int:
        begun.append(number)
        if number == 0:
            failed.set()
            raise OSError("disk full")
        failed.wait(timeout=30)
        time.sleep(0.01)  # all of them together take far longer than it takes to hear of the failure
        return number

    with pytest.raises(OSError, match="disk full"):
        list(LocalEngine().map(task, range(1_000)))

    assert len(begun) < 1_000
