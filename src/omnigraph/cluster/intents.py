"""Sidecars of the control plane: what a command is about to do to a graph, written before it does it.

One that is still there says that a command died; the sweep finds out how far it came.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from enum import StrEnum
from typing import Final

from omnigraph.base.values import dataclass
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics, Refused
from omnigraph.cluster.resources import is_graph_id
from omnigraph.cluster.site import CONTROL_DIRECTORY, ClusterSite
from omnigraph.errors import StorageError

RECOVERIES: Final = "recoveries"
_VERSION = 1


class IntentKind(StrEnum):
    """What is done to a graph."""

    GRAPH_CREATE = "graph_create"
    SCHEMA_APPLY = "schema_apply"
    GRAPH_DELETE = "graph_delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphIntent:
    """One graph-moving step; what is not known yet is None."""

    operation_id: str
    started_at: str
    actor: str | None
    kind: IntentKind
    graph_id: str
    graph_uri: str
    observed_manifest_version: int | None = None
    expected_manifest_version: int | None = None
    desired_schema_digest: str | None = None
    state_cas_base: str | None = None
    approval_id: str | None = None

    @property
    def name(self) -> str:
        """Where it is, below `__cluster/`."""
        return f"{RECOVERIES}/{self.operation_id}.json"

    @property
    def path(self) -> str:
        """Where it is, for people."""
        return f"{CONTROL_DIRECTORY}/{self.name}"

    def to_bytes(self) -> bytes:
        """Spell it as it is stored."""
        return (json.dumps({"schema_version": _VERSION, **asdict(self)}, indent=2) + "\n").encode()


def write_intent(site: ClusterSite, intent: GraphIntent) -> None:
    """Store an intent, or what has become known of it since; raise `Refused`."""
    try:
        site.objects.put(intent.name, intent.to_bytes())
    except StorageError as error:
        raise Refused(
            DiagnosticCode.RECOVERY_SIDECAR_WRITE_ERROR,
            intent.path,
            f"{intent.path} could not be written, so {intent.graph_id} was left as it is: {error.message}",
        ) from error


def retire_intents(site: ClusterSite, intents: Iterable[GraphIntent], found: Diagnostics) -> None:
    """Remove sidecars whose outcome the ledger has; one that stays is found settled by the next command."""
    for intent in intents:
        try:
            site.objects.delete(intent.name)
        except StorageError as error:
            found.warn(
                DiagnosticCode.RECOVERY_SIDECAR_CLEANUP_FAILED,
                intent.path,
                f"{intent.path} was not removed: {error.message} The next `omnigraph cluster apply` removes it.",
            )


def read_intents(site: ClusterSite, found: Diagnostics) -> list[GraphIntent]:
    """Return all sidecars in the order of their names; those that cannot be understood are left and noted."""
    try:
        names = site.objects.list(RECOVERIES)
    except StorageError as error:
        path = f"{CONTROL_DIRECTORY}/{RECOVERIES}"
        raise Refused(
            DiagnosticCode.RECOVERY_SIDECAR_READ_ERROR, path, f"{path} cannot be listed: {error.message}"
        ) from error
    intents = []
    for name in names:
        intent = _read(site, name, found)
        if intent is not None:
            intents.append(intent)
    return intents


def _read(site: ClusterSite, name: str, found: Diagnostics) -> GraphIntent | None:
    path = f"{CONTROL_DIRECTORY}/{name}"
    try:
        stored = site.objects.read(name)
    except StorageError as error:
        found.error(DiagnosticCode.RECOVERY_SIDECAR_READ_ERROR, path, f"{path} cannot be read: {error.message}")
        return None
    if stored is None:  # whoever wrote it has finished since the listing
        return None
    try:
        document = json.loads(stored.content)
        version = document.pop("schema_version")
        is_known = version == _VERSION and not isinstance(version, bool)
        intent = GraphIntent(**{**document, "kind": IntentKind(document["kind"])}) if is_known else None
        is_wrong = intent is not None and not (is_graph_id(intent.graph_id) and intent.name == name)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        intent, is_wrong = None, True
    if is_wrong:
        reason = f"{path} is not a sidecar that omnigraph wrote; it was left. Move it away once nobody needs it."
        found.error(DiagnosticCode.INVALID_RECOVERY_SIDECAR, path, reason)
        return None
    if intent is not None:
        # Always derived, never what a file says: the cluster may have been moved since.
        return replace(intent, graph_uri=site.graph_uri(intent.graph_id))
    reason = f"{path} has version {version!r}, and this omnigraph knows version {_VERSION}; it was left."
    found.error(DiagnosticCode.UNSUPPORTED_RECOVERY_SIDECAR_VERSION, path, reason)
    return None
