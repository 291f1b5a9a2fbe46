"""How much of a job is done, added up over its tasks in the unit that the job counts in."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

from omnigraph.base import work
from omnigraph.engine.interface import Watch

_Outcome = TypeVar("_Outcome")


class Meter:
    """Takes what tasks say of themselves, in any order and from any thread, and tells `watch` the sum.

    No task counts for more than its weight, and one that is finished counts for all of it; without weights, tasks count
    for what they say. A task that runs twice counts once.
    """

    def __init__(self, watch: Watch, weights: Sequence[int] | None) -> None:
        self._watch = watch
        self._weights = weights
        self._done: dict[int, int] = {}
        self._sum = 0
        self._told = 0
        self._lock = Lock()

    @classmethod
    def of(cls, watch: Watch | None, weights: Sequence[int] | None, *, tasks: int) -> "Meter | None":
        """Return a meter for so many tasks, each of weight one unless somebody said otherwise; None if nobody looks."""
        return cls(watch, weights if weights is not None else [1] * tasks) if watch is not None else None

    def run(self, place: int, work_on: Callable[[], _Outcome]) -> _Outcome:
        """Do the task at `place` in this thread and take in what it says of itself."""
        done = 0

        def report(amount: int) -> None:
            nonlocal done
            done += amount
            self.reach(place, done)

        with work.reporting(report):
            outcome = work_on()
        if self._weights is not None:
            self.reach(place, self._weights[place])
        return outcome

    def reach(self, place: int, amount: int) -> None:
        """Take in how much of the task at `place` is done since it began."""
        with self._lock:
            before = self._done.get(place, 0)
            if self._weights is not None:
                amount = min(amount, self._weights[place])
            if amount > before:
                self._done[place] = amount
                self._sum += amount - before
                self._tell(self._sum)

    def finish_some(self, count: int) -> None:
        """Take in how many tasks are done, without knowing which: their share of the whole is an estimate."""
        if self._weights is None:
            return
        with self._lock:
            tasks = max(1, len(self._weights))
            self._tell(sum(self._weights) * min(count, tasks) // tasks)

    def _tell(self, done: int) -> None:
        if done > self._told:
            self._told = done
            self._watch(done)
