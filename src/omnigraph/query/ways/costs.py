"""About how long each way takes, from the sizes of tables, the plan's own estimates and a few measured numbers.

A wrong guess makes a query slower, never wrong.
"""

from collections.abc import Callable, Iterable
from math import inf

from omnigraph.catalog.model import TableKey
from omnigraph.query.plan.reading import names_read, searches
from omnigraph.query.plan.steps import Close, Expand, Filter, LookUp, Negate, Plan, Scan, Step, Weigh
from omnigraph.query.typed import ID, Condition, Constant, Now, Parameter, PropertyRead, Traversal
from omnigraph.query.ways.parts import ADJACENCY, COLUMN, ROWS, ImagePart, directions

LOCAL_ASK, REMOTE_ASK = 0.0015, 0.05
"""Seconds until a table has answered anything at all, on a disk and over a network."""
_VALUE = 20e-6
"""Seconds to find one value in an index, and the rows that have it."""
_ROW = 5e-6
"""Seconds to take in one row that was looked up."""
_SCANNED = 0.15e-6
"""Seconds to look through one row for which there is no index."""
_BUILD = {ROWS: {"node": 1e-6, "edge": 0.03e-6}, COLUMN: {"node": 0.1e-6, "edge": 0.1e-6}, ADJACENCY: {"edge": 0.5e-6}}
"""Seconds per row to build what an image has, by kind and by whether the rows are nodes or edges."""
_JOINED = 0.3e-6
"""Seconds that DuckDB takes per row of the tables of a query."""
_HOPS_COUNTED = 6
"""A search rarely goes further before it has met everybody."""

Count = Callable[[TableKey], int]
Unindexed = Callable[[TableKey, str], int]
"""How many rows of a table no index on a column knows."""


def rows_in(seconds: float) -> int:
    """Return how many rows are looked up in some time."""
    return int(seconds / _ROW)


def build_seconds(parts: Iterable[ImagePart], count: Count, ask_seconds: float) -> float:
    """Guess how long building parts of an image takes."""
    return sum(ask_seconds + count(part.table_key) * _BUILD[part.kind][part.of] for part in parts)


def duckdb_seconds(parts: Iterable[ImagePart], count: Count, ask_seconds: float) -> float:
    """Guess how long one statement over whole tables takes."""
    return sum(ask_seconds + _JOINED * count(part.table_key) for part in parts if part.kind != ROWS)


def look_up_seconds(plan: Plan, count: Count, unindexed: Unindexed, ask_seconds: float) -> float:
    """Guess how long look-ups take; endless where a plan has something that they are not for."""
    if searches(plan.read):
        return inf
    walk = _Walk(count, unindexed)
    rows = walk.steps(plan.steps, 1.0)
    for key, names in names_read(plan.read).items():
        if key.startswith("node:") and names - {ID}:
            walk.ask(key, ID, rows, rows)
    return walk.asks * ask_seconds + walk.values * _VALUE + walk.rows * _ROW + walk.scanned * _SCANNED


class _Walk:
    """Adds up what the steps of a plan ask for."""

    def __init__(self, count: Count, unindexed: Unindexed) -> None:
        self._count = count
        self._unindexed = unindexed
        self.asks = self.values = self.rows = self.scanned = 0.0

    def ask(self, table: TableKey, column: str, values: float, rows: float) -> None:
        self.asks += 1
        self.values += values
        self.rows += rows
        self.scanned += self._unindexed(table, column)

    def steps(self, steps: Iterable[Step], rows: float) -> float:
        """Return how many rows steps leave that start with some; estimates of inner steps are for one row."""
        outer, found = rows, rows
        for step in steps:
            match step:
                case LookUp():
                    self.ask(step.entity.table_key, ID, 1, 1)
                case Scan():
                    self._scan(step)
                    found = outer * step.estimate
                case Expand():
                    after = outer * step.estimate
                    self._follow(step.traversal, step.source, found, after)
                    found = after
                case Close():
                    self._follow(step.traversal, step.traversal.left, found, found)
                    found = outer * step.estimate
                case Filter():
                    found = outer * step.estimate
                case Negate() | Weigh():
                    self.steps(step.steps, found)
                    found = outer * step.estimate
                case _:
                    self.asks = inf
        return found

    def _scan(self, step: Scan) -> None:
        indexed = [name for name in _equal_properties(step) if not self._unindexed(step.entity.table_key, name)]
        if indexed:
            self.ask(step.entity.table_key, indexed[0], 1, step.estimate)
        else:
            self.asks += 1
            self.rows += step.estimate
            self.scanned += self._count(step.entity.table_key)

    def _follow(self, traversal: Traversal, source: str, before: float, after: float) -> None:
        hops = min(traversal.hops_max, _HOPS_COUNTED)
        for direction in directions(traversal, source):
            for hop in range(hops):
                values = before if hop == 0 else after
                self.ask(traversal.edge.table_key, "src" if direction == "out" else "dst", values, after)


def _equal_properties(step: Scan) -> list[str]:
    return [
        condition.left.property
        for condition in step.conditions
        if isinstance(condition, Condition)
        and condition.operator == "="
        and isinstance(condition.left, PropertyRead)
        and isinstance(condition.right, Constant | Parameter | Now)
    ]
