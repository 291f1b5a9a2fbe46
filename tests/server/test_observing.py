"""What a server tells about itself: its log, its numbers, its request ids, and nothing that is secret."""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.server.app import Application
from omnigraph.server.lines import LineShape, Varies, spell_line
from omnigraph.server.logs import ServerLog
from omnigraph.server.tracing import Tracer, tracer_of
from support.embedding_server import EmbeddingServer, embedding_server
from support.served import TOKENS, Declared, ServedApp, make_cluster, running_server, served_app

READ = "query q($n: String) { match { $a: Artist { name: $n } } return { $a.name } }"


def test_every_request_has_one_line_and_no_values(app: ServedApp) -> None:
    app.log.facts.clear()

    app.ask("POST", "/graphs/art/query", {"query": READ, "params": {"n": "a-secret-value"}})
    app.ask("GET", "/graphs/art/schema", actor=None)
    app.ask("GET", "/nowhere", actor=None)

    well, refused, lost = app.log.of("request")
    assert {name: well[name] for name in ("method", "route", "graph_id", "status", "actor_id", "error_kind")} == {
        "method": "POST",
        "route": "/graphs/{graph_id}/query",
        "graph_id": "art",
        "status": 200,
        "actor_id": "act-ines",
        "error_kind": None,
    }
    assert well["bytes_in"] > 0
    assert well["bytes_out"] > 0
    assert (refused["status"], refused["error_kind"], refused["actor_id"]) == (401, "unauthorized", None)
    assert (lost["route"], lost["error_kind"]) == ("(none)", "route_not_found")
    said = json.dumps(app.log.facts)
    assert "a-secret-value" not in said
    assert "match {" not in said
    assert all(token not in said for token in TOKENS.values())


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [("mine", True), ("a.b_c-9", True), ("x" * 128, True), ("x" * 129, False), ("has space", False), ("", False)],
)
def test_a_request_id_is_kept_if_it_is_plain(app: ServedApp, given: str, is_kept: bool) -> None:
    answer = app.ask("GET", "/nowhere", headers={"X-Request-Id": given})

    assert (answer.headers["x-request-id"] == given) is is_kept
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    if not is_kept:
        assert len(answer.headers["x-request-id"]) == 26


def test_a_traceparent_is_logged_if_it_is_one(app: ServedApp) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    app.log.facts.clear()

    app.ask("GET", "/healthz", headers={"traceparent": parent})
    app.ask("GET", "/healthz", headers={"traceparent": "nonsense"})

    first, second = app.log.of("request")
    assert first["traceparent"] == parent
    assert "traceparent" not in second


@pytest.mark.parametrize(
    "parent",
    [
        f"ff-{'a' * 32}-{'b' * 16}-01",
        f"00-{'0' * 32}-{'b' * 16}-01",
        f"00-{'a' * 32}-{'0' * 16}-01",
        f"00-{'A' * 32}-{'b' * 16}-01",
        f"00-{'a' * 32}-{'b' * 16}-01\tx",
    ],
)
def test_what_is_no_traceparent_is_left_out(app: ServedApp, parent: str) -> None:
    app.log.facts.clear()

    app.ask("GET", "/healthz", headers={"traceparent": parent})

    assert "traceparent" not in app.log.of("request")[0]


def test_a_message_of_several_lines_is_one_line_of_the_log() -> None:
    line = spell_line(0, logging.ERROR, "first\n1970 info    second\n", {"branch": "a\nb"}, is_json=False)

    assert line.count("\n") == 1
    assert "first\\n1970 info    second branch=" in line


def test_metrics_are_for_whoever_has_a_token_and_name_no_graph(app: ServedApp) -> None:
    app.ask("POST", "/graphs/art/query", {"query": READ, "params": {"n": "Ines"}})
    refused = app.ask("GET", "/metrics", actor=None)
    answer = app.ask("GET", "/metrics", actor="act-lee")

    assert refused.status_code == 401
    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.text.splitlines()
    assert any(
        line.startswith('omnigraph_http_requests_total{method="POST",route="/graphs/{graph_id}/query",status="200"}')
        for line in lines
    )
    assert "omnigraph_graphs_ready 1.0" in lines
    assert any(line.startswith("omnigraph_http_request_seconds_bucket") for line in lines)
    assert '"art"' not in answer.text
    assert "act-" not in answer.text


def test_an_unexpected_failure_is_one_sentence_and_a_traceback_in_the_log(app: ServedApp, monkeypatch, caplog) -> None:
    graph = app.application.service.graphs["art"].graph

    def broken(*_: object, **__: object) -> None:
        raise KeyError("a-secret-value")

    monkeypatch.setattr(graph, "commits", broken)

    answer = app.ask("GET", "/graphs/art/commits")

    assert answer.status_code == 500
    assert answer.json() == {
        "error": "internal error",
        "kind": "internal",
        "code": "internal",
        "request_id": answer.headers["x-request-id"],
    }
    assert "KeyError" in caplog.text


def test_answers_name_no_place_of_storage_beyond_the_contract(app: ServedApp) -> None:
    place = app.application.service.graphs["art"].graph.uri
    for method, path, body in (
        ("POST", "/graphs/art/query", {"query": READ, "branch": "nope"}),
        ("DELETE", "/graphs/art/branches/nope", None),
        ("POST", "/graphs/art/branches/merge", {"source": "nope"}),
        ("POST", "/graphs/art/export", {"type_names": ["Nope"]}),
        ("GET", "/graphs/art/commits/zzzz", None),
        ("GET", "/graphs/art/changes?branch=nope", None),
        ("POST", "/graphs/art/schema/apply", {"schema_source": "x"}),
        ("GET", "/graphs/art/schema", None),
        ("GET", "/graphs", None),
        ("GET", "/metrics", None),
    ):
        assert place not in app.ask(method, path, body).text


@pytest.mark.parametrize("form", ["text", "json"])
def test_lines_are_text_or_json(form: str) -> None:
    reading, writing = os.pipe()
    log = ServerLog(form=form, descriptor=writing)

    log.note(
        "request", {"request_id": "r1", "route": "/graphs/{graph_id}", "actor_id": 'a "b"\n', "status": 200, "x": None}
    )
    log.put(10, "too quiet", {})
    log.stop()
    os.close(writing)
    with os.fdopen(reading) as lines:
        (line,) = lines.read().splitlines()

    if form == "json":
        found = json.loads(line)
        assert (found["level"], found["msg"], found["actor_id"]) == ("info", "request", 'a "b"\n')
        assert found["ts"].endswith("Z")
    else:
        assert line.partition(" ")[2] == (
            'info    request request_id=r1 route=/graphs/{graph_id} actor_id="a \\"b\\"\\n" status=200'
        )


def test_lines_of_one_shape_are_those_that_facts_make() -> None:
    fixed = {"method": "GET", "actor_id": 'a "100%"\n', "status": 200, "error_kind": None, "allowed": True}
    shape = LineShape("request", {"request_id": Varies.TEXT, **fixed, "duration_ms": Varies.NUMBER})
    facts = {"request_id": "r-1", **fixed, "duration_ms": 0.25}

    for is_json in (True, False):
        expected = spell_line(1_794_975_000_123_456, logging.INFO, "request", facts, is_json=is_json)
        assert shape.spell(1_794_975_000_123_456, ("r-1", 0.25), is_json=is_json) == expected


def test_caches_are_counted(app: ServedApp) -> None:
    def numbers() -> dict[str, float]:
        lines = app.ask("GET", "/metrics").text.splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[0] != "#"}

    body = {"query": "query cached() { match { $a: Artist } return { $a.name } }"}
    before = numbers()
    for _ in range(3):
        app.ask("POST", "/graphs/art/query", body)
    after = numbers()

    def grown(name: str) -> float:
        return after[name] - before[name]

    assert grown('omnigraph_cache_misses_total{cache="plan"}') == 1
    assert grown('omnigraph_cache_hits_total{cache="plan"}') == 2
    assert after['omnigraph_cache_entries{cache="plan"}'] >= 1
    assert after['omnigraph_cache_entries{cache="snapshot"}'] >= 1
    assert 0 < after['omnigraph_cache_bytes{cache="image"}'] < after['omnigraph_cache_bytes_max{cache="image"}']


def test_a_commit_is_timed(app: ServedApp) -> None:
    insert = 'query add() { insert Artist { name: "Timed" } }'
    assert app.ask("POST", "/graphs/art/mutate", {"query": insert}).status_code == 200

    lines = app.ask("GET", "/metrics").text.splitlines()

    assert 'omnigraph_commit_seconds_count{operation="mutate"} 1.0' in lines


PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
DOCS = 'node Doc { title: String @key  vec: Vector(4) @embed("title") }'
NEAR = "query q($t: String) { match { $d: Doc } return { $d.title } order { nearest($d.vec, $t) } limit 1 }"


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServedApp, EmbeddingServer]]:
    """A graph whose reads ask a provider for vectors."""
    root = tmp_path_factory.mktemp("traced")
    record = json.dumps({"type": "Doc", "data": {"title": "ice", "vec": [1.0, 0.0, 0.0, 0.0]}})
    with embedding_server() as provider, pytest.MonkeyPatch.context() as patched:
        for name, value in provider.environ().items():
            patched.setenv(name, value)
        make_cluster(str(root), {"docs": Declared(schema=DOCS, seed=record, queries=None)})
        app = served_app(str(root), environ={}, unauthenticated=True)
        yield app, provider
        app.close()


def test_the_trace_of_a_request_goes_on_to_the_provider_of_vectors(searched: tuple[ServedApp, EmbeddingServer]) -> None:
    app, provider = searched

    for text, headers in (("one", {"traceparent": PARENT}), ("two", {"traceparent": "nonsense"}), ("three", {})):
        body = {"query": NEAR, "params": {"t": text}}
        assert app.ask("POST", "/graphs/docs/query", body, actor=None, headers=headers).status_code == 200

    assert [request["headers"].get("traceparent") for request in provider.requests[-3:]] == [PARENT, None, None]


def test_a_request_is_a_span_below_the_one_that_the_client_names(searched: tuple[ServedApp, EmbeddingServer]) -> None:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    app, provider = searched
    exporter = InMemorySpanExporter()
    tracer = Tracer({"OTEL_SERVICE_NAME": "museum"}, exporter)
    traced = ServedApp(Application(app.application.service, tracer), app.log)
    body = {"query": NEAR, "params": {"t": "a-secret-value"}}
    headers = {"traceparent": PARENT, "X-Request-Id": "mine"}

    assert traced.ask("POST", "/graphs/docs/query", body, actor=None, headers=headers).status_code == 200
    traced.ask("POST", "/graphs/docs/query", {"query": NEAR, "params": {"t": 5}}, actor=None)
    traced.ask("GET", "/healthz", actor=None)
    tracer.close()
    traced.loop.call_soon_threadsafe(traced.loop.stop)

    well, refused = exporter.get_finished_spans()
    assert (well.name, well.kind.name, well.resource.attributes["service.name"]) == ("query", "SERVER", "museum")
    assert f"{well.context.trace_id:032x}" == PARENT.split("-")[1]
    assert f"{well.parent.span_id:016x}" == PARENT.split("-")[2]
    assert dict(well.attributes) == {
        "http.route": "/graphs/{graph_id}/query",
        "http.request.method": "POST",
        "omnigraph.graph_id": "docs",
        "omnigraph.request_id": "mine",
        "http.response.status_code": 200,
    }
    assert provider.requests[-1]["headers"]["traceparent"] == (
        f"00-{well.context.trace_id:032x}-{well.context.span_id:016x}-01"
    )
    assert refused.parent is None
    assert (refused.attributes["http.response.status_code"], refused.attributes["error.type"]) == (400, "param_error")
    assert not refused.events
    assert "a-secret-value" not in well.to_json()


def test_traces_need_an_extra_and_a_place(monkeypatch) -> None:
    assert tracer_of({}) is None
    tracer = tracer_of({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})
    assert tracer is not None


def test_the_loggers_are_given_back_as_they_were() -> None:
    logger = logging.getLogger("omnigraph")
    before = (list(logger.handlers), logger.propagate, logger.level)
    log = ServerLog(descriptor=os.open(os.devnull, os.O_WRONLY))

    log.start()
    assert logger.level == logging.INFO
    log.stop()

    assert (list(logger.handlers), logger.propagate, logger.level) == before


def test_what_libraries_log_is_a_line_like_all_others(museum: str, tmp_path: Path) -> None:
    """Traces that nobody takes make the library behind them warn, in the format of the log."""
    nowhere = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    with running_server(museum, tmp_path, "--log-format", "json", environ=nowhere) as server:
        with server.client() as client:
            assert client.get("/graphs/art/schema").status_code == 200
        server.signal()
        assert server.wait() == 0
        lines = [json.loads(line) for line in server.log.splitlines()]

    assert [line for line in lines if line.get("logger", "").startswith("opentelemetry")]
    assert lines[-1]["msg"] == "stopped"
