"""The table of all routes.

A route exists because it has a row here: the rows build the router, the checks before every handler, the log, the
metrics and the OpenAPI document. To add one, write its handler, add its row and the schema of its answer (`models.py`),
and refresh the committed document: `python -m omnigraph.server.openapi docs/reference/openapi.json`.
"""

from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.server.handlers import (
    blobs,
    branching,
    changes,
    exporting,
    history,
    loading,
    reading,
    registry,
    stored_queries,
    writing,
)
from omnigraph.server.members import Kind, Member
from omnigraph.server.operation import GRAPH, JSON, NDJSON, HttpOperation
from omnigraph.server.settings import LOAD_BODY_BYTES_MAX

_BRANCH = Member(name="branch", about="The branch; `main` if it is left out.")
_SNAPSHOT = Member(
    name="snapshot", about="An older state instead of a branch: a commit id, or an address such as main~1."
)
_NAME = Member(name="name", alias="query_name", about="Which query, if the text holds several.")
_PARAMS = Member(name="params", kind=Kind.OBJECT, about="The values of the parameters.")
_QUERY = Member(name="query", alias="query_source", is_required=True, about="The text of the query.")
_MODE = Member(
    name="mode", choices=("overwrite", "append", "merge"), about="What happens to entities that exist; default merge."
)
_FROM = Member(name="from", about="What a branch that does not exist yet is created from.")
_DATA = Member(name="data", is_required=True, about="The records: one JSON object per line.")
_LIMIT = Member(name="limit", kind=Kind.COUNT, about="How many at most.")
_BY = Member(
    name="by",
    choices=("id", "address"),
    about="What the path holds: the id of a commit, which is the default, or an address such as main~1.",
)
_PAGE = Member(name="page_token", about="Where the answer before left off.")
_FILTERS = (
    Member(name="kind", kind=Kind.TEXTS, about="Only these kinds: node, edge."),
    Member(name="type", kind=Kind.TEXTS, about="Only these types."),
    Member(name="op", kind=Kind.TEXTS, about="Only these operations: insert, update, delete."),
)
_BLOB = (
    Member(name="entity", is_required=True, choices=("node", "edge"), about="The kind of the entity."),
    Member(name="type", is_required=True, about="Its type."),
    Member(name="id", is_required=True, about="Its id."),
    Member(name="property", is_required=True, about="The property that holds the blob."),
    _BRANCH,
    _SNAPSHOT,
)
_READ_BODY = (_QUERY, _NAME, _PARAMS, _BRANCH, _SNAPSHOT)
_WRITE_BODY = (_QUERY, _NAME, _PARAMS, _BRANCH)
_INVOKE_BODY = (
    _PARAMS,
    _BRANCH,
    _SNAPSHOT,
    Member(name="expect_mutation", kind=Kind.TRUTH, about="Refuse to run unless it is one, or is none."),
)
_LOAD_BODY = (_BRANCH, _FROM, _MODE, _DATA)

_ABOUT_SERVER = (
    HttpOperation(
        method="GET",
        path="/healthz",
        operation_id="health",
        about="Whether the server runs.",
        handler=registry.health,
        is_public=True,
        is_about_graph=False,
        answer="Health",
    ),
    HttpOperation(
        method="GET",
        path="/readyz",
        operation_id="ready",
        about="Whether the server takes requests.",
        handler=registry.ready,
        is_public=True,
        is_about_graph=False,
        answer="Ready",
    ),
    HttpOperation(
        method="GET",
        path="/openapi.json",
        operation_id=None,
        about="This description.",
        handler=registry.openapi,
        is_public=True,
        is_about_graph=False,
    ),
    HttpOperation(
        method="GET",
        path="/metrics",
        operation_id="metrics",
        about="The server's numbers, as Prometheus reads them.",
        handler=registry.metrics,
        is_about_graph=False,
        answer_type="text/plain",
    ),
    HttpOperation(
        method="GET",
        path="/graphs",
        operation_id="listGraphs",
        about="The graphs that are ready.",
        handler=registry.list_graphs,
        action=PolicyAction.GRAPH_LIST,
        is_about_graph=False,
        answer="Graphs",
    ),
    HttpOperation(
        method="GET",
        path=f"{GRAPH}/healthz",
        operation_id="graphHealth",
        about="Whether the server runs and the graph is ready.",
        handler=registry.health,
        answer="Health",
    ),
)

_READS = (
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/query",
        operation_id="query",
        about="Run a read of the query language.",
        handler=reading.query,
        at_once=reading.query_at_once,
        action=PolicyAction.READ,
        members=_READ_BODY,
        media_type=JSON,
        answer="QueryResult",
    ),
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/read",
        operation_id="read",
        about="Run a read, for older clients.",
        handler=reading.read,
        action=PolicyAction.READ,
        members=_READ_BODY,
        media_type=JSON,
        answer="ReadResult",
        successor="query",
    ),
    HttpOperation(
        method="GET",
        path=f"{GRAPH}/snapshot",
        operation_id="getSnapshot",
        about="The tables of the newest state of a branch.",
        handler=history.get_snapshot,
        action=PolicyAction.READ,
        parameters=(_BRANCH,),
        answer="Snapshot",
    ),
    HttpOperation(
        method="GET",
        path=f"{GRAPH}/schema",
        operation_id="getSchema",
        about="The schema as it was written.",
        handler=history.get_schema,
        action=PolicyAction.READ,
        answer="Schema",
    ),
    HttpOperation(
        method="GET",
        path=f"{GRAPH}/commits",
        operation_id="listCommits",
        about="The commits of a branch, newest first.",
        handler=history.list_commits,
        action=PolicyAction.READ,
        parameters=(_BRANCH, _LIMIT),
        answer="Commits",
    ),
    HttpOperation(
        method="GET",
        path=f"{GRAPH}/commits/{{commit_id}}",
        operation_id="getCommit",
        about="One commit.",
        handler=history.get_commit,
        action=PolicyAction.READ,
        parameters=(_BY,),
        answer="Commit",
    ),
    HttpOperation(
        method="GET",
        path=f"{GRAPH}/blob",
        operation_id="getBlob",
        about="The bytes of a blob, or a range of them.",
        handler=blobs.get_blob,
        action=PolicyAction.READ,
        parameters=_BLOB,
        answer_type="application/octet-stream",
        is_discreet=True,
    ),
    HttpOperation(
        method="HEAD",
        path=f"{GRAPH}/blob",
        operation_id="headBlob",
        about="How long a blob is.",
        handler=blobs.head_blob,
        action=PolicyAction.READ,
        parameters=_BLOB,
        answer_type="application/octet-stream",
        is_discreet=True,
    ),
    HttpOperation(
        method="GET",
        path=f"{GRAPH}/runs",
        operation_id="listRuns",
        about="Always empty: writes are visible as a whole or not at all.",
        handler=history.list_runs,
        action=PolicyAction.READ,
        answer="Runs",
        successor="commits",
    ),
)

_STORED = (
    HttpOperation(
        method="GET",
        path=f"{GRAPH}/queries",
        operation_id="listQueries",
        about="The stored queries with their parameters.",
        handler=stored_queries.list_queries,
        action=PolicyAction.READ,
        answer="StoredQueries",
    ),
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/queries/{{name}}",
        operation_id="invokeQuery",
        about="Run a stored query.",
        handler=stored_queries.invoke,
        at_once=stored_queries.invoke_at_once,
        action=PolicyAction.INVOKE_QUERY,
        is_admitted=True,
        members=_INVOKE_BODY,
        media_type=JSON,
        has_optional_body=True,
        answer="InvokeResult",
    ),
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/queries/{{name}}/if-graph-commit",
        operation_id="invokeQueryIfGraphCommit",
        about="Run a stored mutation, if a commit still is the head of the branch.",
        handler=stored_queries.invoke_if_commit,
        action=PolicyAction.INVOKE_QUERY,
        is_admitted=True,
        members=_INVOKE_BODY,
        media_type=JSON,
        has_optional_body=True,
        answer="MutationResult",
        is_conditional=True,
    ),
)

_WRITES = (
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/mutate",
        operation_id="mutate",
        about="Run a mutation as one commit.",
        handler=writing.mutate,
        action=PolicyAction.CHANGE,
        is_admitted=True,
        members=_WRITE_BODY,
        media_type=JSON,
        answer="MutationResult",
    ),
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/mutate/if-graph-commit",
        operation_id="mutateIfGraphCommit",
        about="Run a mutation, if a commit still is the head of the branch.",
        handler=writing.mutate_if_commit,
        action=PolicyAction.CHANGE,
        is_admitted=True,
        members=_WRITE_BODY,
        media_type=JSON,
        answer="MutationResult",
        is_conditional=True,
    ),
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/change",
        operation_id="change",
        about="Run a mutation, for older clients.",
        handler=writing.mutate,
        action=PolicyAction.CHANGE,
        is_admitted=True,
        members=_WRITE_BODY,
        media_type=JSON,
        answer="MutationResult",
        successor="mutate",
    ),
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/load",
        operation_id="load",
        about="Load records as one commit.",
        handler=loading.load,
        action=PolicyAction.CHANGE,
        is_admitted=True,
        members=_LOAD_BODY,
        media_type=JSON,
        body_bytes_max=LOAD_BODY_BYTES_MAX,
        answer="LoadResult",
    ),
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/load/ndjson",
        operation_id="loadNdjson",
        about="Load records, sent as lines, as one commit.",
        handler=loading.load_lines,
        action=PolicyAction.CHANGE,
        is_admitted=True,
        parameters=(_BRANCH, _FROM, _MODE),
        media_type=NDJSON,
        body_bytes_max=LOAD_BODY_BYTES_MAX,
        answer="LoadResult",
    ),
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/ingest",
        operation_id="ingest",
        about="Load records, for older clients: a missing branch is made from main.",
        handler=loading.ingest,
        action=PolicyAction.CHANGE,
        is_admitted=True,
        members=_LOAD_BODY,
        media_type=JSON,
        body_bytes_max=LOAD_BODY_BYTES_MAX,
        answer="IngestResult",
        successor="load",
    ),
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/schema/apply",
        operation_id="applySchema",
        about="Refused: the schemas of a cluster are applied to the cluster.",
        handler=history.apply_schema,
        action=PolicyAction.SCHEMA_APPLY,
        members=(
            Member(name="schema_source", is_required=True, about="The text of the schema."),
            Member(name="allow_data_loss", kind=Kind.TRUTH, about="Whether drops are for good."),
        ),
        media_type=JSON,
        answer="AppliedSchema",
    ),
)

_BRANCHES = (
    HttpOperation(
        method="GET",
        path=f"{GRAPH}/branches",
        operation_id="listBranches",
        about="The branches by name.",
        handler=branching.list_branches,
        action=PolicyAction.READ,
        answer="Branches",
    ),
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/branches",
        operation_id="createBranch",
        about="Create a branch.",
        handler=branching.create_branch,
        action=PolicyAction.BRANCH_CREATE,
        is_admitted=True,
        members=(
            Member(name="name", is_required=True, about="The name of the new branch."),
            Member(name="from", about="A branch, a commit id or branch@N; `main` if it is left out."),
        ),
        media_type=JSON,
        answer="CreatedBranch",
    ),
    HttpOperation(
        method="DELETE",
        path=f"{GRAPH}/branches/{{branch}}",
        operation_id="deleteBranch",
        about="Delete a branch.",
        handler=branching.delete_branch,
        action=PolicyAction.BRANCH_DELETE,
        is_admitted=True,
        answer="DeletedBranch",
    ),
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/branches/merge",
        operation_id="mergeBranches",
        about="Merge a branch into another one as one commit.",
        handler=branching.merge_branches,
        action=PolicyAction.BRANCH_MERGE,
        is_admitted=True,
        members=(
            Member(name="source", is_required=True, about="The branch to merge."),
            Member(name="target", about="The branch to merge into; `main` if it is left out."),
            Member(name="delete_branch", kind=Kind.TRUTH, about="Delete the source afterwards."),
        ),
        media_type=JSON,
        answer="MergeResult",
    ),
)

_STREAMS = (
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/export",
        operation_id="export",
        about="All records of one state of a branch.",
        handler=exporting.export,
        action=PolicyAction.EXPORT,
        members=(
            _BRANCH,
            Member(name="type_names", kind=Kind.TEXTS, about="Only these types."),
            Member(name="table_keys", kind=Kind.TEXTS, about="Only these types, such as node:Artist."),
        ),
        media_type=JSON,
        is_strict=True,
        has_optional_body=True,
        answer_type=NDJSON,
    ),
    HttpOperation(
        method="POST",
        path=f"{GRAPH}/changes/baseline",
        operation_id="captureChangeBaseline",
        about="All records of one state of a branch and, as the last line, the cursor that follows it.",
        handler=exporting.baseline,
        action=PolicyAction.EXPORT,
        members=(_BRANCH, *_FILTERS),
        media_type=JSON,
        has_optional_body=True,
        answer_type=NDJSON,
        is_discreet=True,
    ),
    HttpOperation(
        method="GET",
        path=f"{GRAPH}/commits/{{commit_id}}/changes",
        operation_id="getCommitChanges",
        about="What a commit changed, entity by entity.",
        handler=changes.commit_changes,
        action=PolicyAction.READ,
        parameters=(_PAGE, _LIMIT, *_FILTERS, _BY),
        is_strict=True,
        answer="CommitChanges",
        is_discreet=True,
    ),
    HttpOperation(
        method="GET",
        path=f"{GRAPH}/changes",
        operation_id="pollChanges",
        about="What changed on a branch behind a cursor, commit by commit.",
        handler=changes.poll,
        action=PolicyAction.READ,
        parameters=(
            _BRANCH,
            Member(name="cursor", about="Go on behind what an earlier poll delivered."),
            Member(name="start", about="Where to begin: now, beginning, or after:<commit>."),
            _PAGE,
            _LIMIT,
            *_FILTERS,
        ),
        is_strict=True,
        answer="FeedPage",
        is_discreet=True,
    ),
)

ROUTES: tuple[HttpOperation, ...] = (*_ABOUT_SERVER, *_READS, *_STORED, *_WRITES, *_BRANCHES, *_STREAMS)


def at_root(routes: tuple[HttpOperation, ...]) -> tuple[HttpOperation, ...]:
    """Return the routes of a graph without the graph in their paths, for clients whose base cannot change."""
    taken = {(route.method, route.path) for route in routes}
    mounted = (route.at_root() for route in routes if route.is_about_graph)
    return tuple(route for route in mounted if (route.method, route.path) not in taken)
