"""What a measurement is, and how it is taken and spelled.

Every figure stands beside the raw library on the same rows in the same run, because machines differ and ratios differ
less. A part of the benchmarks is a module with `measure(directory) -> list[Figure]`.
"""

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing import get_context
from typing import TypeVar

Result = TypeVar("Result")


class Unit(StrEnum):
    """What the numbers of a figure are."""

    SECONDS = "s"
    MEBIBYTES = "MiB"
    BYTES = "B"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table: a number of ours, beside that of what it is compared with or beside a limit."""

    what: str
    ours: float
    other: float | None = None
    compared: str = ""
    """What the other number was spent on."""
    rows: int | None = None
    """How many rows ours handled, where rows per second mean something."""
    goal: float | None = None
    """The share of the other's number that ours should stay below; without another, the number itself."""
    note: str = ""
    """What else to say of ours."""
    unit: Unit = Unit.SECONDS

    @property
    def ratio(self) -> float | None:
        """How much of the other's number ours is: below 1 is better."""
        return self.ours / self.other if self.other is not None else None

    def spell(self, value: float) -> str:
        """Write a number with as many digits as it deserves."""
        if self.unit is Unit.MEBIBYTES:
            return f"{value:,.0f} MiB"
        if self.unit is Unit.BYTES:
            return f"{value:,.1f} B"
        if value < 0.001:
            return f"{value * 1_000_000:.0f} µs"
        if value < 0.01:
            return f"{value * 1000:.1f} ms"
        if value < 1:
            return f"{value * 1000:.0f} ms"
        return f"{value:.2f} s" if value < 10 else f"{value:.0f} s"


def seconds(work: Callable[[], object], *, repeat: int = 3) -> float:
    """Return the median time of a piece of work."""
    return statistics.median(once(work) for _ in range(repeat))


def once(work: Callable[[], object]) -> float:
    """Return the time that a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def apart(work: Callable[..., Result], *arguments: object) -> Result:
    """Run a function in a process of its own: another's running session and warm caches would tell nothing."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def spell_table(figures: list[Figure]) -> str:
    """Write figures as a Markdown table."""
    lines = ["| what | OmniGraph | compared with | ratio | goal |", "|---|---|---|---|---|"]
    lines += [_spell_line(figure) for figure in figures]
    return "\n".join(lines)


def _spell_line(figure: Figure) -> str:
    ours = figure.spell(figure.ours)
    if figure.rows is not None:
        ours += f" ({figure.rows / figure.ours / 1000:,.0f}k rows/s)"
    if figure.note:
        ours += f", {figure.note}"
    if figure.other is None:
        other, ratio, goal = "", "", figure.spell(figure.goal) if figure.goal is not None else None
    else:
        other, ratio = f"{figure.spell(figure.other)}, {figure.compared}", f"{figure.ours / figure.other:.2f}×"
        goal = f"{figure.goal:.2f}×" if figure.goal is not None else None
    return f"| {figure.what} | {ours} | {other} | {ratio} | {f'≤ {goal}' if goal is not None else ''} |"
