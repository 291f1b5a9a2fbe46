"""Branches: list, create, delete, merge."""

from typing import Any

from omnigraph.documents.branches import created_branch_document, deleted_branch_document, merge_document
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.errors import BranchNotFound, CommitNotFound, InvalidTarget, PolicyDenied, SnapshotNotFound
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.server.calls import SMALL_WRITE_BYTES, Call, branch_named
from omnigraph.server.handlers.writing import refuse_any_condition
from omnigraph.server.replies import Reply, document_reply

_MERGE_MEMBERS = ("source", "target", "outcome", "actor_id", "commit", "branch_deleted", "branch_delete_error")


async def list_branches(call: Call) -> Reply:
    """List the branches by name."""
    call.allow()
    names = await call.read(lambda: [branch.name for branch in call.graph.branches.list()])
    return document_reply({"branches": sorted(names)})


async def create_branch(call: Call) -> Reply:
    """Create a branch from a branch, a commit or an older state; policy sees the branch that this belongs to."""
    refuse_any_condition(call)
    body = await call.members()
    name = branch_named(body["name"], name="name")
    base = branch_named(body.get("from"), name="from")
    try:
        origin = (await call.read(lambda: call.graph.following.at(base))).branch
    except (SnapshotNotFound, CommitNotFound, BranchNotFound):
        call.allow(branch=base, target=name)
        raise
    call.allow(branch=origin, target=name)
    with call.admitted(SMALL_WRITE_BYTES):
        created = await call.write(lambda: call.graph.branches.create(name, source=base, actor=call.actor))
    return document_reply(created_branch_document(created, uri=call.graph.uri, source=base, actor_id=call.actor))


async def delete_branch(call: Call) -> Reply:
    """Delete a branch."""
    refuse_any_condition(call)
    name = branch_named(call.arguments["branch"])
    call.allow(target=name)
    if name == MAIN_BRANCH:
        raise InvalidTarget("Branch 'main' cannot be deleted.")
    with call.admitted(SMALL_WRITE_BYTES):
        await call.write(lambda: call.graph.branches.delete(name, actor=call.actor))
    return document_reply(deleted_branch_document(name, uri=call.graph.uri, actor_id=call.actor))


async def merge_branches(call: Call) -> Reply:
    """Merge a branch into another one; a deletion that fails afterwards is told of in the answer."""
    refuse_any_condition(call)
    body = await call.members()
    source = branch_named(body["source"], name="source")
    target = branch_named(body.get("target"), name="target")
    call.allow(branch=source, target=target)
    deletes = body.get("delete_branch", False)
    refused = _deletion_refused(call, source) if deletes else None
    with call.admitted(SMALL_WRITE_BYTES):
        result = await call.write(
            lambda: call.graph.branches.merge(
                source,
                into=target,
                delete_branch=deletes and refused is None,
                actor=call.actor,
                engine=EngineChoice(engine=EngineName.LOCAL),
            )
        )
    document: Any = merge_document(result)
    found = {name: document[name] for name in _MERGE_MEMBERS if name in document}
    if refused is not None:
        found |= {"branch_deleted": False, "branch_delete_error": refused}
    return document_reply(found)


def _deletion_refused(call: Call, source: str) -> str | None:
    try:
        call.allow(action=PolicyAction.BRANCH_DELETE, target=source)
    except PolicyDenied as denied:
        return denied.message
    return None
