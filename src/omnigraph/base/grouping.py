"""Neighbours put together until they are worth a task, a statement or a file: the one way in which work is divided."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

Item = TypeVar("Item")
Measure: TypeAlias = tuple[Callable[[Item], float], float]
"""How much an item counts, and how much of that a group may have."""


def grouped(items: Iterable[Item], *measures: Measure[Item]) -> Iterator[tuple[Item, ...]]:
    """Yield neighbours as soon as they have enough of something together, and what is left at the end.

    For what must be large enough to be worth its start: a group may have more than enough, and only the last has less.
    """
    group: list[Item] = []
    sums = [0.0] * len(measures)
    for item in items:
        group.append(item)
        sums = [found + weigh(item) for found, (weigh, _) in zip(sums, measures, strict=True)]
        if any(found >= enough for found, (_, enough) in zip(sums, measures, strict=True)):
            yield tuple(group)
            group, sums = [], [0.0] * len(measures)
    if group:
        yield tuple(group)


def fitted(items: Iterable[Item], *measures: Measure[Item]) -> Iterator[tuple[Item, ...]]:
    """Yield as many neighbours as fit together; what is too large by itself is alone.

    For what must not be larger than somebody can hold.
    """
    group: list[Item] = []
    sums = [0.0] * len(measures)
    for item in items:
        weights = [weigh(item) for weigh, _ in measures]
        joint = [found + weight for found, weight in zip(sums, weights, strict=True)]
        if group and any(found > most for found, (_, most) in zip(joint, measures, strict=True)):
            yield tuple(group)
            group, joint = [], weights
        group.append(item)
        sums = joint
    if group:
        yield tuple(group)
