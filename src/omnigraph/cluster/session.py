"""One run of a command on a cluster: what it found, its lock, and the ledger as it last knew it."""

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TypeVar

from omnigraph.base import clock
from omnigraph.cluster.declared import ClusterHeader
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics, Refused
from omnigraph.cluster.ledger import LEDGER_PATH
from omnigraph.cluster.lock import LOCK_NAME, ClusterLock, LockHeld, hold_lock, read_lock
from omnigraph.cluster.results import StateObservations
from omnigraph.cluster.site import ClusterSite, StoredLedger
from omnigraph.cluster.state import Ledger, state_cas

WorkT = TypeVar("WorkT")


class ClusterSession:
    """Keeps what the result of a command says about ledger and lock, whatever becomes of the command."""

    def __init__(
        self, header: ClusterHeader, found: Diagnostics, *, operation: str, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.header = header
        self.found = found
        self.operation = operation
        self.site = ClusterSite.open(header.root, environ)
        self.stored: StoredLedger | None = None
        self._standing: ClusterLock | None = None
        self._own: ClusterLock | None = None

    def run_locked(self, work: Callable[[], WorkT]) -> WorkT | None:
        """Do the work of a command while holding the cluster's lock, unless the config does without.

        Whatever refuses to go on becomes a finding, after the lock was given back; then there is no result.
        """
        if not self.header.locks:
            self.found.warn(
                DiagnosticCode.STATE_LOCK_DISABLED,
                "state.lock",
                "`state.lock` is false: nothing keeps another command from changing the cluster at the same time.",
            )
        try:
            with hold_lock(self.site, self.operation, self.found) if self.header.locks else nullcontext() as own:
                self._own = own
                return work()
        except LockHeld as held:
            self._standing = held.lock
            self.found.extend([held.diagnostic])
        except Refused as refused:
            self.found.extend([refused.diagnostic])
        return None

    def read_ledger(self, *, is_strict: bool = True) -> Ledger | None:
        """Read the ledger, if there is one; raise `Refused` if it cannot be used.

        A command that writes nothing may read what a newer omnigraph wrote.
        """
        self.stored = self.site.read_ledger(is_strict=is_strict)
        return self.stored.ledger if self.stored else None

    def required_ledger(self) -> Ledger:
        """Read the ledger; raise `Refused` if it is missing or cannot be used."""
        ledger = self.read_ledger()
        if ledger is None:
            raise Refused(
                DiagnosticCode.STATE_MISSING,
                LEDGER_PATH,
                f"{self.site.state_path} does not exist: run `omnigraph cluster import` first, which looks at what is "
                "there and writes it.",
            )
        return ledger

    def write_ledger(self, ledger: Ledger) -> None:
        """Write the next revision over the one that was read; raise `Refused` if that is not there any more."""
        revision = self.stored.ledger.state_revision + 1 if self.stored else 1
        self.stored = self.site.write_ledger(replace(ledger, state_revision=revision), over=self.stored)

    def look(self) -> None:
        """Look at ledger and lock without the right to change them; what cannot be read is left to whoever needs it."""
        for step in (self._look_at_ledger, self.look_at_lock):
            try:
                step()
            except Refused:
                continue

    def _look_at_ledger(self) -> None:
        self.stored = self.site.read_ledger(is_strict=False)

    def look_at_lock(self) -> None:
        """See whether somebody holds the cluster; raise `Refused` for a lock that cannot be read."""
        self._standing = read_lock(self.site)

    @property
    def observations(self) -> StateObservations:
        """What is known of ledger and lock now."""
        shown = StateObservations(
            state_path=self.site.state_path,
            lock_path=self.site.shown(LOCK_NAME),
            state_found=self.stored is not None,
            standing=self._standing,
            acquired_lock_id=self._own.lock_id if self._own else None,
        )
        if self.stored is None:
            return shown
        ledger = self.stored.ledger
        return replace(
            shown,
            applied_config_digest=ledger.config_digest,
            state_revision=ledger.state_revision,
            state_cas=state_cas(self.stored.content),
            resource_count=len(ledger.resources),
        )


def now_text() -> str:
    """Spell the present for ledgers, sidecars and approvals."""
    return clock.timestamp_from_us(clock.now_us())
