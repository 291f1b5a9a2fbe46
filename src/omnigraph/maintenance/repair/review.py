"""What publishing drift would change, in rows: operators review data, not version numbers."""

from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.changes.compare import Op, TableState, changed_entities
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.repair.drift import TableDrift


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
