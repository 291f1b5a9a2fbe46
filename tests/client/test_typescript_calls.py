"""The calls of the published TypeScript client, with exactly its paths and bodies, and the members that it reads.

The client appends fixed paths to a base, which is `…/graphs/<id>` or a server with a default graph; it parses JSON
bodies and takes the body of any answer outside of 2xx for its error.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.served import TOKENS, running_server
from support.twins import make_twin

READ = "query adults() { match { $a: Artist } return { $a.name } order { $a.name } }"
CHANGE = "query add($name: String) { insert Artist { name: $name } }"
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
    [found] = conflict["merge_conflicts"]
    assert (found["table_key"], found["row_id"], found["kind"]) == ("node:Artist", "Ines", "divergent_update")
    assert found["message"]


def test_flat_paths_are_not_found_without_a_default_graph(served):
    answer = httpx.get(f"{served.url}/snapshot", headers={"Authorization": f"Bearer {TOKENS['act-ines']}"})

    assert answer.status_code == 404


def test_the_page_names_the_base_that_the_client_takes():
    page = Path(__file__).parents[2] / "docs" / "guide" / "remote.md"

    assert "/graphs/art` as its base" in page.read_text(encoding="utf-8")
