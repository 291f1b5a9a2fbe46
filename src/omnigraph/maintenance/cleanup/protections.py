"""What stays whatever the policy says: every version that somebody can still reach, or may need to go on.

Lance protects what its own branches and tags refer to. It knows nothing of graph branches that only inherit a table,
of merge bases, of readers and of interrupted writes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from omnigraph.base.values import dataclass
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.ancestry import merge_bases
from omnigraph.manifest.bases import base_snapshot
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.manifest.rows import MANIFEST
from omnigraph.manifest.snapshot import TablePin
from omnigraph.manifest.state import ManifestState, look_at_live_branches
from omnigraph.storage.locks import Lease
from omnigraph.storage.refs import Ref, list_refs
from omnigraph.storage.tables import TableAddress
from omnigraph.writes.pending import PendingOperation, list_pending, sidecars_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Protections:
    """Per table state the reason why it stays, and which tables somebody can still see."""

    states: Mapping[str, ManifestState]
    """Every live branch as it was when this was gathered, `main` first."""
    reasons: Mapping[TableAddress, Mapping[int, str]]
    floors: Mapping[TableAddress, int] = field(default_factory=dict)
    """Per ref the pin of its owner: what is newer belongs to a writer, or is drift."""

    def keeps(self, address: TableAddress, version: int) -> str | None:
        """Say why a version stays; None when nothing protects it."""
        reason = self.reasons.get(address, {}).get(version)
        if reason is None and version > self.floors.get(address, version):
            reason = "newer than the pin"
        return reason

    def keeps_ref(self, address: TableAddress) -> str | None:
        """Say why a ref stays, although no live branch owns it; None when nobody needs any version on it."""
        return next(iter(self.reasons.get(address, {}).values()), None)

    @property
    def owned_refs(self) -> frozenset[str]:
        """The refs that live branches write to, whether or not they did."""
        return frozenset(ref for state in self.states.values() if (ref := state.snapshot.own_ref) is not None)

    def mentions(self, location: str) -> bool:
        """Whether anybody needs any version of a table."""
        return any(address.location == location for address in self.reasons)


def gather_protections(context: GraphContext, leases: Iterable[Lease]) -> Protections:
    """Read every live branch; one that cannot be read raises, for it might need anything."""
    states = look_at_live_branches(context.manifest, context.manifest.load)
    reasons: dict[TableAddress, dict[int, str]] = {}
    floors: dict[TableAddress, int] = {}

    def protect(address: TableAddress, version: int, reason: str) -> None:
        reasons.setdefault(address, {}).setdefault(version, reason)

    for name, state in states.items():
        for pin in state.snapshot.pins.values():
            protect(pin.address, pin.version, f"branch:{name} pins v{pin.version}")
            if pin.ref == state.snapshot.own_ref:
                floors[pin.address] = pin.version
    for branch, pin in merge_base_pins(context, states):
        protect(pin.address, pin.version, f"branch:{branch} merges from v{pin.version}")
    for lease in leases:
        for leased in lease.versions:
            protect(leased.address, leased.version, f"reader:{lease.holder}")
    for operation in list_pending(sidecars_of(context)):
        for address, version in _needed_by(operation):
            protect(address, version, f"recovery:{operation.operation_id}")
    return Protections(states=states, reasons=reasons, floors=floors)


def forked_versions(address: TableAddress, refs: Iterable[Ref]) -> dict[int, str]:
    """Return the versions of one ref, or of the main line, that other refs of the table were forked from."""
    return {
        ref.parent_version: f"ref:{ref.name} was forked from v{ref.parent_version}"
        for ref in refs
        if ref.parent == address.ref
    }


def merge_base_pins(context: GraphContext, states: Mapping[str, ManifestState]) -> Iterator[tuple[str, TablePin]]:
    """Yield what a live branch needs in order to be merged into `main` or into the branch that it came from."""
    if len(states) == 1:
        return
    history = context.log.history(*(state.head for state in states.values()))
    parents = {
        name: ref.parent or MAIN_BRANCH for name, ref in list_refs(context.store.tables, MANIFEST.location).items()
    }
    bases = {
        (name, base)
        for name, state in states.items()
        for other in {MAIN_BRANCH, parents.get(name, MAIN_BRANCH)} & states.keys() - {name}
        for base in merge_bases(history, state.head.graph_commit_id, states[other].head.graph_commit_id)
    }
    for name, base in sorted(bases):
        snapshot = base_snapshot(context.addresses, history, base)
        # A base on a branch that is gone may have gone with it: nothing of it is left to protect then.
        if snapshot is not None:
            yield from ((name, pin) for pin in snapshot.pins.values())


def _needed_by(operation: PendingOperation) -> Iterator[tuple[TableAddress, int]]:
    if operation.sidecar is None:
        return
    for effect in operation.sidecar.effects:
        yield effect.address, effect.expected_version
        if effect.fork is not None:
            yield TableAddress(effect.location, effect.fork.from_ref), effect.fork.from_version
    for pin in operation.sidecar.pointers:
        yield pin.address, pin.version
