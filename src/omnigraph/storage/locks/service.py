"""Taking locks: the in-process gates first, then the locks that other processes see, and giving all of them back."""

from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

from omnigraph.base import clock
from omnigraph.base.endings import attempt
from omnigraph.base.events import Events, Noted, ignore_events
from omnigraph.base.logs import logger_of
from omnigraph.base.values import dataclass
from omnigraph.errors import BranchBusy, Effect, StorageError
from omnigraph.storage.locks.gates import Ticket, gate_of
from omnigraph.storage.locks.holder import Holder
from omnigraph.storage.locks.lease import LeaseTerms
from omnigraph.storage.locks.store_clock import StoreClock
from omnigraph.storage.uris import GraphRoot

_SILENT_SECONDS = 1.0
_UNKNOWN = "an unknown process"

_log = logger_of(__name__)


class Reach(StrEnum):
    """How far a claim is heard."""

    EVERYWHERE = "everywhere"
    """Exclusive, in this process and among all others."""
    IN_PROCESS = "in_process"
    """Exclusive, in this process only."""
    IN_PROCESS_SHARED = "in_process_shared"
    """Beside other shared claims of this process, never beside an exclusive one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRequest:
    """One name that an operation wants for itself."""

    name: str
    reach: Reach = Reach.EVERYWHERE
    waits_for_others: bool = True
    """Whether a lock that another process holds is waited for; otherwise it is refused at once."""


class Grip(Protocol):
    """One cross-process lock while it is held."""

    expired_seconds_ago: float | None
    """How long the lease that this one took over had been expired; None if the lock was free."""

    def seconds_left(self) -> float:
        """Tell for how long nobody else can hold the lock."""
        ...

    def release(self) -> None:
        """Give it back."""
        ...


class CrossProcessLocks(Protocol):
    """The part of locking that differs between file systems and object stores."""

    def take(self, name: str, *, operation: str, wait_seconds: float) -> Grip | None:
        """Wait for the lock; None when the time is up."""
        ...

    def holder(self, name: str, *, store_clock: StoreClock | None) -> Holder | None:
        """Name who has the lock."""
        ...

    def seconds_to_outlive(self, name: str) -> float | None:
        """Tell how long to wait for a lock whose holder shows no sign of life any more; None if it does."""
        ...


class HeldLock:
    """Everything that one `acquire` got; a context manager that gives it back."""

    def __init__(
        self,
        claims: Sequence[LockRequest],
        grips: Sequence[Grip],
        *,
        held: ExitStack,
        root: GraphRoot,
        terms: LeaseTerms,
    ) -> None:
        self._grips = {claim.name: grip for claim, grip in zip(_everywhere(claims), grips, strict=True)}
        self._held = held
        self._root = root
        self._terms = terms

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    @property
    def expired_seconds_ago(self) -> float | None:
        """How long ago the youngest lease that was taken over had expired; None if every lock was free.

        Its former holder may be paused rather than dead, which matters to whoever wants to undo its work.
        """
        taken_over = [grip.expired_seconds_ago for grip in self._grips.values() if grip.expired_seconds_ago is not None]
        return min(taken_over, default=None)

    def ensure_seconds_left(self, seconds: float | None = None) -> None:
        """Raise `LeaseLost` unless every lock is surely ours for that long; None means the terms' margin.

        To be called right before every effect. Costs nothing, and local locks always pass.
        """
        needed = self._terms.margin_seconds if seconds is None else seconds
        for name, grip in self._grips.items():
            left = grip.seconds_left()
            if left < needed:
                _log.warning("the lock on %s is not surely ours any more: %.1f s are left", _spelled(name), left)
                raise LeaseLost(name=name, seconds_left=left, uri=self._root.uri)

    @property
    def seconds_until_undo(self) -> float:
        """How long to wait before the work of a former holder may be undone; 0 if every lock was free."""
        expired = self.expired_seconds_ago
        return 0.0 if expired is None else max(0.0, self._terms.undo_grace_seconds - expired)

    def release(self) -> None:
        """Give everything back, last taken first; a second call does nothing."""
        self._held.close()


class LockService:
    """The locks of one graph. Handles of the same root in one process share their gates through its identity."""

    def __init__(self, root: GraphRoot, locks: CrossProcessLocks, terms: LeaseTerms) -> None:
        self._root = root
        self._locks = locks
        self._terms = terms

    def acquire(self, name: str, *, operation: str, wait_seconds: float, events: Events = ignore_events) -> HeldLock:
        """Take the one lock `name` everywhere; see `acquire_all`."""
        return self.acquire_all([LockRequest(name=name)], operation=operation, wait_seconds=wait_seconds, events=events)

    def acquire_all(
        self, claims: Sequence[LockRequest], *, operation: str, wait_seconds: float, events: Events = ignore_events
    ) -> HeldLock:
        """Enter the gates of all claims in the given order, then take the cross-process locks in the same order.

        Who claims several names must do it in one call and in the order that all writers keep, so that no cycle can
        form. Each gate and each lock is waited for at most `wait_seconds`, then `BranchBusy` names the holder and
        everything taken so far is given back. Only a lease that its holder has stopped renewing is waited out to its
        end: whoever died must not keep the next one away. Waits that a person would notice are events.
        """
        holder = Holder.here(operation)
        started = clock.monotonic_seconds()
        with ExitStack() as held:
            for claim in claims:
                self._enter(claim, holder, held, wait_seconds)
            grips = [
                self._take(claim.name, operation, held, wait_seconds if claim.waits_for_others else 0.0, events)
                for claim in _everywhere(claims)
            ]
            names = ", ".join(claim.name for claim in claims)
            _log.debug("%s holds %s after %.3f s", operation, names, clock.monotonic_seconds() - started)
            return HeldLock(claims, grips, held=held.pop_all(), root=self._root, terms=self._terms)

    def holder(self, name: str, *, store_clock: StoreClock | None) -> Holder | None:
        """Name who has the lock, in whatever process; takes no lock and writes nothing.

        With `store_clock`, a holder whose lease has expired does not count. Without one it does: previews must not
        write, and the store's time cannot be had otherwise.
        """
        return self._locks.holder(name, store_clock=store_clock)

    def _enter(self, claim: LockRequest, holder: Holder, held: ExitStack, wait_seconds: float) -> None:
        gate = gate_of(self._root.identity, claim.name)
        ticket = Ticket(holder=holder, is_shared=claim.reach is Reach.IN_PROCESS_SHARED)
        if not gate.enter(ticket, wait_seconds=wait_seconds):
            raise _busy(claim.name, gate.holder(), wait_seconds)
        held.callback(gate.leave, ticket)

    def _take(self, name: str, operation: str, held: ExitStack, wait_seconds: float, events: Events) -> Grip:
        grip = self._locks.take(name, operation=operation, wait_seconds=min(wait_seconds, _SILENT_SECONDS))
        if grip is None and wait_seconds > _SILENT_SECONDS:
            _log.info("waiting for %s, up to %g s: %s has it", _spelled(name), wait_seconds, self._holder(name))
            events(Noted(message=f"waiting for {_spelled(name)}: {self._holder(name)} has it"))
            grip = self._locks.take(name, operation=operation, wait_seconds=wait_seconds - _SILENT_SECONDS)
        if grip is None:
            seconds = self._locks.seconds_to_outlive(name)
            if seconds is not None:
                _log.warning("waiting %.0f s for %s: %s seems dead", seconds, _spelled(name), self._holder(name))
                events(Noted(message=f"waiting {seconds:.0f} s for {_spelled(name)}: {self._holder(name)} seems dead"))
                grip = self._locks.take(name, operation=operation, wait_seconds=seconds)
        if grip is None:
            raise _busy(name, self._locks.holder(name, store_clock=None), wait_seconds)
        held.callback(
            attempt,
            grip.release,
            events,
            otherwise=f"the lock on {_spelled(name)} was not given back; it ends with this process, or runs out",
        )
        return grip

    def _holder(self, name: str) -> str:
        return str(self._locks.holder(name, store_clock=None) or _UNKNOWN)


def _everywhere(claims: Sequence[LockRequest]) -> list[LockRequest]:
    return [claim for claim in claims if claim.reach is Reach.EVERYWHERE]


def _spelled(name: str) -> str:
    return name.replace("branch/", "branch ", 1)


def _busy(name: str, holder: Holder | None, wait_seconds: float) -> BranchBusy:
    who = f"{holder} since {holder.since}" if holder else _UNKNOWN
    return BranchBusy(
        f"The lock on {_spelled(name)} is held by {who} and was not given back within {wait_seconds:g} seconds; "
        "nothing was written. Try again when it has finished.",
        branch=name.removeprefix("branch/"),
        holder=str(holder) if holder else None,
        since=holder.since if holder else None,
    )


class LeaseLost(StorageError):
    """The lease has run out, is about to, or is somebody else's: stop before the next effect.

    What was durable by then only the writer knows; it translates this error when it does.
    """

    def __init__(self, *, name: str, seconds_left: float, uri: str) -> None:
        state = f"has only {seconds_left:.1f} seconds left" if seconds_left > 0 else "has run out or was taken over"
        super().__init__(
            f"The lease on {name} {state}, too little to go on safely. "
            "Look at what is published before repeating the operation.",
            storage_kind="transient",
            uri=uri,
            effect=Effect.UNKNOWN,
        )
