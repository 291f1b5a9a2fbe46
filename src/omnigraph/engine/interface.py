"""What an engine can do. An engine never commits, locks or publishes: it returns values to its caller."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

import pyarrow as pa

Relations = Mapping[str, pa.Table | pa.RecordBatchReader]
"""Named Arrow relations that a statement may refer to."""


Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


class Engine(Protocol):
    """Runs independent tasks, and relational steps over Arrow relations."""

    @property
    def name(self) -> str:
        """What users call this engine."""
        ...

    def sql(self, relations: Relations, statement: str) -> pa.Table:
        """Run one statement; every relation it names must be given. Results are small: violations, counts, matches."""
        ...

    def map(self, function: Callable[[Task], Outcome], tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Run independent tasks and stream what they return, in any order; the first failure stops the rest.

        `function` is a plain function of a module; tasks and outcomes are small plain values, since both may travel
        to another machine. Data moves between storage and the worker only. A task may run twice: it writes new files
        and commits nothing, and only the outcome that comes back counts.
        """
        ...
