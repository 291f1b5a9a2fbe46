"""Repair: show drift, and publish it when somebody has vouched for it.

Publishing moves pins to existing versions; no row is rewritten. What is published is exactly what was classified: the
branch is closed to writers while HEAD and its transactions are read once more.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from omnigraph.base import clock, faults, ids
from omnigraph.base.events import Events, ignore_events
from omnigraph.base.logs import about, logger_of
from omnigraph.base.showing import Shown
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.branches.gates import hold_branches
from omnigraph.catalog.model import TableKey
from omnigraph.errors import Effect, OmniError
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.admission import refuse_pending_on, require_settled, sole_maintainer
from omnigraph.maintenance.repair.consequences import BrokenRules, DriftReview, broken_rules, review_drift
from omnigraph.maintenance.repair.discard import discard
from omnigraph.maintenance.repair.drift import (
    Classification,
    TableDrift,
    branches_to_examine,
    check_table_keys,
    find_drift,
    find_lasting_drift,
)
from omnigraph.maintenance.repair.request import Consent, RepairRequest
from omnigraph.maintenance.unreadable import UNREADABLE, problem_of, refuse_unreachable
from omnigraph.manifest.commits import MAIN_BRANCH, MESSAGE, Commit, CommitId, CommitKind, check_message
from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions
from omnigraph.manifest.rows import MANIFEST
from omnigraph.writes.aftermath import says_what_is_published
from omnigraph.writes.opening import bring_up_to_date
from omnigraph.writes.publishing import publish_unarmed

_log = logger_of(__name__)

REPAIR_ACTOR = "omnigraph:repair"


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
    manifest_version: int | None
    """None for a branch that cannot be read."""
    lance_head_version: int | None
    operations: tuple[str, ...]
    error: str | None
    review: DriftReview | None = None
    """What publishing would change, if it was asked for and can be told."""
    broken: BrokenRules | None = None
    """Which declared rules publishing breaks; told with a review, and always when suspicious drift is published."""
    is_unfit: bool = False
    """Whether the graph could not be used with what is there, so that it is never published."""
    is_unreadable: bool = False
    """Whether it could not be looked at; it stays as it is, whatever the consent."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RepairReport(Shown):
    """All rows of one run, and the commits it made."""

    consent: Consent
    rows: tuple[RepairRow, ...]
    commits: tuple[Commit, ...]

    @property
    def effect(self) -> Effect:
        """Whether anything was published; errors say the same under the same name."""
        return Effect.of(*self.commits)

    @property
    def refused(self) -> tuple[RepairRow, ...]:
        """The tables that stay as they are although something is wrong with them."""
        return tuple(row for row in self.rows if row.action is RepairAction.REFUSED)


@says_what_is_published
def run_repair(context: GraphContext, request: RepairRequest, *, events: Events = ignore_events) -> RepairReport:
    """Find drift on `main` and on every table that a live branch owns; publish it as far as the consent goes."""
    consent, branch = request.consent, request.branch
    check_message(request.message)
    require_settled(context, "repair")
    branches, unreadable = _readable_branches(context, branch)
    seen = _of_each_that_lives(context, branches, branch, lambda name: context.manifest.load(name).snapshot)
    looking = _Looking(request=request, keys=check_table_keys(seen, request.tables))
    if consent is Consent.PREVIEW:
        found = _of_each_that_lives(context, branches, branch, lambda name: _preview_branch(context, name, looking))
        rows = [row for rows in found for row in rows]
        return RepairReport(consent=consent, rows=(*rows, *unreadable), commits=())
    with (
        about(graph=context.store.uri),
        sole_maintainer(context, "repair", wait_seconds=request.wait_seconds, events=events),
    ):
        started = clock.monotonic_seconds()
        # Once more under the lock: what another run was doing meanwhile is over now.
        require_settled(context, "repair")
        outcomes = _of_each_that_lives(
            context, branches, branch, lambda name: _repair_branch(context, name, looking, events)
        )
        published = counted(sum(commit is not None for _, commit in outcomes), "commit")
        seconds, looked_at = clock.monotonic_seconds() - started, counted(len(outcomes), "branch")
        _log.info("repair finished in %.3f s: %s on %s", seconds, published, looked_at)
    return RepairReport(
        consent=consent,
        rows=(*(row for rows, _ in outcomes for row in rows), *unreadable),
        commits=tuple(commit for _, commit in outcomes if commit is not None),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looking:
    """What to look at, and how closely."""

    request: RepairRequest
    keys: Sequence[TableKey]

    @property
    def consent(self) -> Consent:
        return self.request.consent

    @property
    def compares_rows(self) -> bool:
        return self.request.review_limit is not None

    @property
    def judges_rows(self) -> bool:
        return self.compares_rows or self.consent is Consent.ANYTHING


def _readable_branches(context: GraphContext, branch: str | None) -> tuple[list[str], list[RepairRow]]:
    """Return the branches to look at, and a row for each that cannot be read; one that was asked for raises."""
    names, unreadable = [], []
    for name in branches_to_examine(context, branch):
        try:
            context.manifest.load(name)
        except UNREADABLE as error:
            refuse_unreachable(error)
            if branch is not None or name == MAIN_BRANCH:
                raise
            unreadable.append(_unreadable_branch(name, error))
        else:
            names.append(name)
    return names, unreadable


Outcome = TypeVar("Outcome")


def _of_each_that_lives(
    context: GraphContext, names: Sequence[str], asked_for: str | None, act: Callable[[str], Outcome]
) -> list[Outcome]:
    """Return what comes of every branch; one that somebody deletes meanwhile is left out, unless it was asked for."""
    outcomes = []
    for name in names:
        try:
            outcomes.append(act(name))
        except OmniError:
            if name == asked_for or name in context.manifest.incarnations():
                raise
    return outcomes


def _unreadable_branch(name: str, error: BaseException) -> RepairRow:
    return RepairRow(
        table_key=TableKey(MANIFEST.location),
        branch=name,
        classification=Classification.UNVERIFIABLE,
        action=RepairAction.REFUSED,
        manifest_version=None,
        lance_head_version=None,
        operations=(),
        error=f"the branch cannot be read: {problem_of(str(error))}; restore {MANIFEST.location}/tree/{name} from a "
        "backup, or delete the branch",
        is_unreadable=True,
    )


def _preview_branch(context: GraphContext, branch: str, looking: _Looking) -> list[RepairRow]:
    found = find_lasting_drift(context, branch, looking.keys, with_strays=True)
    seen = _look_closer(context, branch, found, looking)
    return [_row(drift, looking.consent, seen) for drift in found]


def _repair_branch(
    context: GraphContext, branch: str, looking: _Looking, events: Events
) -> tuple[list[RepairRow], Commit | None]:
    bring_up_to_date(context, branch)
    keys, consent, message = looking.keys, looking.consent, looking.request.message
    # Rows are compared before the gates close: that may take as long as the tables are large.
    drifts = find_lasting_drift(context, branch, keys, with_strays=True) if looking.judges_rows else ()
    reviews = _look_closer(context, branch, drifts, looking)
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
        changes = ManifestChanges(pins=tuple(_pin_move(drift) for drift in chosen))
        draft = _commit(branch, chosen, rows, message)
        preconditions = Preconditions.of(snapshot, [drift.pin for drift in chosen])
        return rows, publish_unarmed(context, draft, lock, changes, preconditions, events)


_ACTED_ON = frozenset({RepairAction.HEALED, RepairAction.FORCED, RepairAction.DISCARDED})


_Seen: TypeAlias = tuple[TableKey, int, int | None]


def _seen(drift: TableDrift) -> _Seen:
    return drift.pin.table_key, drift.pin.version, drift.head_version


@dataclass(frozen=True, slots=True, kw_only=True)
class _Closer:
    """What comparing and judging the rows of one table showed."""

    review: DriftReview | None = None
    broken: BrokenRules | None = None


def _look_closer(
    context: GraphContext, branch: str, found: Sequence[TableDrift], looking: _Looking
) -> Mapping[_Seen, _Closer]:
    """Compare the rows of every drifted table of a branch, if asked to, and judge what publishing would make."""
    drifted = [drift for drift in found if drift.classification is not Classification.NO_DRIFT]
    asked = looking.request
    limit = asked.sample_limit if asked.review_limit is None else asked.review_limit
    broken = broken_rules(context, branch, drifted, limit=limit) if looking.judges_rows else {}
    return {
        _seen(drift): _Closer(
            review=review_drift(context, drift, limit=limit) if looking.compares_rows else None,
            broken=broken.get(drift.pin.table_key),
        )
        for drift in drifted
    }


def _row(drift: TableDrift, consent: Consent, closer: Mapping[_Seen, _Closer]) -> RepairRow:
    action, error = _judge(drift, consent)
    seen = closer.get(_seen(drift), _Closer())
    return RepairRow(
        table_key=drift.pin.table_key,
        branch=drift.branch,
        classification=drift.classification,
        action=action,
        manifest_version=drift.pin.version,
        lance_head_version=drift.head_version,
        operations=tuple(made.name for made in drift.operations),
        error=error,
        review=seen.review,
        broken=seen.broken,
        is_unfit=drift.unfit_because is not None,
        is_unreadable=drift.problem is not None,
    )


def _judge(drift: TableDrift, consent: Consent) -> tuple[RepairAction, str | None]:
    found = drift.classification
    if drift.problem is not None:
        where = drift.pin.address.path
        return RepairAction.REFUSED, f"it cannot be read: {drift.problem}; restore {where} from a backup"
    if found is Classification.NO_DRIFT:
        return RepairAction.NOOP, None
    if found is Classification.BEHIND:
        newest = "gone" if drift.head_version is None else f"at version {drift.head_version}"
        return RepairAction.REFUSED, (
            f"the graph pins version {drift.pin.version} but the table is {newest}; restore it from a backup"
        )
    told = "; ".join(filter(None, (drift.unfit_because or drift.pin_problem, *drift.unreadable))) or None
    if consent is Consent.PREVIEW:
        return RepairAction.PREVIEW, told
    if consent is Consent.DISCARD:
        if drift.pin_problem is not None and not drift.is_stray:
            return (
                RepairAction.REFUSED,
                f"{drift.pin_problem}: there is nothing to go back to; review the table, then use --force",
            )
        return RepairAction.DISCARDED, None
    if drift.unfit_because is not None:
        return RepairAction.REFUSED, drift.unfit_because
    if found is Classification.VERIFIED_MAINTENANCE:
        return RepairAction.HEALED, None
    if consent is Consent.ANYTHING:
        return RepairAction.FORCED, "; ".join(drift.unreadable) or None
    return RepairAction.REFUSED, "; ".join((_REFUSALS[found], *drift.unreadable))


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
        transaction_uuid=drift.operations[-1].uuid if drift.operations and not drift.unreadable else None,
    )


def _commit(branch: str, chosen: Sequence[TableDrift], rows: Sequence[RepairRow], message: str | None) -> Commit:
    broken = {row.table_key: dict(row.broken.by_code) for row in rows if row.broken is not None and row.broken.total}
    repaired: dict[str, Any] = {
        drift.pin.table_key: {
            "from_version": drift.pin.version,
            "to_version": drift.head_version,
            "classification": drift.classification.value,
            "operations": [made.name for made in drift.operations],
            # What the operator was told and published all the same.
            **({"broken": broken[drift.pin.table_key]} if drift.pin.table_key in broken else {}),
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
