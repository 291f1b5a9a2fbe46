"""Versions that this process holds for as long as somebody has a snapshot in hand: one lease per graph, in background.

Taking a snapshot must stay as cheap as reading a few rows of `__manifest`, and most snapshots are gone again in a
moment. So a snapshot only leaves a note here, and one daemon thread per process puts the lease when it has been held
for a while. One object names all versions that the process holds of a graph: however many snapshots there are, there
is one lease to renew. It is never changed but replaced by another of a new name, since cleanup tells leases by it.

Between note and lease, and wherever a lease cannot be put, a cleanup does not see the snapshot; its reads then end in
`version_reclaimed`, like those of any plain read that loses. The thread owns all state and takes messages, because
finalisers run anywhere, also in the middle of whatever holds a lock.
"""

import atexit
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import field
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from weakref import finalize

from omnigraph.base import clock, ids
from omnigraph.base.logs import logger_of
from omnigraph.base.values import dataclass
from omnigraph.errors import StorageError
from omnigraph.storage.locks.lease import Lease, LeaseTerms
from omnigraph.storage.locks.paths import READER_LEASES
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.tables import StateAddress

_logger = logger_of(__name__)

OPERATION = "snapshot"
_UNNOTICED_SECONDS = 0.2
"""How long a snapshot is held before it is worth a lease: longer than most, shorter than a cleanup takes to start."""
_HOPELESS_PAUSE_SECONDS = 300.0
"""How long to leave a store alone that refused a lease, such as one that may only be read."""
_GOODBYE_SECONDS = 2.0
"""How long the end of the process waits for leases to be given back; left behind, they expire."""
_SETTLE_SECONDS = 30.0
_LET_GO_SECONDS = 0.05
_NEVER = float("inf")


class HeldVersions:
    """Versions that are kept from cleanup until this is released or collected."""

    def __init__(self, objects: ControlStore, versions: Iterable[StateAddress]) -> None:
        self._objects = objects
        self._versions = frozenset(versions)
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        note = _Note(key=ids.new_ulid(), objects=self._objects, versions=self._versions)
        inbox = _keeper_of_this_process().inbox
        inbox.put(note)
        self._release = finalize(self, inbox.put, _Forget(key=note.key))
        # At its end the process gives everything back at once.
        self._release.atexit = False

    def renew_after_fork(self) -> None:
        """Hold on in a child process too: threads do not survive a fork, and the lease is the parent's."""
        if self._pid != os.getpid() and self._release.alive:
            self._release.detach()
            self._begin()

    def release(self) -> None:
        """Let the versions go; a second call does nothing."""
        self._release()


def settle_holds(objects: ControlStore) -> None:
    """Return when the store knows what this process holds of a graph; a cleanup in the same process asks first."""
    keeper = _keeper
    if keeper is not None and keeper.is_here:
        keeper.settle(objects.root.identity)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    key: str
    objects: ControlStore
    versions: frozenset[StateAddress]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Forget:
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settle:
    identity: str | None
    """One graph, whatever the time; None gives everything back."""
    done: Event = field(default_factory=Event)


_Message = _Note | _Forget | _Settle


@dataclass(slots=True, kw_only=True)
class _GraphLease:
    """What the process holds of one graph, and the lease that says so."""

    objects: ControlStore
    terms: LeaseTerms
    versions_by_key: dict[str, frozenset[StateAddress]] = field(default_factory=dict)
    due_by_key: dict[str, float] = field(default_factory=dict)
    """When a note becomes worth a lease."""
    lease: Lease | None = None
    sent_at: float = 0.0
    next_step_at: float = _NEVER
    again_at: float = 0.0
    """Not before then, after a failure."""

    def is_over(self, now: float) -> bool:
        """Whether there is nothing to remember; a refusal is remembered, so that not every snapshot meets it anew."""
        return not self.versions_by_key and self.lease is None and self.again_at <= now

    def add(self, note: _Note, now: float) -> None:
        due = now + _UNNOTICED_SECONDS
        self.versions_by_key[note.key] = note.versions
        self.due_by_key[note.key] = due
        self._step_by(due)

    def remove(self, key: str, now: float) -> None:
        if self.versions_by_key.pop(key, None) is not None:
            del self.due_by_key[key]
            # Not at once: what is let go in a loop is written down once.
            self._step_by(now + _LET_GO_SECONDS)

    def step(self, now: float, *, hurry: bool = False) -> None:
        """Bring the store up to date with what is held."""
        due = [key for key, due in self.due_by_key.items() if hurry or due <= now]
        waiting = [due for due in self.due_by_key.values() if not hurry and due > now]
        try:
            self._write({version for key in due for version in self.versions_by_key[key]}, now)
            renewal = self.sent_at + self.terms.renew_seconds if self.lease is not None else _NEVER
            self.next_step_at = min([renewal, *waiting])
            self.again_at = 0.0
        except Exception as error:  # noqa: BLE001 — whatever it is, the thread must go on for the other graphs
            is_passing = isinstance(error, StorageError) and error.is_transient
            self.again_at = now + (self.terms.renew_seconds / 4 if is_passing else _HOPELESS_PAUSE_SECONDS)
            self.next_step_at = self.again_at if self.versions_by_key or self.lease is not None else _NEVER
            # No warning: a graph that one may only read can be read, and a read that loses says so itself.
            _logger.info(
                "held snapshots are not protected from cleanup",
                extra={"uri": self.objects.root.uri, "reason": str(error)},
            )

    def _step_by(self, moment: float) -> None:
        self.next_step_at = max(self.again_at, min(self.next_step_at, moment))

    def _write(self, wanted: set[StateAddress], now: float) -> None:
        if self.lease is None or wanted != set(self.lease.versions):
            self._replace(tuple(sorted(wanted, key=str)))
        elif now - self.sent_at >= self.terms.renew_seconds:
            self.objects.put(_path(self.lease), self.lease.to_bytes())
            self.sent_at = now

    def _replace(self, versions: tuple[StateAddress, ...]) -> None:
        """Put the new lease before the old one goes, so that nothing is unprotected in between."""
        former, lease = self.lease, None
        sent_at = clock.monotonic_seconds()
        if versions:
            lease = Lease.new(OPERATION, self.terms, versions=versions)
            self.objects.create(_path(lease), lease.to_bytes())
        self.lease, self.sent_at = lease, sent_at
        if former is not None:
            with suppress(StorageError):  # it expires
                self.objects.delete(_path(former))


def _path(lease: Lease) -> str:
    return f"{READER_LEASES}/{lease.lease_id}.json"


class _Keeper:
    """The thread and its mailbox."""

    def __init__(self, terms: LeaseTerms) -> None:
        self.inbox: SimpleQueue[_Message] = SimpleQueue()
        self._terms = terms
        self._graphs: dict[str, _GraphLease] = {}
        self._pid = os.getpid()
        self._thread = Thread(target=self._work, name="omnigraph snapshots", daemon=True)
        self._thread.start()
        atexit.register(self._say_goodbye)

    @property
    def is_here(self) -> bool:
        """Whether the thread runs, and in this process."""
        return self._pid == os.getpid() and self._thread.is_alive()

    def settle(self, identity: str | None, *, wait_seconds: float = _SETTLE_SECONDS) -> None:
        asked = _Settle(identity=identity)
        self.inbox.put(asked)
        asked.done.wait(wait_seconds)

    def _say_goodbye(self) -> None:
        if self.is_here:
            self.settle(None, wait_seconds=_GOODBYE_SECONDS)

    def _work(self) -> None:
        while True:
            settled = self._receive()
            now = clock.monotonic_seconds()
            hurried = {asked.identity for asked in settled}
            for identity, graph in list(self._graphs.items()):
                if None in hurried:
                    graph.versions_by_key.clear()
                    graph.due_by_key.clear()
                if graph.next_step_at <= now or hurried & {identity, None}:
                    graph.step(now, hurry=bool(hurried))
                if graph.is_over(now):
                    del self._graphs[identity]
            for asked in settled:
                asked.done.set()

    def _receive(self) -> list[_Settle]:
        """Wait for a message or for something to be due; return who waits for an answer."""
        settled: list[_Settle] = []
        next_at = min((graph.next_step_at for graph in self._graphs.values()), default=_NEVER)
        timeout = None if next_at == _NEVER else max(0.0, next_at - clock.monotonic_seconds())
        try:
            while True:
                message = self.inbox.get(timeout=timeout)
                timeout = 0.0
                match message:
                    case _Note():
                        self._graph_of(message).add(message, clock.monotonic_seconds())
                    case _Forget(key=key):
                        for graph in self._graphs.values():
                            graph.remove(key, clock.monotonic_seconds())
                    case _Settle():
                        settled.append(message)
        except Empty:
            return settled

    def _graph_of(self, note: _Note) -> _GraphLease:
        identity = note.objects.root.identity
        if identity not in self._graphs:
            self._graphs[identity] = _GraphLease(objects=note.objects, terms=self._terms)
        return self._graphs[identity]


_keeper: _Keeper | None = None
_keeper_lock = Lock()


def _keeper_of_this_process() -> _Keeper:
    global _keeper  # noqa: PLW0603 — one thread per process is the point
    with _keeper_lock:
        if _keeper is None or not _keeper.is_here:
            _keeper = _Keeper(_terms)
        return _keeper


_terms = LeaseTerms()


def _unlock_after_fork() -> None:
    global _keeper_lock  # noqa: PLW0603 — another thread may have held it when the process was forked
    _keeper_lock = Lock()


os.register_at_fork(after_in_child=_unlock_after_fork)
