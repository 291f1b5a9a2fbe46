"""The sections of `cluster.yaml`: embedding providers, graphs with their blobs from elsewhere, and policies."""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from omnigraph.cluster.blob_bases import overlapping, problem_of_declared
from omnigraph.cluster.config_keys import KeyReader
from omnigraph.cluster.declared import DeclaredGraph, DeclaredPolicy, ListedQueries, NamedQueries
from omnigraph.cluster.diagnostics import DiagnosticCode
from omnigraph.cluster.resources import (
    CLUSTER_SCOPE,
    GRAPH_ID_RULE,
    NAME_RULE,
    PROVIDER_NAMESPACE,
    BlobBase,
    BlobScope,
    EmbeddingProfile,
    ExternalBlobPolicy,
    graph_address,
    is_graph_id,
    is_name,
    provider_address,
)
from omnigraph.providers.config import Provider

_VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


def read_providers(keys: KeyReader, section: Mapping[str, object]) -> dict[str, EmbeddingProfile]:
    """Read `providers.embedding`; a profile with a mistake is left out."""
    profiles = {}
    for name, entry in section.items():
        path = f"providers.embedding.{name}"
        if not is_name(name):
            keys.wrong(path, f"`{name}` cannot be the name of a provider: one {NAME_RULE}.", _BAD_ID)
            continue
        profile = _profile(keys, entry, path)
        if profile is not None:
            profiles[name] = profile
    return profiles


def _profile(keys: KeyReader, entry: object, path: str) -> EmbeddingProfile | None:
    members = keys.keys(entry, path, {"kind", "base_url", "model", "api_key"})
    kind = members.get("kind", Provider.OPENAI_COMPATIBLE.value)
    known = [provider.value for provider in Provider]
    if kind not in known:
        keys.wrong(f"{path}.kind", f"`{path}.kind` is {kind!r}; it is one of {', '.join(known)}.", _BAD_PROVIDER)
        return None
    texts: dict[str, str | None] = {}
    for name in ("base_url", "model"):
        texts[name] = keys.text(members[name], f"{path}.{name}", _BAD_PROVIDER) if name in members else None
    base_url = texts["base_url"]
    if base_url is not None and not _is_plain_url(base_url):
        keys.wrong(
            f"{path}.base_url",
            f"`{path}.base_url` must look like https://host/path, without credentials, query or fragment.",
            _BAD_PROVIDER,
        )
    key = members.get("api_key")
    if key is None and kind != Provider.MOCK.value:
        keys.wrong(
            f"{path}.api_key",
            f"`{path}` needs `api_key: ${{NAME}}`, the variable that a server reads the key from.",
            DiagnosticCode.EMBEDDING_API_KEY_REQUIRED,
        )
        return None
    if key is not None and not (isinstance(key, str) and _VARIABLE.fullmatch(key)):
        keys.wrong(
            f"{path}.api_key",
            f"`{path}.api_key` is not `${{NAME}}`: a key itself does not belong into a file; name its variable.",
            DiagnosticCode.EMBEDDING_API_KEY_INLINE,
        )
        return None
    return EmbeddingProfile(kind=str(kind), base_url=base_url, model=texts["model"], api_key=key)


def read_graphs(
    keys: KeyReader, section: Mapping[str, object], *, providers: Collection[str]
) -> dict[str, DeclaredGraph]:
    """Read `graphs:`; `providers` are the names that a graph may be bound to. One without a schema is left out."""
    graphs = {}
    for graph_id, entry in section.items():
        path = f"graphs.{graph_id}"
        if not is_graph_id(graph_id):
            keys.wrong(path, f"`{graph_id}` cannot be the id of a graph: one {GRAPH_ID_RULE}.", _BAD_ID)
            continue
        members = keys.keys(entry, path, {"schema", "queries", "embedding_provider", "external_blobs"})
        schema = keys.text(members.get("schema"), f"{path}.schema")
        graph = DeclaredGraph(
            graph_id=graph_id,
            schema=schema or "",
            queries=_queries(keys, members.get("queries"), f"{path}.queries"),
            embedding_provider=_provider_of(keys, members, f"{path}.embedding_provider", providers),
            external_blobs=_external_blobs(keys, members.get("external_blobs"), f"{path}.external_blobs"),
        )
        if schema is not None:
            graphs[graph_id] = graph
    return graphs


def _queries(keys: KeyReader, value: object, path: str) -> ListedQueries | NamedQueries:
    if value is None:
        return ListedQueries(paths=())
    if isinstance(value, list):
        return ListedQueries(paths=tuple(keys.texts(value, path)))
    if not isinstance(value, dict):
        text = keys.text(value, path)
        return ListedQueries(paths=() if text is None else (text,))
    named = {}
    for name, entry in keys.mapping(value, path).items():
        if not is_name(name):
            keys.wrong(f"{path}.{name}", f"`{name}` cannot be the name of a query: one {NAME_RULE}.", _BAD_ID)
            continue
        file = keys.text(keys.keys(entry, f"{path}.{name}", {"file"}).get("file"), f"{path}.{name}.file")
        if file is not None:
            named[name] = file
    return NamedQueries(file_by_name=named)


def _provider_of(keys: KeyReader, members: dict[str, object], path: str, providers: Collection[str]) -> str | None:
    if "embedding_provider" not in members:
        return None
    text = keys.text(members["embedding_provider"], path)
    if text is None:
        return None
    name = text.removeprefix(PROVIDER_NAMESPACE)
    if "." in name:
        keys.wrong(
            path,
            f"`{path}` is `{text}`, which is no embedding provider; write its name, or {provider_address('<name>')}.",
            DiagnosticCode.WRONG_KIND_REFERENCE,
        )
        return None
    if name not in providers:
        keys.wrong(
            path,
            f"`{path}` names the provider `{name}`, which `providers.embedding` does not declare.",
            DiagnosticCode.DANGLING_EMBEDDING_PROVIDER_REFERENCE,
        )
        return None
    return provider_address(name)


def _external_blobs(keys: KeyReader, value: object, path: str) -> ExternalBlobPolicy | None:
    allowed = keys.keys(value, path, {"allow"}).get("allow")
    if allowed is None:
        return None
    if not isinstance(allowed, list):
        keys.wrong(f"{path}.allow", f"`{path}.allow` must be a list of bases.", _BAD_BLOBS)
        return None
    read = [_base(keys, entry, f"{path}.allow[{place}]") for place, entry in enumerate(allowed)]
    bases = sorted((base for base in read if base is not None), key=lambda base: base.uri)
    both = overlapping(bases)
    if both is not None:
        shorter, longer = both
        keys.wrong(f"{path}.allow", f"The bases {shorter.uri} and {longer.uri} overlap; keep one of them.", _BAD_BLOBS)
    return ExternalBlobPolicy(bases=tuple(bases)) if bases else None


def _base(keys: KeyReader, entry: object, path: str) -> BlobBase | None:
    members = keys.keys(entry, path, {"base", "scope"})
    base = keys.text(members.get("base"), f"{path}.base", DiagnosticCode.INVALID_EXTERNAL_BLOB_BASE)
    scope = members.get("scope")
    if scope not in [known.value for known in BlobScope]:
        keys.wrong(f"{path}.scope", f"`{path}.scope` must be one of {', '.join(BlobScope)}.", _BAD_BLOBS)
        return None
    if base is None:
        return None
    problem = _problem_of_base(base)
    if problem is not None:
        keys.wrong(f"{path}.base", f"`{path}.base` {problem}.", DiagnosticCode.INVALID_EXTERNAL_BLOB_BASE)
        return None
    if base.startswith("file:") and scope != BlobScope.EMBEDDED_ONLY.value:
        keys.wrong(f"{path}.scope", f"A base on this machine needs the scope {BlobScope.EMBEDDED_ONLY}.", _BAD_BLOBS)
        return None
    return BlobBase(uri=f"{base.rstrip('/')}/", scope=BlobScope(str(scope)))


def _problem_of_base(base: str) -> str | None:
    problem = problem_of_declared(base)
    if problem is not None or not base.startswith("file:"):
        return problem
    return None if Path(unquote(urlsplit(base).path)).is_dir() else "is not an existing directory"


def read_policies(keys: KeyReader, section: object, *, graphs: Collection[str]) -> dict[str, DeclaredPolicy]:
    """Read `policies:`; `graphs` are the ids that a policy may be bound to. One that cannot be used is left out."""
    policies = {}
    for name, entry in keys.mapping(section, "policies").items():
        path = f"policies.{name}"
        if not is_name(name):
            keys.wrong(path, f"`{name}` cannot be the name of a policy: one {NAME_RULE}.", _BAD_ID)
            continue
        members = keys.keys(entry, path, {"file", "applies_to"})
        file = keys.text(members.get("file"), f"{path}.file")
        scopes = tuple(sorted(set(_scopes(keys, members.get("applies_to"), f"{path}.applies_to", graphs))))
        if file is not None and scopes:
            policies[name] = DeclaredPolicy(name=name, file=file, applies_to=scopes)
    _refuse_shared_scopes(keys, policies)
    return policies


def _scopes(keys: KeyReader, value: object, path: str, graphs: Collection[str]) -> Iterator[str]:
    if not value:
        keys.wrong(
            path,
            f"`{path}` must name what the policy is for: ids of graphs, or `{CLUSTER_SCOPE}`.",
            DiagnosticCode.POLICY_MISSING_APPLIES_TO,
        )
        return
    names = keys.texts(value, path)
    if CLUSTER_SCOPE in names and set(names) != {CLUSTER_SCOPE}:
        keys.wrong(
            path,
            f"`{path}` names `{CLUSTER_SCOPE}` beside graphs; a policy is for a server or for graphs. Make two of it.",
            DiagnosticCode.POLICY_MIXED_BINDING_KINDS,
        )
        return
    for name in names:
        graph_id = name.removeprefix("graph.")
        if name == CLUSTER_SCOPE:
            yield CLUSTER_SCOPE
        elif "." in graph_id:
            keys.wrong(
                path,
                f"`{path}` has `{name}`, which names no graph; write its id, or {graph_address('<id>')}.",
                DiagnosticCode.WRONG_KIND_REFERENCE,
            )
        elif graph_id not in graphs:
            keys.wrong(
                path,
                f"`{path}` names the graph `{graph_id}`, which `graphs` does not declare.",
                DiagnosticCode.DANGLING_GRAPH_REFERENCE,
            )
        else:
            yield graph_address(graph_id)


def _refuse_shared_scopes(keys: KeyReader, policies: dict[str, DeclaredPolicy]) -> None:
    first_by_scope: dict[str, str] = {}
    for name, policy in sorted(policies.items()):
        for scope in policy.applies_to:
            first = first_by_scope.setdefault(scope, name)
            if first != name:
                keys.wrong(
                    f"policies.{name}.applies_to",
                    f"The policies `{first}` and `{name}` are both for {scope}; one scope has one. Make one of them.",
                    DiagnosticCode.DUPLICATE_POLICY_BINDING,
                )


def _is_plain_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_plain = "@" not in parts.netloc and not parts.query and not parts.fragment
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and is_plain


_BAD_ID = DiagnosticCode.INVALID_RESOURCE_ID
_BAD_PROVIDER = DiagnosticCode.INVALID_EMBEDDING_PROVIDER
_BAD_BLOBS = DiagnosticCode.INVALID_EXTERNAL_BLOB_POLICY
