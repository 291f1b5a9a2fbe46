"""Rows of stamps 1 to 3, read into values: tables by name, pins by Lance version.

A `table` row gives a table key its location. A `table_version` row is a pin; the commit that moved it there stands in
its metadata as `graph_commit_id`. A `table_tombstone` row, keyed and filled like a pin, hides the table as long as no
pin has a higher version. Rows that carry a graph version are of stamp 4 and are passed over.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.errors import GraphCorrupt
from omnigraph.manifest.commits import CommitId
from omnigraph.manifest.rows import ObjectType


@dataclass(frozen=True, slots=True, kw_only=True)
class OldPin:
    """One state of a table, and the commit that published it."""

    version: int
    ref: str | None
    row_count: int
    commit_id: CommitId


@dataclass(frozen=True, slots=True, kw_only=True)
class OldTable:
    """Everything that old rows say about one table; pins are ordered by version."""

    table_key: TableKey
    location: str
    pins: tuple[OldPin, ...]
    tombstone: OldPin | None
    """What ended the table; None while it is visible."""

    @property
    def commit_ids(self) -> frozenset[CommitId]:
        """The commits that this table took part in."""
        named = self.pins if self.tombstone is None else (*self.pins, self.tombstone)
        return frozenset(pin.commit_id for pin in named)


def read_old_tables(rows: pa.Table) -> tuple[OldTable, ...]:
    """Return the tables that rows of an old shape describe, by table key."""
    # Row by row: a graph passes through here once, on its way to the present shape.
    locations: dict[TableKey, str] = {}
    pins: dict[TableKey, list[OldPin]] = defaultdict(list)
    tombstones: dict[TableKey, list[OldPin]] = defaultdict(list)
    for record in rows.to_pylist():
        if record.get("graph_version") is not None:
            continue
        table_key = TableKey(record["table_key"])
        match record["object_type"]:
            case ObjectType.TABLE:
                locations[table_key] = record["location"]
            case ObjectType.TABLE_VERSION:
                pins[table_key].append(_pin(record))
            case ObjectType.TABLE_TOMBSTONE:
                tombstones[table_key].append(_pin(record))
            case unknown:
                raise GraphCorrupt(f"The __manifest row '{record['object_id']}' is of an unknown type, {unknown!r}.")
    return tuple(
        _table(key, locations.get(key), pins[key], tombstones[key]) for key in sorted({*locations, *pins, *tombstones})
    )


def _table(table_key: TableKey, location: str | None, pins: list[OldPin], tombstones: list[OldPin]) -> OldTable:
    if location is None or not pins:
        missing = "table" if location is None else "table_version"
        raise GraphCorrupt(f"Table {table_key} has no '{missing}' row in __manifest.")
    ordered = tuple(sorted(pins, key=_by_version))
    tombstone = max(tombstones, key=_by_version, default=None)
    if tombstone is not None and tombstone.version < ordered[-1].version:
        tombstone = None
    return OldTable(table_key=table_key, location=location, pins=ordered, tombstone=tombstone)


def _by_version(pin: OldPin) -> int:
    return pin.version


def _pin(record: Mapping[str, Any]) -> OldPin:
    commit_id = _commit_id(record["metadata"])
    if commit_id is None or record["table_version"] is None:
        raise GraphCorrupt(f"The __manifest row '{record['object_id']}' does not name its table version and commit.")
    return OldPin(
        version=record["table_version"],
        ref=record["table_branch"],
        row_count=record["row_count"] or 0,
        commit_id=commit_id,
    )


def _commit_id(metadata: str | None) -> CommitId | None:
    try:
        found = json.loads(metadata or "{}")
    except ValueError:
        return None
    return found.get("graph_commit_id") if isinstance(found, dict) else None


def named_commits(tables: Iterable[OldTable]) -> frozenset[CommitId]:
    """Return every commit that some row names."""
    return frozenset().union(*(table.commit_ids for table in tables))
