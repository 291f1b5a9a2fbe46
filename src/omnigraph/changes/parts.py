"""Changes as work for many: what one commit did to one type, cut so that whoever can reach the store does a part.

Small changes are one part, found as a diff finds them. Large ones are cut: by the fragments that hold what was written
where nothing went away, since then every row tells by itself whether it is new; and by the entities' ids otherwise.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import attrgetter

from omnigraph.base.grouping import fitted
from omnigraph.base.values import dataclass
from omnigraph.changes.commit import gap_at
from omnigraph.changes.compare import TableState, change_bytes, is_told_by_history
from omnigraph.changes.entities import ChangedType
from omnigraph.changes.pairs import PinnedType, TypePair
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit, CommitId
from omnigraph.storage.row_changes import fragments_not_in, has_lost_rows
from omnigraph.storage.tables import Table

PART_BYTES = 64 << 20
"""What is worth a task of its own."""
_BATCHED_PARTS = 8
"""Parts are put together until they are worth a task: to start one takes longer than to find ten changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMark:
    """The commit that made changes, as far as their readers are told."""

    commit_id: CommitId
    graph_version: int
    created_at_us: int

    @classmethod
    def of(cls, commit: Commit) -> "CommitMark":
        """Take the mark of a commit."""
        return cls(
            commit_id=commit.graph_commit_id, graph_version=commit.graph_version, created_at_us=commit.created_at_us
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """All changes of the type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragments:
    """What lies in these fragments of the newer state; nothing of the older one went away."""

    fragment_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityBucket:
    """The entities whose ids fall into one of several buckets."""

    number: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePart:
    """A part of the changes of one type in one commit: a plain value that any worker can carry out, more than once."""

    uri: str
    operation_id: str
    """The plan that this belongs to: parts of one plan share what a worker has opened."""
    cause: CommitMark
    type: ChangedType
    before: PinnedType | None
    after: PinnedType | None
    share: Whole | Fragments | EntityBucket = Whole()
    size_bytes: int = 0


def plan_parts(
    context: GraphContext, cause: Commit, pairs: Iterable[TypePair], *, operation_id: str
) -> Iterator[ChangePart]:
    """Cut the changes of one commit; opens tables, and reads no row."""
    for pair in pairs:
        part = ChangePart(
            uri=context.store.uri,
            operation_id=operation_id,
            cause=CommitMark.of(cause),
            type=pair.type,
            before=pair.before,
            after=pair.after,
        )
        with gap_at(cause.graph_commit_id):
            yield from _cut(context, part)


def batched(parts: Iterable[ChangePart]) -> Iterator[tuple[ChangePart, ...]]:
    """Put neighbours together until they are worth a task."""
    return fitted(parts, (attrgetter("size_bytes"), PART_BYTES), (lambda _: 1, _BATCHED_PARTS))


def opened(context: GraphContext, pinned: PinnedType | None) -> TableState | None:
    """Open the state of a type."""
    if pinned is None:
        return None
    table = pinned.pin.state.open(context.store.tables)
    return TableState(entity=pinned.entity, table=table, filled=pinned.filled)


def _cut(context: GraphContext, part: ChangePart) -> Iterator[ChangePart]:
    if part.before is not None and part.before.pin.row_count == 0:
        part = replace(part, before=None)  # all that is there now is new
    before, after = opened(context, part.before), opened(context, part.after)
    if after is None:
        return  # a type that went away had no entities, or it would have been refused
    if before is None:
        yield from _by_fragments(part, after.table, after.table.rows_by_fragment())
        return
    size_bytes = change_bytes(context, before, after, limit=PART_BYTES)
    if size_bytes <= PART_BYTES:
        yield replace(part, size_bytes=size_bytes)
    elif is_told_by_history(context, before, after) and not has_lost_rows(before.table, after.table):
        yield from _by_fragments(part, after.table, fragments_not_in(before.table, after.table))
    else:
        count = -(-size_bytes // PART_BYTES)
        for number in range(count):
            yield replace(part, share=EntityBucket(number=number, count=count), size_bytes=size_bytes // count)


def _by_fragments(part: ChangePart, table: Table, fragment_ids: Iterable[int]) -> Iterator[ChangePart]:
    bytes_of = table.bytes_by_fragment()
    for group in fitted(fragment_ids, (bytes_of.__getitem__, PART_BYTES)):
        yield replace(part, share=Fragments(fragment_ids=group), size_bytes=sum(map(bytes_of.__getitem__, group)))
