"""The ledger as a value: what has been applied to a cluster, with bindings, profiles and what is known of each part.

Reading is strict by default: code that may write the ledger again must not lose a field that it does not know.
`cluster/ledger.py`, which maintenance goes by, reads far less and ignores the rest.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final

from omnigraph.base.plain_text import printable
from omnigraph.base.values import Json, dataclass
from omnigraph.cluster.diagnostics import DiagnosticCode, Refused
from omnigraph.cluster.ledger import LEDGER_PATH, LEDGER_VERSION
from omnigraph.cluster.resources import (
    BlobBase,
    BlobScope,
    EmbeddingProfile,
    ExternalBlobPolicy,
    ResourceKind,
    graph_address,
    graph_digest,
    graph_of,
    kind_of,
    name_of,
    schema_address,
)

_VERSION_NAMES: Final = ("manifest_version", "graph_manifest_version")
"""Both names under which observations carry the version of a graph."""


class StatusWord(StrEnum):
    """How a resource stands."""

    PENDING = "pending"
    PLANNED = "planned"
    APPLYING = "applying"
    APPLIED = "applied"
    DRIFTED = "drifted"
    BLOCKED = "blocked"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedResource:
    """What the ledger says of one resource; which members there are depends on its kind."""

    digest: str | None
    """None for a policy whose blob was lost: who it binds is still known, so that nothing falls open."""
    applies_to: tuple[str, ...] | None = None
    """Of a policy: `cluster`, or addresses of graphs, sorted; None if the ledger does not say."""
    embedding_profile: EmbeddingProfile | None = None
    """Of a provider."""
    embedding_provider: str | None = None
    """Of a graph: the address of the provider it is bound to."""
    external_blob_policy: ExternalBlobPolicy | None = None
    """Of a graph; None denies blobs from elsewhere."""

    def document(self) -> dict[str, Json]:
        """Spell the entry as the ledger has it."""
        members: dict[str, Json] = {"digest": self.digest}
        members["applies_to"] = None if self.applies_to is None else list(self.applies_to)
        members["embedding_provider"] = self.embedding_provider
        if self.external_blob_policy is not None:
            members["external_blob_policy"] = self.external_blob_policy.document()
        if self.embedding_profile is not None:
            members["embedding_profile"] = self.embedding_profile.document()
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceStatus:
    """How a resource stands, and why."""

    status: StatusWord
    conditions: tuple[str, ...] = ()
    message: str | None = None

    def document(self) -> dict[str, Json]:
        """Spell the status as the ledger has it."""
        members: dict[str, Json] = {"status": self.status.value}
        if self.conditions:
            members["conditions"] = list(self.conditions)
        if self.message is not None:
            members["message"] = self.message
        return members


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumedApproval:
    """When an approval was used, and by which operation."""

    consumed_at: str
    consumed_by_operation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledIntent:
    """An interrupted operation that a later command settled."""

    kind: str
    graph_id: str
    outcome: str
    recovered_at: str
    actor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Everything that `__cluster/state.json` says."""

    state_revision: int = 0
    config_digest: str | None = None
    """Of the configuration that an apply fully converged to; None if none has."""
    resources: Mapping[str, AppliedResource] = field(default_factory=dict)
    resource_statuses: Mapping[str, ResourceStatus] = field(default_factory=dict)
    approval_records: Mapping[str, ConsumedApproval] = field(default_factory=dict)
    recovery_records: Mapping[str, SettledIntent] = field(default_factory=dict)
    observations: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)

    @property
    def graph_ids(self) -> tuple[str, ...]:
        """The applied graphs, sorted."""
        return tuple(name_of(address) for address in self.addresses(ResourceKind.GRAPH))

    @property
    def digests(self) -> dict[str, str]:
        """The digest of every resource that has one, by address."""
        found = {address: entry.digest for address, entry in sorted(self.resources.items())}
        return {address: digest for address, digest in found.items() if digest is not None}

    def addresses(self, kind: ResourceKind) -> tuple[str, ...]:
        """Return the addresses of one kind, sorted."""
        return tuple(sorted(address for address in self.resources if kind_of(address) is kind))

    def policies_of(self, scope: str) -> tuple[str, ...]:
        """Return the addresses of the policies bound to a scope: the address of a graph, or `cluster`."""
        policies = self.addresses(ResourceKind.POLICY)
        return tuple(address for address in policies if scope in (self.resources[address].applies_to or ()))

    def composite(self, graph_id: str) -> str:
        """Recompute the digest of a graph from the entries of its parts."""
        return composite_digest(self.resources, graph_id)

    def refuse_wrong_composites(self) -> None:
        """Raise unless every graph has the digest of its parts: somebody edited the ledger otherwise."""
        for graph_id in self.graph_ids:
            address = graph_address(graph_id)
            if self.resources[address].digest != self.composite(graph_id):
                raise Refused(
                    DiagnosticCode.EXTERNAL_BLOB_POLICY_DIGEST_MISMATCH,
                    address,
                    f"The digest of {address} in {LEDGER_PATH} is not that of its parts: the ledger was edited outside "
                    "the control plane. Restore it from a trusted copy; nothing was written.",
                )

    def document(self) -> dict[str, Json]:
        """Spell the ledger as JSON, addresses in order."""
        return {
            "version": LEDGER_VERSION,
            "state_revision": self.state_revision,
            "applied_revision": {
                "config_digest": self.config_digest,
                "resources": {address: entry.document() for address, entry in sorted(self.resources.items())},
            },
            "resource_statuses": {
                address: status.document() for address, status in sorted(self.resource_statuses.items())
            },
            "approval_records": {
                approval: {"consumed_at": used.consumed_at, "consumed_by_operation": used.consumed_by_operation}
                for approval, used in sorted(self.approval_records.items())
            },
            "recovery_records": {
                operation: {
                    "kind": record.kind,
                    "graph_id": record.graph_id,
                    "outcome": record.outcome,
                    "recovered_at": record.recovered_at,
                    "actor": record.actor,
                }
                for operation, record in sorted(self.recovery_records.items())
            },
            "observations": {address: dict(seen) for address, seen in sorted(self.observations.items())},
        }

    def to_bytes(self) -> bytes:
        """Spell the ledger as it is stored: readable, with a newline at its end."""
        return (json.dumps(self.document(), indent=2, ensure_ascii=False) + "\n").encode()


def state_cas(content: bytes) -> str:
    """Name the bytes of a ledger, which a write compares before it replaces them."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def composite_digest(resources: Mapping[str, AppliedResource], graph_id: str) -> str:
    """Compute the digest of a graph from the entries of its parts; its own entry says what it is bound to."""
    queries = {
        name_of(address): entry.digest
        for address, entry in resources.items()
        if kind_of(address) is ResourceKind.QUERY and graph_of(address) == graph_id and entry.digest is not None
    }
    own = resources.get(graph_address(graph_id), AppliedResource(digest=None))
    schema = resources.get(schema_address(graph_id))
    provider = own.embedding_provider
    bound = resources.get(provider) if provider is not None else None
    return graph_digest(
        graph_id,
        schema=schema.digest if schema is not None else None,
        queries=queries,
        provider=None if provider is None else (provider, (bound.digest if bound else None) or ""),
        external_blobs=own.external_blob_policy,
    )


def parse_ledger(content: bytes, *, is_strict: bool = True) -> Ledger:
    """Read a ledger; raise `Refused` for what is none. A lenient reader leaves out what it does not know."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"is not JSON: {error}") from error
    reader = _LedgerReader(is_strict=is_strict)
    if not isinstance(document, dict) or "version" not in document:
        raise _invalid("is not an object with a `version`")
    if document["version"] != LEDGER_VERSION or isinstance(document["version"], bool):
        raise Refused(
            DiagnosticCode.UNSUPPORTED_STATE_VERSION,
            LEDGER_PATH,
            f"{LEDGER_PATH} has version {document['version']!r}; this omnigraph reads version {LEDGER_VERSION}. "
            "Use the one that wrote it, or restore the ledger from a copy.",
        )
    return reader.ledger(document)


def _invalid(problem: str) -> Refused:
    return Refused(
        DiagnosticCode.INVALID_STATE_JSON,
        LEDGER_PATH,
        f"{LEDGER_PATH} {problem}. Restore it from a copy, or remove it and run `omnigraph cluster import`.",
    )


class _LedgerReader:
    def __init__(self, *, is_strict: bool) -> None:
        self._is_strict = is_strict

    def ledger(self, document: dict[str, Any]) -> Ledger:
        members = self._members(
            document,
            "the ledger",
            {
                "version",
                "state_revision",
                "applied_revision",
                "resource_statuses",
                "approval_records",
                "recovery_records",
                "observations",
            },
        )
        applied = self._members(members.get("applied_revision"), "applied_revision", {"config_digest", "resources"})
        revision = members.get("state_revision", 0)
        if isinstance(revision, bool) or not isinstance(revision, int) or revision < 0:
            raise _invalid("has a `state_revision` that is no count")
        return Ledger(
            state_revision=revision,
            config_digest=self._optional_text(applied, "config_digest", "applied_revision"),
            resources={
                address: self._resource(entry, address)
                for address, entry in self._mapping(applied.get("resources", {}), "resources").items()
            },
            resource_statuses={
                address: self._status(entry, address)
                for address, entry in self._mapping(members.get("resource_statuses", {}), "resource_statuses").items()
            },
            approval_records={
                approval: self._approval(entry, approval)
                for approval, entry in self._mapping(members.get("approval_records", {}), "approval_records").items()
            },
            recovery_records={
                operation: self._recovery(entry, operation)
                for operation, entry in self._mapping(members.get("recovery_records", {}), "recovery_records").items()
            },
            observations={
                address: self._observation(entry, address)
                for address, entry in self._mapping(members.get("observations", {}), "observations").items()
            },
        )

    def _resource(self, entry: object, address: str) -> AppliedResource:
        known = {"digest", "applies_to", "embedding_profile", "embedding_provider", "external_blob_policy"}
        members = self._members(entry, address, known)
        applies_to = members.get("applies_to")
        if applies_to is not None:
            applies_to = tuple(sorted(self._texts(applies_to, f"applies_to of {address}")))
        blobs, profile = members.get("external_blob_policy"), members.get("embedding_profile")
        return AppliedResource(
            digest=self._optional_text(members, "digest", address),
            applies_to=applies_to,
            embedding_provider=self._optional_text(members, "embedding_provider", address),
            embedding_profile=None if profile is None else self._profile(profile, address),
            external_blob_policy=None if blobs is None else self._blobs(blobs, address),
        )

    def _profile(self, entry: object, address: str) -> EmbeddingProfile:
        place = f"embedding_profile of {address}"
        members = self._members(entry, place, {"kind", "base_url", "model", "api_key"})
        texts = {name: self._optional_text(members, name, place) for name in ("base_url", "model", "api_key")}
        return EmbeddingProfile(kind=self._text(members, "kind", place), **texts)

    def _blobs(self, entry: object, address: str) -> ExternalBlobPolicy | None:
        place = f"external_blob_policy of {address}"
        members = self._members(entry, place, {"mode", "bases"})
        mode = self._text(members, "mode", place)
        if mode == "deny":
            return None
        if mode != "allow":
            raise _invalid(f"has the unknown mode {mode!r} in {place}")
        bases = members.get("bases", [])
        if not isinstance(bases, list):
            raise _invalid(f"has no list of bases in {place}")
        return ExternalBlobPolicy(bases=tuple(self._base(base, place) for base in bases)) if bases else None

    def _base(self, entry: object, place: str) -> BlobBase:
        members = self._members(entry, f"a base of {place}", {"uri", "scope"})
        scope = self._text(members, "scope", place)
        if scope not in {known.value for known in BlobScope}:
            raise _invalid(f"has the unknown scope {scope!r} in {place}")
        return BlobBase(uri=self._text(members, "uri", place), scope=BlobScope(scope))

    def _status(self, entry: object, address: str) -> ResourceStatus:
        place = f"the status of {address}"
        members = self._members(entry, place, {"status", "conditions", "message"})
        word = self._text(members, "status", place)
        if word not in {known.value for known in StatusWord}:
            raise _invalid(f"has the unknown status {word!r} of {address}")
        return ResourceStatus(
            status=StatusWord(word),
            conditions=tuple(self._texts(members.get("conditions") or [], f"conditions of {address}")),
            message=self._optional_text(members, "message", place),
        )

    def _approval(self, entry: object, approval: str) -> ConsumedApproval:
        names = ("consumed_at", "consumed_by_operation")
        members = self._members(entry, f"approval {approval}", set(names))
        return ConsumedApproval(**{name: self._text(members, name, f"approval {approval}") for name in names})

    def _recovery(self, entry: object, operation: str) -> SettledIntent:
        place = f"recovery {operation}"
        names = ("kind", "graph_id", "outcome", "recovered_at")
        members = self._members(entry, place, {*names, "actor"})
        texts = {name: self._text(members, name, place) for name in names}
        return SettledIntent(**texts, actor=self._optional_text(members, "actor", place))

    def _observation(self, entry: object, address: str) -> Mapping[str, Json]:
        """Take whatever was observed; a version that is there under one of its names is there under both."""
        seen = dict(self._mapping(entry, f"the observation of {address}"))
        versions = {name: seen[name] for name in _VERSION_NAMES if seen.get(name) is not None}
        if any(value != next(iter(versions.values())) for value in versions.values()):
            raise Refused(
                DiagnosticCode.CONFLICTING_GRAPH_MANIFEST_OBSERVATION,
                address,
                f"{LEDGER_PATH} has two versions for {address}: manifest_version {seen['manifest_version']} and "
                f"graph_manifest_version {seen['graph_manifest_version']}. Restore it from a trusted copy.",
            )
        for value in versions.values():
            seen |= dict.fromkeys(_VERSION_NAMES, value)
        return seen

    def _members(self, value: object, place: str, known: set[str]) -> dict[str, Any]:
        members = self._mapping(value, place)
        unknown = sorted(members.keys() - known)
        if unknown and self._is_strict:
            raise Refused(
                DiagnosticCode.INVALID_STATE_JSON,
                LEDGER_PATH,
                f"{LEDGER_PATH} has the field `{printable(unknown[0])}` in {place}, which this omnigraph does not "
                "know. If a newer one wrote it, use that one; else restore the ledger from a copy.",
            )
        return members

    def _mapping(self, value: object, place: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _invalid(f"has no object for {place}")
        return value

    def _text(self, members: dict[str, Any], name: str, place: str) -> str:
        value = members.get(name)
        if not isinstance(value, str):
            raise _invalid(f"has no text for `{name}` in {place}")
        return value

    def _optional_text(self, members: dict[str, Any], name: str, place: str) -> str | None:
        return None if members.get(name) is None else self._text(members, name, place)

    def _texts(self, value: object, place: str) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise _invalid(f"has no list of texts for {place}")
        return value
