"""Stored queries: listed for whoever may read, run by name for whoever may run them."""

from collections.abc import Mapping
from typing import Any

from omnigraph.base.values import Json
from omnigraph.errors import BadRequest, InvalidTarget, PolicyDenied, StoredQueryNotFound
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.server.calls import Call, branch_named
from omnigraph.server.handlers.reading import read_briefly, run_read, state_at_hand
from omnigraph.server.handlers.writing import CONDITION, read_condition, refuse_condition, run_mutation
from omnigraph.server.replies import Reply, document_reply
from omnigraph.server.stored import StoredQuery

_MISSING = "stored query not found"


async def list_queries(call: Call) -> Reply:
    """List the stored queries with their parameters."""
    call.allow(branch=MAIN_BRANCH)
    queries = call.at.queries
    return document_reply({"queries": [queries[name].document() for name in sorted(queries)]})


async def invoke(call: Call) -> Reply:
    """Run a stored query; what it does is asked about again, as a read or as a change."""
    refuse_condition(call, f"/queries/{call.arguments['name']}/if-graph-commit")
    body = await _members(call)
    stored = _found(call)
    expected = body.get("expect_mutation")
    if expected is not None and expected != stored.is_mutation:
        kind, verb = ("mutation", "mutate") if stored.is_mutation else ("read", "query")
        raise BadRequest(f"The stored query `{stored.name}` is a {kind}; the verb for it is {verb}.")
    document: Json
    if stored.is_mutation:
        if body.get("snapshot") is not None:
            raise InvalidTarget(
                f"The stored query `{stored.name}` is a mutation, which writes to a branch; leave out `snapshot`."
            )
        document = await run_mutation(
            call,
            stored.text,
            stored.name,
            body.get("params") or {},
            branch=body.get("branch"),
            if_commit=None,
            source=stored.source,
        )
    else:
        document = await run_read(
            call,
            stored.text,
            stored.name,
            body.get("params") or {},
            branch=body.get("branch"),
            address=body.get("snapshot"),
            source=stored.source,
        )
    return document_reply(document)


def invoke_at_once(call: Call, body: Mapping[str, Any]) -> Reply | None:
    """Run a stored read that touches little and finds all of it in memory; None for any other."""
    stored = call.at.queries.get(call.arguments["name"])
    if stored is None or stored.is_mutation or body.get("expect_mutation") or call.header(CONDITION) is not None:
        return None
    snapshot = state_at_hand(call, body, stored.text, stored.name)
    if snapshot is None:
        return None
    _found(call)
    call.allow(branch=snapshot.branch, action=PolicyAction.READ)
    document = read_briefly(call, snapshot, stored.text, stored.name, body.get("params") or {})
    return None if document is None else document_reply(document)


async def invoke_if_commit(call: Call) -> Reply:
    """Run a stored mutation, if the head of the branch still is the one that the header names."""
    condition = read_condition(call)
    body = await _members(call)
    stored = _found(call)
    if not stored.is_mutation:
        raise BadRequest(f"The stored query `{stored.name}` is a read; only a mutation takes a condition.")
    if body.get("snapshot") is not None:
        raise InvalidTarget(
            f"The stored query `{stored.name}` is a mutation, which writes to a branch; leave out `snapshot`."
        )
    return document_reply(
        await run_mutation(
            call,
            stored.text,
            stored.name,
            body.get("params") or {},
            branch=body.get("branch"),
            if_commit=condition,
            source=stored.source,
        )
    )


async def _members(call: Call) -> dict[str, Any]:
    """Read the body; a branch without a name is told before anybody is asked, and so the same for every query."""
    body = await call.members()
    branch_named(body.get("branch"))
    return body


def _found(call: Call) -> StoredQuery:
    """Return the query that the path names; whoever may not run any is told the same as for a name that is none."""
    try:
        call.allow(action=PolicyAction.INVOKE_QUERY)
    except PolicyDenied as denied:
        raise StoredQueryNotFound(_MISSING) from denied
    stored = call.at.queries.get(call.arguments["name"])
    if stored is None:
        raise StoredQueryNotFound(_MISSING)
    if call.is_first(stored.name):
        call.service.log.note(
            "stored query",
            {
                "request_id": call.request_id,
                "graph_id": call.at.graph_id,
                "actor_id": call.actor,
                "query": stored.name,
                "kind": "mutation" if stored.is_mutation else "read",
            },
        )
    return stored
