"""What writes ask a server for; all of them may have landed although their answer was lost."""

from typing import TYPE_CHECKING, Any, Final

from omnigraph.client import values
from omnigraph.client.exchange import HttpExchange, body, given, segment
from omnigraph.client.reads import JSON, Params
from omnigraph.errors import InvalidTarget, ResourceLimit

if TYPE_CHECKING:
    from omnigraph.pipeline.load.run import LoadResult
    from omnigraph.query.mutate.run import MutationResult

NDJSON: Final = "application/x-ndjson"
LOAD_BYTES_MAX: Final = 33_554_432
"""The most that one request may carry; checked here, so that nothing is sent in vain."""
_CONDITION: Final = "omnigraph-if-graph-commit"


def mutate(
    text: str, name: str | None, params: Params, *, branch: str | None, if_commit: str | None
) -> "HttpExchange[MutationResult]":
    """Run a mutation."""
    content = body(query=text, name=name, params=dict(params) or None, branch=branch)
    return _mutation("/mutate", content, if_commit)


def mutate_stored(
    name: str, params: Params, *, branch: str | None, if_commit: str | None
) -> "HttpExchange[MutationResult]":
    """Run a stored mutation."""
    content = body(params=dict(params) or None, branch=branch, expect_mutation=True)
    return _mutation(f"/queries/{segment(name)}", content, if_commit)


def _mutation(path: str, content: bytes, if_commit: str | None) -> "HttpExchange[MutationResult]":
    return HttpExchange(
        method="POST",
        # A path of its own: a server that knows nothing of conditions answers 404 instead of writing without one.
        path=path if if_commit is None else f"{path}/if-graph-commit",
        content=content,
        media_type=JSON,
        headers=() if if_commit is None else ((_CONDITION, if_commit),),
        read=lambda answer: values.mutation_of(answer.document()),
        is_write=True,
    )


def load(
    records: bytes, *, uri: str, mode: str, branch: str, from_branch: str | None, is_ingest: bool = False
) -> "HttpExchange[LoadResult]":
    """Load records of NDJSON."""
    if len(records) > LOAD_BYTES_MAX:
        raise too_large(len(records))
    options: dict[str, Any] = {"branch": branch, "from": from_branch, "mode": mode}
    content = records
    if is_ingest:
        content = body(**options, data=_text(records))
    return HttpExchange(
        method="POST",
        path="/ingest" if is_ingest else "/load/ndjson",
        query=() if is_ingest else given(**options),
        content=content,
        media_type=JSON if is_ingest else NDJSON,
        read=lambda answer: values.load_of(answer.document(), uri=uri),
        is_write=True,
    )


def too_large(size: int) -> ResourceLimit:
    """Build the refusal of an input that no request carries."""
    return ResourceLimit(
        f"The input has {size} bytes, and a load through a server takes at most {LOAD_BYTES_MAX}. Split it, or load it "
        "into the storage of the graph with --store <uri>.",
        resource="load_body_bytes",
        limit=LOAD_BYTES_MAX,
        actual=size,
    )


def create_branch(name: str, source: str) -> HttpExchange[values.ServedBranch]:
    """Create a branch."""
    return HttpExchange(
        method="POST",
        path="/branches",
        content=body(**{"name": name, "from": source}),
        media_type=JSON,
        read=lambda answer: values.branch_of(answer.document()),
        is_write=True,
    )


def delete_branch(name: str) -> HttpExchange[values.ServedBranch]:
    """Delete a branch."""
    if not name.strip():
        raise InvalidTarget("The name of a branch is empty.")
    return HttpExchange(
        method="DELETE",
        path=f"/branches/{segment(name.strip())}",
        read=lambda answer: values.branch_of(answer.document()),
        is_write=True,
    )


def merge(source: str, into: str, *, delete_branch: bool) -> HttpExchange[values.ServedMerge]:
    """Merge a branch into another one."""
    return HttpExchange(
        method="POST",
        path="/branches/merge",
        content=body(source=source, target=into, delete_branch=delete_branch or None),
        media_type=JSON,
        read=lambda answer: values.merge_of(answer.document()),
        is_write=True,
    )


def apply_schema(schema: str, *, allow_data_loss: bool) -> HttpExchange[values.ServedSchema]:
    """Give the graph another schema, where a server allows that."""
    return HttpExchange(
        method="POST",
        path="/schema/apply",
        content=body(schema_source=schema, allow_data_loss=allow_data_loss or None),
        media_type=JSON,
        read=lambda answer: values.schema_change_of(answer.document()),
        is_write=True,
    )


def _text(records: bytes) -> str:
    try:
        return records.decode()
    except UnicodeDecodeError as error:
        raise InvalidTarget(f"The input is not UTF-8 text (byte {error.start}).") from error
