"""A row for every route: a request that works, what policy is asked about it, and what else the contract has it refuse.

Everything that follows from the table of routes itself is made from it in `tests/server/test_matrix.py`.
"""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from omnigraph.server.operation import HttpOperation
from support.program import SCHEMA, SEED
from support.served import Declared, ServedApp

GRAPH = "/graphs/art"
CONDITION = "Omnigraph-If-Graph-Commit"
NOBODY = "01M7P07KDHS9Y0V8EXM24MKAPA"
"""An id that no commit has."""
READ = "query q($n: String?) { match { $a: Artist } return { $a.name } limit 1 }"
INSERT = "query add($n: String) { insert Artist { name: $n } }"
LINE = '{"type":"Artist","data":{"name":"Row"}}\n'
NODE = "entity=node&type=Scan&id=s&property=data"
SCANS = Declared(
    schema=f"{SCHEMA}\nnode Scan {{ name: String @key\n data: Blob? }}\n",
    seed=f'{SEED}{{"type":"Scan","data":{{"name":"s","data":"base64:AAECAw=="}}}}\n'
    '{"type":"Scan","data":{"name":"none"}}\n',
)
NOT_A_NAME = (
    "each segment between slashes has 1 to 100 ASCII letters, digits, dots, dashes or underscores, does not start with "
    "a dot or dash, and neither contains .. nor ends in .lock."
)
UNKNOWN_BRANCH = "Branch 'nowhere' was not found in graph 'art'; it has {branches}."


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A request like the one of the row, but for some of it, and the whole document that it is answered with."""

    status: int
    error: str
    kind: str
    code: str | None
    details: dict[str, Any] = field(default_factory=dict)
    path: dict[str, str] = field(default_factory=dict)
    query: str | None = None
    body: Any = None
    content: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Row:
    """What the tests know about a route and cannot read from its row in the table."""

    path: dict[str, str] = field(default_factory=dict)
    query: str = ""
    body: Any = None
    content: bytes | None = None
    status: int = 200
    is_document: bool = True
    """Whether a success is a JSON document, whose schema the table names."""
    denial: str | None = ""
    """What a denial says between the action and the actor; None for a 404 instead, or where nobody is asked."""
    refused: tuple[Refused, ...] = ()


def bad(error: str, kind: str = "bad_request", **more: Any) -> Refused:
    """Return a refusal with 400."""
    return Refused(status=400, error=error, kind=kind, code="bad_request", **more)


def missing(error: str, kind: str, **more: Any) -> Refused:
    """Return a refusal with 404."""
    return Refused(status=404, error=error, kind=kind, code="not_found", **more)


def no_branch(**more: Any) -> Refused:
    """Return what a branch that there is not is answered with."""
    return missing(UNKNOWN_BRANCH, "branch_not_found", details={"branch_not_found": {"branch": "nowhere"}}, **more)


def no_commit(**more: Any) -> Refused:
    """Return what a commit that there is not is answered with."""
    details = {"commit_not_found": {"id": NOBODY}}
    return missing(f"commit '{NOBODY}' not found", "commit_not_found", details=details, **more)


def no_state(**more: Any) -> Refused:
    """Return what an older state that there is not is answered with."""
    details = {"commit_not_found": {"id": NOBODY}}
    return missing(f"No commit {NOBODY} is known to this graph.", "commit_not_found", details=details, **more)


def conflict(error: str, kind: str, **more: Any) -> Refused:
    """Return a refusal with 409."""
    return Refused(status=409, error=error, kind=kind, code="conflict", **more)


def not_a_name(name: str, **more: Any) -> Refused:
    """Return what a name that no branch can have is answered with."""
    details = {"invalid_name": {"name": name}}
    return bad(f"'{name}' is not a branch name: {NOT_A_NAME}", "invalid_name", details=details, **more)


def no_type(name: str, *, is_missing: bool = False, **more: Any) -> Refused:
    """Return what a type that there is not is answered with: 400 where all records are asked for, else 404."""
    error = f"There is no type '{name}' in this graph; it has node:Artist, node:Artwork, node:Scan, edge:CreatedBy."
    if is_missing:
        return missing(error, "entity_not_found", details={"entity_not_found": {"selector": name}}, **more)
    return bad(error, **more)


BOTH = bad(
    "`branch` and `snapshot` say different things about which state is meant; give one.",
    "invalid_target",
    body={"branch": "main", "snapshot": "main"},
)
DAMAGED = "it is damaged, or not a token of this program"
REJECTED = {
    "error": f"change cursor rejected: {DAMAGED}. Go on from a cursor of this feed, or take a baseline.",
    "kind": "change_cursor_rejected",
    "details": {"change_cursor_rejected": {"reason": DAMAGED}},
}
TOO_MANY_CHANGES = Refused(
    status=413,
    error="change_page_changes is 8193; it must be between 1 and 8192.",
    kind="resource_limit",
    code="bad_request",
    details={"resource_limit": {"resource": "change_page_changes", "limit": 8192, "actual": 8193}},
    query="limit=8193",
)
LIMIT_ZERO = bad("`limit` must be at least 1.", query="limit=0")
LIMIT_WORD = bad("`limit` must be a whole number.", query="limit=x")
FILTERS = (
    ("kind", "x", "'x' is no kind of changes; use node, edge."),
    ("op", "x", "'x' is no operation of changes; use insert, update, delete."),
)
READS = (
    no_branch(body={"branch": "nowhere"}),
    no_state(body={"snapshot": NOBODY}),
    BOTH,
    bad("`snapshot` is blank; it is the name of a branch.", body={"snapshot": " "}),
    bad(
        "The query `add` is a mutation: send it to POST /graphs/art/mutate.",
        "wrong_verb",
        details={"wrong_verb": {"query": "add", "actual": "mutation"}},
        body={"query": INSERT},
    ),
    bad(
        "query holds 2 queries: q, r. Say which one by its name.",
        "query_selection",
        details={"query_selection": {"names": ["q", "r"]}},
        body={"query": f"{READ} {READ.replace('q(', 'r(')}"},
    ),
    bad(
        "The query `z` was not found in query; it holds q",
        "query_not_found",
        details={"query_not_found": {"query": "z", "names": ["q"]}},
        body={"name": "z"},
    ),
    bad(
        "The parameter `$n` (String?) got 5: 5 is not a value of String.",
        "param_error",
        details={"param_error": {"param": "n", "expected": "String?"}},
        body={"params": {"n": 5}},
    ),
)
_CONDITION_REFUSED = (
    "Omnigraph-If-Graph-Commit is checked by POST /graphs/art{path}; this path ignores conditions, so it refuses them. "
    "Nothing was done."
)
UNCONDITIONAL = bad(
    "Omnigraph-If-Graph-Commit is checked for mutations, by POST /graphs/art/mutate/if-graph-commit; this write cannot "
    "have a condition. Nothing was done.",
    headers={CONDITION: NOBODY},
)
MUTATIONS = (
    no_branch(body={"branch": "nowhere"}),
    bad(
        "The query `q` is a read: send it to POST /graphs/art/query.",
        "wrong_verb",
        details={"wrong_verb": {"query": "q", "actual": "read"}},
        body={"query": READ, "params": {}},
    ),
    bad(
        "The parameter `$n` (String) is missing.",
        "param_error",
        details={"param_error": {"param": "n", "expected": "String"}},
        body={"params": {}},
    ),
)
MOVED = Refused(
    status=412,
    error=f"precondition failed on branch 'main': its head is {{head}}, not {NOBODY}; nothing was written.",
    kind="precondition_failed",
    code=None,
    details={"precondition_failure": {"expected": NOBODY, "actual": "{head}"}},
    headers={CONDITION: NOBODY},
)
MALFORMED = tuple(
    bad(
        "Omnigraph-If-Graph-Commit is the id of one commit as it is: no quotes, no `W/`, no `*` and no list.",
        headers={CONDITION: value},
    )
    for value in ("", "*", f'"{NOBODY}"', f"W/{NOBODY}", f"{NOBODY}, {NOBODY}")
)
LOADS = (
    UNCONDITIONAL,
    no_branch(body={"branch": "new-branch", "from": "nowhere"}),
    not_a_name("x y", body={"branch": "x y", "from": "main"}),
    bad(
        "load rejected: 1 error in 1 file; first: -:1: a record is an object, got 5",
        "invalid_record",
        details={
            "invalid_record": {
                "file": "-",
                "line": 1,
                "total_errors": 1,
                "by_code": {"not_an_object": 1},
                "errors": [
                    {"file": "-", "line": 1, "code": "not_an_object", "message": "a record is an object, got 5"}
                ],
            }
        },
        body={"data": "5\n"},
    ),
    conflict(
        "load rejected: 1 error in 1 file; first: -:1: Artist 'Ines' exists already",
        "key_conflict",
        details={
            "key_conflict": {
                "table_key": "node:Artist",
                "row_id": "Ines",
                "total_errors": 1,
                "by_code": {"key_conflict": 1},
                "errors": [
                    {
                        "file": "-",
                        "line": 1,
                        "code": "key_conflict",
                        "table_key": "node:Artist",
                        "row_id": "Ines",
                        "message": "Artist 'Ines' exists already",
                    }
                ],
            }
        },
        body={"data": LINE.replace("Row", "Ines"), "mode": "append"},
    ),
)
NO_BRANCH_TO_LOAD = missing(
    "Branch 'nowhere' was not found; say in `from` what to make it from, or load into one that exists.",
    "branch_not_found",
    details={"branch_not_found": {"branch": "nowhere"}},
    body={"branch": "nowhere"},
)
BLOBS = (
    no_branch(query=f"{NODE}&branch=nowhere"),
    no_state(query=f"{NODE}&snapshot={NOBODY}"),
    bad(BOTH.error, BOTH.kind, query=f"{NODE}&branch=main&snapshot=main"),
    bad(
        "Artist.name is String, not Blob; a query returns its value.",
        "invalid_target",
        query="entity=node&type=Artist&id=Ines&property=name",
    ),
    *(
        missing(
            f"Scan.data of node '{name}' was not found: {why}.",
            "entity_not_found",
            details={"entity_not_found": {"selector": f"Scan.data of node '{name}'"}},
            query=NODE.replace("id=s", f"id={name}"),
        )
        for name, why in (("nope", "there is no Scan of that id"), ("none", "there is no value"))
    ),
    Refused(
        status=412,
        error="The blob is not the one that If-Match names.",
        kind="blob_precondition_failed",
        code="conflict",
        headers={"If-Match": '"other"'},
    ),
)
NO_QUERY = missing("stored query not found", "stored_query_not_found", path={"name": "nope"})

ROWS: dict[str, Row] = {
    "health": Row(denial=None),
    "ready": Row(denial=None),
    "/openapi.json": Row(denial=None),
    "metrics": Row(denial=None, is_document=False),
    "listGraphs": Row(),
    "graphHealth": Row(denial=None),
    "query": Row(body={"query": READ}, denial=" on branch 'main'", refused=READS),
    "read": Row(body={"query": READ}, denial=" on branch 'main'", refused=READS),
    "getSnapshot": Row(denial=" on branch 'main'", refused=(no_branch(query="branch=nowhere"),)),
    "getSchema": Row(),
    "listCommits": Row(denial=" on branch 'main'", refused=(no_branch(query="branch=nowhere"), LIMIT_ZERO, LIMIT_WORD)),
    "getCommit": Row(
        path={"commit_id": "{head}"},
        refused=(
            no_state(path={"commit_id": NOBODY}),
            missing(
                "commit 'main' not found",
                "commit_not_found",
                details={"commit_not_found": {"id": "main"}},
                path={"commit_id": "main"},
            ),
        ),
    ),
    "getBlob": Row(
        query=NODE,
        is_document=False,
        denial=" on branch 'main'",
        refused=(
            *BLOBS,
            Refused(
                status=416,
                error="The blob has 4 bytes, and the range lies outside of it.",
                kind="range_not_satisfiable",
                code="bad_request",
                details={"blob_range": {"start": 9, "end": 4, "length": 4}},
                headers={"Range": "bytes=9-"},
            ),
        ),
    ),
    "headBlob": Row(query=NODE, is_document=False, denial=" on branch 'main'", refused=BLOBS),
    "listRuns": Row(),
    "listQueries": Row(denial=" on branch 'main'"),
    "invokeQuery": Row(
        path={"name": "by_artist"},
        body={"params": {"name": "Ines"}},
        denial=None,
        refused=(
            NO_QUERY,
            no_branch(body={"branch": "nowhere"}),
            no_state(body={"snapshot": NOBODY}),
            BOTH,
            bad(
                "The stored query `by_artist` is a read; the verb for it is query.",
                body={"expect_mutation": True},
            ),
            bad(
                "The stored query `add_artist` is a mutation; the verb for it is mutate.",
                path={"name": "add_artist"},
                body={"expect_mutation": False},
            ),
            bad(
                "The stored query `add_artist` is a mutation, which writes to a branch; leave out `snapshot`.",
                "invalid_target",
                path={"name": "add_artist"},
                body={"snapshot": "main"},
            ),
            bad(
                "The parameter `$name` (String) is missing.",
                "param_error",
                details={"param_error": {"param": "name", "expected": "String"}},
                body={"params": {}},
            ),
            bad(
                _CONDITION_REFUSED.format(path="/queries/by_artist/if-graph-commit"),
                headers={CONDITION: NOBODY},
            ),
        ),
    ),
    "invokeQueryIfGraphCommit": Row(
        path={"name": "add_artist"},
        body={"params": {"name": "Row stored"}},
        denial=None,
        refused=(
            NO_QUERY,
            MOVED,
            *MALFORMED,
            no_branch(body={"branch": "nowhere"}),
            bad(
                "The stored query `by_artist` is a read; only a mutation takes a condition.",
                path={"name": "by_artist"},
            ),
            bad(
                "The stored query `add_artist` is a mutation, which writes to a branch; leave out `snapshot`.",
                "invalid_target",
                body={"snapshot": "main"},
            ),
        ),
    ),
    "mutate": Row(
        body={"query": INSERT, "params": {"n": "Row mutate"}},
        denial=" on branch 'main'",
        refused=(
            *MUTATIONS,
            bad(_CONDITION_REFUSED.format(path="/mutate/if-graph-commit"), headers={CONDITION: NOBODY}),
        ),
    ),
    "mutateIfGraphCommit": Row(
        body={"query": INSERT, "params": {"n": "Row if"}},
        denial=" on branch 'main'",
        refused=(*MUTATIONS, MOVED, *MALFORMED),
    ),
    "change": Row(
        body={"query": INSERT, "params": {"n": "Row change"}},
        denial=" on branch 'main'",
        refused=(
            *MUTATIONS,
            bad(_CONDITION_REFUSED.format(path="/mutate/if-graph-commit"), headers={CONDITION: NOBODY}),
        ),
    ),
    "load": Row(body={"data": LINE}, denial=" on branch 'main'", refused=(*LOADS, NO_BRANCH_TO_LOAD)),
    "loadNdjson": Row(
        content=LINE.encode(),
        denial=" on branch 'main'",
        refused=(
            UNCONDITIONAL,
            replace(NO_BRANCH_TO_LOAD, body=None, query="branch=nowhere"),
            no_branch(query="branch=new-branch&from=nowhere"),
            not_a_name("x y", query="branch=x%20y&from=main"),
            replace(LOADS[3], body=None, content=b"5\n"),
            replace(LOADS[4], body=None, query="mode=append", content=LINE.replace("Row", "Ines").encode()),
        ),
    ),
    "ingest": Row(body={"data": LINE}, denial=" on branch 'main'", refused=LOADS),
    "applySchema": Row(
        body={"schema_source": "node A { name: String @key }"},
        status=409,
        denial=" targeting branch 'main'",
        refused=(
            conflict(
                "This server serves a cluster, whose schemas are declared: change the schema file, run `omnigraph "
                "cluster apply` and restart the server. Nothing was changed.",
                "schema_apply_disabled",
            ),
        ),
    ),
    "listBranches": Row(),
    "createBranch": Row(
        body={"name": "created"},
        denial=" on branch 'main' targeting branch 'created'",
        refused=(
            UNCONDITIONAL,
            conflict(
                "Branch 'taken' exists already.",
                "branch_exists",
                details={"branch_exists": {"branch": "taken"}},
                body={"name": " taken "},
            ),
            conflict(
                "Branch 'taken/x' cannot live beside 'taken': one name lies inside the other.",
                "branch_name_overlap",
                details={"branch_name_overlap": {"branch": "taken/x", "existing": "taken"}},
                body={"name": "taken/x"},
            ),
            no_branch(body={"name": "other", "from": "nowhere"}),
            no_state(body={"name": "other", "from": NOBODY}),
            not_a_name("x y", body={"name": "x y"}),
        ),
    ),
    "deleteBranch": Row(
        path={"branch": "taken"},
        denial=" targeting branch 'taken'",
        refused=(
            UNCONDITIONAL,
            no_branch(path={"branch": "nowhere"}),
            bad("Branch 'main' cannot be deleted.", "invalid_target", path={"branch": "%20main%20"}),
            bad("`branch` is blank; it is the name of a branch.", path={"branch": "%20"}),
            not_a_name("x y", path={"branch": "x%20y"}),
        ),
    ),
    "mergeBranches": Row(
        body={"source": "taken"},
        denial=" on branch 'taken' targeting branch 'main'",
        refused=(
            UNCONDITIONAL,
            no_branch(body={"source": "nowhere"}),
            no_branch(body={"target": "nowhere"}),
            bad("Branch 'main' cannot be merged into itself.", "invalid_target", body={"source": "main"}),
            conflict(
                "Merging 'diverged' into 'main' meets 1 conflict; nothing was written. Change one side and merge "
                "again: Artist 'Ines' was changed differently on both sides",
                "merge_conflicts",
                details={
                    "merge_conflicts": [
                        {
                            "table_key": "node:Artist",
                            "entity_kind": "node",
                            "type_name": "Artist",
                            "row_id": "Ines",
                            "entity_id": "Ines",
                            "kind": "divergent_update",
                            "message": "Artist 'Ines' was changed differently on both sides",
                        }
                    ],
                    "merge_conflicts_total": 1,
                },
                body={"source": "diverged"},
            ),
        ),
    ),
    "export": Row(
        body={},
        is_document=False,
        denial=" on branch 'main'",
        refused=(
            no_branch(body={"branch": "nowhere"}),
            no_type("Nobody", body={"type_names": ["Nobody"]}),
            no_type("x", body={"table_keys": ["x"]}),
        ),
    ),
    "captureChangeBaseline": Row(
        body={},
        is_document=False,
        denial=" on branch 'main'",
        refused=(
            no_branch(body={"branch": "nowhere"}),
            no_type("Nobody", body={"type": ["Nobody"]}),
            *(bad(error, "invalid_target", body={name: [value]}) for name, value, error in FILTERS),
        ),
    ),
    "getCommitChanges": Row(
        path={"commit_id": "{head}"},
        denial=None,
        refused=(
            no_commit(path={"commit_id": NOBODY}),
            LIMIT_ZERO,
            LIMIT_WORD,
            TOO_MANY_CHANGES,
            bad(**REJECTED, query="page_token=zz"),
            no_type("Nobody", is_missing=True, query="type=Nobody"),
            *(bad(error, "invalid_target", query=f"{name}={value}") for name, value, error in FILTERS),
            conflict(
                "Commit {first} is the first of its graph; there is nothing that it could have changed.",
                "change_diff_refusal",
                details={"change_diff_refusal": {"reason": "parentless_commit", "graph_commit_id": "{first}"}},
                path={"commit_id": "{first}"},
            ),
        ),
    ),
    "pollChanges": Row(
        denial=" on branch 'main'",
        refused=(
            no_branch(query="branch=nowhere"),
            no_state(query=f"start=after:{NOBODY}"),
            LIMIT_ZERO,
            LIMIT_WORD,
            TOO_MANY_CHANGES,
            bad(**REJECTED, query="cursor=zz"),
            bad(**REJECTED, query="page_token=zz"),
            bad("A feed starts at now, beginning or after:<commit>, not at 'x'.", "invalid_target", query="start=x"),
            *(
                bad("A poll goes on from `cursor`, `start` or `page_token`; give one of them.", query=query)
                for query in ("cursor=x&start=now", "cursor=x&page_token=x", "start=now&page_token=x")
            ),
            *(bad(error, "invalid_target", query=f"{name}={value}") for name, value, error in FILTERS),
        ),
    ),
}


def row_of(route: HttpOperation) -> Row:
    """Return the row of a route; a route without one fails here."""
    return ROWS[route.operation_id or route.path]


def made(
    app: ServedApp, route: HttpOperation, like: Refused | None = None, *, actor: str | None = "act-ines", **more: Any
):
    """Send the request of a route's row, changed as a refusal says."""
    row = row_of(route)
    names = {"head": head_of(app), "first": first_of(app)}
    path = route.path
    for name, value in {"graph_id": "art", **row.path, **(like.path if like else {}), **more.pop("path", {})}.items():
        path = path.replace(f"{{{name}}}", value.format(**names))
    query = like.query if like is not None and like.query is not None else row.query
    query = more.pop("query", query)
    headers = {CONDITION: names["head"]} if route.is_conditional else {}
    headers |= (like.headers if like else {}) | more.pop("headers", {})
    content = more.pop("content", (like.content if like else None) or row.content)
    body = more.pop("body", {**row.body, **((like.body if like else None) or {})} if row.body is not None else None)
    if content is not None and route.media_type:
        headers.setdefault("Content-Type", route.media_type)
    address = f"{path}?{query}" if query else path
    sent = {"content": content} if content is not None else {"body": body}
    return app.ask(more.pop("method", route.method), address, actor=actor, headers=headers, **sent, **more)


def head_of(app: ServedApp) -> str:
    """Return the newest commit of `main`."""
    return app.ask("GET", f"{GRAPH}/commits?limit=1").json()["commits"][0]["graph_commit_id"]


def first_of(app: ServedApp) -> str:
    """Return the first commit of the graph."""
    return app.ask("GET", f"{GRAPH}/commits").json()["commits"][-1]["graph_commit_id"]


def filled(value: Any, names: dict[str, str]) -> Any:
    """Put what only the running graph knows into an expected document."""
    text = json.dumps(value)
    for name, known in names.items():
        text = text.replace(f"{{{name}}}", known)
    return json.loads(text)
