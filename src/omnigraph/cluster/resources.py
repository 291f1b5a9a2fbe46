"""What a cluster is made of: kinds of resources, how each is addressed, and the digests that tell two states apart.

Pure text and hashing. Digests are 64 lower-case hex digits; those of files are over their bytes, so that what was
checked, stored and compared is the same thing.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from omnigraph.base.values import Json, dataclass

CLUSTER_SCOPE: Final = "cluster"
"""What a policy of the server is bound to, where that of a graph is bound to its address."""
RESERVED_GRAPH_IDS: Final = frozenset({"policies", "healthz", "readyz", "openapi", "graphs"})
"""Words that routes of a server have."""
PROVIDER_NAMESPACE: Final = "provider.embedding."
GRAPH_ID_RULE: Final = (
    "starts with a letter, goes on with up to 63 letters, digits, _ or -, and is none of "
    f"{', '.join(sorted(RESERVED_GRAPH_IDS))}"
)
NAME_RULE: Final = "starts with a letter or _ and goes on with letters, digits, _ or -"
_GRAPH_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NUL = b"\0"


class ResourceKind(StrEnum):
    """The kinds of resources."""

    GRAPH = "graph"
    SCHEMA = "schema"
    QUERY = "query"
    POLICY = "policy"
    EMBEDDING_PROVIDER = "embedding_provider"


class BlobScope(StrEnum):
    """Who may read blobs below a base."""

    SERVER_SAFE = "server_safe"
    EMBEDDED_ONLY = "embedded_only"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobBase:
    """A place from which a graph may take blobs that it does not store itself."""

    uri: str
    scope: BlobScope


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalBlobPolicy:
    """The places that are allowed, in the order of their URIs; a graph without a policy allows none."""

    bases: tuple[BlobBase, ...]

    def document(self) -> dict[str, Json]:
        """Spell the policy as the ledger has it."""
        return {"mode": "allow", "bases": [{"uri": base.uri, "scope": base.scope.value} for base in self.bases]}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingProfile:
    """How a provider of vectors is reached; `api_key` is the name of a variable in `${…}`, never a key."""

    kind: str
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None

    def document(self) -> dict[str, Json]:
        """Spell the profile as the ledger has it: what is absent is left out."""
        members = {"kind": self.kind, "base_url": self.base_url, "model": self.model, "api_key": self.api_key}
        return {name: value for name, value in members.items() if value is not None}

    @property
    def digest(self) -> str:
        """The digest of the provider."""
        return _sha256(b"embedding-provider" + _NUL + compact_json(self.document()).encode())


def graph_address(graph_id: str) -> str:
    """Spell the address of a graph."""
    return f"graph.{graph_id}"


def schema_address(graph_id: str) -> str:
    """Spell the address of the schema of a graph."""
    return f"schema.{graph_id}"


def query_address(graph_id: str, name: str) -> str:
    """Spell the address of a stored query of a graph."""
    return f"query.{graph_id}.{name}"


def policy_address(name: str) -> str:
    """Spell the address of a policy."""
    return f"policy.{name}"


def provider_address(name: str) -> str:
    """Spell the address of an embedding provider."""
    return f"{PROVIDER_NAMESPACE}{name}"


def kind_of(address: str) -> ResourceKind | None:
    """Return the kind that an address names; None for one that this version does not know."""
    first, _, rest = address.partition(".")
    parts = rest.split(".")
    if first == "provider":
        return ResourceKind.EMBEDDING_PROVIDER if len(parts) == 2 and parts[0] == "embedding" else None
    wanted = {"graph": 1, "schema": 1, "query": 2, "policy": 1}.get(first)
    return ResourceKind(first) if wanted == len(parts) and all(parts) else None


def graph_of(address: str) -> str | None:
    """Return the id of the graph that a graph, schema or query belongs to; None for what belongs to none."""
    if kind_of(address) in {ResourceKind.GRAPH, ResourceKind.SCHEMA, ResourceKind.QUERY}:
        return address.split(".")[1]
    return None


def name_of(address: str) -> str:
    """Return the last part of an address: the name of a query, policy or provider, or the id of a graph."""
    return address.rpartition(".")[2]


def is_graph_id(text: str) -> bool:
    """Whether a graph may be called so; the server has the same rule."""
    return _GRAPH_ID.fullmatch(text) is not None and text not in RESERVED_GRAPH_IDS


def is_name(text: str) -> bool:
    """Whether a query, policy or provider may be called so."""
    return _NAME.fullmatch(text) is not None


def file_digest(content: bytes) -> str:
    """Return the digest of a schema, a file of queries or a policy."""
    return _sha256(content)


def graph_digest(
    graph_id: str,
    *,
    schema: str | None,
    queries: Mapping[str, str],
    provider: tuple[str, str] | None = None,
    external_blobs: ExternalBlobPolicy | None = None,
) -> str:
    """Return the composite digest of a graph from those of its parts.

    `queries` maps names to digests; `provider` is the address and digest of the provider that the graph is bound to.
    """
    tokens = ["graph", graph_id, "schema", schema or ""]
    for name in sorted(queries):
        tokens += ["query", name, queries[name]]
    if provider is not None:
        tokens += ["embedding_provider", *provider]
    if external_blobs is not None:
        tokens += ["external_blob_policy", compact_json(external_blobs.document())]
    return _sha256(b"".join(token.encode() + _NUL for token in tokens))


def config_digest(parsed: Json, resources: Iterable[tuple[str, str]]) -> str:
    """Return the digest of a parsed configuration and the resources that it declares, as `(address, digest)`."""
    canonical = json.dumps(parsed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    pairs = b"".join(part.encode() + _NUL for pair in sorted(resources) for part in pair)
    return _sha256(b"cluster-config" + _NUL + canonical.encode() + _NUL + pairs)


def compact_json(document: Json) -> str:
    """Spell JSON without spaces, keys in the order that they have."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
