"""Times of several that answer the same question, taken both ways: in blocks, and alternating on every call.

A block shows each with its caches warm, as in a loop over one question. Alternating shows each after somebody else has
used the processor's caches, as in a program that does other things too. A ratio counts that holds both ways.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.figures import Figure, once

Work = Callable[[int], object]
"""What is timed; it is told which turn it is, and takes another value each time."""
_REPEAT_MAX, _REPEAT_MIN = 501, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The median of each, by its name, measured in one way."""

    way: str
    seconds: Mapping[str, float]


def both_ways(works: Mapping[str, Work], *, seconds_max: float) -> tuple[Times, Times]:
    """Measure each about as often as fits into the seconds, both ways."""
    blocks = {name: _median_of_rounds({name: work}, seconds_max)[name] for name, work in works.items()}
    alternating = _median_of_rounds(works, seconds_max * len(works))
    return Times(way="in blocks", seconds=blocks), Times(way="alternating", seconds=alternating)


def compared(
    ways: tuple[Times, Times],
    ours: str,
    other: str | None,
    *,
    what: str,
    goal: float | None,
    note: str = "",
    other_note: str = "",
) -> Figure:
    """Show the way in which ours does worse beside the other."""
    if other is None:
        return Figure(what=what, ours=max(times.seconds[ours] for times in ways), note=note)
    worse = max(ways, key=lambda times: times.seconds[ours] / times.seconds[other])
    return Figure(
        what=what,
        ours=worse.seconds[ours],
        other=worse.seconds[other],
        compared=f"{other}, {other_note}{worse.way}",
        goal=goal,
        note=note,
    )


def _median_of_rounds(works: Mapping[str, Work], seconds_max: float) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in works}
    begun = time.perf_counter()
    for turn in range(_REPEAT_MAX):
        if turn >= _REPEAT_MIN and time.perf_counter() - begun > seconds_max:
            break
        for name, work in works.items():
            taken[name].append(once(lambda work=work, turn=turn: work(turn)))  # type: ignore[misc]
    return {name: statistics.median(times) for name, times in taken.items()}
