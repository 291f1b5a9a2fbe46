"""The calls of the published TypeScript client, with exactly its paths and bodies, and the members that it reads.

The client appends fixed paths to a base, which is `…/graphs/<id>` or a server with a default graph; it parses JSON
bodies and takes the body of any answer outside of 2xx for its error. It sends null for what its caller leaves empty, no
`Content-Type` without a body, large whole numbers as strings, and takes what is no JSON for bytes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from omnigraph.branches.merge.conflicts import ConflictKind
from omnigraph.branches.merge.sides import MergeOutcome
from omnigraph.server.openapi import openapi_document
from support.served import TOKENS, running_server
from support.twins import make_twin

READ = "query adults() { match { $a: Artist } return { $a.name } order { $a.name } }"
CHANGE = "query add($name: String) { insert Artist { name: $name } }"
CODES = {"unauthorized", "forbidden", "bad_request", "not_found", "conflict", "internal"}
"""What the client's type of errors knows."""
COMMIT = {"graph_commit_id", "manifest_version", "created_at", "parent_commit_id", "actor_id", "manifest_branch"}


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Both addresses under which the client can have a graph."""
    directory = tmp_path_factory.mktemp("typescript")
    with running_server(make_twin(directory, "museum"), directory, "--default-graph", "art") as server:
        yield [f"{server.url}/graphs/art", server.url]


class Caller:
    """Sends requests as the client does: bearer token, JSON text, no redirects."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.http = httpx.Client(headers={"Authorization": f"Bearer {TOKENS['act-ines']}"}, timeout=60)

    def get(self, path: str, **query: str) -> Any:
        return self._read(self.http.get(f"{self.base}{path}", params=query))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        content = json.dumps(body, separators=(",", ":"))
        answer = self.http.post(f"{self.base}{path}", content=content, headers={"Content-Type": "application/json"})
        return self._read(answer)

    def delete(self, path: str) -> Any:
        return self._read(self.http.delete(f"{self.base}{path}"))

    def _read(self, answer: httpx.Response) -> Any:
        self.status = answer.status_code
        assert not answer.is_redirect
        if answer.headers["content-type"].startswith("application/x-ndjson"):
            return [json.loads(line) for line in answer.text.splitlines()]
        return answer.json()


@pytest.mark.parametrize("place", [0, 1], ids=["graph in the base", "default graph"])
def test_every_call_of_the_client_finds_the_members_it_reads(bases, place):
    api = Caller(bases[place])
    branch = f"review/{place}"

    assert api.get("/healthz").keys() >= {"status", "version"}
    assert api.get("/branches")["branches"][0] == "main"
    created = api.post("/branches", {"name": branch, "from": "main"})
    assert (created["name"], created["from"], created["actor_id"], bool(created["uri"])) == (
        branch,
        "main",
        "act-ines",
        True,
    )
    read = api.post("/read", {"query_source": READ, "query_name": "adults", "params": {}, "branch": branch})
    assert (read["query_name"], read["row_count"], read["columns"]) == ("adults", len(read["rows"]), ["a.name"])
    assert read["target"] == {"branch": branch, "snapshot": None}
    assert "graph_commit_id" not in read, "the older route never grows members"
    changed = api.post("/change", {"query_source": CHANGE, "params": {"name": f"Ada{place}"}, "branch": branch})
    assert (changed["affected_nodes"], changed["affected_edges"], changed["branch"]) == (1, 0, branch)
    assert (changed["query_name"], changed["actor_id"]) == ("add", "act-ines")
    data = json.dumps({"type": "Artist", "data": {"name": f"Bea{place}"}})
    loaded = api.post("/ingest", {"data": data, "branch": branch, "mode": "merge"})
    assert (loaded["base_branch"], loaded["branch_created"], loaded["mode"]) == ("main", False, "merge")
    assert loaded["tables"] == [{"table_key": "node:Artist", "rows_loaded": 1}]
    assert {"uri", "branch"} <= loaded.keys()
    exported = api.post("/export", {"branch": branch, "type_names": ["Artist"]})
    assert {record["type"] for record in exported} == {"Artist"}
    assert len(api.post("/export", {"table_keys": ["node:Artwork"]})) == 1
    commits = api.get("/commits", branch=branch)["commits"]
    assert all(commit.keys() >= COMMIT and isinstance(commit["created_at"], int) for commit in commits)
    assert api.get(f"/commits/{commits[0]['graph_commit_id']}") == commits[0]
    snapshot = api.get("/snapshot", branch=branch)
    assert (snapshot["branch"], isinstance(snapshot["manifest_version"], int)) == (branch, True)
    assert all(
        table.keys() >= {"table_key", "table_path", "table_version", "table_branch", "row_count"}
        for table in snapshot["tables"]
    )
    assert "node Artist" in api.get("/schema")["schema_source"]
    merged = api.post("/branches/merge", {"source": branch, "target": "main"})
    assert (merged["source"], merged["target"], merged["actor_id"]) == (branch, "main", "act-ines")
    assert merged["outcome"] in {"fast_forward", "merged"}
    gone = api.delete(f"/branches/{branch.replace('/', '%2F')}")
    assert (gone["name"], gone["actor_id"], bool(gone["uri"])) == (branch, "act-ines", True)
    assert api.get("/runs") == {"runs": []}


def test_errors_have_the_members_that_the_client_reads(bases):
    api = Caller(bases[0])

    refused = api.post("/schema/apply", {"schema_source": "node Artist { name: String @key }"})
    assert (api.status, refused["code"]) == (409, "conflict")
    assert refused["error"]
    missing = api.get("/snapshot", branch="nope")
    assert (api.status, missing["code"]) == (404, "not_found")
    for side, born in (("left", 1), ("right", 2)):
        api.post("/branches", {"name": side, "from": "main"})
        change = f'query q() {{ update Artist set {{ born: {born} }} where name = "Ines" }}'
        assert api.post("/change", {"query_source": change, "branch": side})["affected_nodes"] == 1
    api.post("/branches/merge", {"source": "left"})
    conflict = api.post("/branches/merge", {"source": "right", "target": "main"})
    assert (api.status, conflict["code"]) == (409, "conflict")
    _validate(conflict, {"$ref": "#/components/schemas/Error"})
    [found] = conflict["merge_conflicts"]
    assert (found["table_key"], found["row_id"], found["kind"]) == ("node:Artist", "Ines", "divergent_update")
    assert found["message"]


@pytest.mark.parametrize("place", [0, 1], ids=["graph in the base", "default graph"])
def test_null_is_as_good_as_nothing(bases, place):
    api = Caller(bases[place])
    record = json.dumps({"type": "Artist", "data": {"name": f"Null{place}"}})

    nothing = {"query_name": None, "params": None, "branch": None}
    read = api.post("/read", {"query_source": READ, "snapshot": None, **nothing})
    assert (api.status, read["target"]["branch"]) == (200, "main")
    insert = f'query add() {{ insert Artist {{ name: "Nobody{place}" }} }}'
    assert api.post("/change", {"query_source": insert, **nothing})["branch"] == "main"
    loaded = api.post("/ingest", {"data": record, "branch": None, "from": None, "mode": None})
    assert (loaded["branch"], loaded["base_branch"], loaded["mode"]) == ("main", "main", "merge")
    assert api.post("/branches", {"name": f"null{place}", "from": None})["from"] == "main"
    again = api.post("/branches", {"name": f"null{place}", "from": None})
    assert (api.status, again["code"]) == (409, "conflict")
    assert api.post("/branches/merge", {"source": f"null{place}", "target": None})["outcome"] == "already_up_to_date"
    exported = api.post("/export", {"branch": None, "type_names": [], "table_keys": []})
    assert exported == api.post("/export", {})


def test_a_large_number_comes_as_a_string_and_an_export_as_bytes(bases):
    api = Caller(bases[0])
    named = "query one($name: String) { match { $a: Artist { name: $name } } return { $a.name } }"

    answer = api.http.post(f"{api.base}/export", json={})
    # Whatever is called JSON is parsed as one document.
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert api.post("/read", {"query_source": named, "params": {"name": "9007199254740993"}})["rows"] == []
    assert api.status == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/branches", None, 415),
        ("POST", "/branches", {"name": ""}, 400),
        ("POST", "/branches", {"name": "x", "from": "nope"}, 404),
        ("DELETE", "/branches/main", None, 400),
        ("DELETE", "/branches/no%2Fwhere", None, 404),
        ("POST", "/read", {"query_source": "nonsense"}, 400),
        ("POST", "/read", {"query_source": CHANGE}, 400),
        ("POST", "/change", {"query_source": CHANGE, "params": "text"}, 400),
        ("POST", "/ingest", {"data": "no record"}, 400),
        ("POST", "/ingest", {"data": "{}", "mode": "upsert"}, 400),
        ("POST", "/export", {"type_names": ["Nope"]}, 400),
        ("POST", "/export", {"branch": "nope"}, 404),
        ("GET", "/commits?branch=nope", None, 404),
        ("GET", "/commits/nope", None, 404),
        ("GET", "/snapshot?branch=no%20such%26x%3D1", None, 404),
        ("GET", "/runs/01J", None, 404),
        ("POST", "/runs/01J/abort", None, 404),
        ("POST", "/runs/01J/publish", None, 404),
    ],
)
def test_a_failure_is_a_document_of_the_client(bases, method, path, body, status):
    for base in bases:
        caller = Caller(base)
        content, kind = (json.dumps(body), {"Content-Type": "application/json"}) if body is not None else (None, {})
        answer = caller.http.request(method, f"{base}{path}", content=content, headers=kind)
        failure = answer.json()

        assert answer.status_code == status
        assert isinstance(failure["error"], str)
        assert failure.get("code", "internal") in CODES
        _validate(failure, {"$ref": "#/components/schemas/Error"})


def test_a_body_over_the_limit_and_a_stranger_get_answers_that_the_client_can_read(bases):
    for base in bases:
        large = httpx.post(f"{base}/ingest", json={"data": "x" * (34 << 20)}, headers=Caller(base).http.headers)
        nobody = httpx.get(f"{base}/branches")
        stranger = httpx.get(f"{base}/runs", headers={"Authorization": f"Bearer {TOKENS['act-zoe']}"})

        assert (large.status_code, large.json()["error"] != "") == (413, True)
        assert (nobody.status_code, nobody.json()["code"]) == (401, "unauthorized")
        assert (stranger.status_code, stranger.json()["code"]) == (403, "forbidden")


def test_the_description_lets_a_client_be_made_again_with_the_same_types():
    """A client that is made of our description takes what the published one sends, and has the types it reads."""
    document = openapi_document()

    def body(path: str) -> dict[str, Any]:
        return document["paths"][f"/graphs/{{graph_id}}{path}"]["post"]["requestBody"]["content"]["application/json"][
            "schema"
        ]

    def answer(path: str) -> dict[str, Any]:
        described = document["paths"][f"/graphs/{{graph_id}}{path}"]["post"]["responses"]["200"]
        reference = described["content"]["application/json"]["schema"]["$ref"]
        return document["components"]["schemas"][reference.rpartition("/")[2]]["properties"]

    for path, sent, required in (
        ("/read", {"query_source", "query_name", "params", "branch", "snapshot"}, ["query_source"]),
        ("/change", {"query_source", "query_name", "params", "branch"}, ["query_source"]),
        ("/ingest", {"data", "branch", "from", "mode"}, ["data"]),
        ("/branches", {"name", "from"}, ["name"]),
        ("/branches/merge", {"source", "target", "delete_branch"}, ["source"]),
        ("/export", {"branch", "type_names", "table_keys"}, None),
    ):
        assert set(body(path)["properties"]) == sent
        assert body(path).get("required") == required
        for name, schema in body(path)["properties"].items():
            assert ("null" in schema["type"]) == (name not in (required or ()))
    assert body("/query")["required"] == ["query"]
    assert None in body("/ingest")["properties"]["mode"]["enum"]
    assert answer("/ingest")["base_branch"] == {"type": "string"}
    assert answer("/ingest")["mode"]["enum"] == ["overwrite", "append", "merge"]
    assert set(answer("/branches/merge")["outcome"]["enum"]) == {outcome.value for outcome in MergeOutcome}
    conflict = document["components"]["schemas"]["MergeConflict"]["properties"]
    assert set(conflict["kind"]["enum"]) == {kind.value for kind in ConflictKind}
    assert "merge_conflicts" in document["components"]["schemas"]["Error"]["properties"]


def _validate(found: Any, schema: dict[str, Any]) -> None:
    Draft202012Validator({**schema, "components": openapi_document()["components"]}).validate(found)


def test_flat_paths_are_not_found_without_a_default_graph(served):
    answer = httpx.get(f"{served.url}/snapshot", headers={"Authorization": f"Bearer {TOKENS['act-ines']}"})

    assert answer.status_code == 404


def test_the_page_names_the_base_that_the_client_takes():
    page = Path(__file__).parents[2] / "docs" / "guide" / "remote.md"

    assert "/graphs/art` as its base" in page.read_text(encoding="utf-8")
