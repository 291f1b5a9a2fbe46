"""Every route of the table by every way to be refused, each with its whole document.

The cells are made from the table itself: a new route fails here until `support/route_rows.py` has a row for it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from omnigraph.server.admission import StreamSlots, WriteAdmission
from omnigraph.server.members import Kind
from omnigraph.server.openapi import openapi_document
from omnigraph.server.paths import Router
from omnigraph.server.routes import ROUTES
from omnigraph.server.settings import Limits
from support.route_rows import GRAPH, NOBODY, ROWS, SCANS, filled, first_of, head_of, made, row_of
from support.served import POLICY, SERVER_POLICY, ServedApp, make_cluster, served_app

GUARDED = [route for route in ROUTES if not route.is_public]
OF_GRAPHS = [route for route in ROUTES if route.is_about_graph]
WITH_BODY = [route for route in ROUTES if route.media_type]
WITH_JSON = [route for route in WITH_BODY if route.media_type == "application/json"]
OF_OTHER_KIND = {
    Kind.TEXT: (5, "a string"),
    Kind.TRUTH: ("true", "true or false"),
    Kind.OBJECT: ([], "an object"),
    Kind.TEXTS: ("x", "an array of strings"),
}
BRANCHES = {"branch", "from", "source", "target"}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    root = tmp_path_factory.mktemp("matrix") / "museum"
    root.mkdir()
    policies = {"keepers": (POLICY, ("graph.art",)), "listing": (SERVER_POLICY, ("cluster",))}
    make_cluster(str(root), {"art": SCANS}, policies=policies)
    served = served_app(str(root))
    update = 'query u($b: I32) { update Artist set { born: $b } where name = "Ines" }'
    served.ask("POST", f"{GRAPH}/branches", {"name": "diverged"})
    for branch, year in (("diverged", 1), ("main", 2)):
        served.ask("POST", f"{GRAPH}/mutate", {"query": update, "params": {"b": year}, "branch": branch})
    yield served
    served.close()


@pytest.fixture(autouse=True)
def branches(app: ServedApp) -> None:
    """The branches that rows are about: `taken` is there, and `created` is not."""
    app.ask("POST", f"{GRAPH}/branches", {"name": "taken"})
    app.ask("DELETE", f"{GRAPH}/branches/created")


def each(routes):
    return pytest.mark.parametrize("route", routes, ids=lambda route: route.operation_id or route.path)


def check(answer, route, status: int, error: str, kind: str, code: str | None, details=None) -> None:
    """Compare the whole answer: status, document, and the headers that every refusal has."""
    assert answer.status_code == status, answer.text
    if answer.request.method != "HEAD":
        coded = {} if code is None else {"code": code}
        expected = {"error": error, "kind": kind, **coded, **(details or {})}
        assert answer.json() == {**expected, "request_id": answer.headers["x-request-id"]}
        assert answer.headers["content-type"] == "application/json"
    if status not in {404, 405} or kind not in {"route_not_found", "method_not_allowed"}:
        check_marks(answer, route)


def check_marks(answer, route) -> None:
    """A deprecated route says so, whatever it answers."""
    expected = (None, None)
    if route.successor is not None:
        expected = ("true", f'<{route.successor}>; rel="successor-version"')
    assert (answer.headers.get("deprecation"), answer.headers.get("link")) == expected


def bad(answer, route, error: str) -> None:
    check(answer, route, 400, error, "bad_request", "bad_request")


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    assert sorted(ROWS) == sorted(route.operation_id or route.path for route in ROUTES)


@each(ROUTES)
def test_success(app: ServedApp, route) -> None:
    row = row_of(route)

    answer = made(app, route)

    assert answer.status_code == row.status, answer.text
    assert answer.headers["x-request-id"]
    check_marks(answer, route)
    if row.is_document and row.status == 200:
        assert answer.headers["content-type"] == "application/json"
        if route.answer is not None:
            document = openapi_document()
            schema = {"$ref": f"#/components/schemas/{route.answer}", "components": document["components"]}
            Draft202012Validator(schema).validate(answer.json())


@each(GUARDED)
def test_no_token_and_a_wrong_one(app: ServedApp, route) -> None:
    for headers, message in (({}, "missing bearer token"), ({"Authorization": "Bearer no"}, "invalid bearer token")):
        answer = made(app, route, actor=None, headers=headers)

        check(answer, route, 401, message, "unauthorized", "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"


@each([route for route in ROUTES if route.action is not None])
def test_denial(app: ServedApp, route) -> None:
    row, before = row_of(route), head_of(app)

    answer = made(app, route, actor="act-zoe")

    if row.denial is not None:
        message = f"policy denied action '{route.action}'{row.denial} for unknown actor 'act-zoe'"
        check(answer, route, 403, message, "policy_denied", "forbidden")
    elif route.operation_id == "getCommitChanges":
        details = {"commit_not_found": {"id": before}}
        check(answer, route, 404, f"commit '{before}' not found", "commit_not_found", "not_found", details)
    else:
        check(answer, route, 404, "stored query not found", "stored_query_not_found", "not_found")
    assert head_of(app) == before


@each(OF_GRAPHS)
def test_graphs_that_are_none(app: ServedApp, route) -> None:
    sentence = "The id of a graph is a letter and then letters, digits, `_` or `-`."
    unknown = made(app, route, path={"graph_id": "other"})
    wrong = made(app, route, path={"graph_id": "9"})

    details = {"graph_not_found": {"graph_id": "other"}}
    check(unknown, route, 404, "graph 'other' not found", "graph_not_found", "not_found", details)
    check(wrong, route, 400, sentence, "invalid_name", "bad_request", {"invalid_name": {"name": "9"}})


@each(ROUTES)
def test_other_methods(app: ServedApp, route) -> None:
    shape = re.sub(r"\{\w+\}", "x", route.path)
    templates = {other.path: re.sub(r"\{\w+\}", "[^/]+", other.path) for other in ROUTES}
    allow = sorted({other.method for other in ROUTES if re.fullmatch(templates[other.path], shape)})
    for method in set(METHODS) - set(allow):
        answer = app.ask(method, shape, actor=None)

        assert answer.status_code == 405
        assert answer.headers["allow"] == ", ".join(allow)
        if method == "HEAD":
            assert answer.content == b""
            continue
        assert answer.json() == {
            "error": f"{method} is not a method of this path; it takes {', '.join(allow)}.",
            "kind": "method_not_allowed",
            "code": "method_not_allowed",
            "method_not_allowed": {"allow": allow},
            "request_id": answer.headers["x-request-id"],
        }


@each(WITH_BODY)
def test_bodies_of_another_type_or_size(app: ServedApp, route) -> None:
    kind = route.media_type
    typed = made(app, route, content=b"{}", headers={"Content-Type": "text/plain"})
    encoded = made(app, route, content=b"{}", headers={"Content-Encoding": "gzip"})
    limit = 33_554_432 if route.operation_id in {"load", "loadNdjson", "ingest"} else 1_048_576
    resource = "load_request_bytes" if limit == 33_554_432 else "request_body_bytes"
    large = made(app, route, content=b"", headers={"Content-Length": str(limit + 1), "Content-Type": "text/plain"})

    unsupported = ("unsupported_media_type", "bad_request")
    check(
        typed, route, 415, f"Content-Type must be {kind}.", *unsupported, {"unsupported_media_type": {"expected": kind}}
    )
    sentence = "Content-Encoding is not supported; send the body as it is."
    check(encoded, route, 415, sentence, *unsupported, {"unsupported_media_type": {"expected": "identity"}})
    sentence = f"The body is larger than the {limit} bytes that this path takes."
    details = {"resource_limit": {"resource": resource, "limit": limit, "actual": limit + 1}}
    check(large, route, 413, sentence, "resource_limit", "bad_request", details)


@each(WITH_JSON)
def test_bodies_that_are_no_objects(app: ServedApp, route) -> None:
    cut = made(app, route, content=b'{"a":', headers={"Content-Type": "application/json; charset=utf-8"})
    array = made(app, route, content=b"[]")
    words = made(app, route, content=b'{"a":"\xff"}')
    empty = made(app, route, content=b" ")

    for answer in (cut, words, *(() if route.has_optional_body else (empty,))):
        message = answer.json()["error"]
        # What is wrong is in the words of the parser.
        assert re.fullmatch(r"The body is not JSON: .+ at character \d+\.", message)
        bad(answer, route, message)
    bad(array, route, "The body must be a JSON object.")
    if route.has_optional_body:
        assert not empty.is_error or empty.json()["kind"] != "bad_request"


@each(WITH_JSON)
def test_members_of_a_body(app: ServedApp, route) -> None:
    body = row_of(route).body
    for member in route.members:
        value, words = OF_OTHER_KIND[member.kind]
        bad(made(app, route, body={**body, member.name: value}), route, f"`{member.name}` must be {words}.")
        if member.alias is not None:
            renamed = {name: given for name, given in body.items() if name != member.name}
            bad(made(app, route, body={**renamed, member.alias: value}), route, f"`{member.name}` must be {words}.")
        if member.kind is Kind.TEXTS:
            bad(made(app, route, body={**body, member.name: [5]}), route, f"`{member.name}` must be {words}.")
        if member.is_required:
            less = {name: given for name, given in body.items() if name != member.name}
            bad(made(app, route, body=less), route, f"`{member.name}` is missing.")
            bad(made(app, route, body={**body, member.name: None}), route, f"`{member.name}` is missing.")
        if member.choices:
            message = f"`{member.name}` is one of {', '.join(member.choices)}."
            bad(made(app, route, body={**body, member.name: "no"}), route, message)
        if member.name in BRANCHES or route.operation_id == "createBranch":
            message = f"`{member.name}` is blank; it is the name of a branch."
            bad(made(app, route, body={**body, member.name: " \t"}), route, message)


@each(WITH_JSON)
def test_null_is_absent_and_only_strict_routes_mind_what_they_do_not_know(app: ServedApp, route) -> None:
    row = row_of(route)
    nothing = {member.name: None for member in route.members if not member.is_required and member.name not in row.body}

    assert made(app, route, body={**row.body, **nothing}).status_code == row.status
    answer = made(app, route, body={**row.body, "unheard_of": 1, **({"name": "more"} if "name" in row.body else {})})
    if route.is_strict:
        listed = ", ".join(f"`{member.name}`" for member in route.members)
        bad(answer, route, f"`unheard_of` is not a member of this request; it has {listed}.")
    else:
        assert answer.status_code == row.status, answer.text
    app.ask("DELETE", f"{GRAPH}/branches/more")


@each([route for route in ROUTES if route.parameters])
def test_parameters_of_an_address(app: ServedApp, route) -> None:
    query = row_of(route).query
    for member in route.parameters:
        others = "&".join(pair for pair in query.split("&") if not pair.startswith(f"{member.name}="))
        if member.kind is not Kind.TEXTS:
            twice = "&".join(
                filter(None, (others, f"{member.name}={_valid(member)}", f"{member.name}={_valid(member)}"))
            )
            bad(made(app, route, query=twice), route, f"`{member.name}` is given more than once.")
        if member.is_required:
            bad(made(app, route, query=others), route, f"`{member.name}` is missing.")
        if member.choices:
            wrong = "&".join(filter(None, (others, f"{member.name}=no")))
            bad(made(app, route, query=wrong), route, f"`{member.name}` is one of {', '.join(member.choices)}.")
        if member.name in BRANCHES:
            blank = "&".join(filter(None, (others, f"{member.name}=%20")))
            bad(made(app, route, query=blank), route, f"`{member.name}` is blank; it is the name of a branch.")
        long = "&".join(filter(None, (others, f"{member.name}={'x' * 16_385}")))
        bad(made(app, route, query=long), route, f"`{member.name}` is too long.")
    bad(made(app, route, query=f"{query}&x=%ff".lstrip("&")), route, "The query string cannot be read.")
    unknown = made(app, route, query=f"{query}&unheard_of=1".lstrip("&"))
    if route.is_strict:
        listed = ", ".join(f"`{member.name}`" for member in route.parameters)
        bad(unknown, route, f"`unheard_of` is not a parameter of this path; it has {listed}.")
    else:
        assert unknown.status_code == row_of(route).status


def _valid(member) -> str:
    return member.choices[0] if member.choices else "1" if member.kind is Kind.COUNT else "main"


@each([route for route in ROUTES if row_of(route).refused])
def test_what_else_the_contract_refuses(app: ServedApp, route) -> None:
    names = app.ask("GET", f"{GRAPH}/branches").json()["branches"]
    listed = ["main", *(name for name in names if name != "main")]
    before = head_of(app)
    for refused in row_of(route).refused:
        answer = made(app, route, refused)

        known = {"head": before, "first": first_of(app), "branches": ", ".join(listed)}
        expected = filled([refused.error, refused.details], known)
        if answer.request.method != "HEAD":
            assert answer.json()["error"] == expected[0]
        check(answer, route, refused.status, expected[0], refused.kind, refused.code, expected[1])
        assert head_of(app) == before


@each(ROUTES)
def test_admission(app: ServedApp, route, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has no room is told so before anything is written; reads need none."""
    before = head_of(app)
    monkeypatch.setattr(app.application.service, "writes", WriteAdmission(Limits(writes_per_actor=0)))
    invoked = {"path": {"name": "add_artist"}} if route.operation_id == "invokeQuery" else {}

    answer = made(app, route, **invoked)

    if route.is_admitted:
        message = (
            "Actor 'act-ines' has 0 writes of 0 bytes under way, which is as much as one may have; nothing was done. "
            "Try again later."
        )
        check(answer, route, 429, message, "too_many_requests", "too_many_requests")
        assert answer.headers["retry-after"] == "60"
        assert head_of(app) == before
    else:
        assert answer.status_code == row_of(route).status


@each([route for route in ROUTES if route.operation_id in {"export", "captureChangeBaseline"}])
def test_slots_of_streams(app: ServedApp, route, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.application.service, "streams", StreamSlots(Limits(export_streams=0)))

    answer = made(app, route)

    message = "All 0 export streams of this server are busy; nothing was done. Try again in a moment."
    details = {"resource_limit": {"resource": "export_streams", "limit": 0, "actual": 0}}
    check(answer, route, 429, message, "too_many_requests", "too_many_requests", details)
    assert answer.headers["retry-after"] == "1"


@each(ROUTES)
def test_the_end_of_the_server(app: ServedApp, route, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.route_rows.head_of", lambda _: NOBODY)
    monkeypatch.setattr("support.route_rows.first_of", lambda _: NOBODY)
    monkeypatch.setattr(app.application.service, "is_draining", True)

    answer = made(app, route)

    if route.operation_id == "ready":
        assert (answer.status_code, answer.json()) == (503, {"status": "draining"})
    elif route.is_public:
        assert answer.status_code == 200
    else:
        check(answer, route, 503, "The server is shutting down; ask another one, or later.", "draining", None)


@each(ROUTES)
def test_an_accident_is_told_in_two_words(app: ServedApp, route, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_: object) -> None:
        raise KeyError("secret-of-a-row")

    others = [other for other in ROUTES if other is not route]
    router = Router([*others, replace(route, handler=broken, at_once=None)])
    monkeypatch.setattr(app.application, "_router", router)
    monkeypatch.setattr("support.route_rows.head_of", lambda _: NOBODY)
    monkeypatch.setattr("support.route_rows.first_of", lambda _: NOBODY)

    answer = made(app, route)

    check(answer, route, 500, "internal error", "internal", "internal")
    assert "secret" not in answer.text


@each(OF_GRAPHS)
def test_checks_come_in_their_order(app: ServedApp, route) -> None:
    """Take away one thing that is wrong after the other, and be told of the next."""
    all_wrong = {
        "content": b"no json",
        "headers": {"Content-Type": "text/plain", "Content-Length": "99999999"},
        "query": "limit=x&entity=x&mode=x&branch=%20&by=x",
    }
    first_three = [
        made(app, route, actor=None, path={"graph_id": "9"}, **all_wrong),
        made(app, route, actor="act-zoe", path={"graph_id": "9"}, **all_wrong),
        made(app, route, actor="act-zoe", path={"graph_id": "other"}, **all_wrong),
    ]
    assert [answer.status_code for answer in first_three] == [401, 400, 404]
    if route.media_type:
        large = made(app, route, actor="act-zoe", **all_wrong)
        typed = made(app, route, actor="act-zoe", content=b"no json", headers={"Content-Type": "text/plain"})
        assert (large.status_code, typed.status_code) == (413, 415)
    if route.media_type == "application/json":
        unread = made(app, route, actor="act-zoe", content=b"no json")
        assert (unread.status_code, unread.json()["kind"]) == (400, "bad_request")
    elif route.parameters:
        unread = made(app, route, actor="act-zoe", query=all_wrong["query"])
        assert unread.status_code == 400
