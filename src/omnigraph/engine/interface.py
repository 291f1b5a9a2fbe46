"""What an engine can do. An engine never commits, locks or publishes: it returns values to its caller."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from omnigraph.base.values import dataclass

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")

Watch = Callable[[int], None]
"""Told how much of a job is done, from its beginning and in the job's own unit, while the rest goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """A relation that workers read from storage themselves: its rows never pass through the driver of a cluster.

    `read` is a plain function of a module that yields batches of `schema` for one task; it may run more than once.
    """

    schema: pa.Schema
    read: Callable[[Any], Iterator[pa.RecordBatch]]
    tasks: tuple[Any, ...]
    rows: int | None = None
    """How many rows the tasks yield together, where somebody counted: small work needs no cluster."""


Relation: TypeAlias = pa.Table | Produced
Relations = Mapping[str, Relation]
"""Named relations that a statement may refer to, as often as it likes."""


class Engine(Protocol):
    """Runs independent tasks, and relational steps over Arrow relations."""

    @property
    def name(self) -> str:
        """What users call this engine."""
        ...

    @property
    def slots(self) -> int:
        """How many tasks run at the same time, as far as the engine knows."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether all tasks run on this machine, and find what lies on its disks."""
        ...

    def threads_each(self, tasks: int) -> int:
        """How many threads each of so many tasks may use for a relational step of its own, if nothing else runs."""
        ...

    def sql(self, relations: Relations, statement: str) -> pa.Table:
        """Run one statement; every relation it names must be given. Results are small: violations, counts, matches."""
        ...

    def map(
        self,
        function: Callable[[Task], Outcome],
        tasks: Iterable[Task],
        *,
        weights: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> Iterator[Outcome]:
        """Run independent tasks and stream what they return, in any order; the first failure stops the rest.

        `function` is a plain function of a module; tasks and outcomes are small plain values, since both may travel
        to another machine. Data moves between storage and the worker only. A task may run twice: it writes new files
        and commits nothing, and only the outcome that comes back counts.

        `watch` is told how much is done: the weights of the finished tasks, one each unless given, and of the others
        what they say of themselves (`base/work.py`), as far as the engine hears of it.
        """
        ...

    def map_groups(
        self,
        relations: Relations,
        statement: str,
        *,
        by: str,
        function: Callable[[int, pa.Table], Outcome],
        watch: Watch | None = None,
    ) -> Iterator[Outcome]:
        """Run a statement with a large result and hand the rows of each value of the integer `by` to a worker.

        What was said about the functions and outcomes of `map` holds here too; `watch` is told rows of groups.
        """
        ...

    def close(self) -> None:
        """Let go of what the engine keeps for one operation; it can be used again."""
        ...
