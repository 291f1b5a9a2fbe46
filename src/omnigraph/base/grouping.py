"""Neighbours put together until they are worth a task, a statement or a file."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def grouped(items: Iterable[Item], weigh: Callable[[Item], int], *, enough: int) -> Iterator[tuple[Item, ...]]:
    """Yield neighbours as soon as they weigh enough together, and what is left at the end."""
    group: list[Item] = []
    weight = 0
    for item in items:
        group.append(item)
        weight += weigh(item)
        if weight >= enough:
            yield tuple(group)
            group, weight = [], 0
    if group:
        yield tuple(group)
