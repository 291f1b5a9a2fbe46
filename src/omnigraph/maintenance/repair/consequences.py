"""Which declared rules a graph would break with drifted tables published: no write would have let such rows in."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.repair.drift import Classification, TableDrift
from omnigraph.maintenance.unreadable import UNREADABLE, refuse_unreachable
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.records.findings import Findings
from omnigraph.storage.tables import Table
from omnigraph.writes.constraints.broken import BrokenConstraints, broken_constraints


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRules:
    """What the rows of one drifted table break, in the graph that publishing all drift would make."""

    total: int = 0
    by_code: Mapping[str, int] = field(default_factory=dict)
    samples: tuple[dict[str, Any], ...] = ()
    """Some of them, as `table_key`, `code`, `property`, `id` and `message`."""
    unchecked: str | None = None
    """Why it cannot be told, or not all of it."""


def broken_rules(
    context: GraphContext, branch: str, found: Sequence[TableDrift], *, limit: int
) -> Mapping[TableKey, BrokenRules]:
    """Judge the tables of a branch that publishing would change, together: they would be published together."""
    moved = {drift.pin.table_key: drift.head for drift in found if _may_change_rows(drift) and drift.head is not None}
    if not moved:
        return {}
    snapshot = context.manifest.load(branch).snapshot
    catalog = context.schemas.catalog(snapshot.schema)
    states = {**_pinned_states(context, snapshot), **moved}
    judged = broken_constraints(context, catalog, states, tables=sorted(moved), limit=limit)
    return {key: _of_table(key, judged, limit) for key in moved}


def _may_change_rows(drift: TableDrift) -> bool:
    """Whether publishing could change a row: compaction cannot, and what the graph cannot use is never published."""
    is_doubtful = drift.classification in {Classification.SUSPICIOUS, Classification.UNVERIFIABLE}
    return is_doubtful and drift.unfit_because is None and drift.problem is None


def _pinned_states(context: GraphContext, snapshot: GraphSnapshot) -> dict[TableKey, Table]:
    return {
        pin.table_key: table
        for pin in snapshot.pins.values()
        if (table := _opened(context, pin.address, pin.version)) is not None
    }


def _opened(context: GraphContext, address: Any, version: int) -> Table | None:
    try:
        return context.store.tables.open(address, version)
    except UNREADABLE as error:
        refuse_unreachable(error)
        return None


def _of_table(key: TableKey, judged: BrokenConstraints, limit: int) -> BrokenRules:
    found = judged.broken.get(key, Findings())
    return BrokenRules(
        total=found.total,
        by_code={code.value: count for code, count in found.by_code.items()},
        samples=tuple(
            {
                "table_key": finding.table_key,
                "code": finding.code.value,
                "property": finding.property,
                "id": finding.row_id,
                "message": finding.message,
            }
            for finding in found.first[:limit]
        ),
        unchecked=judged.unchecked.get(key),
    )
