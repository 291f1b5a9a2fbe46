"""Answering a read the way that was chosen, and another way where that one finds that it cannot."""

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from omnigraph.query.image.shelf import DoesNotFit
from omnigraph.query.lookups.reading import Allowance, TooMuchToLookUp
from omnigraph.query.opening import open_lookups, open_tables
from omnigraph.query.plan.reading import most_hops, searches
from omnigraph.query.run.execute import execute
from omnigraph.query.ways.choice import Way, WayName

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.query.plan.steps import Plan
    from omnigraph.query.run.bindings import Run


def answer(way: Way, snapshot: "Snapshot", plan: "Plan", schema: "pa.Schema", run: "Run") -> "tuple[pa.Table, Way]":
    """Answer a read; `run` reads the image. Return the rows and the way that led to them."""
    if way.name is WayName.LOOK_UPS:
        access = open_lookups(snapshot, plan.read, Allowance(way.rows_max))
        try:
            return execute(replace(run, access=access), plan, schema), way
        except TooMuchToLookUp as error:
            _forget_steps(run)
            name = WayName.IMAGE if way.build_seconds < inf else WayName.DUCKDB
            way = replace(way, name=name, reason=f"it reaches too much to look up: {error}")
    if way.name is WayName.IMAGE:
        try:
            return execute(run, plan, schema), way
        except DoesNotFit:
            _forget_steps(run)
            reason = "the image would take more memory than allowed"
            way = replace(way, name=WayName.DUCKDB, reason=reason, build_seconds=inf)
    return _from_tables(snapshot, plan, schema, run), way


def _from_tables(snapshot: "Snapshot", plan: "Plan", schema: "pa.Schema", run: "Run") -> "pa.Table":
    """Answer a read whose image would be too large: DuckDB reads as much at a time as it has memory for."""
    from omnigraph.query.sql.answers import answer_with_duckdb
    from omnigraph.query.sql.reach import HOPS_MAX
    from omnigraph.query.sql.statement import Asked

    read = plan.read
    if searches(read) or most_hops(read.pattern) > HOPS_MAX:
        return execute(replace(run, access=open_tables(snapshot)), plan, schema)
    return answer_with_duckdb(snapshot, Asked(read=read, parameters=run.parameters, now_ms=run.now_ms))


def _forget_steps(run: "Run") -> None:
    if run.trace is not None:
        run.trace.facts.clear()
