"""When recovery runs, and over which sidecars."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

from omnigraph.base import clock, faults, waits
from omnigraph.base.endings import tell
from omnigraph.base.events import Events, Noted, ignore_events
from omnigraph.base.logs import about, logger_of
from omnigraph.base.plain_text import printable
from omnigraph.base.showing import Shown
from omnigraph.base.units import shorten
from omnigraph.base.values import dataclass
from omnigraph.errors import BranchBusy, OmniError, RecoveryRequired, StaleView, StorageError
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit
from omnigraph.storage.locks import HeldLock, LeaseLost
from omnigraph.writes.pending import sidecars_of
from omnigraph.writes.recovery.act import Settled, act, blocked
from omnigraph.writes.recovery.decide import UNDOING, RecoveryDecision, decide
from omnigraph.writes.recovery.facts import SidecarFacts, observe
from omnigraph.writes.sidecar import Sidecar, sidecar_traits
from omnigraph.writes.sidecar_format import UnreadableSidecar

_DECISIONS_MAX = 3
_REASON_MAX = 600

_log = logger_of(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedOperation:
    """A sidecar that recovery will not touch, and why."""

    operation_id: str
    kind: str | None
    branch: str | None
    reason: str


@dataclass(slots=True, kw_only=True, repr=False)
class SweepResult(Shown):
    """What a sweep over all sidecars did."""

    recovered: list[Settled] = field(default_factory=list)
    in_use: list[str] = field(default_factory=list)
    blocked: list[BlockedOperation] = field(default_factory=list)


def settle_concerning(
    context: GraphContext, branch: str, pending: Sequence[str], *, lock: HeldLock | None, events: Events
) -> None:
    """Settle those of the pending sidecars that concern a branch, as `entry.settle_branch` promises."""
    for operation_id in pending:
        with _naming(context, operation_id):
            sidecar = _readable(context, operation_id)
            if sidecar is None or not _concerns(sidecar, branch):
                continue
            if lock is not None and sidecar.branch_name == branch:
                _tell(_settle(context, operation_id, lock), events)
                continue
            if lock is not None:
                # Its own gates cannot be had inside those of another branch: back out; the next attempt settles it.
                raise blocked(context, operation_id, sidecar.branch_name, "it appeared while another branch was held")
            with context.store.locks.acquire(
                f"branch/{sidecar.branch_name}", operation=f"recover {operation_id}", wait_seconds=waits.GATE_SECONDS
            ) as taken:
                _tell(_settle(context, operation_id, taken), events)


@contextmanager
def _naming(context: GraphContext, operation_id: str) -> Iterator[None]:
    """Report whatever goes wrong with one sidecar as that sidecar's, with its id and the ways out.

    A lock that is taken and a store that does not answer pass by themselves, and need nobody to give anything up.
    """
    with about(graph=context.store.uri, operation_id=operation_id):
        try:
            yield
        except BranchBusy:
            raise
        except RecoveryRequired as required:
            _warn_of_blocked(required)
            raise
        except StorageError as error:
            if error.is_transient:
                raise
            raise _stuck(context, operation_id, error) from error
        except Exception as error:
            raise _stuck(context, operation_id, error) from error


def _stuck(context: GraphContext, operation_id: str, error: Exception) -> RecoveryRequired:
    reason = error.message if isinstance(error, OmniError) else f"{type(error).__name__}: {error}"
    required = blocked(context, operation_id, None, shorten(printable(reason.rstrip(".")), _REASON_MAX))
    _warn_of_blocked(required)
    return required


def _warn_of_blocked(required: RecoveryRequired) -> None:
    _log.warning("recovery is blocked: %s", required.message)


def tell_settled(swept: SweepResult, events: Events) -> None:
    """Say what a sweep did, for whoever came for something else."""
    for settled in swept.recovered:
        _tell(settled, events)


def _tell(settled: Settled | None, events: Events) -> None:
    if settled is not None:
        tell(events, Noted(message=settled.note))


def _concerns(sidecar: Sidecar, branch: str) -> bool:
    """Whether writers of a branch must wait for an operation; a schema change concerns all of them."""
    return sidecar.branch_name == branch or sidecar_traits(sidecar.kind).concerns_all_branches


def settle_own(context: GraphContext, sidecar: Sidecar, lock: HeldLock) -> Commit | None:
    """Settle the operation of this very process, which still holds its gates; return its commit if it is visible."""
    settled = _settle(context, sidecar.operation_id, lock)
    if settled is not None:
        return settled.commit
    # Somebody else has settled it, which takes our lease; the history says how.
    return observe(context, sidecar).forward_commit


def settle_all(context: GraphContext, *, wait_seconds: float = 0.0, events: Events = ignore_events) -> SweepResult:
    """Settle all sidecars, oldest first; one that fails or is in use does not stop the next."""
    return settle_operations(context, sidecars_of(context).pending(), wait_seconds=wait_seconds, events=events)


def settle_operations(
    context: GraphContext, pending: Sequence[str], *, wait_seconds: float = 0.0, events: Events = ignore_events
) -> SweepResult:
    """Settle these sidecars; one that fails or is in use does not stop the next."""
    result = SweepResult()
    for operation_id in pending:
        faults.reach("recover.after_list")
        try:
            with _naming(context, operation_id):
                sidecar = _readable(context, operation_id)
                if sidecar is None:
                    continue
                with context.store.locks.acquire(
                    f"branch/{sidecar.branch_name}",
                    operation=f"recover {operation_id}",
                    wait_seconds=wait_seconds,
                    events=events,
                ) as lock:
                    settled = _settle(context, operation_id, lock)
        except (BranchBusy, LeaseLost):
            # A lease that ran out while its operation was being settled says nothing against the operation.
            result.in_use.append(operation_id)
        except OmniError as error:
            result.blocked.append(_blocked_operation(context, operation_id, error))
        else:
            if settled is not None:
                result.recovered.append(settled)
    return result


def _settle(context: GraphContext, operation_id: str, lock: HeldLock) -> Settled | None:
    """Settle one sidecar under its gates: read it again, decide on a fresh view, act."""
    sidecar = _readable(context, operation_id)
    if sidecar is None:
        return None
    if lock.seconds_until_undo and not sidecar.writer_is_provably_dead:
        _, decision = _decision(context, sidecar)
        if decision.action in UNDOING:
            # The former holder of a lease that ran out may be paused, not dead, and still land one late commit.
            clock.sleep_seconds(lock.seconds_until_undo)
    for _ in range(_DECISIONS_MAX):
        sidecar = _readable(context, operation_id)
        if sidecar is None:
            return None
        facts, decision = _decision(context, sidecar)
        _log.debug("recovery of %s decides to %s", operation_id, decision.action)
        lock.ensure_seconds_left()
        try:
            settled = act(context, facts, decision, lock)
        except StaleView as moved:
            # Somebody published between our look and our publish: the evidence has changed, so look again.
            stale = moved
        else:
            if settled is not None:
                _log.info("%s", settled.note)
            return settled
    raise stale


def _decision(context: GraphContext, sidecar: Sidecar) -> tuple[SidecarFacts, RecoveryDecision]:
    facts = observe(context, sidecar)
    return facts, decide(facts)


def _readable(context: GraphContext, operation_id: str) -> Sidecar | None:
    try:
        return sidecars_of(context).read(operation_id)
    except UnreadableSidecar as unreadable:
        raise blocked(context, operation_id, None, str(unreadable)) from unreadable


def _blocked_operation(context: GraphContext, operation_id: str, error: OmniError) -> BlockedOperation:
    try:
        sidecar = sidecars_of(context).read(operation_id)
    except Exception:  # noqa: BLE001  # why it cannot be read is what `error` says
        sidecar = None
    return BlockedOperation(
        operation_id=operation_id,
        kind=sidecar.kind.value if sidecar is not None else None,
        branch=sidecar.branch_name if sidecar is not None else None,
        reason=error.message,
    )
