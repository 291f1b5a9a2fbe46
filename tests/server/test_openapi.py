"""The description of the routes: the committed copy, the served one, and the routes themselves are the same."""

import json
import re
from pathlib import Path

from omnigraph.server.models import SCHEMAS
from omnigraph.server.openapi import openapi_document
from omnigraph.server.paths import Router
from omnigraph.server.routes import ROUTES, at_root
from support.served import ServedApp

COMMITTED = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"


def test_the_committed_copy_is_what_the_table_says() -> None:
    """Refresh it with `python -m omnigraph.server.openapi docs/reference/openapi.json`."""
    assert json.loads(COMMITTED.read_text()) == json.loads(json.dumps(openapi_document()))


def test_the_served_document_is_the_committed_one_and_open_mode_asks_for_no_token(
    app: ServedApp, open_app: ServedApp
) -> None:
    served = app.ask("GET", "/openapi.json", actor=None)
    openly = open_app.ask("GET", "/openapi.json", actor=None).json()

    assert served.json() == json.loads(COMMITTED.read_text())
    assert served.json()["security"] == [{"bearer_token": []}]
    assert "security" not in json.dumps(openly)
    assert openly["paths"].keys() == served.json()["paths"].keys()


def test_every_documented_path_reaches_a_handler_and_no_other_does() -> None:
    documented = {(method.upper(), path) for path, methods in openapi_document()["paths"].items() for method in methods}
    reached = {(route.method, route.path) for route in ROUTES if route.operation_id is not None}

    assert documented == reached
    assert {route.path for route in ROUTES if route.operation_id is None} == {"/openapi.json"}
    router = Router(ROUTES)
    for method, path in documented:
        assert router.match(method, re.sub(r"\{\w+\}", "x", path).encode()).route.path == path


def test_operation_ids_are_unique_and_every_schema_is_used() -> None:
    ids = [route.operation_id for route in ROUTES if route.operation_id is not None]

    assert len(ids) == len(set(ids))
    text = json.dumps(openapi_document())
    assert [name for name in SCHEMAS if f"#/components/schemas/{name}" not in text] == []


def test_maintenance_is_not_served() -> None:
    words = re.findall(r'"/[^"]*"', json.dumps(list(openapi_document()["paths"])))

    assert [word for word in words if re.search("optimize|repair|cleanup|recover", word)] == []
    assert openapi_document()["info"]["title"] == "Omnigraph API"
    assert openapi_document()["openapi"].startswith("3.1")


def test_the_routes_of_the_default_graph_are_at_the_root_too(open_app: ServedApp) -> None:
    """What the published SDK calls, with a base that ends with the server's address."""
    health = open_app.ask("GET", "/healthz", actor=None).json()
    branches = open_app.ask("GET", "/branches", actor=None).json()
    read = open_app.ask(
        "POST",
        "/read",
        {"query_source": "query q() { match { $a: Artist } return { $a.name } }", "query_name": "q"},
        actor=None,
    ).json()
    snapshot = open_app.ask("GET", "/snapshot?branch=main", actor=None).json()

    assert {"status", "version"} <= health.keys()
    assert branches["branches"] == ["main"]
    assert {"query_name", "row_count", "rows", "target", "columns"} <= read.keys()
    assert {"table_key", "table_path", "table_version", "table_branch", "row_count"} <= snapshot["tables"][0].keys()
    assert not {route.path for route in at_root(ROUTES)} & set(openapi_document()["paths"])
    assert open_app.ask("GET", "/graphs/art/healthz", actor=None).json() == health


def test_answers_fit_their_schemas(app: ServedApp) -> None:
    from jsonschema import Draft202012Validator

    document = openapi_document()
    for path, actor in (
        ("/healthz", None),
        ("/readyz", None),
        ("/graphs", "act-ines"),
        ("/graphs/art/snapshot", "act-ines"),
        ("/graphs/art/commits", "act-ines"),
        ("/graphs/art/branches", "act-ines"),
        ("/graphs/art/queries", "act-ines"),
        ("/graphs/art/changes?start=beginning", "act-ines"),
        ("/graphs/art/runs", "act-ines"),
    ):
        answer = app.ask("GET", path, actor=actor)
        template = path.partition("?")[0].replace("/art", "/{graph_id}")
        schema = document["paths"][template]["get"]["responses"]["200"]["content"]["application/json"]["schema"]

        Draft202012Validator({**schema, "components": document["components"]}).validate(answer.json())
        assert answer.status_code == 200
