"""Mutations, with and without a condition."""

from collections.abc import Mapping
from typing import Any

from omnigraph.base.values import Json
from omnigraph.documents.data import mutation_document
from omnigraph.errors import BadRequest, WrongVerb
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.server.calls import Call, branch_named
from omnigraph.server.replies import Reply, document_reply

CONDITION = b"omnigraph-if-graph-commit"


async def mutate(call: Call) -> Reply:
    """Run a mutation as one commit."""
    refuse_condition(call, "/mutate/if-graph-commit")
    return document_reply(await _mutated(call, await call.members(), if_commit=None))


async def mutate_if_commit(call: Call) -> Reply:
    """Run a mutation as one commit, if the head of the branch still is the one that the header names."""
    condition = read_condition(call)
    return document_reply(await _mutated(call, await call.members(), if_commit=condition))


async def _mutated(call: Call, body: Mapping[str, Any], *, if_commit: str | None) -> Json:
    try:
        return await run_mutation(
            call,
            body["query"],
            body.get("name"),
            body.get("params") or {},
            branch=body.get("branch"),
            if_commit=if_commit,
            source="query",
        )
    except WrongVerb as error:
        name = error.details["query"]
        raise WrongVerb(
            f"The query `{name}` is a read: send it to POST /graphs/{call.at.graph_id}/query.", **error.details
        ) from error


async def run_mutation(
    call: Call,
    text: str,
    name: str | None,
    values: Mapping[str, Any],
    *,
    branch: str | None,
    if_commit: str | None,
    source: str,
) -> Json:
    """Run a mutation on a branch, as far as the actor may."""
    branch = branch_named(branch)
    call.allow(branch=branch, action=PolicyAction.CHANGE)
    with call.admitted():
        result = await call.write(
            lambda: call.graph.mutate(
                text,
                name,
                params=values,
                branch=branch,
                if_commit=if_commit,
                actor=call.actor,
                query_source=source,
            )
        )
    return mutation_document(result)


def refuse_condition(call: Call, path: str) -> None:
    """Refuse the header on a route that would not look at it, so that nobody believes that it did."""
    if call.header(CONDITION) is not None:
        raise BadRequest(
            f"Omnigraph-If-Graph-Commit is checked by POST /graphs/{call.at.graph_id}{path}; this path ignores "
            "conditions, so it refuses them. Nothing was done."
        )


def refuse_any_condition(call: Call) -> None:
    """Refuse the header on a write that cannot have a condition, for the same reason."""
    if call.header(CONDITION) is not None:
        raise BadRequest(
            f"Omnigraph-If-Graph-Commit is checked for mutations, by POST /graphs/{call.at.graph_id}/mutate/"
            "if-graph-commit; this write cannot have a condition. Nothing was done."
        )


def read_condition(call: Call) -> str:
    """Return the commit that has to be the head; the header comes once, and plain."""
    given = call.header_values(CONDITION)
    if len(given) != 1:
        raise BadRequest(f"Omnigraph-If-Graph-Commit must be given once, not {len(given)} times.")
    text = given[0].decode("latin-1").strip()
    if not text or text == "*" or not text.isascii() or not text.isalnum():
        raise BadRequest(
            "Omnigraph-If-Graph-Commit is the id of one commit as it is: no quotes, no `W/`, no `*` and no list."
        )
    return text
