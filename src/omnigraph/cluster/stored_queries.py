"""The stored queries that a cluster has applied, and whether they still fit the schema that their graph lives by."""

import os
from collections.abc import Mapping

from omnigraph.base.values import dataclass
from omnigraph.cluster.catalog import BlobState, read_blob
from omnigraph.cluster.discovery import query_problem
from omnigraph.cluster.ledger import storage_root
from omnigraph.cluster.looking import LiveGraph, look_at_graph
from omnigraph.cluster.resources import ResourceKind, graph_address, graph_of, name_of
from omnigraph.cluster.site import ClusterSite
from omnigraph.cluster.state import Ledger
from omnigraph.errors import ClusterStateMissing, GraphNotApplied, ParseError
from omnigraph.language.query import parse_queries
from omnigraph.language.query.spelling import spell_parameter_type
from omnigraph.language.query.syntax import MutationSyntax, QueryFileSyntax, QuerySyntax
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.query.lint import NO_PARAMETERS


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogParameter:
    """A parameter of a stored query."""

    name: str
    type: str
    nullable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogQuery:
    """A stored query as clients see it."""

    name: str
    graph_id: str
    is_mutation: bool
    description: str | None
    instruction: str | None
    parameters: tuple[CatalogParameter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedQueries:
    """What a check of stored queries came to: `(query, message)` for each that is broken or looks odd."""

    breakages: tuple[tuple[str, str], ...]
    warnings: tuple[tuple[str, str], ...]

    @property
    def ok(self) -> bool:
        """Whether none is broken."""
        return not self.breakages


@dataclass(frozen=True, slots=True, kw_only=True)
class _Applied:
    """A stored query as the catalog has it, or why it cannot be read."""

    address: str
    problem: str | None = None
    syntax: QuerySyntax | None = None
    parsed: QueryFileSyntax | None = None


def list_queries(
    cluster: str, *, graph_id: str | None = None, environ: Mapping[str, str] = os.environ
) -> tuple[list[CatalogQuery], tuple[tuple[str, str], ...]]:
    """Return the applied queries of a cluster, or of one of its graphs, and `(query, problem)` for the unreadable."""
    site, ledger = _open(cluster, graph_id, environ)
    queries = [_read(site, address, ledger) for address in _addresses(ledger, graph_id)]
    listed = [_described(query.address, query.syntax) for query in queries if query.syntax is not None]
    return listed, tuple((name_of(query.address), query.problem) for query in queries if query.problem is not None)


def check_stored_queries(
    cluster: str, *, graph_id: str | None = None, environ: Mapping[str, str] = os.environ
) -> CheckedQueries:
    """Check the applied queries against the schema that each graph has now; reads no data."""
    site, ledger = _open(cluster, graph_id, environ)
    live_by_graph: dict[str, LiveGraph] = {}
    breakages: list[tuple[str, str]] = []
    warnings: list[tuple[str, str]] = []
    for address in _addresses(ledger, graph_id):
        name, owner = name_of(address), graph_of(address) or ""
        query = _read(site, address, ledger)
        if query.syntax is None or query.parsed is None:
            breakages.append((name, query.problem or f"{address} cannot be read."))
            continue
        if owner not in live_by_graph:
            live_by_graph[owner] = look_at_graph(site.graph_uri(owner))
        problem = _problem(query.syntax, query.parsed, live_by_graph[owner])
        if problem is not None:
            breakages.append((name, problem))
        elif isinstance(query.syntax.body, MutationSyntax) and not query.syntax.parameters:
            warnings.append((name, NO_PARAMETERS))
    return CheckedQueries(breakages=tuple(breakages), warnings=tuple(warnings))


def _problem(syntax: QuerySyntax, parsed: QueryFileSyntax, live: LiveGraph) -> str | None:
    if live.context is None:
        return f"its graph cannot be opened: {live.error or f'there is none at {live.uri}'}"
    schema = live.context.manifest.load(MAIN_BRANCH).snapshot.schema
    return query_problem(syntax, parsed, live.context.schemas.catalog(schema))


def _open(cluster: str, graph_id: str | None, environ: Mapping[str, str]) -> tuple[ClusterSite, Ledger]:
    site = ClusterSite.open(storage_root(cluster), environ)
    stored = site.read_ledger(is_strict=False)
    if stored is None:
        raise ClusterStateMissing(
            f"cluster `{cluster}` has no applied state: {site.state_path} does not exist. "
            "Run `omnigraph cluster import`, then `omnigraph cluster apply`.",
            cluster=cluster,
        )
    ledger = stored.ledger
    if graph_id is not None and graph_address(graph_id) not in ledger.resources:
        raise GraphNotApplied(
            f"graph `{graph_id}` is not applied in cluster `{cluster}`. Applied: [{', '.join(ledger.graph_ids)}]. "
            "Check the spelling, or add it to cluster.yaml and run `omnigraph cluster apply`.",
            graph_id=graph_id,
            applied=list(ledger.graph_ids),
        )
    return site, ledger


def _addresses(ledger: Ledger, graph_id: str | None) -> list[str]:
    found = ledger.addresses(ResourceKind.QUERY)
    return [address for address in found if graph_id is None or graph_of(address) == graph_id]


def _read(site: ClusterSite, address: str, ledger: Ledger) -> _Applied:
    digest = ledger.resources[address].digest
    blob = read_blob(site, address, digest) if digest is not None else None
    if blob is None or blob.state is not BlobState.WHOLE or blob.content is None:
        reason = f"its content in the catalog is {blob.state if blob else 'missing'}"
        remedy = "run `omnigraph cluster refresh`, then `omnigraph cluster apply`"
        return _Applied(address=address, problem=f"{reason}; {remedy}.")
    try:
        parsed = parse_queries(blob.content.decode(), source=blob.path)
    except (ParseError, UnicodeDecodeError) as error:
        return _Applied(address=address, problem=str(error))
    syntax = next((query for query in parsed.queries if query.name.text == name_of(address)), None)
    problem = None if syntax else f"{blob.path} declares no query of this name."
    return _Applied(address=address, problem=problem, syntax=syntax, parsed=parsed)


def _described(address: str, syntax: QuerySyntax) -> CatalogQuery:
    return CatalogQuery(
        name=name_of(address),
        graph_id=graph_of(address) or "",
        is_mutation=isinstance(syntax.body, MutationSyntax),
        description=syntax.description,
        instruction=syntax.instruction,
        parameters=tuple(
            CatalogParameter(
                name=parameter.variable.name,
                type=spell_parameter_type(parameter.type).removesuffix("?"),
                nullable=parameter.type.nullable,
            )
            for parameter in syntax.parameters
        ),
    )
