"""What reads ask a server for, and how their answers are read."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from omnigraph.base.ids import is_ulid
from omnigraph.base.values import dataclass
from omnigraph.client import values
from omnigraph.client.exchange import HttpAnswer, HttpExchange, body, given, segment

if TYPE_CHECKING:
    from omnigraph.changes.feed import FeedPage
    from omnigraph.client.results import ServedResult
    from omnigraph.graphs.blobs import BlobSelector
    from omnigraph.manifest.commits import Commit

JSON: Final = "application/json"
Params = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBlob:
    """What a server says of a blob before it is read."""

    size: int | None
    etag: str | None
    uri: str | None
    commit_id: str


def graphs() -> HttpExchange[list[values.ListedGraph]]:
    """Ask which graphs there are."""
    return HttpExchange(method="GET", path="/graphs", read=lambda answer: values.graphs_of(answer.document()))


def healthy() -> HttpExchange[dict[str, Any]]:
    """Ask whether the server runs, and which version it has."""
    return HttpExchange(method="GET", path="/healthz", read=lambda answer: dict(answer.document()))


def query(
    text: str, name: str | None, params: Params, *, branch: str | None, snapshot: str | None
) -> "HttpExchange[ServedResult]":
    """Ask a query."""
    return HttpExchange(
        method="POST",
        path="/query",
        content=body(query=text, name=name, params=dict(params) or None, branch=branch, snapshot=snapshot),
        media_type=JSON,
        read=lambda answer: values.result_of(answer.document()),
    )


def query_stored(
    name: str, params: Params, *, branch: str | None, snapshot: str | None
) -> "HttpExchange[ServedResult]":
    """Ask a stored query, which must be a read."""
    return HttpExchange(
        method="POST",
        path=f"/queries/{segment(name)}",
        content=body(params=dict(params) or None, branch=branch, snapshot=snapshot, expect_mutation=False),
        media_type=JSON,
        read=lambda answer: values.result_of(answer.document()),
    )


def stored_queries() -> HttpExchange[list[values.StoredQueryInfo]]:
    """Ask which queries are stored."""
    return HttpExchange(method="GET", path="/queries", read=lambda answer: values.stored_queries_of(answer.document()))


def snapshot(branch: str) -> HttpExchange[values.ServedSnapshot]:
    """Ask which tables the head of a branch has."""
    return HttpExchange(
        method="GET",
        path="/snapshot",
        query=given(branch=branch),
        read=lambda answer: values.snapshot_of(answer.document()),
    )


def schema() -> HttpExchange[str]:
    """Ask for the schema."""
    return HttpExchange(method="GET", path="/schema", read=lambda answer: str(answer.document()["schema_source"]))


def branches() -> HttpExchange[list[str]]:
    """Ask which branches there are."""
    return HttpExchange(method="GET", path="/branches", read=lambda answer: list(answer.document()["branches"]))


def commits(branch: str, limit: int | None) -> "HttpExchange[list[Commit]]":
    """Ask for the history of a branch."""
    return HttpExchange(
        method="GET",
        path="/commits",
        query=given(branch=branch, limit=limit),
        read=lambda answer: values.commits_of(answer.document()),
    )


def commit(address: str) -> "HttpExchange[Commit]":
    """Ask for one commit."""
    return HttpExchange(
        method="GET",
        path=f"/commits/{segment(address)}",
        query=given(by=_by(address)),
        read=lambda answer: values.commit_of(answer.document()),
    )


def commit_changes(
    address: str, filters: Mapping[str, Sequence[str]], *, page_token: str | None, limit: int | None
) -> "HttpExchange[tuple[Commit, Any]]":
    """Ask for a page of what a commit changed: the commit, and a `ChangePage`."""

    def read(answer: HttpAnswer) -> "tuple[Commit, Any]":
        from omnigraph.changes.paging import ChangePage

        document = answer.document()
        page = ChangePage(
            changes=tuple(map(values.change_of, document["changes"])),
            next_page_token=document.get("next_page_token"),
        )
        return values.cause_of(document["cause"]), page

    return HttpExchange(
        method="GET",
        path=f"/commits/{segment(address)}/changes",
        query=given(page_token=page_token, limit=limit, by=_by(address), **filters),
        read=read,
    )


def _by(address: str) -> str | None:
    """Say what the path holds, unless it is the id of a commit."""
    return None if is_ulid(address) else "address"


def poll(
    branch: str,
    filters: Mapping[str, Sequence[str]],
    *,
    cursor: str | None,
    start: str | None,
    page_token: str | None,
    limit: int | None,
) -> "HttpExchange[FeedPage]":
    """Ask for the next blocks of a feed."""
    return HttpExchange(
        method="GET",
        path="/changes",
        query=given(branch=branch, cursor=cursor, start=start, page_token=page_token, limit=limit, **filters),
        read=lambda answer: values.feed_page_of(answer.document()),
    )


def export(branch: str, types: Sequence[str]) -> HttpExchange[None]:
    """Ask for the records of a branch."""
    names = [name for name in types if ":" not in name]
    keys = [name for name in types if ":" in name]
    return HttpExchange(
        method="POST",
        path="/export",
        content=body(branch=branch, type_names=names or None, table_keys=keys or None),
        media_type=JSON,
        read=lambda _: None,
    )


def baseline(branch: str, filters: Mapping[str, Sequence[str]]) -> HttpExchange[None]:
    """Ask for the records of a branch, and the cursor behind them."""
    return HttpExchange(
        method="POST",
        path="/changes/baseline",
        content=body(branch=branch, **{name: list(chosen) or None for name, chosen in filters.items()}),
        media_type=JSON,
        read=lambda _: None,
    )


def find_blob(selector: "BlobSelector", *, branch: str | None, snapshot: str | None) -> HttpExchange[FoundBlob]:
    """Ask how large a blob is, without reading it."""

    def read(answer: HttpAnswer) -> FoundBlob:
        headers = answer.headers
        if uri := headers.get("location"):
            return FoundBlob(size=None, etag=None, uri=uri, commit_id=headers.get("omnigraph-snapshot-id", ""))
        return FoundBlob(
            size=int(headers["content-length"]),
            etag=headers["etag"].strip('"'),
            uri=None,
            commit_id=headers["omnigraph-snapshot-id"],
        )

    return HttpExchange(
        method="HEAD", path="/blob", query=_blob(selector, branch, snapshot), read=read, takes_redirect=True
    )


def read_blob(selector: "BlobSelector", *, snapshot: str, offset: int, length: int) -> HttpExchange[bytes]:
    """Ask for a range of bytes of a blob in the state that was found."""

    def read(answer: HttpAnswer) -> bytes:
        if len(answer.content) != length:
            raise ValueError(f"{len(answer.content)} bytes instead of {length}")
        return answer.content

    return HttpExchange(
        method="GET",
        path="/blob",
        query=_blob(selector, None, snapshot),
        headers=(("range", f"bytes={offset}-{offset + length - 1}"),),
        read=read,
    )


def blob_complaint(selector: "BlobSelector", *, branch: str | None, snapshot: str | None) -> HttpExchange[None]:
    """Ask for one byte of a blob that was not found, because the answer to HEAD does not say why."""
    return HttpExchange(
        method="GET",
        path="/blob",
        query=_blob(selector, branch, snapshot),
        headers=(("range", "bytes=0-0"),),
        read=lambda _: None,
        takes_redirect=True,
    )


def change_filters(kinds: Sequence[str], types: Sequence[str], ops: Sequence[str]) -> dict[str, Sequence[str]]:
    """Name filters as routes do."""
    return {"kind": list(kinds), "type": list(types), "op": list(ops)}


def _blob(selector: "BlobSelector", branch: str | None, snapshot: str | None) -> Any:
    return given(
        entity=selector.entity,
        type=selector.type,
        id=selector.id,
        property=selector.property,
        branch=branch,
        snapshot=snapshot,
    )
