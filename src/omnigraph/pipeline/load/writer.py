"""A load as the write protocol sees it: parsed input on one side, the captured graph on the other.

Parsing happens once; everything that depends on the graph (which ids exist, what a record replaces, the set checks)
is worked out again for every capture, so that a load that lost a race is judged by what won it.
"""

from collections.abc import Mapping
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.units import shorten
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EdgeType, EntityType, NodeType, TableKey
from omnigraph.graphs.capture import Capture
from omnigraph.manifest.commits import CommitKind
from omnigraph.pipeline.load.meaning import resolve_ids
from omnigraph.pipeline.load.newest import newest_rows, newest_type
from omnigraph.pipeline.load.request import LoadMode
from omnigraph.records.minting import fill_missing_ids
from omnigraph.records.offences import Code, Offence, OffenceCollector
from omnigraph.records.report import rejected
from omnigraph.records.tables import FILE, LINE, POSITION
from omnigraph.writes.constraints import check_deltas
from omnigraph.writes.delta import (
    TableDelta,
    delta_rows,
    empty_reference,
    prepare_tables,
    reference_columns,
    without_unchanged,
)
from omnigraph.writes.prepared import PreparedWrite, WriteIdentity
from omnigraph.writes.sidecar import SidecarKind
from omnigraph.writes.vectors import keep_vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingTable:
    """The parsed records of one type, with an id minted for every record that may need one."""

    entity: EntityType
    rows: pa.Table
    minted: pa.Array

    @property
    def gives_no_ids(self) -> bool:
        """Whether no record gave an id: outside a merge all of them are minted then, and neither repeat nor exist."""
        return bool(self.rows["id"].null_count == self.rows.num_rows)

    @classmethod
    def of(cls, entity: EntityType, rows: pa.Table) -> "IncomingTable":
        """Mint ids once, so that no retry can give a record another one."""
        return cls(entity=entity, rows=rows, minted=fill_missing_ids(rows["id"].combine_chunks()))


@dataclass(kw_only=True)
class LoadWriter:
    """The description of a load for the write protocol."""

    incoming: Mapping[TableKey, IncomingTable]
    files: tuple[str, ...]
    ir_hash: str
    seen_head: str
    """The head when the load began, before it read its input: what an overwrite is about to replace."""
    mode: LoadMode
    branch: str
    actor_id: str | None
    max_errors: int
    newest_by: str | None = None
    """The property that tells which of several records with one id counts (`newest.py`)."""
    expected_head: str | None = None
    kind: SidecarKind = SidecarKind.LOAD
    commit_kind: CommitKind = CommitKind.LOAD
    rows_loaded: dict[TableKey, int] = field(default_factory=dict)

    @property
    def has_records(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.incoming)

    @property
    def is_strict(self) -> bool:
        """An overwrite replaces what the caller has seen; the other modes mean the same on any head."""
        return self.mode == "overwrite"

    def prepare(self, capture: Capture, identity: WriteIdentity) -> PreparedWrite | None:
        """Work out what the input changes, check the outcome and stage it."""
        capture.expect(ir_hash=self.ir_hash, head=self.seen_head if self.is_strict else None)
        findings = OffenceCollector(limit=self.max_errors)
        deltas = {key: self._delta(capture, table, findings) for key, table in sorted(self.incoming.items())}
        check_deltas(capture, deltas, findings)
        if findings:
            raise rejected(findings.result(), files=self.files)
        tables = prepare_tables(capture, deltas, identity)
        metadata = {"mode": self.mode, "rows_loaded": dict(self.rows_loaded)}
        return PreparedWrite(tables=tables, metadata=metadata) if tables else None

    def _delta(self, capture: Capture, table: IncomingTable, findings: OffenceCollector) -> TableDelta:
        entity = table.entity
        rows = self._with_ids(capture, table)
        is_all_new = table.gives_no_ids and self.mode != "merge"
        if not is_all_new:
            rows = self._folded(entity, rows, findings)
        self.rows_loaded[entity.table_key] = rows.num_rows
        nothing = empty_reference(entity)
        if self.mode == "overwrite":
            return TableDelta(
                entity=entity, upserts=delta_rows(entity, rows), matched=nothing, removed=nothing, replaces_all=True
            )
        matched = nothing if is_all_new else self._matched(capture, entity, rows)
        if self.mode == "append":
            _refuse_existing(entity, rows, matched, findings)
        else:
            rows = keep_vectors(capture.table(entity.table_key), entity, rows, matched["id"].combine_chunks())
        # An append that matches something is refused. It counts as a replacement for the other checks, or they would
        # report the stored entity and the refused one as two holders of one value.
        delta = TableDelta(entity=entity, upserts=delta_rows(entity, rows), matched=matched, removed=nothing)
        return without_unchanged(capture, delta)

    def _with_ids(self, capture: Capture, table: IncomingTable) -> pa.Table:
        if self.mode == "merge" and isinstance(table.entity, EdgeType):
            stored = capture.table(table.entity.table_key)
            return resolve_ids(stored, capture.context.engine, table.entity, table.rows, minted=table.minted)
        index = table.rows.schema.get_field_index("id")
        return table.rows.set_column(index, "id", table.minted)

    def _folded(self, entity: EntityType, rows: pa.Table, findings: OffenceCollector) -> pa.Table:
        """Reduce repeated ids to their newest or last record; report them where they are not allowed."""
        counts = rows["id"].combine_chunks().value_counts()
        repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        if len(repeated) == 0:
            return rows
        if self.newest_by is not None and newest_type(entity, self.newest_by) is not None:
            return newest_rows(rows, self.newest_by)
        is_keyed = isinstance(entity, NodeType) and entity.key is not None
        if self.mode != "merge" or is_keyed:
            _report_repeated(entity, rows.filter(pc.is_in(rows["id"], value_set=repeated)), self.files, findings)
        last = rows.group_by("id").aggregate([(POSITION, "max")])[f"{POSITION}_max"].combine_chunks()
        return rows.filter(pc.is_in(rows[POSITION], value_set=last))

    def _matched(self, capture: Capture, entity: EntityType, rows: pa.Table) -> pa.Table:
        found = capture.table(entity.table_key).lookup("id", rows["id"].combine_chunks(), reference_columns(entity))
        shape = empty_reference(entity).schema
        return found.select(shape.names).cast(shape)


def _report_repeated(entity: EntityType, rows: pa.Table, files: tuple[str, ...], findings: OffenceCollector) -> None:
    ordered = rows.select(["id", POSITION, FILE, LINE]).sort_by(POSITION)
    first: dict[str, str] = {}
    for row in ordered.to_pylist():
        place = f"{files[row[FILE]]}:{row[LINE]}"
        if row["id"] not in first:
            first[row["id"]] = place
            continue
        findings.add(
            repeated_finding(
                entity, row["id"], first=first[row["id"]], place=place, file_index=row[FILE], line=row[LINE]
            )
        )


def _refuse_existing(entity: EntityType, rows: pa.Table, matched: pa.Table, findings: OffenceCollector) -> None:
    clashing = rows.filter(pc.is_in(rows["id"], value_set=matched["id"].combine_chunks())).sort_by(POSITION)
    for row in clashing.slice(0, findings.limit).select(["id", FILE, LINE]).to_pylist():
        findings.add(existing_finding(entity, row["id"], file_index=row[FILE], line=row[LINE]))
    findings.count(Code.KEY_CONFLICT, max(0, clashing.num_rows - findings.limit))


__all__ = ["IncomingTable", "LoadMode", "LoadWriter"]


def repeated_finding(
    entity: EntityType, identity: str, *, first: str, place: str, file_index: int, line: int
) -> Offence:
    """Word an id that the input gives twice where it may not; the finding stands at the later place."""
    return Offence(
        code=Code.DUPLICATE_ID,
        message=f"{entity.name} {shorten(identity)!r} occurs at {first} and again at {place}",
        file_index=file_index,
        line=line,
        table_key=entity.table_key,
    )


def existing_finding(entity: EntityType, identity: str, *, file_index: int, line: int) -> Offence:
    """Word an id that a strict insert found stored."""
    return Offence(
        code=Code.KEY_CONFLICT,
        message=f"{entity.name} {shorten(identity)!r} exists already",
        file_index=file_index,
        line=line,
        table_key=entity.table_key,
        row_id=identity,
    )
