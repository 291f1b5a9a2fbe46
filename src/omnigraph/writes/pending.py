"""The sidecars of a graph: arming one, finding those that are pending, deciding and forgetting."""

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.base import faults
from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.errors import ReadSetConflict, StorageError
from omnigraph.graphs.context import GraphContext
from omnigraph.storage.objects import ControlStore, ObjectChanged
from omnigraph.writes.sidecar import RECOVERY_PREFIX, Sidecar, sidecar_path
from omnigraph.writes.sidecar_format import UnreadableSidecar, parse_sidecar, sidecar_bytes


class SidecarStore:
    """The sidecars of one graph."""

    def __init__(self, objects: ControlStore) -> None:
        self._objects = objects

    def arm(self, sidecar: Sidecar) -> None:
        """Store a new sidecar; from here on the operation owns what it names.

        After an unclear error the stored bytes decide: if they are ours, the sidecar is armed.
        """
        content = sidecar_bytes(sidecar)
        try:
            faults.reach("write.arm_fails")
            self._objects.create(sidecar.path, content)
            faults.reach("write.arm_ack_lost")
        except (OSError, StorageError):
            stored = self._objects.read(sidecar.path)
            if stored is None or stored.content != content:
                raise

    def pending(self) -> Sequence[str]:
        """Return the operation ids of all sidecars, oldest first; a failed listing raises."""
        names = (name.removeprefix(RECOVERY_PREFIX) for name in self._objects.list(RECOVERY_PREFIX))
        # Whatever else lies there is nobody's operation: it could neither be read nor given up under such a name.
        return sorted(name.removesuffix(".json") for name in names if name.endswith(".json") and name.isprintable())

    def read(self, operation_id: str) -> Sidecar | None:
        """Read one sidecar; None when its writer has finished since it was listed."""
        content = self.read_bytes(operation_id)
        return None if content is None else parse_sidecar(operation_id, content)

    def read_bytes(self, operation_id: str) -> bytes | None:
        """Read one sidecar as it is stored."""
        stored = self._objects.read(sidecar_path(operation_id))
        return None if stored is None else stored.content

    def record_rollback(self, decided: Sidecar) -> None:
        """Replace a sidecar by itself with its rollback decision.

        Raises `StaleView` when somebody else has settled or decided it since it was read: a recovery that was paused
        past its lease must neither overrule another one nor bring a finished operation back.
        """
        stored = self._objects.read(decided.path)
        if stored is None or parse_sidecar(decided.operation_id, stored.content) != replace(decided, rollback=None):
            raise _settled_elsewhere(decided)
        try:
            self._objects.replace(decided.path, sidecar_bytes(decided), stored.token)
        except ObjectChanged as changed:
            raise _settled_elsewhere(decided) from changed

    def forget(self, operation_id: str) -> None:
        """Delete a sidecar; a missing one is fine."""
        self._objects.delete(sidecar_path(operation_id))


def _settled_elsewhere(sidecar: Sidecar) -> ReadSetConflict:
    return ReadSetConflict(
        f"stale view of {sidecar.path}: another process has settled or changed it — refresh and retry",
        member="sidecar",
        expected=sidecar.operation_id,
        actual=None,
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PendingOperation(Shown):
    """A sidecar as it is stored, for people: what it says, or why it cannot be understood."""

    operation_id: str
    sidecar: Sidecar | None
    problem: str | None
    content: bytes


def list_pending(sidecars: SidecarStore) -> list[PendingOperation]:
    """Describe all sidecars, oldest first; changes nothing."""
    found = []
    for operation_id in sidecars.pending():
        content = sidecars.read_bytes(operation_id)
        if content is None:
            continue
        try:
            sidecar, problem = parse_sidecar(operation_id, content), None
        except UnreadableSidecar as unreadable:
            sidecar, problem = None, str(unreadable)
        found.append(PendingOperation(operation_id=operation_id, sidecar=sidecar, problem=problem, content=content))
    return found


def sidecars_of(context: GraphContext) -> SidecarStore:
    """Return the sidecars of an open graph."""
    return SidecarStore(context.store.objects)
