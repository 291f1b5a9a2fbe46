"""Commits, schema, snapshot: what a graph is and was."""

from typing import TYPE_CHECKING

from omnigraph.base.ids import is_ulid
from omnigraph.documents.commits import commit_document
from omnigraph.documents.data import snapshot_document
from omnigraph.documents.schema import schema_document
from omnigraph.errors import BadRequest, CommitNotFound, SchemaApplyDisabled
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.server.calls import Call, branch_named
from omnigraph.server.replies import Reply, document_reply

if TYPE_CHECKING:
    from omnigraph.manifest.commits import Commit


async def get_snapshot(call: Call) -> Reply:
    """Describe the tables of the newest state of a branch."""
    branch = branch_named(call.parameters().get("branch"))
    call.allow(branch=branch)
    snapshot = await call.head(branch)
    return document_reply(await call.read(lambda: snapshot_document(snapshot)))


async def get_schema(call: Call) -> Reply:
    """Show the schema as it was written."""
    call.allow()
    snapshot = await call.head(MAIN_BRANCH)
    return document_reply(await call.read(lambda: schema_document(snapshot.schema_source)))


async def apply_schema(call: Call) -> Reply:
    """Refuse to change the schema, which is for the cluster, to whoever would be allowed to."""
    await call.members()
    call.allow(target=MAIN_BRANCH)
    raise SchemaApplyDisabled(
        "This server serves a cluster, whose schemas are declared: change the schema file, run "
        "`omnigraph cluster apply` and restart the server. Nothing was changed."
    )


async def list_commits(call: Call) -> Reply:
    """List the commits of a branch, newest first."""
    given = call.parameters()
    branch = branch_named(given.get("branch"))
    limit = given.get("limit")
    if limit == 0:
        raise BadRequest("`limit` must be at least 1.")
    call.allow(branch=branch)
    commits = await call.read(lambda: call.graph.commits(branch, limit=limit))
    return document_reply({"commits": [commit_document(commit) for commit in commits]})


async def get_commit(call: Call) -> Reply:
    """Show one commit."""
    by = call.parameters().get("by")
    call.allow()
    commit = await call.read(lambda: commit_named(call, by))
    return document_reply(commit_document(commit))


def commit_named(call: Call, by: str | None) -> "Commit":
    """Return the commit that the path names, by its id unless an address is asked for."""
    named = call.arguments["commit_id"]
    if by != "address" and not is_ulid(named):
        raise CommitNotFound(f"commit '{named}' not found", id=named)
    return call.graph.commit(named)


async def list_runs(call: Call) -> Reply:
    """Tell older clients that there are no runs: writes are visible as a whole or not at all."""
    call.allow()
    return document_reply({"runs": []})
