"""Observe: the states that a merge compares, read once. The target as captured, the source, and their merge bases."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from omnigraph.catalog.model import EntityType
from omnigraph.changes.compare import TableState
from omnigraph.errors import HistoricalVersionReclaimed, NoCommonAncestor, SchemaDiverged
from omnigraph.graphs.capture import Capture
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.ancestry import History, merge_bases
from omnigraph.manifest.bases import FAST_FORWARD, base_snapshot
from omnigraph.manifest.commits import CommitId
from omnigraph.manifest.rows import MANIFEST
from omnigraph.manifest.snapshot import GraphSnapshot, own_ref
from omnigraph.manifest.state import ManifestState
from omnigraph.storage.refs import list_refs


class MergeOutcome(StrEnum):
    """What a merge turns out to be."""

    ALREADY_UP_TO_DATE = "already_up_to_date"
    """The target's history holds the source's head: nothing to do, no commit."""
    FAST_FORWARD = FAST_FORWARD
    """The target has not moved since the histories parted."""
    MERGED = "merged"
    """Both have moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSides:
    """Everything a merge is decided from."""

    target: Capture
    source: GraphSnapshot
    bases: tuple[GraphSnapshot, ...]
    """Several when the branches were merged into each other crosswise; none when there is nothing to do."""
    outcome: MergeOutcome
    lasting_refs: frozenset[str | None]
    """Refs that live at least as long as the target: the main line, and those of branches it descends from."""

    def source_state(self, entity: EntityType) -> TableState:
        """Open a table as the source has it."""
        return self._state(self.source, entity)

    def target_state(self, entity: EntityType) -> TableState:
        """Open a table as the target has it."""
        return self._state(self.target.snapshot, entity)

    def base_states(self, entity: EntityType) -> tuple[TableState, ...]:
        """Open a table as each base has it."""
        return tuple(self._state(base, entity) for base in self.bases)

    def _state(self, snapshot: GraphSnapshot, entity: EntityType) -> TableState:
        pin = snapshot.pins[entity.table_key]
        return TableState(entity=entity, table=pin.state.open(self.target.context.store.tables))


def observe_sides(target: Capture, source: ManifestState) -> MergeSides:
    """Find out how the two histories relate, and read the snapshots that a merge of them compares."""
    context = target.context
    now = context.manifest.load(target.snapshot.branch)
    history = context.log.recent(source.head, now.head)
    ours, theirs = target.snapshot.commit_id, source.head.graph_commit_id
    base_ids = merge_bases(history, ours, theirs)
    if base_ids == (theirs,):
        return _sides(target, source, bases=(), outcome=MergeOutcome.ALREADY_UP_TO_DATE)
    if not base_ids:
        raise NoCommonAncestor(
            f"Branches '{source.branch.name}' and '{target.snapshot.branch}' share no commit; they cannot be merged.",
            source=theirs,
            target=ours,
        )
    bases = tuple(base_state(context, history, base, (now, source)) for base in base_ids)
    _refuse_other_schemas(target.snapshot, source.snapshot, bases)
    outcome = MergeOutcome.FAST_FORWARD if base_ids == (ours,) else MergeOutcome.MERGED
    return _sides(target, source, bases=bases, outcome=outcome)


def _sides(
    target: Capture, source: ManifestState, *, bases: tuple[GraphSnapshot, ...], outcome: MergeOutcome
) -> MergeSides:
    return MergeSides(
        target=target,
        source=source.snapshot,
        bases=bases,
        outcome=outcome,
        lasting_refs=_lasting_refs(target.context, target.snapshot.branch),
    )


def base_state(
    context: GraphContext, history: History, commit_id: CommitId, nearby: tuple[ManifestState, ...]
) -> GraphSnapshot:
    """Return the state of a merge base, or raise when the branch that it was made on took it with it."""
    found = base_snapshot(context.addresses, history, commit_id, nearby=nearby)
    if found is not None:
        return found
    # An older base is never taken instead: it would revive old values and report conflicts that are none.
    commit = history[commit_id]
    raise HistoricalVersionReclaimed(
        f"The merge base {commit_id} was made on branch '{commit.graph_branch}', which is gone, and its state with it. "
        "Nothing was changed; bring the changes over by export and load.",
        table_key=MANIFEST.location,
        version=commit.graph_version,
    )


def _refuse_other_schemas(target: GraphSnapshot, source: GraphSnapshot, bases: Iterable[GraphSnapshot]) -> None:
    """Refuse to merge across a schema change: what an entity means, and which table holds it, may differ."""
    for other in (source, *bases):
        if other.schema.ir_hash != target.schema.ir_hash:
            what = f"branch '{source.branch}'" if other is source else f"their merge base {other.commit_id}"
            raise SchemaDiverged(
                f"Branch '{target.branch}' and {what} have different schemas; branches with different schemas cannot "
                "be merged. Nothing was changed; bring the changes over by export and load.",
                source_schema=other.schema.ir_hash,
                target_schema=target.schema.ir_hash,
            )


def _lasting_refs(context: GraphContext, branch: str) -> frozenset[str | None]:
    refs = list_refs(context.store.tables, MANIFEST.location)
    lasting: set[str | None] = {None}
    current = refs.get(branch)
    while current is not None and current.parent is not None:
        current = refs.get(current.parent)
        if current is not None:
            lasting.add(own_ref(current.name, current.incarnation))
    return frozenset(lasting)
