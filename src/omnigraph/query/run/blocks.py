"""Many rows that an expansion makes and a check takes away again: a block at a time, so that they never all exist.

A block fits into the processor's caches, and what the checks leave of it is all that is kept.
"""

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from omnigraph.query.plan.steps import Close, Expand, Filter, Step
from omnigraph.query.run.rows import Rows
from omnigraph.query.typed import Condition, TextMatch

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

MANY = 1 << 14
"""With fewer rows, nothing is gained."""
_BLOCK = 1 << 17
"""How many rows a block should have after the expansion."""
_BLOCK_MIN = 1 << 10
_THREADS_MAX = 4


def checked_until(steps: tuple[Step, ...], place: int) -> int:
    """Return the place behind the checks that follow an expansion at a place; the next place where there are none."""
    end = place + 1
    if not isinstance(steps[place], Expand):
        return end
    while end < len(steps) and _is_check(steps[end]):
        end += 1
    return end


def blocks(rows: Rows, steps: tuple[Step, ...], place: int) -> Iterator[Rows]:
    """Cut rows before an expansion into blocks that are likely to have the right size after it."""
    fan_out = steps[place].estimate / max(steps[place - 1].estimate if place else 1.0, 1e-9)
    size = min(max(int(_BLOCK / max(fan_out, 1.0)), _BLOCK_MIN), _BLOCK)
    for start in range(0, rows.count, size):
        yield rows.between(start, min(start + size, rows.count))


def run_blocks(run: Callable[[Rows], Rows], pieces: Iterator[Rows]) -> list[Rows]:
    """Run what blocks need on a few threads, and return what is left of each, in order.

    Most of it is work on whole arrays, which threads do at the same time. The first block runs alone: what is read when
    it is first asked for is there for the others then. `run` must not come here again, or threads would wait for
    each other.
    """
    first = next(pieces, None)
    if first is None:
        return []
    found = [run(first)]
    rest = list(pieces)
    if len(rest) > 1:
        return [*found, *_pool().map(run, rest)]
    return [*found, *map(run, rest)]


@cache
def _pool() -> "ThreadPoolExecutor":
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(min(os.cpu_count() or 1, _THREADS_MAX), thread_name_prefix="omnigraph-blocks")


def _is_check(step: Step) -> bool:
    """Whether a step looks at each row by itself; a search and a longer way are asked once for all rows."""
    if isinstance(step, Filter):
        return all(
            isinstance(condition, Condition)
            and not isinstance(condition.left, TextMatch)
            and not isinstance(condition.right, TextMatch)
            for condition in step.conditions
        )
    return isinstance(step, Close) and step.traversal.hops_max == 1
