"""What every route answers with when it may, when it may not, and when the request is wrong."""

import json
from pathlib import Path

import pytest

from support.served import TOKENS, ServedApp

READ = "query q($n: String) { match { $a: Artist { name: $n } } return { $a.name, $a.born } }"
INSERT = "query add($n: String) { insert Artist { name: $n } }"


def test_a_query_answers_with_rows_and_the_commit_that_was_read(app: ServedApp) -> None:
    answer = app.ask("POST", "/graphs/art/query", {"query": READ, "params": {"n": "Ines"}})

    assert answer.status_code == 200
    document = answer.json()
    commit = document.pop("graph_commit_id")
    assert app.ask("GET", f"/graphs/art/commits/{commit}").status_code == 200
    assert document == {
        "query_name": "q",
        "target": {"branch": "main", "snapshot": None},
        "row_count": 1,
        "columns": ["a.name", "a.born"],
        "rows": [{"a.name": "Ines", "a.born": 1907}],
    }


def test_the_deprecated_read_never_grows_members(app: ServedApp) -> None:
    answer = app.ask("POST", "/graphs/art/read", {"query_source": READ, "query_name": "q", "params": {"n": "Ines"}})

    assert answer.status_code == 200
    assert list(answer.json()) == ["query_name", "target", "row_count", "columns", "rows"]
    assert answer.headers["deprecation"] == "true"
    assert answer.headers["link"] == '<query>; rel="successor-version"'


def test_a_mutation_is_one_commit_of_the_actor(app: ServedApp) -> None:
    answer = app.ask(
        "POST",
        "/graphs/art/mutate",
        {"query": INSERT, "params": {"n": "Mutated"}},
        headers={"X-Actor-Id": "act-lee"},
    )

    document = answer.json()
    assert (answer.status_code, document["affected_nodes"], document["actor_id"]) == (200, 1, "act-ines")
    assert document["commit"]["actor_id"] == "act-ines"
    assert document["commit"]["manifest_version"] == document["commit"]["graph_manifest_version"]


def test_what_this_server_wrote_is_read_at_once(app: ServedApp) -> None:
    for number in range(5):
        name = f"at once {number}"
        assert app.ask("POST", "/graphs/art/mutate", {"query": INSERT, "params": {"n": name}}).status_code == 200

        rows = app.ask("POST", "/graphs/art/query", {"query": READ, "params": {"n": name}}).json()["rows"]

        assert rows == [{"a.name": name, "a.born": None}]


def test_records_are_loaded_as_lines(app: ServedApp) -> None:
    lines = b'{"type":"Artist","data":{"name":"Loaded"}}\n'

    answer = app.ask(
        "POST",
        "/graphs/art/load/ndjson?branch=loads&from=main",
        content=lines,
        headers={"Content-Type": "application/x-ndjson"},
    )

    document = answer.json()
    assert answer.status_code == 200, document
    assert (document["branch"], document["base_branch"], document["branch_created"]) == ("loads", "main", True)
    assert document["tables"] == [{"table_key": "node:Artist", "rows_loaded": 1}]
    assert (document["mode"], document["actor_id"]) == ("merge", "act-ines")


def test_records_are_loaded_from_a_document(app: ServedApp) -> None:
    data = '{"type":"Artist","data":{"name":"Posted"}}\n'

    loaded = app.ask("POST", "/graphs/art/load", {"data": data, "mode": "append"})
    again = app.ask("POST", "/graphs/art/load", {"data": data, "mode": "append"})
    ingested = app.ask("POST", "/graphs/art/ingest", {"data": data, "branch": "ingested"})

    assert loaded.json()["base_branch"] is None
    assert (again.status_code, again.json()["kind"]) == (409, "key_conflict")
    assert again.json()["key_conflict"]["table_key"] == "node:Artist"
    assert (ingested.json()["base_branch"], ingested.json()["branch_created"]) == ("main", True)
    assert ingested.headers["link"] == '<load>; rel="successor-version"'


def test_branches_live_and_go(app: ServedApp) -> None:
    created = app.ask("POST", "/graphs/art/branches", {"name": "etl/run-1"})
    listed = app.ask("GET", "/graphs/art/branches")
    again = app.ask("POST", "/graphs/art/branches", {"name": "etl/run-1"})
    written = app.ask("POST", "/graphs/art/mutate", {"query": INSERT, "params": {"n": "Merged"}, "branch": "etl/run-1"})
    merged = app.ask("POST", "/graphs/art/branches/merge", {"source": "etl/run-1"})
    deleted = app.ask("DELETE", "/graphs/art/branches/etl%2Frun-1")
    gone = app.ask("DELETE", "/graphs/art/branches/etl%2Frun-1")

    assert created.json()["from"] == "main"
    assert "etl/run-1" in listed.json()["branches"]
    assert listed.json()["branches"] == sorted(listed.json()["branches"])
    assert (again.status_code, again.json()["kind"]) == (409, "branch_exists")
    assert written.status_code == 200
    assert (merged.status_code, merged.json()["target"]) == (200, "main")
    assert set(merged.json()) == {"source", "target", "outcome", "actor_id", "commit"}
    assert (deleted.status_code, deleted.json()["name"]) == (200, "etl/run-1")
    assert (gone.status_code, gone.json()["kind"]) == (404, "branch_not_found")


def test_history_and_schema(app: ServedApp) -> None:
    commits = app.ask("GET", "/graphs/art/commits?limit=1").json()["commits"]
    schema = app.ask("GET", "/graphs/art/schema").json()
    snapshot = app.ask("GET", "/graphs/art/snapshot").json()

    assert len(commits) == 1
    assert "node Artist" in schema["schema_source"]
    assert [table["table_key"] for table in snapshot["tables"]] == ["edge:CreatedBy", "node:Artist", "node:Artwork"]
    assert app.ask("GET", "/graphs/art/runs").json() == {"runs": []}


def test_an_export_streams_records_nodes_first(app: ServedApp) -> None:
    answer = app.ask("POST", "/graphs/art/export", {"table_keys": ["node:Artist"]})
    everything = app.ask("POST", "/graphs/art/export", {})

    assert answer.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    assert {json.loads(line)["type"] for line in answer.text.splitlines()} == {"Artist"}
    kinds = ["edge" if "edge" in json.loads(line) else "node" for line in everything.text.splitlines()]
    assert kinds == sorted(kinds, reverse=True)
    assert kinds[-1] == "edge"


def test_the_graphs_are_listed_by_id_and_nothing_else(app: ServedApp) -> None:
    assert app.ask("GET", "/graphs").json() == {"graphs": [{"graph_id": "art"}]}
    denied = app.ask("GET", "/graphs", actor="act-lee")
    assert (denied.status_code, denied.json()["kind"]) == (403, "policy_denied")
    assert "art" not in denied.json()["error"].replace("act-lee", "")


def test_without_a_token_nobody_gets_in(app: ServedApp) -> None:
    for header, message in (
        ({}, "missing bearer token"),
        ({"Authorization": "Basic abc"}, "missing bearer token"),
        ({"Authorization": "Bearer wrong"}, "invalid bearer token"),
    ):
        answer = app.ask("GET", "/graphs/art/schema", actor=None, headers=header)

        assert (answer.status_code, answer.json()["error"]) == (401, message)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["kind"] == answer.json()["code"] == "unauthorized"
    in_address = app.ask("GET", f"/graphs/art/schema?access_token={TOKENS['act-ines']}", actor=None)
    assert in_address.status_code == 401
    twice = [("Authorization", "Bearer wrong"), ("Authorization", f"Bearer {TOKENS['act-ines']}")]
    given = app.ask("GET", "/graphs/art/schema", actor=None, headers=twice)
    assert (given.status_code, given.json()["error"]) == (401, "invalid bearer token")
    shouted = app.ask("GET", "/graphs/art/schema", headers={"Authorization": f"BEARER  {TOKENS['act-ines']}"})
    assert shouted.status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/nothing", 404, "route_not_found"),
        ("GET", "/graphs/art/nothing", 404, "route_not_found"),
        ("POST", "/graphs/art/optimize", 404, "route_not_found"),
        ("POST", "/graphs/art/cleanup", 404, "route_not_found"),
        ("POST", "/graphs/art/repair", 404, "route_not_found"),
        ("GET", "/graphs/art/runs/1", 404, "route_not_found"),
        ("GET", "/snapshot", 404, "route_not_found"),
        ("POST", "/graphs", 405, "method_not_allowed"),
        ("DELETE", "/graphs/art", 404, "route_not_found"),
        ("PUT", "/graphs/art/query", 405, "method_not_allowed"),
        ("GET", "/graphs/9art/schema", 400, "invalid_name"),
        ("GET", "/graphs/other/schema", 404, "graph_not_found"),
        ("GET", "/graphs/art/commits/01M7P07KDHS9Y0V8EXM24MKAPA", 404, "commit_not_found"),
        ("GET", "/graphs/art/commits/main", 404, "commit_not_found"),
        ("GET", "/graphs/art/commits/main%402", 404, "commit_not_found"),
        ("GET", "/graphs/art/commits/main%402/changes", 404, "commit_not_found"),
        ("GET", "/graphs/art/commits/main?by=name", 400, "bad_request"),
        ("GET", "/graphs/art/snapshot?branch=nope", 404, "branch_not_found"),
        ("GET", "/graphs/art/snapshot?branch=%20", 400, "bad_request"),
        ("GET", "/graphs/art/snapshot?branch=main%401", 404, "branch_not_found"),
        ("GET", "/graphs/art/snapshot?branch=main&branch=main", 400, "bad_request"),
        ("GET", "/graphs/art/commits?limit=0", 400, "bad_request"),
        ("GET", "/graphs/art/%ff", 400, "bad_request"),
    ],
)
def test_what_is_not_there(app: ServedApp, method: str, path: str, status: int, kind: str) -> None:
    answer = app.ask(method, path)

    assert (answer.status_code, answer.json()["kind"]) == (status, kind)
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert "/museum" not in answer.text


def test_a_405_says_what_is_allowed(app: ServedApp) -> None:
    assert app.ask("POST", "/graphs").headers["allow"] == "GET"
    assert app.ask("PATCH", "/graphs/art/branches/merge").headers["allow"] == "DELETE, POST"


def test_a_commit_goes_by_its_id_unless_an_address_is_asked_for(app: ServedApp) -> None:
    commit = app.ask("GET", "/graphs/art/commits?limit=1").json()["commits"][0]

    by_id = app.ask("GET", f"/graphs/art/commits/{commit['graph_commit_id']}").json()
    by_address = app.ask("GET", "/graphs/art/commits/main?by=address").json()

    assert by_id == by_address == commit


def test_health_says_what_it_was_built_from_if_somebody_says_so(plain_template: Path) -> None:
    from support.served import served_app

    environ = {"OMNIGRAPH_SOURCE_VERSION": " abc123 "}
    app = served_app(str(plain_template), environ=environ, unauthenticated=True)

    assert app.ask("GET", "/healthz", actor=None).json()["source_version"] == "abc123"
    app.close()
