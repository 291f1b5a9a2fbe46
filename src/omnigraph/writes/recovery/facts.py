"""Observe: everything a decision about one sidecar rests on, read fresh and under the gates of its branch."""

from dataclasses import replace

from omnigraph.base.values import dataclass
from omnigraph.errors import BranchNotFound, CommitNotFound
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit, CommitId
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.storage.operations import TableDirectory, TableOperation, operations_between
from omnigraph.storage.refs import has_ref
from omnigraph.writes.sidecar import EffectKind, Sidecar, SidecarEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectFacts:
    """One table's own history above the version that the writer started from."""

    effect: SidecarEffect
    head_version: int | None
    """None when the table is gone, or the table or ref that the operation was to create does not exist."""
    operations: tuple[TableOperation, ...] | None
    """What made each version in (expected, HEAD]; None when one of them cannot be read."""
    pinned_version: int | None = None
    """The version that the branch shows on this very ref; None when it shows none there. Set for maintenance only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarFacts:
    """All evidence about one interrupted operation."""

    sidecar: Sidecar
    snapshot: GraphSnapshot | None
    """The branch as it is published now; None when the branch, or this incarnation of it, is gone."""
    forward_commit: Commit | None
    """The operation's commit, if it is visible."""
    rollback_commit: Commit | None
    """The commit that undid the operation, if it is visible."""
    effects: tuple[EffectFacts, ...]
    schema_is_stored: bool = True
    """Whether the objects of the schema that the operation accepts, if it does, are there and intact."""

    @property
    def authority_holds(self) -> bool:
        """Whether the branch still is what the writer prepared against."""
        snapshot, sidecar = self.snapshot, self.sidecar
        return (
            snapshot is not None
            and snapshot.commit_id == sidecar.head
            and snapshot.schema.ir_hash == sidecar.ir_hash
            and all(self.pin_is_expected(facts.effect) for facts in self.effects)
        )

    def pin_is_expected(self, effect: SidecarEffect) -> bool:
        """Whether the visible pin of a table is the one that the writer started from."""
        pin = self.snapshot.pin_of(effect.identity) if self.snapshot is not None else None
        return effect.expected_pin == ((pin.ref, pin.version) if pin is not None else None)


def observe(context: GraphContext, sidecar: Sidecar) -> SidecarFacts:
    """Read the branch and every named table."""
    try:
        state = context.manifest.load(sidecar.branch_name)
    except BranchNotFound:
        state = None
    if state is None or state.branch.incarnation != sidecar.branch_incarnation:
        return SidecarFacts(sidecar=sidecar, snapshot=None, forward_commit=None, rollback_commit=None, effects=())
    return SidecarFacts(
        sidecar=sidecar,
        snapshot=state.snapshot,
        forward_commit=_visible(context, state.head, sidecar.commit_id),
        rollback_commit=_visible(context, state.head, sidecar.rollback_commit_id),
        effects=tuple(_observe_under_pin(context, effect, state.snapshot) for effect in sidecar.effects),
        schema_is_stored=sidecar.manifest.schema is None or context.schemas.holds(sidecar.manifest.schema),
    )


def _observe_under_pin(context: GraphContext, effect: SidecarEffect, snapshot: GraphSnapshot) -> EffectFacts:
    found = observe_effect(context, effect)
    pin = snapshot.pin_of(effect.identity)
    if effect.effect is not EffectKind.MAINTENANCE or pin is None or pin.ref != effect.ref:
        return found
    return replace(found, pinned_version=pin.version)


def observe_effect(context: GraphContext, effect: SidecarEffect) -> EffectFacts:
    """Read one table's HEAD and what made every version above the expected one."""
    is_fork = effect.fork is not None and effect.ref is not None
    if is_fork and not has_ref(context.store.objects, effect.location, str(effect.ref)):
        # Lance opens a tree whose ref is gone, so only the list of refs says whether the fork exists.
        return EffectFacts(effect=effect, head_version=None, operations=())
    head = context.store.tables.head(effect.address)
    head_version = None if head is None else int(head.version)
    return EffectFacts(
        effect=effect,
        head_version=head_version,
        operations=_operations(context, effect, head_version or 0),
    )


def _operations(context: GraphContext, effect: SidecarEffect, head_version: int) -> tuple[TableOperation, ...] | None:
    directory = TableDirectory(context.store.objects, effect.location)
    return operations_between(directory, ref=effect.ref, after=effect.expected_version, up_to=head_version)


def _visible(context: GraphContext, head: Commit, commit_id: CommitId) -> Commit | None:
    try:
        return context.log.find(commit_id, head=head)
    except CommitNotFound:
        return None
