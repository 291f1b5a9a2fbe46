"""Answers a planned read over one snapshot: from its image, by look-ups, or from its tables.

Everything here runs for every query, however small, so what follows from the read alone is decided when it is planned,
and nothing is imported on the way.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.base.clock import monotonic_seconds, now_ms
from omnigraph.errors import QueryExecution
from omnigraph.graphs.result import Result
from omnigraph.query.image.shelf import DoesNotFit
from omnigraph.query.parameters import bind_parameters
from omnigraph.query.plan.reading import most_hops, searches
from omnigraph.query.plan.steps import Plan
from omnigraph.query.run.bindings import Run, TooManyRows
from omnigraph.query.run.execute import Program
from omnigraph.query.run.search import NO_SEARCH, LazySearch
from omnigraph.query.typed import STRING, CheckedRead, ConstantValue
from omnigraph.query.ways.choice import NO_ROOM, READY, Way, WayName, Ways

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.catalog.model import Catalog
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.query.access import GraphAccess
    from omnigraph.query.run.trace import Trace

_BRIEF_ROWS_MAX = 1_000
"""So many are found and spelled in a millisecond or two."""


class Answering:
    """One planned read, ready to be run as often as somebody asks; several threads may."""

    def __init__(self, plan: Plan, schema: "pa.Schema", catalog: "Catalog") -> None:
        self._plan = plan
        self._read = plan.read
        self._name = plan.read.name
        self._program = Program(plan, schema)
        self._catalog = catalog
        self._searches = searches(plan.read)
        self._texts = _plain_texts(plan.read)

    def answer(
        self,
        snapshot: "Snapshot",
        access: "GraphAccess",
        values: Mapping[str, object],
        ways: Ways,
        trace: "Trace | None" = None,
        *,
        is_plain: bool = False,
        rows_max: int | None = None,
    ) -> Result:
        """Run the read with the values of its parameters; `access` is the image.

        `is_plain` is for who wants values and no Arrow: a few rows of them stay such. With `rows_max`, a run that
        reaches more ends in `TooManyRows`.
        """
        run = Run(
            access=access,
            catalog=self._catalog,
            parameters=self._bound(values),
            now_ms=now_ms(),
            search=LazySearch(snapshot) if self._searches else NO_SEARCH,
            trace=trace,
            rows_max=rows_max,
        )
        way = READY if ways.is_ready(snapshot, self._plan) else ways.choose(snapshot, self._plan)
        try:
            if way is not READY:
                rows = self._answer_by(way, snapshot, run, ways)
            else:
                rows = self._program.answer(run) if is_plain else self._program.run(run)
        except DoesNotFit:
            _note(run, NO_ROOM)
            rows = self._answer_without_image(snapshot, run)
        except MemoryError as error:
            raise QueryExecution(
                "query: its rows take more memory than there is; connect variables that nothing connects, or count "
                "rows instead of listing them."
            ) from error
        return Result(rows, query_name=self._name, branch=snapshot.branch, commit_id=snapshot.commit_id)

    def answer_briefly(
        self, snapshot: "Snapshot", access: "GraphAccess", values: Mapping[str, object], ways: Ways
    ) -> Result | None:
        """Run the read for values and no Arrow, where others wait for it; None if it turns out to reach much."""
        try:
            return self.answer(snapshot, access, values, ways, is_plain=True, rows_max=_BRIEF_ROWS_MAX)
        except TooManyRows:
            return None

    def _bound(self, values: Mapping[str, object]) -> "dict[str, ConstantValue | None]":
        if values.keys() == self._texts:  # type: ignore[comparison-overlap]  # both are sets of names
            for value in values.values():
                if type(value) is not str or not value.isascii():
                    break
            else:
                return dict(values)  # type: ignore[arg-type]  # they are texts
        return bind_parameters(self._read, values)

    def _answer_by(self, way: Way, snapshot: "Snapshot", run: Run, ways: Ways) -> "pa.Table":
        """Answer by the way that was chosen, or by another where it turns out that this one does not do."""
        started = monotonic_seconds()
        rows = None
        if way.name is WayName.LOOK_UPS:
            from omnigraph.query.lookups.reading import Allowance, TooMuchToLookUp
            from omnigraph.query.opening import open_lookups

            _note(run, way)
            try:
                rows = self._program.run(run.over(open_lookups(snapshot, self._read, Allowance(way.rows_max))))
            except TooMuchToLookUp as error:
                way = way.instead(f"it reaches too much to look up: {error}")
        if rows is None:
            _note(run, way)
            is_image = way.name is WayName.IMAGE
            rows = self._program.run(run) if is_image else self._answer_without_image(snapshot, run)
        ways.took(snapshot, self._plan, way, monotonic_seconds() - started)
        return rows

    def _answer_without_image(self, snapshot: "Snapshot", run: Run) -> "pa.Table":
        """Answer a read whose image would be too large: DuckDB reads as much at a time as it has memory for."""
        from omnigraph.query.sql.reach import HOPS_MAX

        if self._searches or most_hops(self._read.pattern) > HOPS_MAX:
            from omnigraph.query.opening import open_tables

            return self._program.run(run.over(open_tables(snapshot)))
        from omnigraph.query.sql.answers import answer_with_duckdb
        from omnigraph.query.sql.statement import Asked

        return answer_with_duckdb(snapshot, Asked(read=self._read, parameters=run.parameters, now_ms=run.now_ms))


def _note(run: Run, way: Way) -> None:
    """Remember which way a run goes; what it did on another one before does not count."""
    if run.trace is not None:
        run.trace.way = way
        run.trace.facts.clear()


def _plain_texts(read: CheckedRead) -> frozenset[str] | None:
    """Return the parameters of a read all of which are plain texts, which need hardly a look; None where others are."""
    if all(parameter.type == STRING for parameter in read.parameters):
        return frozenset(parameter.name for parameter in read.parameters)
    return None
