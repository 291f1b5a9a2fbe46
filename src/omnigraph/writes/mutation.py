"""Mutations: upsert, insert, update and delete statements that become one commit.

Statements apply in order and each sees what the ones before it did. Deleting a node deletes its edges with it. The
mutation language and `graph.write` both end here; rows are checked as a whole (`constraints/`) before anything is
staged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityType, NodeType, TableKey
from omnigraph.graphs.capture import Capture
from omnigraph.manifest.commits import CommitKind
from omnigraph.records.offences import OffenceCollector
from omnigraph.records.report import rejected
from omnigraph.records.stored import check_images
from omnigraph.writes.budget import Budget, WriteLimits
from omnigraph.writes.constraints import check_deltas
from omnigraph.writes.delta import TableDelta, delta_rows, prepare_tables, without_unchanged
from omnigraph.writes.prepared import PreparedWrite, WriteIdentity
from omnigraph.writes.sidecar import SidecarKind
from omnigraph.writes.working import EntityFilter, WorkingTables


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsert:
    """Write whole entities; `is_insert` refuses ids that exist."""

    entity: EntityType
    rows: pa.Table
    is_insert: bool = False
    is_minted: bool = False
    """Whether all ids were made for these rows, so that nothing can have them."""
    keeps_vectors: bool = False
    """Whether an `@embed` vector that a row leaves out stays while its text does; rows have omission flags then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRows:
    """Change entities: `change` turns their stored images into new ones of the same ids."""

    entity: EntityType
    selection: EntityFilter
    change: Callable[[pa.Table], pa.Table]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRows:
    """Remove entities; the edges of removed nodes go with them."""

    entity: EntityType
    selection: EntityFilter


Statement = Upsert | UpdateRows | DeleteRows


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
    has_records: bool = True
    """Whether rows came as records, each checked by itself; otherwise the final images are checked instead."""
    limits: WriteLimits | None = None
    kind: SidecarKind = SidecarKind.MUTATION
    commit_kind: CommitKind = CommitKind.MUTATION
    counts: MutationCounts = field(default_factory=MutationCounts)

    @property
    def is_strict(self) -> bool:
        """Only inserts may start over by themselves: what an update or delete meant depends on what it saw.

        An upsert of records replaces what its author has read; one of the language means the same on any head.
        """
        return self.expected_head is not None or not all(
            isinstance(statement, Upsert) and (statement.is_insert or not self.has_records)
            for statement in self.statements
        )

    def prepare(self, capture: Capture, identity: WriteIdentity) -> PreparedWrite | None:
        """Apply the statements to the captured state, check the outcome and stage it."""
        capture.expect(ir_hash=self.ir_hash)
        self.counts = MutationCounts()
        work = WorkingTables(capture, Budget(self.limits))
        for statement in self.statements:
            _apply(statement, work, capture, self.counts)
        deltas = {key: without_unchanged(capture, delta) for key, delta in work.deltas().items()}
        deltas = self._final({key: delta for key, delta in deltas.items() if not delta.is_empty})
        findings = OffenceCollector()
        check_deltas(capture, deltas, findings)
        self._refuse(findings)
        tables = prepare_tables(capture, deltas, identity)
        return PreparedWrite(tables=tables) if tables else None

    def _final(self, deltas: Mapping[TableKey, TableDelta]) -> dict[TableKey, TableDelta]:
        """Return the deltas with images that lack nothing; refuse the others."""
        findings = OffenceCollector()
        if not self.has_records:
            for _, delta in sorted(deltas.items()):
                check_images(delta.upserts, delta.entity, findings)
        self._refuse(findings)
        return {key: replace(delta, upserts=delta_rows(delta.entity, delta.upserts)) for key, delta in deltas.items()}

    def _refuse(self, findings: OffenceCollector) -> None:
        if findings:
            verb = "write" if self.has_records else "mutation"
            raise rejected(findings.result(), files=("<rows>",), verb=verb, has_records=self.has_records)


def _apply(statement: Statement, work: WorkingTables, capture: Capture, counts: MutationCounts) -> None:
    working = work.table(statement.entity)
    match statement:
        case Upsert(is_minted=True):
            working.add(statement.rows)
            counts.add(statement.entity, statement.rows.num_rows)
        case Upsert():
            working.upsert(statement.rows, is_insert=statement.is_insert, keeps_vectors=statement.keeps_vectors)
            counts.add(statement.entity, statement.rows.num_rows)
        case UpdateRows():
            counts.add(statement.entity, working.update(statement.selection, statement.change))
        case DeleteRows():
            removed = working.remove(statement.selection)
            counts.add(statement.entity, len(removed))
            if isinstance(statement.entity, NodeType) and len(removed):
                _cascade(statement.entity, removed, work, capture, counts)


def _cascade(
    node: NodeType,
    removed: pa.Array,
    work: WorkingTables,
    capture: Capture,
    counts: MutationCounts,
) -> None:
    for edge in capture.catalog.edges_touching(node.name):
        working = work.table(edge)
        for column, endpoint in (("src", edge.from_type), ("dst", edge.to_type)):
            if endpoint == node.name:
                counts.add(edge, len(working.remove_where_in(column, removed)))
