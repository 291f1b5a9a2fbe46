"""What the steps of one run did, for whoever asks why a query takes as long as it does."""

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.base.clock import monotonic_seconds
from omnigraph.query.plan.explain import StepFacts
from omnigraph.query.ways.choice import Way


class Trace:
    """Adds up rows and time by step; inner steps may run more than once."""

    def __init__(self) -> None:
        self.facts: dict[object, StepFacts] = {}
        self.way: Way | None = None
        """Which way the query went."""

    @contextmanager
    def timing(self, key: object) -> Iterator[list[int]]:
        """Time a step; the block puts the number of rows into the list that it gets."""
        rows = [0]
        started = monotonic_seconds()
        yield rows
        seconds = monotonic_seconds() - started
        before = self.facts.get(key, StepFacts(calls=0, rows=0, seconds=0.0))
        self.facts[key] = StepFacts(
            calls=before.calls + 1, rows=before.rows + rows[0], seconds=before.seconds + seconds
        )
