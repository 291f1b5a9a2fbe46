"""What differs between two snapshots, entity by entity.

Pins are compared first: a table whose pins agree is not opened. The rest is found per type (`compare.py`) when it is
first asked for, and images are read for one chunk of entities at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.logs import logger_of
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Property, TableIdentity, TableKey
from omnigraph.changes.compare import AFTER_ROW, BEFORE_ROW, Op, TableState
from omnigraph.changes.entities import EntityChange, Image, images_by_id
from omnigraph.changes.filters import ChangeFilter, ChangesRequest, resolve_selection
from omnigraph.changes.found import FoundChanges, find_changes
from omnigraph.changes.paging import ChangePage, ChangeSlice, PageLimits
from omnigraph.changes.pairs import PinnedType, TypePair, pair_types, pinned_types, unmoved
from omnigraph.changes.position import Position
from omnigraph.changes.tokens import TokenUse, refuse_other, seal, unseal
from omnigraph.errors import ChangeCursorRejected
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.holding import hold_if_possible
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin

_log = logger_of(__name__)

_CHUNK_ROWS_FIRST = 64
_CHUNK_ROWS_MAX = 4_096
_CHUNK_BYTES = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCounts:
    """How many entities of one type differ."""

    table_key: TableKey
    inserted: int
    updated: int
    deleted: int


class Diff:
    """The entities that differ from one snapshot to another, ordered by kind (nodes first), type name and id."""

    def __init__(
        self, context: GraphContext, before: GraphSnapshot, after: GraphSnapshot, selection: ChangeFilter
    ) -> None:
        self._context = context
        self._selection = selection
        self._found: dict[TableIdentity, FoundChanges] = {}
        self.before = before
        self.after = after

    def __repr__(self) -> str:
        return f"<Diff {self.before.commit_id} → {self.after.commit_id}>"

    def __iter__(self) -> Iterator[EntityChange]:
        """Yield every change; memory holds the ids of one type's changes and one chunk of images."""
        with self._held():
            for change, _ in self._changes_behind(None):
                yield change

    def counts(self) -> tuple[TableCounts, ...]:
        """Count the changes of every type that has any, in order; reads no images."""
        with self._held():
            found = ((pair.table_key, self._found_of(pair).changes["op"]) for pair in self.pairs)
            return tuple(_counted(table_key, ops) for table_key, ops in found if len(ops))

    def page(self, *, page_token: str | None = None, limits: PageLimits | None = None) -> ChangePage:
        """Return one page: the first, or the one that a token of this very answer names."""
        bound = {"from": self.before.commit_id, "to": self.after.commit_id, "filter": self._selection.digest}
        behind: Position | None = None
        if page_token is not None:
            document = unseal(page_token, TokenUse.DIFF_PAGE)
            refuse_other(bound, document)
            behind = Position.from_document(document["behind"])
        found = self.slice_behind(behind, limits or PageLimits())
        token: str | None = None
        if found.position is not None:
            token = seal(TokenUse.DIFF_PAGE, {**bound, "behind": found.position.to_document()})
        return ChangePage(changes=found.changes, next_page_token=token)

    def slice_behind(self, behind: Position | None, limits: PageLimits) -> ChangeSlice:
        """Return the changes behind a position, as many as fit, at least one if there is any."""
        with self._held():
            return self.held_slice_behind(behind, limits)

    def held_slice_behind(self, behind: Position | None, limits: PageLimits) -> ChangeSlice:
        """Return the same for who keeps the compared versions from cleanup already."""
        taken: list[EntityChange] = []
        reached: TableIdentity | None = None
        size_bytes = 0
        for change, identity in self._changes_behind(behind, chunk_rows_max=limits.changes + 1):
            size_bytes += change.size_bytes
            if taken and (len(taken) == limits.changes or size_bytes > limits.size_bytes):
                return ChangeSlice(changes=tuple(taken), position=Position.behind(reached, taken[-1].id))
            taken.append(change)
            reached = identity
        return ChangeSlice(changes=tuple(taken), position=None)

    def _held(self) -> AbstractContextManager[None]:
        """Keep a cleanup from the compared versions; without a difference no table is opened."""
        return held(self._context, [self])

    @property
    def pins(self) -> tuple[TablePin, ...]:
        """The pins of the tables that are compared, on both sides."""
        states = [state for pair in self.pairs for state in (pair.before, pair.after)]
        return tuple(state.pin for state in states if state is not None)

    @property
    def key(self) -> tuple[str, ...]:
        """What tells this comparison from others of the same graph."""
        compared = (self.before, self.after)
        states = (name for snapshot in compared for name in (snapshot.incarnation, snapshot.commit_id))
        return (*states, self._selection.digest)

    @property
    def found_bytes(self) -> int | None:
        """How much memory the changes take that have been found; None if there are images among them."""
        found = [*self._found.values()]
        if any(changes.before is not None or changes.after is not None for changes in found):
            return None
        return sum(int(changes.changes.nbytes) for changes in found)

    def knows(self, identity: TableIdentity) -> bool:
        """Whether the changes of a type have been found."""
        return identity in self._found

    def take_over(self, identity: TableIdentity, found: FoundChanges) -> None:
        """Know the changes of a type that somebody found together with those of other commits."""
        self._found[identity] = found.with_ops(self._selection.ops)

    @cached_property
    def pairs(self) -> tuple[TypePair, ...]:
        """The types that may differ, nodes first and by name; opens no table, and raises `SchemaBoundary`."""
        schemas = self._context.schemas
        same = unmoved(self.before, self.after)
        before, after = (
            pinned_types(snapshot, schemas.catalog(snapshot.schema), self._selection, besides=same)
            for snapshot in (self.before, self.after)
        )
        catalog = schemas.catalog(self.after.schema)
        pairs = pair_types(before, after, catalog=catalog, commit_id=self.after.commit_id)
        return tuple(
            replace(pair, before=self._as_filled(pair.before), after=self._as_filled(pair.after)) for pair in pairs
        )

    def _as_filled(self, pinned: PinnedType | None) -> PinnedType | None:
        """Give properties that came later the default of the schema that brought them: that one was written to rows."""
        if pinned is None or not pinned.filled:
            return pinned
        first: dict[int, Property] = {}
        # Every schema is accepted on main, since an apply needs a graph without other branches.
        for schema in self._context.manifest.load(MAIN_BRANCH).accepted_schemas():
            entity = self._context.schemas.catalog(schema).type_by_identity.get(pinned.pin.identity)
            for declared in entity.properties if entity is not None else ():
                first.setdefault(declared.property_id, declared)
        filled = (
            replace(declared, default=first.get(declared.property_id, declared).default) for declared in pinned.filled
        )
        return replace(pinned, filled=tuple(filled))

    def _changes_behind(
        self, position: Position | None, *, chunk_rows_max: int = _CHUNK_ROWS_MAX
    ) -> Iterator[tuple[EntityChange, TableIdentity]]:
        pairs = self.pairs
        if position is not None:
            at = next((at for at, pair in enumerate(pairs) if str(pair.identity) == position.identity), None)
            if at is None:
                raise ChangeCursorRejected("the page token names a type that is not among the changes")
            found = self._found_of(pairs[at])
            yield from self._images_of(pairs[at], found, position.rows_behind(found.changes), chunk_rows_max)
            pairs = pairs[at + 1 :]
        for pair in pairs:
            found = self._found_of(pair)
            yield from self._images_of(pair, found, found.changes, chunk_rows_max)

    def _found_of(self, pair: TypePair) -> FoundChanges:
        """Find the changed entities of one type, ordered by id; they are kept for the next page."""
        if pair.identity not in self._found:
            self.take_over(
                pair.identity, find_changes(self._context, self._state(pair.before), self._state(pair.after))
            )
        return self._found[pair.identity]

    def _images_of(
        self, pair: TypePair, found: FoundChanges, changed: pa.Table, chunk_rows_max: int
    ) -> Iterator[tuple[EntityChange, TableIdentity]]:
        start, rows = 0, min(_CHUNK_ROWS_FIRST, chunk_rows_max)
        while start < changed.num_rows:
            chunk = changed.slice(start, rows)
            before = found.before if found.before is not None else self._images(pair.before, chunk[BEFORE_ROW])
            after = found.after if found.after is not None else self._images(pair.after, chunk[AFTER_ROW])
            for entity_id, op in zip(chunk["id"].to_pylist(), chunk["op"].to_pylist(), strict=True):
                change = EntityChange(
                    type=pair.type, id=entity_id, op=Op(op), before=before.get(entity_id), after=after.get(entity_id)
                )
                yield change, pair.identity
            start += chunk.num_rows
            rows = min(chunk_rows_max, _next_chunk_rows(chunk.num_rows, [*before.values(), *after.values()]))

    def _images(self, pinned: PinnedType | None, row_ids: pa.ChunkedArray) -> Mapping[str, Image]:
        state = self._state(pinned)
        wanted = row_ids.combine_chunks().drop_null()
        return images_by_id(state.images_at(wanted), state.entity) if state is not None and len(wanted) else {}

    def _state(self, pinned: PinnedType | None) -> TableState | None:
        if pinned is None:
            return None
        table = pinned.pin.state.open(self._context.store.tables)
        return TableState(entity=pinned.entity, table=table, filled=pinned.filled)


def held(context: GraphContext, diffs: "Sequence[Diff]") -> AbstractContextManager[None]:
    """Keep a cleanup from the versions that some diffs compare; without a difference no table is opened."""
    pins = [*dict.fromkeys(pin for diff in diffs for pin in diff.pins)]
    if not pins:
        return nullcontext()
    return hold_if_possible(context, pins, operation="diff", warn=_log.warning)


def diff_snapshots(context: GraphContext, before: GraphSnapshot, after: GraphSnapshot, request: ChangesRequest) -> Diff:
    """Compare two snapshots, on whatever branches they lie."""
    catalogs = [context.schemas.catalog(snapshot.schema) for snapshot in (before, after)]
    return Diff(context, before, after, resolve_selection(catalogs, request))


def _counted(table_key: TableKey, ops: pa.ChunkedArray) -> TableCounts:
    counts = {pair["values"]: pair["counts"] for pair in pc.value_counts(ops).to_pylist()}
    return TableCounts(
        table_key=table_key,
        inserted=counts.get(Op.INSERT, 0),
        updated=counts.get(Op.UPDATE, 0),
        deleted=counts.get(Op.DELETE, 0),
    )


def _next_chunk_rows(rows: int, images: list[Image]) -> int:
    """Read more rows at once while they are small: entities differ by six orders of magnitude in width."""
    size_bytes = sum(image.size_bytes for image in images) or 1
    return max(1, min(_CHUNK_ROWS_MAX, rows * 4, rows * _CHUNK_BYTES // size_bytes))
