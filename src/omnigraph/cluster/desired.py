"""From what is declared to what is desired: every file read once, checked, hashed, and made a resource.

`DesiredCluster.entries` is the ledger's side of it: what the ledger says of each resource once all is applied.
"""

from collections.abc import Mapping
from pathlib import Path

from omnigraph.base.values import Json, dataclass
from omnigraph.catalog.compile import compile_schema
from omnigraph.catalog.model import Catalog
from omnigraph.catalog.scalars import Scalar
from omnigraph.cluster.config import read_config
from omnigraph.cluster.declared import DeclaredCluster, DeclaredGraph, DeclaredPolicy
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics
from omnigraph.cluster.discovery import QueryFinder, SourceFile, check_queries
from omnigraph.cluster.resources import (
    CLUSTER_SCOPE,
    ResourceKind,
    config_digest,
    file_digest,
    graph_address,
    kind_of,
    name_of,
    policy_address,
    provider_address,
    query_address,
    schema_address,
)
from omnigraph.cluster.state import AppliedResource, composite_digest
from omnigraph.errors import OmniError, ParseError, PolicyInvalid
from omnigraph.language.schema import parse_schema

Edge = tuple[str, str]
"""Two addresses, of which the first depends on the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredCluster:
    """Everything that a valid configuration asks for."""

    declared: DeclaredCluster
    entries: Mapping[str, AppliedResource]
    files: Mapping[str, SourceFile]
    """The file behind every schema, query and policy."""
    dependencies: tuple[Edge, ...]
    config_digest: str
    """Blank while something declared is wrong: such a configuration is neither applied nor approved."""

    @property
    def digests(self) -> dict[str, str]:
        """The digest of every resource, by address."""
        found = {address: entry.digest for address, entry in sorted(self.entries.items())}
        return {address: digest for address, digest in found.items() if digest is not None}

    def resource_documents(self) -> list[Json]:
        """List the resources, by address."""
        documents: list[Json] = []
        for address, digest in self.digests.items():
            kind = kind_of(address)
            assert kind is not None  # we made the address
            document: dict[str, Json] = {"address": address, "kind": kind.value, "digest": digest}
            if address in self.files:
                document["path"] = self.files[address].shown
            documents.append(document)
        return documents

    def schema_text(self, graph_id: str) -> str:
        """Return the declared schema of a graph."""
        return self.files[schema_address(graph_id)].content.decode()


def read_desired(directory: str, found: Diagnostics) -> DesiredCluster | None:
    """Read and check a configuration with all of its files; None if it cannot be made sense of at all."""
    declared = read_config(directory, found)
    return None if declared is None else _Reader(declared, found).desired()


class _Reader:
    def __init__(self, declared: DeclaredCluster, found: Diagnostics) -> None:
        self._declared = declared
        self._found = found
        self._directory: Path = declared.header.directory
        self._finder = QueryFinder(self._directory, found)
        self._entries: dict[str, AppliedResource] = {}
        self._files: dict[str, SourceFile] = {}
        self._edges: list[Edge] = []

    def desired(self) -> DesiredCluster:
        for name, profile in self._declared.providers.items():
            self._entries[provider_address(name)] = AppliedResource(digest=profile.digest, embedding_profile=profile)
        for graph in self._declared.graphs.values():
            self._add_graph(graph)
        for policy in self._declared.policies.values():
            self._add_policy(policy)
        digests = [(address, entry.digest or "") for address, entry in self._entries.items()]
        return DesiredCluster(
            declared=self._declared,
            entries=dict(sorted(self._entries.items())),
            files=self._files,
            dependencies=tuple(sorted(self._edges)),
            # What is wrong may be what JSON cannot spell: a date, a key that is no text, an alias to itself.
            config_digest="" if self._found.has_errors else config_digest(self._declared.parsed, digests),
        )

    def _add_graph(self, graph: DeclaredGraph) -> None:
        address, schema = graph_address(graph.graph_id), schema_address(graph.graph_id)
        catalog = self._add_schema(graph)
        queries = self._finder.queries_of(graph)
        for name, query in queries.items():
            self._add_file(query_address(graph.graph_id, name), query.file)
            self._edges += [(query_address(graph.graph_id, name), address)]
            self._edges += [(query_address(graph.graph_id, name), schema)]
        check_queries(graph.graph_id, queries, catalog, self._found)
        entry = AppliedResource(
            digest=None,
            embedding_provider=graph.embedding_provider,
            external_blob_policy=graph.external_blobs,
        )
        self._entries[address] = entry
        if graph.embedding_provider is not None:
            self._edges.append((address, graph.embedding_provider))
        self._entries[address] = AppliedResource(
            digest=composite_digest(self._entries, graph.graph_id),
            embedding_provider=graph.embedding_provider,
            external_blob_policy=graph.external_blobs,
        )

    def _add_schema(self, graph: DeclaredGraph) -> Catalog | None:
        path = f"graphs.{graph.graph_id}.schema"
        file = self._read(graph.schema, path, "schema file", DiagnosticCode.SCHEMA_FILE_MISSING)
        if file is None:
            return None
        address = schema_address(graph.graph_id)
        self._add_file(address, file)
        self._edges.append((address, graph_address(graph.graph_id)))
        catalog = self._compiled(file, path)
        if catalog is not None and graph.external_blobs is None and _takes_blobs(catalog):
            self._found.warn(
                DiagnosticCode.EXTERNAL_BLOB_INGRESS_DEFAULT_DENY,
                f"graphs.{graph.graph_id}.external_blobs",
                f"The schema of {graph.graph_id} has a Blob property, and no `external_blobs.allow` lists places "
                "elsewhere that its values may refer to. Give them with their content, as base64:….",
            )
        return catalog

    def _compiled(self, file: SourceFile, path: str) -> Catalog | None:
        try:
            text = file.content.decode()
            parse_schema(text, source=file.shown)
        except (ParseError, UnicodeDecodeError) as error:
            self._found.error(DiagnosticCode.SCHEMA_PARSE_ERROR, path, f"{file.shown}: {error}")
            return None
        try:
            return compile_schema(text, source=file.shown, identity_domain="cluster")
        except OmniError as error:
            self._found.error(DiagnosticCode.SCHEMA_CATALOG_ERROR, path, f"{file.shown}: {error.message}")
            return None

    def _add_policy(self, policy: DeclaredPolicy) -> None:
        path = f"policies.{policy.name}.file"
        file = self._read(policy.file, path, "policy file", DiagnosticCode.POLICY_FILE_MISSING)
        if file is None:
            return
        address = policy_address(policy.name)
        self._add_file(address, file, applies_to=policy.applies_to)
        self._edges += [(address, scope) for scope in policy.applies_to if scope != CLUSTER_SCOPE]
        try:
            _compile_policy(policy, file.content.decode())
        except (PolicyInvalid, UnicodeDecodeError) as error:
            self._found.error(DiagnosticCode.POLICY_INVALID, path, f"{file.shown}: {error}")

    def _add_file(self, address: str, file: SourceFile, *, applies_to: tuple[str, ...] | None = None) -> None:
        self._files[address] = file
        self._entries[address] = AppliedResource(digest=file_digest(file.content), applies_to=applies_to)

    def _read(self, file: str, path: str, what: str, code: DiagnosticCode) -> SourceFile | None:
        place = self._directory / file
        try:
            return SourceFile(path=place, shown=file, content=place.read_bytes())
        except OSError as error:
            self._found.error(code, path, f"The {what} {file} cannot be read: {error.strerror}.")
            return None


def _compile_policy(policy: DeclaredPolicy, text: str) -> None:
    """Compile a policy for everything it is bound to; raise `PolicyInvalid` if it does not fit."""
    from omnigraph.policy.actions import BundleKind
    from omnigraph.policy.engine import PolicyEngine
    from omnigraph.policy.reading import parse_bundle

    kind = BundleKind.SERVER if CLUSTER_SCOPE in policy.applies_to else BundleKind.GRAPH
    bundle = parse_bundle(text, name=policy.name, bound_to=kind)
    for scope in policy.applies_to:
        PolicyEngine(bundle, "" if scope == CLUSTER_SCOPE else name_of(scope))


def _takes_blobs(catalog: Catalog) -> bool:
    return any(
        declared.type.scalar is Scalar.BLOB
        for entity in catalog.type_by_table_key.values()
        for declared in entity.properties
    )


def graph_edges(entries: Mapping[str, AppliedResource]) -> tuple[Edge, ...]:
    """Return the dependencies among resources as the ledger has them, which no file declares any more."""
    edges: list[Edge] = []
    for address, entry in entries.items():
        match kind_of(address):
            case ResourceKind.SCHEMA:
                edges.append((address, graph_address(name_of(address))))
            case ResourceKind.QUERY:
                graph_id = address.split(".")[1]
                edges += [(address, graph_address(graph_id)), (address, schema_address(graph_id))]
            case ResourceKind.POLICY:
                edges += [(address, scope) for scope in entry.applies_to or () if scope != CLUSTER_SCOPE]
            case ResourceKind.GRAPH:
                edges += [(address, entry.embedding_provider)] if entry.embedding_provider is not None else []
            case _:
                pass
    return tuple(sorted(edges))
