"""Requests made at random from the description of the routes: none gives a 5xx, a stack trace or a place of storage."""

import json

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from omnigraph.server.openapi import openapi_document
from support.served import TOKENS, ServedApp


def described() -> dict[str, object]:
    document = json.loads(json.dumps(openapi_document()))
    for methods in document["paths"].values():
        for operation in methods.values():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/x-ndjson" in content:  # which the generator cannot spell; it is sent as it is
                content["text/plain"] = content.pop("application/x-ndjson")
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "graph_id":
                    parameter["schema"] = {"enum": ["art", "other", "9", "a/b", "%2e"]}
    return document


schema = schemathesis.openapi.from_dict(described())


@pytest.mark.exhaustive
@schema.parametrize()
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_breaks_the_server(case, fuzzed: ServedApp) -> None:
    headers = {name: value for name, value in (case.headers or {}).items() if _is_sendable(name, value)}
    headers["Authorization"] = f"Bearer {TOKENS['act-ines']}"
    content = None
    if case.body is not None and not isinstance(case.body, type(schemathesis.core.NOT_SET)):
        content = case.body if isinstance(case.body, bytes) else json.dumps(case.body, default=str).encode()
        kind = (case.media_type or "application/json").replace("text/plain", "application/x-ndjson")
        headers.setdefault("Content-Type", kind)
    request = fuzzed._client.build_request(
        case.method, case.formatted_path, params=case.query or None, headers=headers, content=content
    )

    answer = _send(fuzzed, request)

    assert answer.status_code < 500, answer.text
    assert "Traceback" not in answer.text
    if answer.status_code >= 400 and case.method != "HEAD":
        assert {"error", "kind", "request_id"} <= answer.json().keys()
        assert fuzzed.application.service.graphs["art"].graph.uri not in answer.text


@pytest.fixture(scope="module")
def fuzzed(app: ServedApp) -> ServedApp:
    return app


def _send(app: ServedApp, request):
    import asyncio

    return asyncio.run_coroutine_threadsafe(app._client.send(request), app.loop).result(60)


def _is_sendable(name: str, value: object) -> bool:
    return (
        isinstance(value, str)
        and value.isascii()
        and value.isprintable()
        and name.lower() not in {"authorization", "content-length"}
    )
