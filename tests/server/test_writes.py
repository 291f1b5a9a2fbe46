"""Writes over HTTP: conditions, admission, and how much a body may hold."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from omnigraph.errors import TooManyRequests
from omnigraph.server.admission import WriteAdmission
from omnigraph.server.settings import Limits
from support.served import ServedApp

INSERT = "query add($n: String) { insert Artist { name: $n } }"
NDJSON = {"Content-Type": "application/x-ndjson"}
CONDITION = "Omnigraph-If-Graph-Commit"


def head(app: ServedApp) -> str:
    return app.ask("GET", "/graphs/art/commits?limit=1").json()["commits"][0]["graph_commit_id"]


def test_a_condition_that_holds_lets_one_write_through(app: ServedApp) -> None:
    commit = head(app)
    body = {"query": INSERT, "params": {"n": "conditional"}}

    first = app.ask("POST", "/graphs/art/mutate/if-graph-commit", body, headers={CONDITION: commit})
    second = app.ask(
        "POST",
        "/graphs/art/mutate/if-graph-commit",
        {"query": INSERT, "params": {"n": "too late"}},
        headers={CONDITION: commit},
    )

    assert first.status_code == 200
    assert second.status_code == 412
    document = second.json()
    assert "code" not in document
    assert document["kind"] == "precondition_failed"
    assert document["precondition_failure"] == {
        "expected": commit,
        "actual": first.json()["commit"]["graph_commit_id"],
    }
    assert head(app) == first.json()["commit"]["graph_commit_id"]


def test_a_stored_mutation_takes_a_condition_and_a_stored_read_none(app: ServedApp) -> None:
    commit = head(app)

    written = app.ask(
        "POST",
        "/graphs/art/queries/add_artist/if-graph-commit",
        {"params": {"name": "stored"}},
        headers={CONDITION: commit},
    )
    read = app.ask("POST", "/graphs/art/queries/by_artist/if-graph-commit", {}, headers={CONDITION: commit})

    assert (written.status_code, written.json()["query_name"]) == (200, "add_artist")
    assert (read.status_code, read.json()["kind"]) == (400, "bad_request")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(CONDITION, "")],
        [(CONDITION, "*")],
        [(CONDITION, '"01M7P07KDHS9Y0V8EXM24MKAPA"')],
        [(CONDITION, "W/01M7P07KDHS9Y0V8EXM24MKAPA")],
        [(CONDITION, "01M7P07KDHS9Y0V8EXM24MKAPA, 01M7P07KDHS9Y0V8EXM24MKAPB")],
        [(CONDITION, "01M7P07KDHS9Y0V8EXM24MKAPA"), (CONDITION, "01M7P07KDHS9Y0V8EXM24MKAPA")],
    ],
    ids=["none", "blank", "star", "quoted", "weak", "list", "twice"],
)
def test_a_condition_comes_once_and_plain(app: ServedApp, headers: list[tuple[str, str]]) -> None:
    import asyncio
    import json

    from support.served import TOKENS

    sent = [("Authorization", f"Bearer {TOKENS['act-ines']}"), ("Content-Type", "application/json"), *headers]
    request = app._client.build_request(
        "POST", "/graphs/art/mutate/if-graph-commit", headers=sent, content=json.dumps({"query": INSERT})
    )

    answer = asyncio.run_coroutine_threadsafe(app._client.send(request), app.loop).result(30)

    assert (answer.status_code, answer.json()["kind"]) == (400, "bad_request")
    assert CONDITION in answer.json()["error"]


def test_ordinary_routes_refuse_the_condition(app: ServedApp) -> None:
    body = {"query": INSERT, "params": {"n": "unchecked"}}

    mutate = app.ask("POST", "/graphs/art/mutate", body, headers={CONDITION: head(app)})
    invoke = app.ask("POST", "/graphs/art/queries/add_artist", {}, headers={CONDITION: head(app)})

    assert (mutate.status_code, invoke.status_code) == (400, 400)
    assert "/mutate/if-graph-commit" in mutate.json()["error"]
    assert "/queries/add_artist/if-graph-commit" in invoke.json()["error"]


def test_reads_and_mutations_are_told_apart(app: ServedApp) -> None:
    read = "query q() { match { $a: Artist } return { $a.name } }"

    insert = app.ask("POST", "/graphs/art/query", {"query": INSERT, "params": {"n": "x"}})
    old = app.ask("POST", "/graphs/art/read", {"query_source": INSERT})
    select = app.ask("POST", "/graphs/art/mutate", {"query": read})
    wrong = app.ask("POST", "/graphs/art/queries/by_artist", {"expect_mutation": True})
    pinned = app.ask("POST", "/graphs/art/queries/add_artist", {"params": {"name": "x"}, "snapshot": "main"})

    assert (insert.status_code, insert.json()["kind"]) == (400, "wrong_verb")
    assert "/mutate" in insert.json()["error"]
    assert "/mutate" in old.json()["error"]
    assert "/query" in select.json()["error"]
    assert (wrong.status_code, wrong.json()["kind"]) == (400, "bad_request")
    assert "query" in wrong.json()["error"]
    assert (pinned.status_code, pinned.json()["kind"]) == (400, "invalid_target")


@pytest.mark.parametrize(
    ("body", "kind", "part"),
    [
        (
            {"query": " ".join(f"query {name}() {{ match {{ $a: Artist }} return {{ $a.name }} }}" for name in "ab")},
            "query_selection",
            "a, b",
        ),
        (
            {"query": "query a() { match { $a: Artist } return { $a.name } }", "name": "c"},
            "query_not_found",
            "not found",
        ),
        ({"query": "query a() { match { $a: Nobody } return { $a.name } }"}, "type_error", "Nobody"),
        ({"query": "query ("}, "parse_error", ""),
        ({"query": "query a($n: String) { match { $a: Artist { name: $n } } return { $a.name } }"}, "param_error", "n"),
        (
            {"query": "query a() { match { $a: Artist } return { $a.name } }", "branch": "main", "snapshot": "main"},
            "invalid_target",
            "snapshot",
        ),
        ({}, "bad_request", "query"),
        ({"query": 1}, "bad_request", "query"),
        ({"query": "query a() { match { $a: Artist } return { $a.name } }", "params": []}, "bad_request", "params"),
        (
            {
                "query": "query a() { match { $a: Artist } return { $a.name } }",
                "snapshot": "01M7P07KDHS9Y0V8EXM24MKAPA",
            },
            "commit_not_found",
            "",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else "",
)
def test_a_query_that_is_wrong_says_how(app: ServedApp, body: dict[str, object], kind: str, part: str) -> None:
    answer = app.ask("POST", "/graphs/art/query", body)

    assert answer.json()["kind"] == kind
    assert answer.status_code == (404 if kind == "commit_not_found" else 400)
    assert part in answer.json()["error"]
    assert answer.json()["code"] == ("not_found" if kind == "commit_not_found" else "bad_request")


@pytest.mark.parametrize(
    ("content", "headers", "status", "kind"),
    [
        (b"{", {"Content-Type": "application/json"}, 400, "bad_request"),
        (b"[]", {"Content-Type": "application/json"}, 400, "bad_request"),
        (b"\xff", {"Content-Type": "application/json"}, 400, "bad_request"),
        (b"{}", {"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
        (b"{}", {}, 415, "unsupported_media_type"),
        (b"{}", {"Content-Type": "application/json", "Content-Encoding": "gzip"}, 415, "unsupported_media_type"),
        (b" " * 1_048_577, {"Content-Type": "application/json"}, 413, "resource_limit"),
    ],
    ids=["cut", "array", "no text", "type", "no type", "encoded", "large"],
)
def test_a_body_that_is_none(app: ServedApp, content: bytes, headers: dict[str, str], status: int, kind: str) -> None:
    answer = app.ask("POST", "/graphs/art/mutate", content=content, headers=headers)

    assert (answer.status_code, answer.json()["kind"]) == (status, kind)
    if kind == "resource_limit":
        assert answer.json()["resource_limit"] == {
            "resource": "request_body_bytes",
            "limit": 1_048_576,
            "actual": 1_048_577,
        }


def test_a_body_that_grows_past_the_limit_is_refused_while_it_is_read(app: ServedApp) -> None:
    async def endless():
        while True:
            yield b" " * 65_536

    answer = app.ask("POST", "/graphs/art/mutate", content=endless(), headers={"Content-Type": "application/json"})
    lines = app.ask("POST", "/graphs/art/load/ndjson", content=endless(), headers=NDJSON)

    assert (answer.status_code, answer.json()["kind"]) == (413, "resource_limit")
    assert lines.json()["resource_limit"]["resource"] == "load_request_bytes"


def test_whoever_may_not_load_is_told_before_a_byte_is_read(app: ServedApp) -> None:
    async def unread():
        raise AssertionError("the body was read")
        yield b""

    answer = app.ask("POST", "/graphs/art/load/ndjson", content=unread(), headers=NDJSON, actor="act-rae")
    text = app.ask("POST", "/graphs/art/load/ndjson", content=b"", headers={"Content-Type": "text/plain"})

    assert (answer.status_code, answer.json()["kind"]) == (403, "policy_denied")
    assert (text.status_code, text.json()["kind"]) == (415, "unsupported_media_type")


def test_records_that_are_wrong_are_all_told_of(app: ServedApp) -> None:
    data = '{"type":"Nobody","data":{}}\n{"type":"Artist","data":{"name":1}}\n'

    answer = app.ask("POST", "/graphs/art/load", {"data": data, "mode": "append"})
    mode = app.ask("POST", "/graphs/art/load", {"data": data, "mode": "upsert"})
    missing = app.ask("POST", "/graphs/art/load", {"data": "", "branch": "nowhere"})

    assert (answer.status_code, answer.json()["kind"]) == (400, "invalid_record")
    assert answer.json()["invalid_record"]["total_errors"] == 2
    assert (mode.status_code, mode.json()["kind"]) == (400, "bad_request")
    assert (missing.status_code, missing.json()["kind"]) == (404, "branch_not_found")
    assert "`from`" in missing.json()["error"]


def test_two_updates_of_one_entity_at_once_are_not_both_lost(app: ServedApp) -> None:
    update = 'query u($b: I32) { update Artist set { born: $b } where name = "Ines" }'

    answers = [app.start("POST", "/graphs/art/mutate", {"query": update, "params": {"b": year}}) for year in range(8)]
    statuses = sorted(answer.result(60).status_code for answer in answers)

    assert statuses[0] == 200
    assert set(statuses) <= {200, 409}


def test_thirty_two_at_once_admit_exactly_sixteen() -> None:
    admission = WriteAdmission(Limits())
    gate, leave = threading.Barrier(32), threading.Event()
    admitted, refused = [], []

    def write(number: int) -> None:
        gate.wait()
        try:
            with admission.admitted("act-a", 10):
                admitted.append(number)
                leave.wait(30)
        except TooManyRequests:
            refused.append(number)
            if len(refused) == 16:
                leave.set()

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(write, range(32)))

    assert (len(admitted), len(refused)) == (16, 16)
    assert admission.in_flight == 0


def test_bytes_are_limited_too_and_actors_are_apart() -> None:
    admission = WriteAdmission(Limits(write_bytes_per_actor=100))

    with admission.admitted("act-a", 80):
        with pytest.raises(TooManyRequests), admission.admitted("act-a", 30):
            pass
        with admission.admitted("act-b", 80), admission.admitted("act-a", 20):
            assert admission.in_flight == 3
    with admission.admitted("act-a", 500):
        assert admission.in_flight == 1


def test_the_seventeenth_write_of_an_actor_is_sent_away(app: ServedApp) -> None:
    import asyncio

    going = asyncio.Event()

    async def slow():
        yield b""
        await going.wait()
        yield b'{"type":"Artist","data":{"name":"Slow"}}\n'

    bodies = [app.start("POST", "/graphs/art/load/ndjson", content=slow(), headers=NDJSON) for _ in range(16)]
    try:
        for _ in range(200):
            if app.application.service.writes.in_flight == 16:
                break
            app.ask("GET", "/healthz", actor=None)
        one_more = app.ask("POST", "/graphs/art/mutate", {"query": INSERT, "params": {"n": "17th"}})
        somebody = app.ask("POST", "/graphs/art/mutate", {"query": INSERT, "params": {"n": "other"}}, actor="act-omar")
        read = app.ask("GET", "/graphs/art/schema")
    finally:
        app.loop.call_soon_threadsafe(going.set)
    statuses = [body.result(60).status_code for body in bodies]

    assert (one_more.status_code, one_more.json()["kind"]) == (429, "too_many_requests")
    assert one_more.headers["retry-after"] == "60"
    assert "resource_limit" not in one_more.json()
    assert (somebody.status_code, read.status_code) == (200, 200)
    assert set(statuses) == {200}
    assert app.application.service.writes.in_flight == 0
