"""Queries, and what a read says about the state that it means."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.documents.answers import Answer, query_document
from omnigraph.errors import BranchNotFound, CommitNotFound, InvalidTarget, SnapshotNotFound, WrongVerb
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.server.calls import Call, branch_named
from omnigraph.server.replies import Reply, document_reply

if TYPE_CHECKING:
    from omnigraph.graphs.result import Result
    from omnigraph.graphs.snapshot import Snapshot


async def query(call: Call) -> Reply:
    """Run a read."""
    return document_reply(await _answered(call, await call.members()))


def query_at_once(call: Call, body: Mapping[str, Any]) -> Reply | None:
    """Run a read that touches little and finds all of it in memory; None leaves it to `query`."""
    text, name = body["query"], body.get("name")
    snapshot = state_at_hand(call, body, text, name)
    if snapshot is None:
        return None
    call.allow(branch=snapshot.branch, action=PolicyAction.READ)
    document = read_briefly(call, snapshot, text, name, body.get("params") or {})
    return None if document is None else document_reply(document)


def state_at_hand(call: Call, body: Mapping[str, Any], text: str, name: str | None) -> "Snapshot | None":
    """Return the head of the branch that a body names, if a read of it can be answered on the event loop.

    Only what cannot take long is: changing to a thread and back costs more than such an answer.
    """
    if body.get("snapshot") is not None:
        return None
    snapshot = call.head_at_hand(branch_named(body.get("branch")))
    is_at_hand = snapshot is not None and call.graph.following.is_at_hand(snapshot, text, name)
    return snapshot if is_at_hand else None


def read_briefly(
    call: Call, snapshot: "Snapshot", text: str, name: str | None, values: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Run a read on the event loop; None if it reaches too much for that, with these values."""
    result = call.graph.following.query_briefly(snapshot, text, name, values)
    if result is None:
        return None
    call.service.metrics.reads_at_once += 1
    return _document(result, snapshot, None)


async def read(call: Call) -> Reply:
    """Run a read for an older client, which knows no commit ids."""
    document = await _answered(call, await call.members())
    del document["graph_commit_id"]
    return document_reply(document)


async def _answered(call: Call, body: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return await run_read(
            call,
            body["query"],
            body.get("name"),
            body.get("params") or {},
            branch=body.get("branch"),
            address=body.get("snapshot"),
            source="query",
        )
    except WrongVerb as error:
        name = error.details["query"]
        raise WrongVerb(
            f"The query `{name}` is a mutation: send it to POST /graphs/{call.at.graph_id}/mutate.", **error.details
        ) from error


async def run_read(
    call: Call,
    text: str,
    name: str | None,
    values: Mapping[str, Any],
    *,
    branch: str | None,
    address: str | None,
    source: str,
) -> dict[str, Any]:
    """Run a read over the head of a branch, or over the state that an address means, as far as the actor may."""
    if address is not None:
        if branch is not None:
            raise InvalidTarget("`branch` and `snapshot` say different things about which state is meant; give one.")
        snapshot = await allowed_snapshot(call, address)
        shown = address
    else:
        branch = branch_named(branch)
        call.allow(branch=branch, action=PolicyAction.READ)
        snapshot = await call.head(branch)
        shown = None
    following = call.graph.following
    if shown is None and following.is_at_hand(snapshot, text, name):
        found = read_briefly(call, snapshot, text, name, values)
        if found is not None:
            return found
    call.service.metrics.reads_in_threads += 1
    return await call.read(
        lambda: _document(following.query(snapshot, text, name, values, source=source), snapshot, shown)
    )


def _document(result: "Result", snapshot: "Snapshot", address: str | None) -> dict[str, Any]:
    document: Any = query_document(Answer(result=result, branch=snapshot.branch, snapshot=address))
    return dict(document)


async def allowed_snapshot(call: Call, address: str, *, action: PolicyAction = PolicyAction.READ) -> "Snapshot":
    """Find the state that an address means, and ask about the branch that it belongs to.

    Whoever may not read `main` is not told whether there is such a state.
    """
    address = branch_named(address, name="snapshot")
    try:
        snapshot = await call.read(lambda: call.graph.following.at(address))
    except (SnapshotNotFound, CommitNotFound, BranchNotFound):
        call.allow(branch=MAIN_BRANCH, action=action)
        raise
    call.allow(branch=snapshot.branch, action=action)
    return snapshot
