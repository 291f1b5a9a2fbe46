"""What publishing drift would mean: the rows that change, and the declared rules that the graph would break.

Operators review data, not version numbers; and no write would have let rows in that break a rule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.changes.compare import Op, TableState, changed_entities
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.repair.drift import Classification, TableDrift
from omnigraph.maintenance.unreadable import UNREADABLE, refuse_unreachable
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.records.offences import Offences
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
    found = judged.broken.get(key, Offences())
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReview:
    """Rows that publishing would add, remove and change, with a few of their ids."""

    rows_added: int
    rows_removed: int
    rows_changed: int
    samples: tuple[dict[str, Any], ...]


def review_drift(context: GraphContext, drift: TableDrift, *, limit: int) -> DriftReview | None:
    """Compare the pin with HEAD; None where that cannot be done, because columns differ or the pin is gone."""
    if drift.head is None or drift.pinned is None or drift.unfit_because is not None:
        return None
    snapshot = context.manifest.load(drift.branch).snapshot
    entity = context.schemas.catalog(snapshot.schema).type_by_table_key[drift.pin.table_key]
    before, after = TableState(entity=entity, table=drift.pinned), TableState(entity=entity, table=drift.head)
    changes = changed_entities(context, before, after).sort_by("id")
    counts = {found["values"]: found["counts"] for found in changes["op"].value_counts().to_pylist()}
    return DriftReview(
        rows_added=counts.get(Op.INSERT.value, 0),
        rows_removed=counts.get(Op.DELETE.value, 0),
        rows_changed=counts.get(Op.UPDATE.value, 0),
        samples=tuple(changes.select(["id", "op"]).slice(0, limit).to_pylist()),
    )
