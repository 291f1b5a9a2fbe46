"""Who may do what over HTTP: every row of the table, for somebody who may and somebody who may not."""

import json

import pytest

from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.server.routes import ROUTES
from support.served import ServedApp

READ = "query q() { match { $a: Artist } return { $a.name } }"
INSERT = "query add($n: String) { insert Artist { name: $n } }"
LINES = '{"type":"Artist","data":{"name":"Row"}}\n'
NDJSON = {"Content-Type": "application/x-ndjson"}
BODIES = {
    "query": {"query": READ},
    "read": {"query_source": READ},
    "mutate": {"query": INSERT, "params": {"n": "Row mutate"}},
    "change": {"query_source": INSERT, "params": {"n": "Row change"}},
    "mutateIfGraphCommit": {"query": INSERT, "params": {"n": "Row if"}},
    "invokeQuery": {"params": {"name": "Ines"}},
    "invokeQueryIfGraphCommit": {"params": {"name": "Row stored"}},
    "load": {"data": LINES},
    "ingest": {"data": LINES},
    "export": {},
    "captureChangeBaseline": {},
    "applySchema": {"schema_source": "node A { name: String @key }"},
    "createBranch": {"name": "created-branch"},
    "mergeBranches": {"source": "row-branch"},
}
QUERIES = {"getBlob": "?entity=node&type=Artist&id=Ines&property=name"}
QUERIES["headBlob"] = QUERIES["getBlob"]
STATUS = {"applySchema": 409, "getBlob": 400, "headBlob": 400, "deleteBranch": 200}
"""Where somebody who may is answered with something else than 200."""
ASKING = [route for route in ROUTES if route.action is not None]


def asked(app: ServedApp, route, actor: str):
    if route.operation_id in {"deleteBranch", "mergeBranches"}:
        app.ask("POST", "/graphs/art/branches", {"name": "row-branch"})
    name = "add_artist" if route.operation_id == "invokeQueryIfGraphCommit" else "by_artist"
    head = app.ask("GET", "/graphs/art/commits?limit=1").json()["commits"][0]["graph_commit_id"]
    path = (
        route.path.replace("{graph_id}", "art")
        .replace("{name}", name)
        .replace("{branch}", "row-branch")
        .replace("{commit_id}", head)
    )
    headers = {"Omnigraph-If-Graph-Commit": head} if route.is_conditional else {}
    if route.operation_id == "loadNdjson":
        return app.ask(route.method, path, content=LINES.encode(), headers=NDJSON, actor=actor)
    address = f"{path}{QUERIES.get(route.operation_id, '')}"
    return app.ask(route.method, address, BODIES.get(route.operation_id), headers=headers, actor=actor)


@pytest.mark.parametrize("route", ASKING, ids=lambda route: route.operation_id)
def test_every_route_asks_before_it_does_anything(app: ServedApp, route) -> None:
    refused = asked(app, route, "act-zoe")

    if route.operation_id in {"invokeQuery", "invokeQueryIfGraphCommit"}:
        assert (refused.status_code, refused.json()["error"]) == (404, "stored query not found")
    elif route.operation_id == "getCommitChanges":
        assert (refused.status_code, refused.json()["kind"]) == (404, "commit_not_found")
    else:
        assert refused.status_code == 403, refused.text
        if route.method != "HEAD":
            assert (refused.json()["kind"], refused.json()["code"]) == ("policy_denied", "forbidden")
            assert "denied" in refused.json()["error"]
    allowed = asked(app, route, "act-ines")
    assert allowed.status_code == STATUS.get(route.operation_id, 200), allowed.text


def test_a_branch_with_blanks_around_its_name_is_the_same_branch(app: ServedApp) -> None:
    """An intern may change unprotected branches only, and ` main ` is `main`."""
    refused = app.ask(
        "POST", "/graphs/art/mutate", {"query": INSERT, "params": {"n": "x"}, "branch": " main "}, actor="act-lee"
    )
    address = app.ask("POST", "/graphs/art/query", {"query": READ, "branch": "main@1"}, actor="act-lee")
    snapshot = app.ask("POST", "/graphs/art/query", {"query": READ, "snapshot": "main@1"}, actor="act-lee")
    exported = app.ask("POST", "/graphs/art/export", {"branch": "main~0"}, actor="act-ines")

    assert refused.status_code == 403
    assert "on branch 'main'" in refused.json()["error"]
    assert (address.status_code, address.json()["kind"]) == (404, "branch_not_found")
    assert snapshot.status_code == 403
    assert exported.status_code == 404


def test_an_intern_works_beside_main(app: ServedApp) -> None:
    app.ask("POST", "/graphs/art/branches", {"name": "side"})

    written = app.ask(
        "POST", "/graphs/art/mutate", {"query": INSERT, "params": {"n": "Side"}, "branch": "side"}, actor="act-lee"
    )
    forked = app.ask("POST", "/graphs/art/load", {"data": LINES, "branch": "forked", "from": "side"}, actor="act-lee")
    merged = app.ask("POST", "/graphs/art/branches/merge", {"source": "side"}, actor="act-lee")

    assert written.json()["commit"]["actor_id"] == "act-lee"
    assert forked.status_code == 403
    assert "branch_create" in forked.json()["error"]
    assert merged.status_code == 403
    assert "forked" not in app.ask("GET", "/graphs/art/branches").json()["branches"]


def test_who_may_run_a_stored_query_may_not_therefore_change(app: ServedApp) -> None:
    read = app.ask("POST", "/graphs/art/queries/by_artist", {"params": {"name": "Ines"}}, actor="act-rae")
    change = app.ask("POST", "/graphs/art/queries/add_artist", {"params": {"name": "No"}}, actor="act-rae")
    unknown = app.ask("POST", "/graphs/art/queries/nothing", {}, actor="act-rae")
    refused = app.ask("POST", "/graphs/art/queries/by_artist", {}, actor="act-lee")

    assert read.json()["rows"] == [{"w.title": "Still Life", "a.born": 1907}]
    assert change.status_code == 403
    assert {**unknown.json(), "request_id": ""} == {**refused.json(), "request_id": ""}
    assert unknown.status_code == refused.status_code == 404


def test_a_branch_without_a_name_tells_nobody_which_stored_queries_there_are(app: ServedApp) -> None:
    """Also where a query can be answered at once, which looks for the branch first."""
    documents = [
        {**app.ask("POST", path, {"branch": " "}, actor="act-lee").json(), "request_id": ""}
        for name in ("by_artist", "add_artist", "nothing")
        for path in 2 * [f"/graphs/art/queries/{name}"]
    ]

    assert documents == 6 * [
        {
            "error": "`branch` is blank; it is the name of a branch.",
            "kind": "bad_request",
            "code": "bad_request",
            "request_id": "",
        }
    ]


def test_who_may_not_list_branches_is_not_told_their_names(app: ServedApp) -> None:
    app.ask("POST", "/graphs/art/branches", {"name": "confidential"})

    for method, path, body in (
        ("GET", "/graphs/art/snapshot?branch=confidentia", None),
        ("GET", "/graphs/art/commits?branch=confidentia", None),
        ("POST", "/graphs/art/mutate", {"query": INSERT, "params": {"n": "x"}, "branch": "confidentia"}),
    ):
        intern = app.ask(method, path, body, actor="act-lee")
        keeper = app.ask(method, path, body)

        assert (intern.status_code, keeper.status_code) == (404, 404)
        assert intern.json()["error"] == "Branch 'confidentia' was not found."
        assert intern.json()["branch_not_found"] == {"branch": "confidentia"}
        assert "did you mean 'confidential'?" in keeper.json()["error"]
    loaded = app.ask("POST", "/graphs/art/load", {"data": LINES, "branch": "confidentia"}, actor="act-lee")
    assert "say in `from`" in loaded.json()["error"]


def test_long_names_and_paths_are_not_remembered(app: ServedApp) -> None:
    """Anybody may send them, and each would be another one."""
    gate = app.application.service.graphs["art"].gate
    for length in (10, 10_000):
        path = f"/graphs/art/commits/{'x' * length}"
        assert app.ask("GET", path).status_code == 404
        assert (app.application._router.known("GET", path.encode()) is None) == (length > 256)
        app.ask("POST", "/graphs/art/query", {"query": READ, "branch": "b" * length}, actor="act-zoe")
        is_kept = any(branch == "b" * length for _, _, branch, _ in gate._decided)
        assert is_kept == (length <= 256)


def test_a_merge_whose_branch_may_not_be_deleted_is_a_merge(tmp_path) -> None:
    from support.served import POLICY, make_cluster, served_app

    policy = POLICY.replace(
        "[branch_create, branch_delete, branch_merge, schema_apply]", "[branch_create, branch_merge]"
    )
    make_cluster(str(tmp_path), policies={"keepers": (policy, ("graph.art",))})
    app = served_app(str(tmp_path))
    try:
        app.ask("POST", "/graphs/art/branches", {"name": "kept"})

        merged = app.ask("POST", "/graphs/art/branches/merge", {"source": "kept", "delete_branch": True})

        assert merged.status_code == 200
        assert merged.json()["branch_deleted"] is False
        assert "denied" in merged.json()["branch_delete_error"]
        assert "kept" in app.ask("GET", "/graphs/art/branches").json()["branches"]
    finally:
        app.close()


def test_a_policy_that_cannot_judge_is_an_error_and_no_denial(app: ServedApp, monkeypatch) -> None:
    from omnigraph.errors import PolicyEvaluation

    gate = app.application.service.graphs["art"].gate

    def broken(*_: object, **__: object) -> None:
        raise PolicyEvaluation("Cedar gave no decision")

    monkeypatch.setattr(gate._policy, "decide", broken)
    monkeypatch.setattr(gate, "_decided", {})

    answer = app.ask("GET", "/graphs/art/schema")

    assert (answer.status_code, answer.json()["kind"]) == (500, "policy_evaluation")


def test_every_decision_is_logged_with_its_rule(app: ServedApp) -> None:
    app.log.facts.clear()

    app.ask("POST", "/graphs/art/query", {"query": READ}, headers={"X-Request-Id": "mine-1"})
    app.ask("POST", "/graphs/art/query", {"query": READ}, actor="act-zoe")

    allowed, denied = app.log.of("policy")
    assert allowed == {
        "request_id": "mine-1",
        "actor_id": "act-ines",
        "action": "read",
        "branch": "main",
        "target_branch": None,
        "allowed": True,
        "matched_rule_id": "keepers-all",
    }
    assert (denied["allowed"], denied["matched_rule_id"]) == (False, None)


def test_tokens_without_policy_allow_reading_only(plain: str) -> None:
    from support.served import served_app

    app = served_app(plain)
    try:
        assert app.ask("GET", "/graphs/art/snapshot").status_code == 200
        refused = app.ask("POST", "/graphs/art/mutate", {"query": INSERT, "params": {"n": "x"}})
        assert refused.status_code == 403
        assert "default deny" in refused.json()["error"]
        stored = app.ask("POST", "/graphs/art/queries/by_artist", {"params": {"name": "Ines"}})
        assert (stored.status_code, stored.json()["error"]) == (404, "stored query not found")
        assert app.ask("GET", "/graphs").status_code == 403
        assert app.ask("POST", "/graphs/art/export", {}).status_code == 403
    finally:
        app.close()


def test_the_table_asks_for_the_actions_that_policies_have() -> None:
    asked_for = {route.action for route in ROUTES if route.action is not None}

    assert asked_for == set(PolicyAction) - {PolicyAction.ADMIN}
    assert json.dumps(sorted(action.value for action in asked_for))
