"""What a server tells about itself: its log, its numbers, its request ids, and nothing that is secret."""

import json
import logging
import os

import pytest

from omnigraph.server.logs import ServerLog
from support.served import TOKENS, ServedApp

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


def test_traces_need_an_extra_and_a_place(monkeypatch) -> None:
    from omnigraph.server.tracing import tracer_of

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
