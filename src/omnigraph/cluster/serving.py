"""The serving snapshot: what a server boots from. The ledger, and the applied texts that it names, read once.

No lock is taken, nothing is swept and nothing is written. Of `cluster.yaml` only the key `storage:` is looked at. What
is wrong with the cluster as a whole is told all at once; what is wrong with one graph keeps that graph out.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from omnigraph.base.events import Events, ignore_events
from omnigraph.base.values import dataclass
from omnigraph.cluster.catalog import BlobState, read_blob
from omnigraph.cluster.diagnostics import Diagnostic, DiagnosticSeverity, Refused
from omnigraph.cluster.ledger import LEDGER_PATH, storage_root
from omnigraph.cluster.resources import (
    CLUSTER_SCOPE,
    EmbeddingProfile,
    ExternalBlobPolicy,
    ResourceKind,
    graph_address,
    graph_of,
    is_graph_id,
    name_of,
)
from omnigraph.cluster.site import ClusterSite
from omnigraph.cluster.state import Ledger
from omnigraph.errors import BootRefused, ClusterDiagnostics, StorageError

RECOVERIES: Final = "recoveries"
SIDECAR_VERSION: Final = 1


class ServingCode(StrEnum):
    """What keeps a server, or one of its graphs, from serving."""

    CLUSTER_STATE_MISSING = "cluster_state_missing"
    CLUSTER_EMPTY = "cluster_empty"
    CLUSTER_NO_HEALTHY_GRAPHS = "cluster_no_healthy_graphs"
    INVALID_RECOVERY_SIDECAR = "invalid_recovery_sidecar"
    UNSUPPORTED_RECOVERY_SIDECAR_VERSION = "unsupported_recovery_sidecar_version"
    RECOVERY_SIDECAR_READ_ERROR = "recovery_sidecar_read_error"
    CLUSTER_RECOVERY_UNATTRIBUTED = "cluster_recovery_unattributed"
    CLUSTER_RECOVERY_PENDING = "cluster_recovery_pending"
    CATALOG_PAYLOAD_MISSING = "catalog_payload_missing"
    CATALOG_PAYLOAD_DIGEST_MISMATCH = "catalog_payload_digest_mismatch"
    CATALOG_PAYLOAD_READ_ERROR = "catalog_payload_read_error"
    POLICY_BINDINGS_MISSING = "policy_bindings_missing"
    DUPLICATE_POLICY_BINDING = "duplicate_policy_binding"
    EMBEDDING_PROVIDER_MISSING = "embedding_provider_missing"
    EMBEDDING_PROVIDER_PROFILE_MISSING = "embedding_provider_profile_missing"
    EMBEDDING_PROVIDER_DIGEST_MISMATCH = "embedding_provider_digest_mismatch"
    GRAPH_UNAVAILABLE = "graph_unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedBundle:
    """The text of an applied policy, and what it is called."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingGraph:
    """One applied graph: where it is, and everything that it is served with."""

    graph_id: str
    uri: str
    query_texts: Mapping[str, str] = field(default_factory=dict)
    """The file that declares each stored query, by the query's name."""
    policy: AppliedBundle | None = None
    embedding: EmbeddingProfile | None = None
    external_blobs: ExternalBlobPolicy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """A graph that is not served, and why."""

    graph_id: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingSnapshot:
    """What a server serves, as it was applied when the server looked."""

    root: str
    graphs: tuple[ServingGraph, ...]
    server_policy: AppliedBundle | None
    quarantined: tuple[Quarantine, ...]

    @property
    def has_bundles(self) -> bool:
        """Whether any policy is applied to what is served."""
        return self.server_policy is not None or any(graph.policy is not None for graph in self.graphs)


def read_serving_snapshot(
    cluster: str, *, environ: Mapping[str, str], events: Events = ignore_events
) -> ServingSnapshot:
    """Read what a cluster has applied; raise `BootRefused` with every finding that concerns all of it."""
    try:
        site = ClusterSite.open(storage_root(cluster, events), environ)
        stored = site.read_ledger(is_strict=False)
        if stored is None:
            message = (
                f"{site.state_path} does not exist: nothing was applied. Run `cluster import`, then `cluster apply`."
            )
            raise _refused([_finding(ServingCode.CLUSTER_STATE_MISSING, LEDGER_PATH, message)])
        stored.ledger.refuse_wrong_composites()
    except Refused as refused:
        raise _refused([refused.diagnostic]) from refused
    except ClusterDiagnostics as refused:
        raise BootRefused(
            "\n".join(f"[{each['code']}] {each['path']}: {each['message']}" for each in refused.details["diagnostics"])
        ) from refused
    except StorageError as error:
        raise _refused([_finding("state_read_error", LEDGER_PATH, error.message)]) from error
    return _Reading(site, stored.ledger).snapshot()


def refuse_without_graphs(quarantined: tuple[Quarantine, ...]) -> None:
    """Raise `BootRefused`, because no graph is left to serve."""
    reasons = "; ".join(f"{each.graph_id}: {each.reason}" for each in quarantined)
    message = f"No graph of this cluster can be served. {reasons}"
    raise _refused([_finding(ServingCode.CLUSTER_NO_HEALTHY_GRAPHS, LEDGER_PATH, message)])


def refuse_quarantined(quarantined: tuple[Quarantine, ...]) -> None:
    """Raise `BootRefused` if some graph is not served, for a server that has to serve all of them."""
    if quarantined:
        raise _refused([_finding(each.code, graph_address(each.graph_id), each.reason) for each in quarantined])


class _Reading:
    """Puts the snapshot together and gathers what is wrong with it."""

    def __init__(self, site: ClusterSite, ledger: Ledger) -> None:
        self._site = site
        self._ledger = ledger
        self._findings: list[Diagnostic] = []

    def snapshot(self) -> ServingSnapshot:
        ledger = self._ledger
        if not ledger.graph_ids:
            self._find(
                ServingCode.CLUSTER_EMPTY, LEDGER_PATH, "No graph is applied. Declare one and run `cluster apply`."
            )
        pending = self._pending()
        quarantined = tuple(
            Quarantine(
                graph_id=graph_id,
                code=ServingCode.CLUSTER_RECOVERY_PENDING,
                reason=f"an operation on it was interrupted ({pending[graph_id]}); run `cluster apply`",
            )
            for graph_id in ledger.graph_ids
            if graph_id in pending
        )
        ready = [graph_id for graph_id in ledger.graph_ids if graph_id not in pending]
        bundles = self._bundles({graph_address(graph_id) for graph_id in ready} | {CLUSTER_SCOPE})
        snapshot = ServingSnapshot(
            root=self._site.root,
            graphs=tuple(self._graph(graph_id, bundles) for graph_id in ready),
            server_policy=bundles.get(CLUSTER_SCOPE),
            quarantined=quarantined,
        )
        if self._findings:
            raise _refused(self._findings)
        if not snapshot.graphs:
            refuse_without_graphs(quarantined)
        return snapshot

    def _pending(self) -> dict[str, str]:
        """Return the graphs that an interrupted operation names, each with its file."""
        try:
            paths = [path for path in self._site.objects.list(f"{RECOVERIES}/") if path.endswith(".json")]
        except StorageError as error:
            self._find(ServingCode.RECOVERY_SIDECAR_READ_ERROR, RECOVERIES, error.message)
            return {}
        found: dict[str, str] = {}
        for path in sorted(paths):
            graph_id = self._sidecar_graph(path)
            if graph_id is not None:
                found[graph_id] = path
        return found

    def _sidecar_graph(self, path: str) -> str | None:
        try:
            stored = self._site.objects.read(path)
        except StorageError as error:
            self._find(ServingCode.RECOVERY_SIDECAR_READ_ERROR, path, error.message)
            return None
        if stored is None:  # settled since it was listed
            return None
        advice = "no command can settle it. Look at what the operation was about, and move the file away"
        try:
            document = json.loads(stored.content)
            version = document["schema_version"]
        except (ValueError, KeyError, TypeError, RecursionError):
            self._find(ServingCode.INVALID_RECOVERY_SIDECAR, path, f"It is not the intent of an operation; {advice}.")
            return None
        if version != SIDECAR_VERSION:
            problem = f"It has version {version!r}; this omnigraph reads version {SIDECAR_VERSION}"
            self._find(ServingCode.UNSUPPORTED_RECOVERY_SIDECAR_VERSION, path, f"{problem}.")
            return None
        graph_id = document.get("graph_id")
        if not isinstance(graph_id, str) or not is_graph_id(graph_id):
            self._find(ServingCode.CLUSTER_RECOVERY_UNATTRIBUTED, path, f"It names no graph; {advice}.")
            return None
        return graph_id

    def _bundles(self, scopes: set[str]) -> dict[str, AppliedBundle]:
        """Return the policy of every scope that is served."""
        found: dict[str, AppliedBundle] = {}
        for address in self._ledger.addresses(ResourceKind.POLICY):
            bound = self._ledger.resources[address].applies_to
            if not bound:
                message = "The ledger does not say what it applies to; run `cluster apply`."
                self._find(ServingCode.POLICY_BINDINGS_MISSING, address, message)
                continue
            served = sorted(scopes.intersection(bound))
            content = self._content(address) if served else None
            if content is None:
                continue
            bundle = AppliedBundle(name=name_of(address), text=content)
            for scope in served:
                if scope in found:
                    message = f"{scope} has two policies, {found[scope].name} and {bundle.name}; merge them and apply."
                    self._find(ServingCode.DUPLICATE_POLICY_BINDING, address, message)
                found[scope] = bundle
        return found

    def _graph(self, graph_id: str, bundles: Mapping[str, AppliedBundle]) -> ServingGraph:
        address = graph_address(graph_id)
        entry = self._ledger.resources[address]
        queries = [each for each in self._ledger.addresses(ResourceKind.QUERY) if graph_of(each) == graph_id]
        texts = {name_of(each): self._content(each) for each in queries}
        return ServingGraph(
            graph_id=graph_id,
            uri=self._site.graph_uri(graph_id),
            query_texts={name: text for name, text in texts.items() if text is not None},
            policy=bundles.get(address),
            embedding=self._embedding(address, entry.embedding_provider),
            external_blobs=entry.external_blob_policy,
        )

    def _embedding(self, address: str, provider: str | None) -> EmbeddingProfile | None:
        if provider is None:
            return None
        entry = self._ledger.resources.get(provider)
        if entry is None:
            message = f"{address} is bound to it, and the ledger does not have it; run `cluster apply`."
            self._find(ServingCode.EMBEDDING_PROVIDER_MISSING, provider, message)
            return None
        profile = entry.embedding_profile
        if profile is None:
            message = "The ledger does not say how to reach it; run `cluster apply`."
            self._find(ServingCode.EMBEDDING_PROVIDER_PROFILE_MISSING, provider, message)
            return None
        if profile.digest != entry.digest:
            message = "Its settings in the ledger are not those of its digest; run `cluster apply`."
            self._find(ServingCode.EMBEDDING_PROVIDER_DIGEST_MISMATCH, provider, message)
        return profile

    def _content(self, address: str) -> str | None:
        """Return the applied text of a query or policy; None with a finding if it is not whole."""
        digest = self._ledger.resources[address].digest
        advice = "run `cluster refresh`, then `cluster apply`"
        if digest is None:
            self._find(ServingCode.CATALOG_PAYLOAD_MISSING, address, f"Its content was lost; {advice}.")
            return None
        blob = read_blob(self._site, address, digest)
        match blob.state:
            case BlobState.WHOLE if blob.content is not None:
                try:
                    return blob.content.decode()
                except UnicodeDecodeError:
                    self._find(ServingCode.CATALOG_PAYLOAD_READ_ERROR, address, f"{blob.path} is not UTF-8 text.")
            case BlobState.MISSING:
                self._find(ServingCode.CATALOG_PAYLOAD_MISSING, address, f"{blob.path} does not exist; {advice}.")
            case BlobState.ALTERED:
                problem = f"{blob.path} is not what its name says"
                self._find(ServingCode.CATALOG_PAYLOAD_DIGEST_MISMATCH, address, f"{problem}; {advice}.")
            case _:
                self._find(ServingCode.CATALOG_PAYLOAD_READ_ERROR, address, f"{blob.path}: {blob.reason}")
        return None

    def _find(self, code: str, path: str, message: str) -> None:
        self._findings.append(_finding(code, path, message))


def _finding(code: str, path: str, message: str) -> Diagnostic:
    return Diagnostic(code=code, severity=DiagnosticSeverity.ERROR, path=path, message=message)


def _refused(findings: list[Diagnostic]) -> BootRefused:
    lines = [f"[{finding.code}] {finding.path}: {finding.message}" for finding in findings]
    return BootRefused("\n".join(lines), diagnostics=[finding.document() for finding in findings])
