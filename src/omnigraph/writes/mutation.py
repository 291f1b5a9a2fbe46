"""Mutations: upsert, insert, update and delete statements that become one commit.

Statements apply in order and each sees what the ones before it did. Deleting a node deletes its edges with it. The
mutation language and `graph.write` both end here; rows arrive typed and checked one by one (`records/`), and are
checked as a whole (`constraints/`) before anything is staged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityType, NodeType, TableKey
from omnigraph.errors import ConstraintViolation, KeyConflict
from omnigraph.graphs.capture import Capture
from omnigraph.manifest.commits import CommitKind
from omnigraph.records.findings import FindingCollector
from omnigraph.records.report import rejected
from omnigraph.records.tables import content_schema
from omnigraph.storage.filters import Comparison, all_of
from omnigraph.storage.tables import Table
from omnigraph.writes.constraints import check_deltas
from omnigraph.writes.delta import (
    PLACE_COLUMNS,
    TableDelta,
    delta_rows,
    empty_reference,
    prepare_tables,
    reference_columns,
    rows_among,
    rows_without,
)
from omnigraph.writes.equality import without_unchanged
from omnigraph.writes.matching import comparisons_hold
from omnigraph.writes.prepared import PreparedWrite, WriteIdentity
from omnigraph.writes.sidecar import SidecarKind


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityFilter:
    """Which entities a statement means: by id, or by comparisons that must all hold."""

    ids: tuple[str, ...] | None = None
    where: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsert:
    """Write whole entities; `is_insert` refuses ids that exist."""

    entity: EntityType
    rows: pa.Table
    is_insert: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Change entities: `change` turns their stored images into new ones of the same ids."""

    entity: EntityType
    selection: EntityFilter
    change: Callable[[pa.Table], pa.Table]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Remove entities; the edges of removed nodes go with them."""

    entity: EntityType
    selection: EntityFilter


Statement = Upsert | Update | Delete


@dataclass(slots=True, kw_only=True)
class MutationCounts:
    """How many entities a mutation wrote and removed, cascades included."""

    nodes: int = 0
    edges: int = 0

    def add(self, entity: EntityType, count: int) -> None:
        """Count affected entities of a type."""
        if entity.kind == "node":
            self.nodes += count
        else:
            self.edges += count


@dataclass(kw_only=True)
class MutationWriter:
    """The description of a mutation for the write protocol."""

    statements: Sequence[Statement]
    ir_hash: str
    branch: str
    actor_id: str | None
    expected_head: str | None = None
    kind: SidecarKind = SidecarKind.MUTATION
    commit_kind: CommitKind = CommitKind.MUTATION
    counts: MutationCounts = field(default_factory=MutationCounts)

    @property
    def is_strict(self) -> bool:
        """Only inserts may start over by themselves: what an update or delete meant depends on what it saw."""
        return self.expected_head is not None or not all(
            isinstance(statement, Upsert) and statement.is_insert for statement in self.statements
        )

    def prepare(self, capture: Capture, identity: WriteIdentity) -> PreparedWrite | None:
        """Apply the statements to the captured state, check the outcome and stage it."""
        capture.expect(ir_hash=self.ir_hash)
        self.counts = MutationCounts()
        work = {key: _Working(capture, entity) for key, entity in capture.catalog.type_by_table_key.items()}
        for statement in self.statements:
            _apply(statement, work, capture, self.counts)
        deltas = {key: without_unchanged(capture, working.delta()) for key, working in work.items()}
        deltas = {key: delta for key, delta in deltas.items() if not delta.is_empty}
        findings = FindingCollector()
        check_deltas(capture, deltas, findings)
        if findings:
            raise rejected(findings.result(), files=("<rows>",), verb="write")
        tables = prepare_tables(capture, deltas, identity)
        return PreparedWrite(tables=tables) if tables else None


def _apply(statement: Statement, work: Mapping[TableKey, "_Working"], capture: Capture, counts: MutationCounts) -> None:
    working = work[statement.entity.table_key]
    match statement:
        case Upsert():
            working.upsert(statement.rows, is_insert=statement.is_insert)
            counts.add(statement.entity, statement.rows.num_rows)
        case Update():
            images = working.images(statement.selection)
            if images.num_rows:
                working.upsert(statement.change(images), is_insert=False)
                counts.add(statement.entity, images.num_rows)
        case Delete():
            removed = working.remove(statement.selection)
            counts.add(statement.entity, len(removed))
            if isinstance(statement.entity, NodeType) and len(removed):
                _cascade(statement.entity, removed, work, capture, counts)


def _cascade(
    node: NodeType,
    removed: pa.Array,
    work: Mapping[TableKey, "_Working"],
    capture: Capture,
    counts: MutationCounts,
) -> None:
    for edge in capture.catalog.edges_touching(node.name):
        working = work[edge.table_key]
        for column, endpoint in (("src", edge.from_type), ("dst", edge.to_type)):
            if endpoint == node.name:
                counts.add(edge, len(working.remove_where_in(column, removed)))


class _Working:
    """One table while statements are applied: the captured state under an overlay of changes."""

    def __init__(self, capture: Capture, entity: EntityType) -> None:
        self._capture = capture
        self._entity = entity
        self._upserts: pa.Table | None = None
        self._matched = empty_reference(entity)
        self._removed = empty_reference(entity)

    def delta(self) -> TableDelta:
        """Return the overlay as a delta."""
        upserts = self._upserts
        if upserts is None:
            upserts = delta_rows(self._entity, content_schema(self._entity).empty_table())
        return TableDelta(entity=self._entity, upserts=upserts, matched=self._matched, removed=self._removed)

    def upsert(self, rows: pa.Table, *, is_insert: bool) -> None:
        """Write whole entities over whatever is there."""
        rows = delta_rows(self._entity, rows)
        new_ids = rows["id"].combine_chunks()
        self._refuse_repeated(new_ids)
        if is_insert:
            self._refuse_existing(new_ids)
        known = pa.concat_arrays([self._matched["id"].combine_chunks(), self._removed["id"].combine_chunks()])
        unknown = new_ids.filter(pc.invert(pc.is_in(new_ids, value_set=known)))
        stored = self._reference(self._table.lookup("id", unknown, reference_columns(self._entity)))
        returning = rows_among(self._removed, new_ids)
        self._removed = rows_without(self._removed, new_ids)
        self._matched = pa.concat_tables([self._matched, stored, returning])
        kept = [rows_without(self._upserts, new_ids)] if self._upserts is not None else []
        self._upserts = pa.concat_tables([*kept, rows])

    def images(self, selection: EntityFilter) -> pa.Table:
        """Return the current whole images of the selected entities, without places."""
        stored = rows_without(self._stored(selection, None), self._touched_ids())
        pieces = [delta_rows(self._entity, stored)]
        if self._upserts is not None:
            pieces.append(_selected(self._upserts, selection))
        return pa.concat_tables(pieces).drop_columns(list(PLACE_COLUMNS))

    def remove(self, selection: EntityFilter) -> pa.Array:
        """Remove the selected entities; return their ids."""
        return self._remove_stored_and_pending(
            self._stored(selection, reference_columns(self._entity)),
            _selected(self._upserts, selection)["id"].combine_chunks() if self._upserts is not None else None,
        )

    def remove_where_in(self, column: str, values: pa.Array) -> pa.Array:
        """Remove the entities whose `column` is one of `values`; return their ids."""
        pending = None
        if self._upserts is not None:
            pending = self._upserts.filter(pc.is_in(self._upserts[column], value_set=values))["id"].combine_chunks()
        return self._remove_stored_and_pending(
            self._table.lookup(column, values, reference_columns(self._entity)), pending
        )

    def _remove_stored_and_pending(self, stored: pa.Table, pending: pa.Array | None) -> pa.Array:
        untouched = rows_without(self._reference(stored), self._touched_ids())
        removed = [untouched["id"].combine_chunks()]
        self._removed = pa.concat_tables([self._removed, untouched])
        if pending is not None and len(pending):
            removed.append(pending)
            self._upserts = rows_without(self._upserts, pending)
            self._removed = pa.concat_tables([self._removed, rows_among(self._matched, pending)])
            self._matched = rows_without(self._matched, pending)
        return pa.concat_arrays(removed)

    def _stored(self, selection: EntityFilter, columns: list[str] | None) -> pa.Table:
        if selection.ids is not None:
            names = columns or self._table.schema.names
            return self._table.lookup("id", pa.array(selection.ids, pa.string()), names)
        return self._table.read(columns, where=all_of(selection.where), with_row_ids=True, with_row_addresses=True)

    def _touched_ids(self) -> pa.Array:
        """Ids whose stored row no longer speaks for itself."""
        return pa.concat_arrays([self._matched["id"].combine_chunks(), self._removed["id"].combine_chunks()])

    def _refuse_repeated(self, ids: pa.Array) -> None:
        counts = ids.value_counts()
        repeated = counts.filter(pc.greater(counts.field("counts"), 1))
        if len(repeated):
            named = repeated[0]["values"].as_py()
            raise ConstraintViolation(
                f"{self._entity.name} {named!r} occurs more than once in one statement; nothing was written.",
                table_key=self._entity.table_key,
                row_id=named,
                rule="duplicate_id",
            )

    def _refuse_existing(self, ids: pa.Array) -> None:
        existing = self.images(EntityFilter(ids=tuple(ids.to_pylist())))["id"].to_pylist()
        if existing:
            raise KeyConflict(
                f"{self._entity.name} {existing[0]!r} exists already; nothing was written. Upsert it, or choose "
                "another id.",
                table_key=self._entity.table_key,
                row_id=existing[0],
            )

    def _reference(self, rows: pa.Table) -> pa.Table:
        shape = empty_reference(self._entity).schema
        return rows.select(shape.names).cast(shape)

    @property
    def _table(self) -> Table:
        return self._capture.table(self._entity.table_key)


def _selected(rows: pa.Table, selection: EntityFilter) -> pa.Table:
    if selection.ids is not None:
        return rows_among(rows, pa.array(selection.ids, pa.string()))
    return rows.filter(comparisons_hold(rows, selection.where))
