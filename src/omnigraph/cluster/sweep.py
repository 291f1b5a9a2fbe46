"""Settling what a command that died left: the ledger is rolled forward to what can be seen, and nothing else happens.

A sweep never rolls a graph back and never deletes a root. Deciding is pure; what is decided lands with the ledger's
next write, and sidecars go after it.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from omnigraph.base.values import Json, dataclass
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics
from omnigraph.cluster.intents import GraphIntent, IntentKind
from omnigraph.cluster.looking import LiveGraph
from omnigraph.cluster.resources import graph_address, graph_of, schema_address
from omnigraph.cluster.state import (
    AppliedResource,
    ConsumedApproval,
    Ledger,
    ResourceStatus,
    SettledIntent,
    StatusWord,
    composite_digest,
)

ACTUAL_STATE_PENDING = "actual_applied_state_pending"
GRAPH_CREATE_INCOMPLETE = "graph_create_incomplete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """A ledger after a sweep, and which sidecars it has settled."""

    ledger: Ledger
    retired: tuple[GraphIntent, ...] = ()
    kept: tuple[GraphIntent, ...] = ()
    consumed: Mapping[str, str] = field(default_factory=dict)
    """Approvals that a deletion used up, with the operation that did."""

    @property
    def pending(self) -> frozenset[str]:
        """The graphs whose interrupted operation is not settled."""
        return frozenset(intent.graph_id for intent in self.kept)


def warn_of_pending(intents: list[GraphIntent], found: Diagnostics) -> None:
    """Note sidecars that only a command which sweeps can settle."""
    for intent in intents:
        found.warn(
            DiagnosticCode.CLUSTER_RECOVERY_PENDING,
            intent.path,
            f"The {_spelled(intent)} of graph {intent.graph_id} was interrupted; `omnigraph cluster apply` settles it.",
        )


def sweep(
    ledger: Ledger,
    intents: list[GraphIntent],
    *,
    look: Callable[[str], LiveGraph],
    schema_texts: Mapping[str, str],
    now: str,
    found: Diagnostics,
) -> Swept:
    """Settle sidecars in the order of their names; `schema_texts` are the declared schemas, by graph."""
    swept = Swept(ledger=ledger)
    for intent in intents:
        swept = _Settling(swept, intent, look(intent.graph_uri), schema_texts.get(intent.graph_id), now, found).settle()
    return swept


class _Settling:
    def __init__(
        self, swept: Swept, intent: GraphIntent, live: LiveGraph, text: str | None, now: str, found: Diagnostics
    ) -> None:
        self._swept = swept
        self._ledger = swept.ledger
        self._intent = intent
        self._live = live
        self._text = text
        self._now = now
        self._found = found

    def settle(self) -> Swept:
        match self._intent.kind:
            case IntentKind.GRAPH_CREATE:
                return self._created()
            case IntentKind.SCHEMA_APPLY:
                return self._changed()
            case IntentKind.GRAPH_DELETE:
                return self._deleted()

    def _created(self) -> Swept:
        if not self._live.exists:
            return self._retired(self._ledger)
        if not self._live.is_open:
            self._found.error(
                DiagnosticCode.GRAPH_CREATE_INCOMPLETE,
                self._intent.path,
                f"The creation of graph {self._intent.graph_id} was interrupted and {self._intent.graph_uri} is no "
                "graph. Remove that directory or prefix, and run `omnigraph cluster apply` again.",
            )
            return self._kept(StatusWord.ERROR, GRAPH_CREATE_INCOMPLETE)
        return self._settled_schema()

    def _changed(self) -> Swept:
        if not self._live.is_open:
            return self._kept_as_drift(f"{self._intent.graph_uri} cannot be opened")
        return self._settled_schema()

    def _settled_schema(self) -> Swept:
        entry = self._ledger.resources.get(schema_address(self._intent.graph_id))
        recorded = entry.digest if entry else None
        is_change = self._intent.kind is IntentKind.SCHEMA_APPLY
        if recorded == (self._live.schema_digest if is_change else self._intent.desired_schema_digest):
            return self._retired(self._ledger)
        if self._live.lives_by(self._intent.desired_schema_digest, self._text):
            return self._rolled_forward()
        if is_change and self._live.kept_its_schema_since(self._intent.observed_manifest_version):
            return self._retired(self._ledger)
        return self._kept_as_drift("its schema is neither the one that was applied nor the one that was to be")

    def _rolled_forward(self) -> Swept:
        graph_id = self._intent.graph_id
        address = graph_address(graph_id)
        resources = dict(self._ledger.resources)
        resources[schema_address(graph_id)] = AppliedResource(digest=self._intent.desired_schema_digest)
        entry = resources.setdefault(address, AppliedResource(digest=None))
        resources[address] = replace(entry, digest=composite_digest(resources, graph_id))
        self._found.warn(
            DiagnosticCode.CLUSTER_RECOVERY_ROLLED_FORWARD,
            address,
            f"The interrupted {_spelled(self._intent)} of graph {graph_id} had taken effect; the ledger says so now.",
        )
        applied = ResourceStatus(status=StatusWord.APPLIED)
        statuses = {**self._ledger.resource_statuses, address: applied, schema_address(graph_id): applied}
        return self._retired(self._recorded(replace(self._ledger, resources=resources, resource_statuses=statuses)))

    def _deleted(self) -> Swept:
        address = graph_address(self._intent.graph_id)
        if self._live.exists:
            self._found.warn(
                DiagnosticCode.GRAPH_DELETE_INCOMPLETE,
                address,
                f"The deletion of graph {self._intent.graph_id} was interrupted and is proposed again; what was "
                "approved still counts.",
            )
            return self._retired(self._ledger)
        if address not in self._ledger.resources:
            return self._retired(self._ledger)
        ledger = without_graph(
            self._ledger,
            self._intent.graph_id,
            deleted_at=self._now,
            approval_id=self._intent.approval_id,
            actor=self._intent.actor,
        )
        self._found.warn(
            DiagnosticCode.CLUSTER_RECOVERY_ROLLED_FORWARD,
            address,
            f"The interrupted deletion of graph {self._intent.graph_id} had taken effect; the ledger says so now.",
        )
        consumed = dict(self._swept.consumed)
        if self._intent.approval_id is not None:
            consumed[self._intent.approval_id] = self._intent.operation_id
            ledger = with_consumed(ledger, self._intent.approval_id, self._intent.operation_id, self._now)
        return replace(self._retired(self._recorded(ledger)), consumed=consumed)

    def _recorded(self, ledger: Ledger) -> Ledger:
        record = SettledIntent(
            kind=self._intent.kind.value,
            graph_id=self._intent.graph_id,
            outcome="rolled_forward",
            recovered_at=self._now,
            actor=self._intent.actor,
        )
        return replace(ledger, recovery_records={**ledger.recovery_records, self._intent.operation_id: record})

    def _retired(self, ledger: Ledger) -> Swept:
        return replace(self._swept, ledger=ledger, retired=(*self._swept.retired, self._intent))

    def _kept_as_drift(self, why: str) -> Swept:
        self._found.warn(
            DiagnosticCode.CLUSTER_RECOVERY_PENDING,
            self._intent.path,
            f"The interrupted {_spelled(self._intent)} of graph {self._intent.graph_id} cannot be settled: {why}. Look "
            f"at {self._intent.graph_uri}; once its schema is one of the two, `omnigraph cluster apply` goes on.",
        )
        return self._kept(StatusWord.DRIFTED, ACTUAL_STATE_PENDING)

    def _kept(self, word: StatusWord, condition: str) -> Swept:
        address = graph_address(self._intent.graph_id)
        status = ResourceStatus(status=word, conditions=(condition,))
        ledger = replace(self._ledger, resource_statuses={**self._ledger.resource_statuses, address: status})
        return replace(self._swept, ledger=ledger, kept=(*self._swept.kept, self._intent))


def without_graph(
    ledger: Ledger, graph_id: str, *, deleted_at: str, approval_id: str | None, actor: str | None
) -> Ledger:
    """Return the ledger after a graph is gone: its entry, schema and queries go with it, and a tombstone stays."""
    address = graph_address(graph_id)
    tombstone: dict[str, Json] = {
        "kind": "tombstone",
        "deleted_at": deleted_at,
        "approval_id": approval_id,
        "actor": actor,
    }
    return replace(
        ledger,
        resources={name: entry for name, entry in ledger.resources.items() if graph_of(name) != graph_id},
        resource_statuses={
            name: status for name, status in ledger.resource_statuses.items() if graph_of(name) != graph_id
        },
        observations={**ledger.observations, address: tombstone},
    )


def with_consumed(ledger: Ledger, approval_id: str, operation_id: str, now: str) -> Ledger:
    """Return the ledger that says that an approval was used."""
    used = ConsumedApproval(consumed_at=now, consumed_by_operation=operation_id)
    return replace(ledger, approval_records={**ledger.approval_records, approval_id: used})


def _spelled(intent: GraphIntent) -> str:
    words = {
        IntentKind.GRAPH_CREATE: "creation",
        IntentKind.SCHEMA_APPLY: "schema change",
        IntentKind.GRAPH_DELETE: "deletion",
    }
    return words[intent.kind]
