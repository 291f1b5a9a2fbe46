"""In-process queues: every handle of one root in this process passes the same gates, in the order of arrival.

They keep one process from fighting itself over files and leases, and they are always entered before a lock that other
processes see, never while one is held.
"""

from collections import deque
from threading import Condition, Lock
from weakref import WeakValueDictionary

from omnigraph.base.values import dataclass
from omnigraph.storage.locks.holder import Holder


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ticket:
    """A place in the queue of a gate, and later inside it."""

    holder: Holder
    is_shared: bool


class Gate:
    """A fair lock with a shared mode: nobody overtakes, so a stream of readers cannot starve a writer."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._waiting: deque[Ticket] = deque()
        self._inside: list[Ticket] = []

    def enter(self, ticket: Ticket, *, wait_seconds: float) -> bool:
        """Wait for the ticket's turn; return whether it is inside now. The same thread cannot enter twice."""
        with self._changed:
            self._waiting.append(ticket)
            try:
                is_admitted = self._changed.wait_for(lambda: self._is_turn_of(ticket), wait_seconds)
                if is_admitted:
                    self._inside.append(ticket)
            finally:
                # Also when a signal interrupts the wait: a ticket left behind would close the gate for ever.
                self._waiting.remove(ticket)
                self._changed.notify_all()
            return is_admitted

    def leave(self, ticket: Ticket) -> None:
        """Make room for the next ones; any thread may do it."""
        with self._changed:
            self._inside.remove(ticket)
            self._changed.notify_all()

    def holder(self) -> Holder | None:
        """Name one of those inside."""
        with self._changed:
            return self._inside[0].holder if self._inside else None

    def _is_turn_of(self, ticket: Ticket) -> bool:
        if self._waiting[0] is not ticket:
            return False
        return not self._inside or (ticket.is_shared and all(inside.is_shared for inside in self._inside))


_gates: WeakValueDictionary[tuple[str, str], Gate] = WeakValueDictionary()
_gates_lock = Lock()


def gate_of(root_identity: str, name: str) -> Gate:
    """Return this process's one gate of that name; it lives as long as somebody holds on to it."""
    with _gates_lock:
        gate = _gates.get((root_identity, name))
        if gate is None:
            gate = _gates[root_identity, name] = Gate()
        return gate
