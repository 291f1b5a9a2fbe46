"""Comparing the ledger with storage: `refresh` brings an existing ledger up to date, `import` writes the first one."""

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from omnigraph.base.values import Json
from omnigraph.cluster.advance import recomposed
from omnigraph.cluster.applying import consume_approvals, sweep_session
from omnigraph.cluster.catalog import BlobState, CatalogBlob, has_blob, read_blob
from omnigraph.cluster.config import config_directory
from omnigraph.cluster.desired import DesiredCluster, read_desired
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics, Refused
from omnigraph.cluster.intents import retire_intents
from omnigraph.cluster.ledger import LEDGER_PATH
from omnigraph.cluster.looking import LiveGraph, look_at_graph
from omnigraph.cluster.resources import ResourceKind, graph_address, kind_of, schema_address
from omnigraph.cluster.results import ObservedCluster
from omnigraph.cluster.session import ClusterSession, now_text
from omnigraph.cluster.site import CONTROL_DIRECTORY, ClusterSite
from omnigraph.cluster.state import AppliedResource, Ledger, ResourceStatus, StatusWord

_APPLIED = ResourceStatus(status=StatusWord.APPLIED)


def refresh_cluster(config_dir: str, *, environ: Mapping[str, str] = os.environ) -> ObservedCluster:
    """Write into the ledger what is true of graphs and catalog now; changes neither."""
    return _observe(config_dir, "refresh", environ)


def import_cluster(config_dir: str, *, environ: Mapping[str, str] = os.environ) -> ObservedCluster:
    """Write the first ledger of a cluster: what is declared and found counts as applied, nothing else does."""
    return _observe(config_dir, "import", environ)


def _observe(config_dir: str, operation: str, environ: Mapping[str, str]) -> ObservedCluster:
    found = Diagnostics()
    directory = str(config_directory(config_dir))
    desired = read_desired(config_dir, found)
    session: ClusterSession | None = None
    if desired is not None:
        session = ClusterSession(desired.declared.header, found, operation=operation, environ=environ)
        if found.has_errors:
            session.look()
        else:
            session.run_locked(partial(_compare, session, desired))
    ledger = session.stored.ledger if session and session.stored else Ledger()
    return ObservedCluster(
        config_dir=directory,
        diagnostics=found.all(),
        observations=session.observations if session else None,
        operation=operation,
        resource_digests=ledger.digests,
        resource_statuses=ledger.resource_statuses,
        seen=ledger.observations,
    )


def _compare(session: ClusterSession, desired: DesiredCluster) -> None:
    is_import = session.operation == "import"
    ledger = session.read_ledger() if is_import else session.required_ledger()
    if is_import and ledger is not None:
        raise Refused(
            DiagnosticCode.STATE_ALREADY_EXISTS,
            LEDGER_PATH,
            f"{session.site.state_path} exists already; `omnigraph cluster refresh` brings it up to date.",
        )
    ledger = ledger or Ledger()
    ledger.refuse_wrong_composites()
    swept = sweep_session(session, ledger, desired)
    observed = _Observed(swept.ledger, swept.pending, session.found)
    for blob in look_at_blobs(session.site, swept.ledger, session.found, remedy=_APPLY):
        observed.see_blob(blob)
    for graph_id in desired.declared.graphs:
        observed.see_graph(graph_id, look_at_graph(session.site.graph_uri(graph_id)), desired)
    if is_import and observed.has_unopened:
        return
    after = recomposed(observed.ledger)
    if is_import and after.resources == desired.entries:
        after = replace(after, config_digest=desired.config_digest)
    session.write_ledger(after)
    retire_intents(session.site, swept.retired, session.found)
    consume_approvals(session, swept.consumed)


def look_at_blobs(site: ClusterSite, ledger: Ledger, found: Diagnostics, *, remedy: str) -> list[CatalogBlob]:
    """Read and hash every blob that the ledger names, and note what is wrong with it and what mends it."""
    blobs = []
    for address, digest in ledger.digests.items():
        if not has_blob(address):
            continue
        blob = read_blob(site, address, digest)
        blobs.append(blob)
        path = f"{CONTROL_DIRECTORY}/{blob.path}"
        match blob.state:
            case BlobState.MISSING:
                reason = f"{path} is missing. {remedy}"
                found.warn(DiagnosticCode.CATALOG_PAYLOAD_MISSING, address, reason)
            case BlobState.ALTERED:
                reason = f"{path} does not hold what its name says. {remedy}"
                found.warn(DiagnosticCode.CATALOG_PAYLOAD_MISMATCH, address, reason)
            case BlobState.UNREADABLE:
                found.error(DiagnosticCode.CATALOG_PAYLOAD_READ_ERROR, address, f"{path} cannot be read: {blob.reason}")
            case BlobState.WHOLE:
                pass
    return blobs


_APPLY = "`omnigraph cluster apply` publishes it again."
_BLOB_CONDITIONS = {BlobState.MISSING: "payload_missing", BlobState.ALTERED: "payload_mismatch"}


class _Observed:
    """A ledger that takes in what was seen, one look after the other."""

    def __init__(self, ledger: Ledger, pending: frozenset[str], found: Diagnostics) -> None:
        self._resources = dict(ledger.resources)
        self._statuses = dict(ledger.resource_statuses)
        self._seen = dict(ledger.observations)
        self._ledger = ledger
        self._pending = pending
        self._found = found
        self.has_unopened = False

    @property
    def ledger(self) -> Ledger:
        return replace(
            self._ledger,
            resources=self._resources,
            resource_statuses=self._statuses,
            observations=self._seen,
        )

    def see_blob(self, blob: CatalogBlob) -> None:
        if blob.state is BlobState.WHOLE:
            self._statuses[blob.address] = _APPLIED
        elif blob.state is BlobState.UNREADABLE:
            self._set(blob.address, StatusWord.ERROR, "payload_read_error")
        else:
            self._lose(blob.address)
            self._set(blob.address, StatusWord.DRIFTED, _BLOB_CONDITIONS[blob.state])

    def _lose(self, address: str) -> None:
        """Forget a digest. Whom a policy binds stays known: a graph must not become open to all by losing a file."""
        entry = self._resources.pop(address)
        if kind_of(address) is ResourceKind.POLICY:
            self._resources[address] = replace(entry, digest=None)

    def see_graph(self, graph_id: str, live: LiveGraph, desired: DesiredCluster) -> None:
        address, schema = graph_address(graph_id), schema_address(graph_id)
        digest = desired.entries[schema].digest
        matches = live.lives_by(digest, desired.schema_text(graph_id))
        self._seen[address] = _observation(address, live, digest, matches=matches)
        if live.exists and not live.is_open:
            self.has_unopened = True
            self._found.error(
                DiagnosticCode.GRAPH_OBSERVATION_ERROR, address, f"{live.uri} cannot be opened: {live.error}"
            )
        if graph_id in self._pending:
            return
        if not live.exists:
            self._resources.pop(address, None)
            self._resources.pop(schema, None)
            self._set_both(graph_id, StatusWord.DRIFTED, "graph_missing")
        elif not live.is_open:
            self._set_both(graph_id, StatusWord.ERROR, "graph_observation_error")
        else:
            self._resources[schema] = AppliedResource(digest=digest if matches else live.schema_digest)
            self._resources.setdefault(address, AppliedResource(digest=None))
            if matches:
                self._statuses |= {address: _APPLIED, schema: _APPLIED}
            else:
                self._set_both(graph_id, StatusWord.DRIFTED, "schema_mismatch")

    def _set_both(self, graph_id: str, word: StatusWord, condition: str) -> None:
        self._set(graph_address(graph_id), word, condition)
        self._set(schema_address(graph_id), word, condition)

    def _set(self, address: str, word: StatusWord, condition: str) -> None:
        self._statuses[address] = ResourceStatus(status=word, conditions=(condition,))


def _observation(address: str, live: LiveGraph, desired: str | None, *, matches: bool) -> dict[str, Json]:
    return {
        "kind": "graph",
        "address": address,
        "graph_uri": live.uri,
        "observed_at": now_text(),
        "exists": live.exists,
        "manifest_version": live.version,
        "graph_manifest_version": live.version,
        "schema_digest": live.schema_digest,
        "desired_schema_digest": desired,
        "schema_matches_desired": matches,
        "error": live.error,
    }
