"""Repair: show drift, and publish it when somebody has vouched for it.

Publishing moves pins to existing versions; no row is rewritten. What is published is exactly what was classified: the
branch is closed to writers while HEAD and its transactions are read once more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from omnigraph.base import clock, faults, ids
from omnigraph.base.events import Events, ignore_events
from omnigraph.branches.gates import hold_branches
from omnigraph.catalog.model import TableKey
from omnigraph.maintenance.admission import refuse_pending_on, require_settled, sole_maintainer
from omnigraph.maintenance.repair.discard import discard
from omnigraph.maintenance.repair.drift import (
    Classification,
    TableDrift,
    branches_to_examine,
    check_table_keys,
    find_drift,
    find_lasting_drift,
)
from omnigraph.maintenance.repair.review import DriftReview, review_drift
from omnigraph.manifest.commits import MESSAGE, Commit, CommitId, CommitKind, check_message
from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.writes.aftermath import finish_published, says_what_is_published
from omnigraph.writes.context import GraphContext
from omnigraph.writes.upgrading import bring_up_to_date

REPAIR_ACTOR = "omnigraph:repair"


class Consent(StrEnum):
    """How far the operator vouches for what is found."""

    PREVIEW = "preview"
    VERIFIED = "verified"
    """Publish what provably changed no row."""
    ANYTHING = "anything"
    """Publish also what was reviewed by other means."""
    DISCARD = "discard"
    """Publish nothing of it: bring every drifted table back to its pin."""


class RepairAction(StrEnum):
    """What became of one table."""

    NOOP = "noop"
    PREVIEW = "preview"
    HEALED = "healed"
    FORCED = "forced"
    DISCARDED = "discarded"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRow:
    """One table's finding and what was done about it."""

    table_key: TableKey
    branch: str
    classification: Classification
    action: RepairAction
    manifest_version: int
    lance_head_version: int | None
    operations: tuple[str, ...]
    error: str | None
    review: DriftReview | None = None
    """What publishing would change, if it was asked for and can be told."""
    is_unfit: bool = False
    """Whether the graph could not be used with what is there, so that it is never published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """All rows of one run, and the commits it made."""

    consent: Consent
    rows: tuple[RepairRow, ...]
    commits: tuple[Commit, ...]

    @property
    def refused(self) -> tuple[RepairRow, ...]:
        """The tables that stay as they are although something is wrong with them."""
        return tuple(row for row in self.rows if row.action is RepairAction.REFUSED)


@says_what_is_published
def run_repair(
    context: GraphContext,
    *,
    consent: Consent = Consent.PREVIEW,
    branch: str | None = None,
    tables: Sequence[str] = (),
    review_limit: int | None = None,
    message: str | None = None,
    wait_seconds: float = 0.0,
    events: Events = ignore_events,
) -> RepairReport:
    """Find drift on `main` and on every table that a live branch owns; publish it as far as the consent goes.

    With `review_limit`, rows say what publishing changes, with up to that many samples.
    """
    check_message(message)
    require_settled(context, "repair")
    branches = branches_to_examine(context, branch)
    keys = check_table_keys((context.manifest.load(name).snapshot for name in branches), tables)
    if consent is Consent.PREVIEW:
        found = [drift for name in branches for drift in find_lasting_drift(context, name, keys, with_strays=True)]
        reviews = _review(context, found, review_limit)
        return RepairReport(consent=consent, rows=tuple(_row(drift, consent, reviews) for drift in found), commits=())
    with sole_maintainer(context, "repair", wait_seconds=wait_seconds, events=events):
        # Once more under the lock: what another run was doing meanwhile is over now.
        require_settled(context, "repair")
        outcomes = [_repair_branch(context, name, keys, consent, review_limit, message, events) for name in branches]
    return RepairReport(
        consent=consent,
        rows=tuple(row for rows, _ in outcomes for row in rows),
        commits=tuple(commit for _, commit in outcomes if commit is not None),
    )


def _repair_branch(
    context: GraphContext,
    branch: str,
    keys: Sequence[TableKey],
    consent: Consent,
    review_limit: int | None,
    message: str | None,
    events: Events,
) -> tuple[list[RepairRow], Commit | None]:
    bring_up_to_date(context, branch)
    # Rows are compared before the gates close: that may take as long as the tables are large.
    seen = find_lasting_drift(context, branch, keys, with_strays=True) if review_limit is not None else ()
    reviews = _review(context, seen, review_limit)
    with hold_branches(context, [branch], operation="repair", events=events) as lock:
        refuse_pending_on(context, branch, "repair")
        snapshot = context.manifest.load(branch).snapshot
        found = find_drift(context, branch, keys, with_strays=True)
        rows = [_row(drift, consent, reviews) for drift in found]
        chosen = [drift for drift, row in zip(found, rows, strict=True) if row.action in _ACTED_ON]
        if not chosen:
            return rows, None
        if consent is Consent.DISCARD:
            return rows, discard(context, snapshot, chosen, lock, actor=REPAIR_ACTOR, message=message, events=events)
        faults.reach("repair.before_publish")
        lock.ensure_seconds_left()
        commit = context.publisher.publish(
            branch,
            ManifestChanges(pins=tuple(_pin_move(drift) for drift in chosen)),
            _commit(branch, chosen, message),
            _preconditions(snapshot, chosen),
        )
        finish_published(context, commit, events)
        return rows, commit


_ACTED_ON = frozenset({RepairAction.HEALED, RepairAction.FORCED, RepairAction.DISCARDED})


_Seen: TypeAlias = tuple[TableKey, int, int | None]


def _seen(drift: TableDrift) -> _Seen:
    return drift.pin.table_key, drift.pin.version, drift.head_version


def _review(
    context: GraphContext, found: Sequence[TableDrift], review_limit: int | None
) -> Mapping[_Seen, DriftReview | None]:
    """Compare the rows of every drifted table, if asked to."""
    if review_limit is None:
        return {}
    drifted = [drift for drift in found if drift.classification is not Classification.NO_DRIFT]
    return {_seen(drift): review_drift(context, drift, limit=review_limit) for drift in drifted}


def _row(drift: TableDrift, consent: Consent, reviews: Mapping[_Seen, DriftReview | None]) -> RepairRow:
    action, error = _judge(drift, consent)
    return RepairRow(
        table_key=drift.pin.table_key,
        branch=drift.branch,
        classification=drift.classification,
        action=action,
        manifest_version=drift.pin.version,
        lance_head_version=drift.head_version,
        operations=tuple(made.name for made in drift.operations or ()),
        error=error,
        review=reviews.get(_seen(drift)),
        is_unfit=drift.unfit_because is not None,
    )


def _judge(drift: TableDrift, consent: Consent) -> tuple[RepairAction, str | None]:
    found = drift.classification
    if found is Classification.NO_DRIFT:
        return RepairAction.NOOP, None
    if found is Classification.BEHIND:
        newest = "gone" if drift.head_version is None else f"at version {drift.head_version}"
        return RepairAction.REFUSED, (
            f"the graph pins version {drift.pin.version} but the table is {newest}; restore it from a backup"
        )
    pin_is_gone = None if drift.pinned is not None else f"version {drift.pin.version}, which the graph pins, is gone"
    if consent is Consent.PREVIEW:
        return RepairAction.PREVIEW, drift.unfit_because or pin_is_gone
    if consent is Consent.DISCARD:
        if pin_is_gone is not None and not drift.is_stray:
            return (
                RepairAction.REFUSED,
                f"{pin_is_gone}: there is nothing to go back to; review the table, then use --force",
            )
        return RepairAction.DISCARDED, None
    if drift.unfit_because is not None:
        return RepairAction.REFUSED, drift.unfit_because
    if found is Classification.VERIFIED_MAINTENANCE:
        return RepairAction.HEALED, None
    if consent is Consent.ANYTHING:
        return RepairAction.FORCED, None
    return RepairAction.REFUSED, _REFUSALS[found]


_REFUSALS: Mapping[Classification, str] = {
    Classification.SUSPICIOUS: "other operations than compaction made these versions; review them, then use --force",
    Classification.UNVERIFIABLE: "what made these versions cannot be read; review the table, then use --force",
}


def _pin_move(drift: TableDrift) -> PinMove:
    assert drift.head is not None
    return PinMove.to(
        drift.head,
        table_key=drift.pin.table_key,
        identity=drift.pin.identity,
        transaction_uuid=drift.operations[-1].uuid if drift.operations else None,
    )


def _commit(branch: str, chosen: Sequence[TableDrift], message: str | None) -> Commit:
    repaired: dict[str, Any] = {
        drift.pin.table_key: {
            "from_version": drift.pin.version,
            "to_version": drift.head_version,
            "classification": drift.classification.value,
            "operations": [made.name for made in drift.operations or ()],
        }
        for drift in chosen
    }
    return Commit(
        graph_commit_id=CommitId(ids.new_ulid()),
        parent_commit_id=None,
        graph_branch=branch,
        graph_version=0,
        kind=CommitKind.REPAIR,
        actor_id=REPAIR_ACTOR,
        created_at_us=clock.now_us(),
        metadata={"repaired": repaired, **({} if message is None else {MESSAGE: message})},
    )


def _preconditions(snapshot: GraphSnapshot, chosen: Sequence[TableDrift]) -> Preconditions:
    return Preconditions(
        incarnation=snapshot.incarnation,
        exact_head=None,
        ir_hash=snapshot.schema.ir_hash,
        expected_pins={drift.pin.identity: (drift.pin.ref, drift.pin.version) for drift in chosen},
    )
