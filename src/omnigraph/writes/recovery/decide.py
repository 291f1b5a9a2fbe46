"""Decide: from the evidence to one action. Pure; the order of the rules is the contract."""

from collections.abc import Mapping
from enum import StrEnum

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.storage.operations import OperationName, TableOperation
from omnigraph.storage.stored_settings import is_detached
from omnigraph.writes.recovery.facts import EffectFacts, SidecarFacts
from omnigraph.writes.sidecar import EffectKind, SidecarEffect, sidecar_traits


class EffectClass(StrEnum):
    """How far one table got."""

    UNTOUCHED = "untouched"
    EMPTY_FORK = "empty_fork"
    COMPLETE = "complete"
    PARTIAL = "partial"
    PUBLISHED = "published"
    """Maintenance only: a later writer has built on what the operation committed, and published it with its own."""
    COMPENSATED = "compensated"
    FOREIGN = "foreign"
    BURIED = "buried"
    BEHIND = "behind"
    UNREADABLE = "unreadable"


class Action(StrEnum):
    """What recovery does with a sidecar."""

    FINISH_FORWARD = "finish_forward"
    FINISH_BACK = "finish_back"
    DISCARD = "discard"
    ROLL_FORWARD = "roll_forward"
    ROLL_BACK = "roll_back"
    DROP = "drop"
    BLOCK = "block"


UNDOING = frozenset({Action.ROLL_BACK, Action.DROP})
"""What must wait until a writer that may only be paused has surely stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryDecision:
    """The action, what each table looked like, and for people why it is blocked."""

    action: Action
    classes: Mapping[TableKey, EffectClass]
    reason: str = ""


_NEVER_TOUCH = {
    EffectClass.BEHIND: "the table lost versions that the operation started from",
    EffectClass.UNREADABLE: "its history cannot be read",
    EffectClass.BURIED: "another commit landed next to the operation's own",
}
_NOTHING_OURS = {EffectClass.UNTOUCHED, EffectClass.EMPTY_FORK, EffectClass.FOREIGN}
OURS = frozenset({EffectClass.COMPLETE, EffectClass.PARTIAL, EffectClass.COMPENSATED})
"""Tables that carry commits of the operation and nobody else's: what a rollback restores and publishes."""


def classify(facts: EffectFacts) -> EffectClass:
    """Say how far one table got, by the uuids of its transactions; a version number alone is never evidence."""
    effect = facts.effect
    if effect.creates_its_target and facts.head_version is None:
        return EffectClass.UNTOUCHED
    if facts.head_version is None or facts.head_version < effect.expected_version:
        return EffectClass.BEHIND
    if facts.operations is None:
        return EffectClass.UNREADABLE
    if not facts.operations:
        return EffectClass.EMPTY_FORK if effect.fork is not None else EffectClass.UNTOUCHED
    if effect.effect is EffectKind.MAINTENANCE:
        return _classify_maintenance(facts, facts.operations)
    planned = [commit.uuid for commit in effect.planned]
    found = [made.uuid for made in facts.operations]
    if found == planned:
        return EffectClass.COMPLETE
    if found == planned[: len(found)]:
        return EffectClass.PARTIAL
    # A restore silently wins over what landed since it was planned: only one that undid nothing foreign counts.
    if _is_compensation(facts.operations[-1], effect) and found[:-1] == planned[: len(found) - 1]:
        return EffectClass.COMPENSATED
    ours = {*planned, effect.compensation_uuid}
    return EffectClass.FOREIGN if ours.isdisjoint(found) else EffectClass.BURIED


def _classify_maintenance(facts: EffectFacts, operations: tuple[TableOperation, ...]) -> EffectClass:
    """Say how far maintenance got, by the kinds of its commits: they change no row, so whose they are does not matter.

    What the branch shows already needs no look; only what lies above it is still to be published.
    """
    if facts.pinned_version is None:
        return EffectClass.FOREIGN
    unpublished = operations[max(0, facts.pinned_version - facts.effect.expected_version) :]
    if not unpublished:
        return EffectClass.PUBLISHED
    return EffectClass.COMPLETE if all(made.is_maintenance for made in unpublished) else EffectClass.FOREIGN


def _is_compensation(made: TableOperation, effect: SidecarEffect) -> bool:
    return (
        made.uuid == effect.compensation_uuid
        and made.name == OperationName.RESTORE
        and made.restored_version is not None
        and (made.restored_version == effect.expected_version or is_detached(made.restored_version))
    )


def decide(facts: SidecarFacts) -> RecoveryDecision:
    """Choose the action; the first rule that matches wins."""
    classes = {found.effect.table_key: classify(found) for found in facts.effects}

    def chosen(action: Action, reason: str = "") -> RecoveryDecision:
        return RecoveryDecision(action=action, classes=classes, reason=reason)

    if facts.forward_commit is not None:
        return chosen(Action.FINISH_FORWARD)
    if facts.rollback_commit is not None:
        return chosen(Action.FINISH_BACK)
    if facts.snapshot is None:
        return chosen(Action.DISCARD)
    if facts.sidecar.rollback is not None:
        return chosen(Action.ROLL_BACK)
    blocked = _blocked_by(facts, classes)
    if blocked:
        return chosen(Action.BLOCK, blocked)
    found = set(classes.values())
    if sidecar_traits(facts.sidecar.kind).is_never_undone:
        advanced = found & {EffectClass.COMPLETE, EffectClass.PUBLISHED}
        return chosen(Action.ROLL_FORWARD if advanced else Action.DROP)
    if found <= {EffectClass.COMPLETE} and facts.authority_holds and facts.schema_is_stored:
        return chosen(Action.ROLL_FORWARD)
    if found <= _NOTHING_OURS:
        return chosen(Action.DROP)
    return chosen(Action.ROLL_BACK)


def _blocked_by(facts: SidecarFacts, classes: Mapping[TableKey, EffectClass]) -> str:
    for found in facts.effects:
        effect_class = classes[found.effect.table_key]
        if effect_class in _NEVER_TOUCH:
            return (
                f"{found.effect.table_key}: {_NEVER_TOUCH[effect_class]} "
                f"(expected version {found.effect.expected_version}, found HEAD {found.head_version})"
            )
        if effect_class is EffectClass.FOREIGN and found.effect.effect is EffectKind.CREATE:
            return f"{found.effect.table_key}: somebody else's table lies where the operation was to create one"
        is_exact = found.effect.effect is not EffectKind.MAINTENANCE
        if is_exact and effect_class in OURS and not facts.pin_is_expected(found.effect):
            return f"{found.effect.table_key}: the graph already pins another version than the operation started from"
    return ""
