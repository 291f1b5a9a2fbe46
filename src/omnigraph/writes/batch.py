"""`graph.write()`: collecting statements in Python and committing them together."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base import ids
from omnigraph.base.events import Events
from omnigraph.base.plain_text import is_unicode
from omnigraph.base.units import shorten
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EntityType, NodeType
from omnigraph.catalog.type_names import find_entity
from omnigraph.errors import InvalidTarget
from omnigraph.graphs.capture import capture_branch
from omnigraph.graphs.comparisons import comparison_with
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit, CommitResult, check_actor, check_message, check_name
from omnigraph.storage.filters import Operator
from omnigraph.writes.incoming import Row, Rows, change_rows, read_rows
from omnigraph.writes.mutation import DeleteRows, MutationWriter, Statement, UpdateRows, Upsert
from omnigraph.writes.protocol import run_write
from omnigraph.writes.working import EntityFilter

Where: TypeAlias = Sequence[tuple[str, Operator, Any]]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WriteResult(CommitResult):
    """What a batch did; `commit` is None when it changed nothing."""

    branch: str
    affected_nodes: int
    affected_edges: int
    actor_id: str | None
    commit: Commit | None


class WriteBatch:
    """Statements that become one commit when the `with` block ends; an exception inside discards them all.

    Statements apply in order, each on top of the ones before it. Rows are mappings of property names to values (edges
    also have `from` and `to`), or a table with these columns: Arrow, a frame of pandas or polars. They pass the same
    checks as a load.
    """

    def __init__(
        self,
        context: GraphContext,
        *,
        branch: str,
        actor_id: str | None,
        message: str | None,
        expected_head: str | None,
        events: Events,
    ) -> None:
        self._context = context
        self._branch = branch
        self._actor_id = check_actor(actor_id)
        self._message = check_message(message)
        self._expected_head = None if expected_head is None else check_name(expected_head, what="The expected head")
        self._events = events
        capture = capture_branch(context, branch)
        self._catalog: Catalog = capture.input_catalog
        self._ir_hash = capture.snapshot.schema.ir_hash
        self._statements: list[Statement] = []
        self._result: WriteResult | None = None

    @property
    def result(self) -> WriteResult:
        """What the batch did; known once the `with` block has ended."""
        if self._result is None:
            raise InvalidTarget("The batch has not been committed yet: its result is known after the with block.")
        return self._result

    def insert(self, type_name: str, rows: Rows) -> Self:
        """Add new entities; an id that exists is a `KeyConflict`, never an update."""
        return self._upsert(type_name, rows, is_insert=True)

    def upsert(self, type_name: str, rows: Rows) -> Self:
        """Write whole entities: new ids are added, existing ones replaced; what is left out becomes null or default."""
        return self._upsert(type_name, rows, is_insert=False)

    def update(
        self, type_name: str, values: Row, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> Self:
        """Set properties of the selected entities and leave their other properties alone; keys cannot change."""
        entity = find_entity(self._catalog, type_name)
        assignments = dict(values)
        _refuse_identity(entity, assignments)
        self._statements.append(
            UpdateRows(
                entity=entity,
                selection=_selection(entity, ids, where),
                change=lambda images: change_rows(images, assignments, entity, self._catalog),
            )
        )
        return self

    def delete(self, type_name: str, *, ids: Sequence[str] | None = None, where: Where | None = None) -> Self:
        """Remove the selected entities; the edges of removed nodes go with them."""
        entity = find_entity(self._catalog, type_name)
        self._statements.append(DeleteRows(entity=entity, selection=_selection(entity, ids, where)))
        return self

    def commit(self) -> WriteResult:
        """Commit the statements now; the `with` statement calls this."""
        writer = MutationWriter(
            statements=self._statements,
            ir_hash=self._ir_hash,
            branch=self._branch,
            actor_id=self._actor_id,
            expected_head=self._expected_head,
        )
        commit = run_write(self._context, writer, self._events, message=self._message) if self._statements else None
        self._result = WriteResult(
            branch=self._branch,
            affected_nodes=writer.counts.nodes,
            affected_edges=writer.counts.edges,
            actor_id=self._actor_id,
            commit=commit,
        )
        return self._result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()

    def _upsert(self, type_name: str, rows: Rows, *, is_insert: bool) -> Self:
        entity = find_entity(self._catalog, type_name)
        read = read_rows(rows, entity, self._catalog)
        if read is not None:
            is_minted = read["id"].null_count == read.num_rows
            rows = _with_minted_ids(read)
            self._statements.append(Upsert(entity=entity, rows=rows, is_insert=is_insert, is_minted=is_minted))
        return self


def _refuse_identity(entity: EntityType, assignments: Row) -> None:
    """Refuse to change what an entity is known by: an update that moved an id would leave the old entity behind."""
    known_by = {"id"} if entity.kind == "node" else {"id", "from", "to", "src", "dst"}
    if isinstance(entity, NodeType) and entity.key is not None:
        known_by |= set(entity.key.properties)
    fixed = sorted(known_by & assignments.keys())
    if fixed:
        named = ", ".join(f"{entity.name}.{name}" for name in fixed)
        raise InvalidTarget(f"{named} cannot be updated; delete the entity and insert another.")


def _with_minted_ids(rows: pa.Table) -> pa.Table:
    missing = pc.is_null(rows["id"]).combine_chunks()
    minted = pa.array(ids.new_ulids(rows["id"].null_count), pa.string())
    filled = pc.replace_with_mask(rows["id"].combine_chunks(), missing, minted)
    return rows.set_column(rows.schema.get_field_index("id"), rows.schema.field("id"), filled)


def _selection(entity: EntityType, ids: Sequence[str] | None, where: Where | None) -> EntityFilter:
    if (ids is None) == (where is None):
        raise InvalidTarget("Select entities either by ids or by where, not by both or neither.")
    if ids is not None:
        for given in ids:
            if not isinstance(given, str) or not is_unicode(given):
                raise InvalidTarget(f"{entity.name} id {shorten(repr(given))} is not valid text, so no entity has it.")
        return EntityFilter(ids=tuple(ids))
    return EntityFilter(where=tuple(comparison_with(entity, *triple) for triple in where or ()))
