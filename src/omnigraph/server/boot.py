"""Starting the server, in the order that the contract has: tokens, snapshot, policies, state, graphs, address."""

import gc
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from omnigraph.base.events import Event, Warned
from omnigraph.cluster.blob_bases import bases_for, problem_of_policy
from omnigraph.cluster.resources import BlobScope
from omnigraph.cluster.serving import (
    AppliedBundle,
    Quarantine,
    ServingCode,
    ServingGraph,
    ServingSnapshot,
    read_serving_snapshot,
    refuse_quarantined,
    refuse_without_graphs,
)
from omnigraph.errors import BootRefused, OmniError
from omnigraph.policy.actions import BundleKind
from omnigraph.server.app import Application
from omnigraph.server.embedding import embedding_environ
from omnigraph.server.gate import PolicyGate
from omnigraph.server.logs import ServerLog
from omnigraph.server.memory import settle
from omnigraph.server.running import listen, run_service
from omnigraph.server.service import ServedGraph, Service
from omnigraph.server.settings import Limits, ServeRequest
from omnigraph.server.states import RuntimeState, decide_state
from omnigraph.server.stored import check_stored
from omnigraph.server.tokens import TokenTable, load_tokens
from omnigraph.server.tracing import Tracer, tracer_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from omnigraph.policy.engine import PolicyEngine

_OPENED_AT_ONCE = 4
_SWITCH_SECONDS = 0.001
_FAREWELL_SECONDS = 1.0
_MAIN = "main"


def serve(
    request: ServeRequest, environ: Mapping[str, str], console: "Callable[[Application], ASGIApp] | None" = None
) -> None:
    """Serve a cluster until a signal comes; raise `BootRefused` if it cannot be served.

    `console` makes the pages that are offered at `/ui`; they ask the application as any client does.
    """
    log = ServerLog(level=request.log_level, form=request.log_format)
    log.start()
    try:
        application = prepare(request, environ, log)
        service = application.service
        sock = listen(request.bind)
        log.note(
            "serving",
            {
                "bind": request.bind.spelled(sock.getsockname()[1]),
                "state": service.state.value,
                "tokens": service.tokens.source,
                "graphs_ready": len(service.graphs),
                "graphs_quarantined": service.quarantined,
            },
        )
        settle()
        # Threads that work in Python let the event loop have its turn sooner than the usual five milliseconds.
        sys.setswitchinterval(_SWITCH_SECONDS)
        pages = console(application) if console is not None else None
        run_service(application, sock, request.bind, shutdown_seconds=request.shutdown_timeout, pages=pages)
        application.close()
        is_ended = service.workers.have_ended(_FAREWELL_SECONDS)
        log.note("stopped", {} if is_ended else {"left": "what still runs"})
        if not is_ended:
            # Their time is over, and Python would wait for their threads without an end.
            log.stop()
            os._exit(0)
    finally:
        # What nobody looks at for garbage is never let go, not even at the exit, where DuckDB complains about it.
        gc.unfreeze()
        log.stop()


def prepare(request: ServeRequest, environ: Mapping[str, str], log: ServerLog) -> Application:
    """Make everything ready up to the address; what is wrong with one graph keeps that graph out."""
    tokens = load_tokens(environ)
    log.note("tokens", {"source": tokens.source, "actors": len(tokens.digests)})

    def tell(event: Event) -> None:
        if isinstance(event, Warned):
            log.caution(event.message, {})

    snapshot = read_serving_snapshot(request.cluster, environ=environ, events=tell)
    server_policy = _server_policy(snapshot.server_policy)
    policies = {graph.graph_id: _graph_policy(graph) for graph in snapshot.graphs}
    state = decide_state(
        has_tokens=bool(tokens),
        has_bundles=snapshot.has_bundles,
        unauthenticated=request.unauthenticated,
        bind=request.bind,
    )
    if state is RuntimeState.OPEN and snapshot.has_bundles:
        log.caution("POLICIES ARE NOT ENFORCED: the server is open, and anybody on this machine may do everything", {})
    graphs, quarantined = _open_graphs(snapshot, policies, state, log, environ)
    if request.require_all_graphs:
        refuse_quarantined(quarantined)
    if not graphs:
        refuse_without_graphs(quarantined)
    if request.default_graph is not None and request.default_graph not in graphs:
        raise BootRefused(f"--default-graph {request.default_graph} is not a graph that is ready in this cluster.")
    return application_of(
        graphs,
        state=state,
        tokens=tokens,
        log=log,
        limits=Limits.from_environ(environ, cores=os.cpu_count() or 1, warn=lambda text: log.caution(text, {})),
        server_policy=server_policy,
        quarantined=len(quarantined),
        default_graph=request.default_graph,
        tracer=tracer_of(environ),
        source_version=environ.get("OMNIGRAPH_SOURCE_VERSION", "").strip() or None,
    )


def application_of(
    graphs: Mapping[str, ServedGraph],
    *,
    state: RuntimeState,
    tokens: TokenTable,
    log: ServerLog,
    limits: Limits,
    server_policy: "PolicyEngine | None" = None,
    quarantined: int = 0,
    default_graph: str | None = None,
    tracer: Tracer | None = None,
    source_version: str | None = None,
) -> Application:
    """Put the parts of a server together."""
    service = Service(
        graphs=graphs,
        state=state,
        tokens=tokens,
        log=log,
        limits=limits,
        server_gate=PolicyGate(state, server_policy, log),
        quarantined=quarantined,
        default_graph=default_graph,
        source_version=source_version,
    )
    return Application(service, tracer)


def _server_policy(bundle: AppliedBundle | None) -> "PolicyEngine | None":
    if bundle is None:
        return None
    from omnigraph.policy.engine import PolicyEngine
    from omnigraph.policy.reading import parse_bundle

    return PolicyEngine(parse_bundle(bundle.text, name=bundle.name, bound_to=BundleKind.SERVER), "")


def _graph_policy(graph: ServingGraph) -> "PolicyEngine | None":
    if graph.policy is None:
        return None
    from omnigraph.policy.engine import PolicyEngine

    return PolicyEngine.from_source(graph.policy.text, graph.graph_id, name=graph.policy.name)


def _open_graphs(
    snapshot: ServingSnapshot,
    policies: "Mapping[str, PolicyEngine | None]",
    state: RuntimeState,
    log: ServerLog,
    environ: Mapping[str, str],
) -> tuple[dict[str, ServedGraph], tuple[Quarantine, ...]]:
    """Open every graph, a few at a time; those that fail are kept out, with the reason in the log."""
    found: dict[str, ServedGraph] = {}
    quarantined = list(snapshot.quarantined)

    def open_one(graph: ServingGraph) -> ServedGraph | Quarantine:
        try:
            return _open_graph(graph, PolicyGate(state, policies[graph.graph_id], log), environ)
        except OmniError as error:
            return Quarantine(graph_id=graph.graph_id, code=ServingCode.GRAPH_UNAVAILABLE, reason=error.message)

    with ThreadPoolExecutor(_OPENED_AT_ONCE) as pool:
        for opened in pool.map(open_one, snapshot.graphs):
            if isinstance(opened, Quarantine):
                quarantined.append(opened)
            else:
                found[opened.graph_id] = opened
    for each in quarantined:
        log.caution("graph quarantined", {"graph_id": each.graph_id, "code": str(each.code), "reason": each.reason})
    return found, tuple(quarantined)


def _open_graph(serving: ServingGraph, gate: PolicyGate, environ: Mapping[str, str]) -> ServedGraph:
    from omnigraph._graph_clusters import open_served_graph

    # Before anything is opened, because opening may complete what a crash interrupted.
    problem = None if serving.external_blobs is None else problem_of_policy(serving.external_blobs)
    if problem is not None:
        raise BootRefused(f"Its policy for blobs from elsewhere cannot be used: {problem}.")
    safe = bases_for(serving.external_blobs, [BlobScope.SERVER_SAFE])
    graph = open_served_graph(
        serving.uri,
        policy=gate.authorizer,
        embed_environ=embedding_environ(serving.embedding, environ),
        find_blob_bases=lambda: safe,
    )
    queries = check_stored(serving.query_texts, graph.following.look(_MAIN).catalog)
    return ServedGraph(graph_id=serving.graph_id, graph=graph, gate=gate, queries=queries)
