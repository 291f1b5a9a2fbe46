"""What one graph version consists of: the fold of manifest rows into pins.

All of history is in the rows, so a snapshot of any graph version needs only the newest `__manifest`. The fold is
columnar; only the few newest rows per table ever become Python values.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import identity_mark
from omnigraph.catalog.model import Catalog, TableIdentity, TableKey
from omnigraph.errors import GraphCorrupt, SnapshotNotFound
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitId
from omnigraph.manifest.pinned_state import pinned_state
from omnigraph.manifest.rows import OBJECT_ID_BY_TYPE, ManifestRow, ObjectType, schema_object_id
from omnigraph.storage.expected_tables import ExpectedTable
from omnigraph.storage.tables import StateAddress, TableAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePin:
    """Which state of a table belongs to a snapshot."""

    table_key: TableKey
    identity: TableIdentity
    location: str
    ref: str | None
    version: int
    row_count: int
    graph_id: str | None = None
    """The identity domain of the graph; None where only a place is known, as in a sidecar."""
    is_marked: bool = False
    """Whether the pinned state says itself which table it is."""

    @property
    def address(self) -> TableAddress:
        """Where the pinned state lives, and which table has to be there."""
        return self.address_on(self.ref)

    @property
    def state(self) -> StateAddress:
        """The pinned state."""
        return StateAddress(address=self.address, version=self.version)

    def address_on(self, ref: str | None) -> TableAddress:
        """Return where the table lives on a ref."""
        return TableAddress(self.location, ref, self.expected)

    @property
    def expected(self) -> ExpectedTable | None:
        """Which table has to be at the pin's place."""
        if self.graph_id is None:
            return None
        return ExpectedTable(
            table_key=self.table_key, mark=identity_mark(self.graph_id, self.identity), is_marked=self.is_marked
        )

    @property
    def entity_kind(self) -> str:
        """`node` or `edge`."""
        return self.table_key.partition(":")[0]

    @property
    def type_name(self) -> str:
        """The type's name at this snapshot."""
        return self.table_key.partition(":")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRef:
    """Which schema a snapshot is read with, by the hashes that name its objects."""

    schema_hash: str
    ir_hash: str
    source_sha256: str
    identity_domain: str

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> "SchemaRef":
        """Read the metadata of a `schema` row."""
        return cls(
            schema_hash=metadata["schema_hash"],
            ir_hash=metadata["ir_hash"],
            source_sha256=metadata["source_sha256"],
            identity_domain=metadata["identity_domain"],
        )


def own_ref(branch: str, incarnation: str) -> str | None:
    """Name the ref of tables that a branch owns; None is the main line, which belongs to `main`."""
    return None if branch == MAIN_BRANCH else f"{branch}.{incarnation[:12]}"


def branch_of(ref: str) -> str:
    """Name the branch that `own_ref` made a ref for, whether or not that branch still exists."""
    return ref.rpartition(".")[0] or ref


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSnapshot:
    """One graph version of one branch: the pins that belong together, sorted by table key."""

    branch: str
    incarnation: str
    graph_version: int
    commit_id: CommitId
    schema: SchemaRef
    pins: Mapping[TableKey, TablePin]

    @property
    def own_ref(self) -> str | None:
        """The ref of tables that this branch owns; the incarnation keeps a namesake's leftovers apart."""
        return own_ref(self.branch, self.incarnation)

    def pin_of(self, identity: TableIdentity) -> TablePin | None:
        """Return the pin of a table by identity; None when the snapshot does not show it."""
        return next((pin for pin in self.pins.values() if pin.identity == identity), None)

    def check_against(self, catalog: Catalog) -> None:
        """Raise `GraphCorrupt` unless tables and schema types match one to one by identity."""
        pinned = {pin.identity: pin.table_key for pin in self.pins.values()}
        declared = {entity.identity: entity.table_key for entity in catalog.entity_types()}
        if pinned != declared:
            odd = sorted({*pinned.items(), *declared.items()} - ({*pinned.items()} & {*declared.items()}), key=str)
            named = ", ".join(f"{key} ({identity})" for identity, key in odd)
            raise GraphCorrupt(
                f"Graph version {self.graph_version} of branch '{self.branch}' and its schema disagree about: {named}."
            )


def fold(rows: pa.Table, *, branch: str, incarnation: str, graph_version: int, commit_id: CommitId) -> GraphSnapshot:
    """Reconstruct the snapshot of `graph_version` from all manifest rows."""
    visible = rows.filter(pc.less_equal(rows["graph_version"], pa.scalar(graph_version, pa.uint64())))
    newest: dict[tuple[TableIdentity, ObjectType], ManifestRow] = {
        (row.identity, row.object_type): row for row in _newest_table_rows(visible)
    }
    schema = _accepted_schema(rows, graph_version)
    pins: dict[TableKey, TablePin] = {}
    for identity in sorted({identity for identity, _ in newest}, key=str):
        if (identity, ObjectType.TABLE_TOMBSTONE) in newest:
            continue
        pin = _pin(identity, newest, schema.identity_domain)
        if pin.table_key in pins:
            raise GraphCorrupt(
                f"Two live tables are called {pin.table_key}: {pins[pin.table_key].identity}, {identity}."
            )
        pins[pin.table_key] = pin
    return GraphSnapshot(
        branch=branch,
        incarnation=incarnation,
        graph_version=graph_version,
        commit_id=commit_id,
        schema=schema,
        pins=dict(sorted(pins.items())),
    )


def advance(older: GraphSnapshot, newer_rows: pa.Table, *, head: Commit) -> GraphSnapshot | None:
    """Return what `fold` would, of the snapshot before and the rows that were published since.

    None where they do more than move pins: a schema change begins, renames and ends tables.
    """
    pins = dict(older.pins)
    key_by_identity = {pin.identity: key for key, pin in pins.items()}
    for record in newer_rows.sort_by("graph_version").to_pylist():
        row = ManifestRow.from_columns(record)
        if row.object_type is ObjectType.GRAPH_HEAD:
            continue
        key = key_by_identity.get(row.identity) if row.object_type is ObjectType.TABLE_VERSION else None
        if key is None or row.table_version is None:
            return None
        pins[key] = replace(
            pins[key],
            ref=row.table_branch,
            version=row.table_version,
            row_count=row.row_count or 0,
            is_marked=pinned_state(row).is_marked,
        )
    return replace(older, graph_version=head.graph_version, commit_id=head.graph_commit_id, pins=pins)


def _pin(
    identity: TableIdentity, newest: Mapping[tuple[TableIdentity, ObjectType], ManifestRow], graph_id: str
) -> TablePin:
    table = newest.get((identity, ObjectType.TABLE))
    version = newest.get((identity, ObjectType.TABLE_VERSION))
    if table is None or version is None or table.location is None or version.table_version is None:
        missing = "table" if table is None else "table_version"
        raise GraphCorrupt(f"Table {identity} has no usable '{missing}' row in __manifest.")
    return TablePin(
        table_key=TableKey(table.table_key),
        identity=identity,
        location=table.location,
        ref=version.table_branch,
        version=version.table_version,
        row_count=version.row_count or 0,
        graph_id=graph_id,
        is_marked=pinned_state(version).is_marked,
    )


def _newest_table_rows(rows: pa.Table) -> Iterable[ManifestRow]:
    """Return, per identity and object type, the row of the highest graph version.

    Highest graph version, never highest table version: Lance numbers belong to a ref, and a pin may move to a lower
    number on another ref.
    """
    about_tables = rows.filter(pc.is_valid(rows["stable_table_id"]))
    groups = about_tables.group_by(["object_type", "stable_table_id", "table_incarnation_id"]).aggregate(
        [("graph_version", "max")]
    )
    wanted = [
        _object_id_of(group["object_type"])(
            TableIdentity(type_id=group["stable_table_id"], incarnation_id=group["table_incarnation_id"]),
            group["graph_version_max"],
        )
        for group in groups.to_pylist()
    ]
    return _rows_by_id(about_tables, wanted)


def _object_id_of(object_type: str) -> Callable[[TableIdentity, int], str]:
    try:
        return OBJECT_ID_BY_TYPE[ObjectType(object_type)]
    except (ValueError, KeyError):
        raise GraphCorrupt(f"__manifest holds rows about tables of the unknown type {object_type!r}.") from None


def _accepted_schema(rows: pa.Table, graph_version: int) -> SchemaRef:
    schema_rows = rows.filter(pc.equal(rows["object_type"], ObjectType.SCHEMA.value))
    accepted_in = schema_rows["graph_version"].to_pylist()
    newest = max((version for version in accepted_in if version <= graph_version), default=None)
    if not accepted_in:
        raise GraphCorrupt("__manifest has no 'schema' row.")
    if newest is None:
        # A migrated graph knows only the schema that it had when it was migrated.
        raise SnapshotNotFound(
            f"Graph version {graph_version} was written under a schema that nobody recorded; the oldest version that "
            f"can be read is {min(accepted_in)}.",
            id=str(graph_version),
        )
    (row,) = _rows_by_id(schema_rows, [schema_object_id(newest)])
    try:
        return SchemaRef.from_metadata(json.loads(row.metadata or ""))
    except (ValueError, KeyError, TypeError) as error:
        raise GraphCorrupt(f"The row {row.object_id} of __manifest does not name a schema.") from error


def _rows_by_id(rows: pa.Table, object_ids: list[str]) -> list[ManifestRow]:
    found = rows.filter(pc.is_in(rows["object_id"], value_set=pa.array(object_ids, pa.string()))).to_pylist()
    if len(found) != len(set(object_ids)):
        raise GraphCorrupt(
            f"__manifest holds {counted(len(found), 'row')} where {len(object_ids)} were expected: {object_ids}."
        )
    return [ManifestRow.from_columns(record) for record in found]
