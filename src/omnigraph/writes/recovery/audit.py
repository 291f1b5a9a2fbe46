"""The audit of recoveries: `_graph_commit_recoveries`, one row per recovery that changed or settled something."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import pyarrow as pa

from omnigraph.base import clock, faults
from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.manifest.rows import PRIMARY_KEY
from omnigraph.storage.keyed import create_keyed_table, insert_missing
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import TableAddress
from omnigraph.writes.sidecar import Sidecar, this_writer

RECOVERIES: Final = TableAddress("_graph_commit_recoveries")

RECOVERIES_SCHEMA: Final = pa.schema(
    [
        pa.field("operation_id", pa.string(), nullable=False, metadata=PRIMARY_KEY),
        pa.field("recovery_kind", pa.string(), nullable=False),
        pa.field("graph_commit_id", pa.string()),
        pa.field("writer_kind", pa.string(), nullable=False),
        pa.field("graph_branch", pa.string(), nullable=False),
        pa.field("recovery_for_actor", pa.string()),
        pa.field("recovered_by", pa.string(), nullable=False),
        pa.field("outcomes", pa.string(), nullable=False),
        pa.field("created_at", pa.timestamp("us", "UTC"), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecoveryRecord(Shown):
    """One completed recovery, as `omnigraph recover --list` shows it."""

    operation_id: str
    recovery_kind: str
    graph_commit_id: str | None
    writer_kind: str
    graph_branch: str
    recovery_for_actor: str | None
    recovered_by: str
    outcomes: str
    created_at_us: int


def record_recovery(
    tables: TableStore,
    sidecar: Sidecar,
    *,
    recovery_kind: str,
    graph_commit_id: str | None,
    outcomes: Mapping[str, Any],
) -> None:
    """Write the audit row of a recovery; repeating it changes nothing."""
    faults.reach("recover.audit_fails")
    _insert(
        tables,
        RecoveryRecord(
            operation_id=sidecar.operation_id,
            recovery_kind=recovery_kind,
            graph_commit_id=graph_commit_id,
            writer_kind=sidecar.kind.value,
            graph_branch=sidecar.branch_name,
            recovery_for_actor=sidecar.actor_id,
            recovered_by=_recovered_by(),
            outcomes=json.dumps(dict(outcomes), sort_keys=True),
            created_at_us=clock.now_us(),
        ),
    )


def record_unreadable(tables: TableStore, operation_id: str, *, recovery_kind: str) -> None:
    """Write the audit row of an operation whose sidecar nobody could read."""
    _insert(
        tables,
        RecoveryRecord(
            operation_id=operation_id,
            recovery_kind=recovery_kind,
            graph_commit_id=None,
            writer_kind="unknown",
            graph_branch="",
            recovery_for_actor=None,
            recovered_by=_recovered_by(),
            outcomes="{}",
            created_at_us=clock.now_us(),
        ),
    )


def _recovered_by() -> str:
    return json.dumps(dict(this_writer()), sort_keys=True)


def _insert(tables: TableStore, record: RecoveryRecord) -> None:
    row = asdict(record)
    row["created_at"] = row.pop("created_at_us")
    table = tables.head(RECOVERIES) or create_keyed_table(tables, RECOVERIES, RECOVERIES_SCHEMA)
    insert_missing(tables, table, "operation_id", pa.Table.from_pylist([row], schema=RECOVERIES_SCHEMA))


def list_recoveries(tables: TableStore) -> list[RecoveryRecord]:
    """Return all recorded recoveries, oldest operation first."""
    table = tables.head(RECOVERIES)
    if table is None:
        return []
    rows = table.read()
    micros = rows["created_at"].cast(pa.int64())
    columns = rows.drop_columns(["created_at"]).append_column("created_at_us", micros)
    return sorted((RecoveryRecord(**row) for row in columns.to_pylist()), key=lambda record: record.operation_id)
