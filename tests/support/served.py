"""Clusters to serve, and servers: in this process for most tests, as processes where sockets and signals count."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

import omnigraph
from omnigraph.cluster.catalog import publish_blob
from omnigraph.cluster.resources import BlobBase, BlobScope, ExternalBlobPolicy, file_digest
from omnigraph.cluster.site import ClusterSite
from omnigraph.cluster.state import AppliedResource, Ledger, composite_digest
from omnigraph.server.app import Application
from omnigraph.server.boot import prepare
from omnigraph.server.lines import LineShape
from omnigraph.server.logs import ServerLog
from omnigraph.server.settings import Bind, ServeRequest
from support.program import SCHEMA, SEED

QUERIES = """\
query by_artist($name: String) @description("Works of one artist.") @instruction("Ask with a full name.") {
    match {
        $w: Artwork
        $w createdBy $a
        $a: Artist { name: $name }
    }
    return { $w.title, $a.born }
    order { $w.title }
}

query add_artist($name: String, $born: I32?) {
    insert Artist { name: $name, born: $born }
}
"""
POLICY = """\
version: 1
groups:
  keepers: [act-ines, act-omar]
  interns: [act-lee]
  readers: [act-rae]
protected_branches: [main]
rules:
  - id: keepers-all
    allow: { actors: { group: keepers }, actions: [read, export, change], branch_scope: any }
  - id: keepers-branches
    allow:
      actors: { group: keepers }
      actions: [branch_create, branch_delete, branch_merge, schema_apply]
      target_branch_scope: any
  - id: keepers-invoke
    allow: { actors: { group: keepers }, actions: [invoke_query] }
  - id: interns-side
    allow: { actors: { group: interns }, actions: [read, change], branch_scope: unprotected }
  - id: readers-read
    allow: { actors: { group: readers }, actions: [read], branch_scope: any }
  - id: readers-invoke
    allow: { actors: { group: readers }, actions: [invoke_query] }
"""
SERVER_POLICY = """\
version: 1
kind: server
groups: { keepers: [act-ines] }
rules:
  - id: keepers-list
    allow: { actors: { group: keepers }, actions: [graph_list] }
"""
TOKENS = {name: f"secret-{name}" for name in ("act-ines", "act-omar", "act-lee", "act-rae", "act-zoe")}
TOKENS_VARIABLE = "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What a graph of a made-up cluster has."""

    schema: str = SCHEMA
    seed: str = SEED
    queries: str | None = QUERIES
    query_names: tuple[str, ...] = ("by_artist", "add_artist")
    blob_bases: Mapping[str, BlobScope] = field(default_factory=dict)


def make_cluster(
    root: str,
    graphs: Mapping[str, Declared] | None = None,
    *,
    policies: Mapping[str, tuple[str, tuple[str, ...]]] | None = None,
) -> None:
    """Make a cluster as `cluster apply` leaves it: graphs, catalog and ledger; a policy is its text and its scopes."""
    site = ClusterSite.open(root)
    resources: dict[str, AppliedResource] = {}
    graphs = graphs if graphs is not None else {"art": Declared()}
    for graph_id, declared in graphs.items():
        graph = omnigraph.init(site.graph_uri(graph_id), declared.schema)
        if declared.seed:
            graph.load(io.BytesIO(declared.seed.encode()), mode="merge")
        resources[f"schema.{graph_id}"] = AppliedResource(digest=file_digest(declared.schema.encode()))
        if declared.queries is not None:
            for name in declared.query_names:
                _publish(site, resources, f"query.{graph_id}.{name}", declared.queries)
    for name, (text, scopes) in (policies or {}).items():
        _publish(site, resources, f"policy.{name}", text, applies_to=tuple(sorted(scopes)))
    for graph_id in graphs:
        address = f"graph.{graph_id}"
        bases = tuple(BlobBase(uri=uri, scope=scope) for uri, scope in graphs[graph_id].blob_bases.items())
        blobs = ExternalBlobPolicy(bases=bases) if bases else None
        resources[address] = AppliedResource(digest=None, external_blob_policy=blobs)
        resources[address] = replace(resources[address], digest=composite_digest(resources, graph_id))
    site.write_ledger(Ledger(state_revision=1, resources=resources), over=None)


def _publish(
    site: ClusterSite,
    resources: dict[str, AppliedResource],
    address: str,
    text: str,
    *,
    applies_to: tuple[str, ...] | None = None,
) -> None:
    content = text.encode()
    publish_blob(site, address, file_digest(content), content)
    resources[address] = AppliedResource(digest=file_digest(content), applies_to=applies_to)


@dataclass
class ServedApp:
    """An application on an event loop of its own, asked from any thread without sockets."""

    application: Application
    log: "Lines"
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def __post_init__(self) -> None:
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=self.application, raise_app_exceptions=False), base_url="http://server"
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        actor: str | None = "act-ines",
        headers: Mapping[str, str] | list[tuple[str, str]] | None = None,
        content: Any = None,
    ) -> httpx.Response:
        """Send a request and wait for the whole answer; `actor` chooses the token."""
        return self.start(method, path, body, actor=actor, headers=headers, content=content).result(60)

    def start(self, method: str, path: str, body: Any = None, *, actor="act-ines", headers=None, content=None):
        """Send a request; the answer comes later."""
        sent = httpx.Headers(headers)
        if actor is not None and "Authorization" not in sent:
            sent["Authorization"] = f"Bearer {TOKENS[actor]}"
        if body is not None:
            content = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        request = self._client.build_request(method, path, headers=sent, content=content)
        return asyncio.run_coroutine_threadsafe(self._client.send(request), self.loop)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.application.service.workers.close()


class Lines(ServerLog):
    """A log that is kept instead of written."""

    def __init__(self) -> None:
        super().__init__(level="info")
        self.facts: list[tuple[str, dict[str, Any]]] = []

    def put(self, level: int, message: str, facts: Mapping[str, Any]) -> None:
        self.facts.append((message, dict(facts)))

    def note_shaped(self, shape: LineShape, *values: Any) -> None:
        line = json.loads(shape.spell(0, values, is_json=True))
        self.facts.append((line["msg"], {name: line[name] for name in line if name not in {"ts", "level", "msg"}}))

    def of(self, message: str) -> list[dict[str, Any]]:
        """Return the facts of every line with this message."""
        return [facts for said, facts in self.facts if said == message]


def served_app(cluster: str, *, environ: Mapping[str, str] | None = None, **options: Any) -> ServedApp:
    """Prepare an application as a server does, with a token for every actor unless the environment says otherwise."""
    log = Lines()
    request = ServeRequest(cluster=cluster, bind=Bind(host="127.0.0.1", port=0), **options)
    environment = {TOKENS_VARIABLE: json.dumps(TOKENS)} if environ is None else dict(environ)
    return ServedApp(prepare(request, environment, log), log)


@dataclass
class ServerProcess:
    """A real server."""

    process: subprocess.Popen[str]
    url: str
    stderr: Path

    def client(self, actor: str | None = "act-ines", **options: Any) -> httpx.Client:
        headers = {"Authorization": f"Bearer {TOKENS[actor]}"} if actor is not None else {}
        # Nothing is encrypted, and certificates take longer to load than most requests take.
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, verify=False, **options)

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return host, int(port)

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float = 60) -> int:
        return self.process.wait(seconds)

    @property
    def log(self) -> str:
        return self.stderr.read_text()


@contextmanager
def running_server(
    cluster: str, directory: Path, *arguments: str, environ: Mapping[str, str] | None = None
) -> Iterator[ServerProcess]:
    """Run `omnigraph-server` on a port of its own until the block ends."""
    environment = {**os.environ, TOKENS_VARIABLE: json.dumps(TOKENS), **(environ or {})}
    stderr = directory / f"server-{os.getpid()}-{id(environment)}.log"
    with stderr.open("w") as errors:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "omnigraph.cli.server_main",
                "--cluster",
                cluster,
                "--bind",
                "127.0.0.1:0",
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
        )
    try:
        line = process.stdout.readline()
        assert line.startswith("OMNIGRAPH_LISTEN_ADDR="), stderr.read_text()
        yield ServerProcess(process, f"http://{line.strip().partition('=')[2]}", stderr)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        process.stdout.close()
