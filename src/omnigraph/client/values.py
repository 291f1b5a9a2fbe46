"""Documents of a server as the values that graphs give; each is the inverse of what `documents/` makes.

A document that lacks a member, or holds something else there, raises KeyError, TypeError or ValueError, which the
transport turns into the one error about answers that cannot be read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.base.showing import Shown
from omnigraph.base.values import Json, dataclass
from omnigraph.client.results import ServedResult
from omnigraph.manifest.commits import MAIN_BRANCH, MESSAGE, Commit, CommitKind, CommitResult

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ListedGraph(Shown):
    """One graph of a server: what `--graph` and `connect(…, graph=…)` take, and where the server says it is."""

    graph_id: str
    uri: str | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedTable(Shown):
    """One table of a snapshot, as a server describes it."""

    table_key: str
    entity_kind: str
    type_name: str
    location: str
    version: int
    ref: str | None
    row_count: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedSnapshot(Shown):
    """Which tables made up the head of a branch, as a server describes it."""

    branch: str
    graph_version: int
    internal_schema_version: int
    tables: tuple[ServedTable, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedBranch(Shown):
    """A branch that a server created or deleted, and for whom."""

    name: str
    actor_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedMerge(CommitResult):
    """What a merge did that a server ran; it does not count what changed."""

    source: str
    target: str
    outcome: str
    actor_id: str | None
    commit: Commit | None
    branch_deleted: bool | None = None
    """Whether the source is gone; None when nobody asked for that, or the server knows nothing of it."""
    branch_delete_error: str | None = None

    def document(self) -> Json:
        """Describe the merge as the server does."""
        optional = {"branch_deleted": self.branch_deleted, "branch_delete_error": self.branch_delete_error}
        return {
            "source": self.source,
            "target": self.target,
            "outcome": self.outcome,
            "actor_id": self.actor_id,
            "commit": _commit_document(self.commit),
            **{name: value for name, value in optional.items() if value is not None},
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedSchema(CommitResult):
    """What a schema change did that a server carried out; `steps` are as the server describes them."""

    uri: str
    applied: bool
    graph_version: int
    steps: tuple[Json, ...]
    commit: Commit | None

    def document(self, *, uri: str) -> Json:
        """Describe the change as one that was made here; `uri` is the address as it was given."""
        from omnigraph.documents.commits import graph_version_members

        return {
            "uri": uri,
            "supported": True,
            "applied": self.applied,
            "step_count": len(self.steps),
            **graph_version_members(self.graph_version),
            "steps": list(self.steps),
            "commit": _commit_document(self.commit),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredParameterInfo:
    """A parameter of a stored query; `kind` is string, bool, int, bigint, float, date, datetime, blob, vector, list."""

    name: str
    kind: str
    nullable: bool
    item_kind: str | None = None
    """What a list holds."""
    vector_dim: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoredQueryInfo(Shown):
    """A query that is kept under its name, with what its author says about it."""

    name: str
    is_mutation: bool
    parameters: tuple[StoredParameterInfo, ...]
    description: str | None = None
    instruction: str | None = None


def commit_of(document: Document) -> Commit:
    """Read a commit."""
    metadata: dict[str, Any] = {}
    if (message := document.get("message")) is not None:
        metadata[MESSAGE] = message
    metadata |= {name: value for name, value in (document.get("stats") or {}).items() if value is not None}
    return Commit(
        graph_commit_id=document["graph_commit_id"],
        parent_commit_id=document["parent_commit_id"],
        merged_parent_commit_id=document.get("merged_parent_commit_id"),
        graph_branch=document.get("manifest_branch") or MAIN_BRANCH,
        graph_version=document["manifest_version"],
        kind=CommitKind(document["kind"]),
        actor_id=document.get("actor_id"),
        created_at_us=document["created_at"],
        metadata=metadata,
    )


def commits_of(document: Document) -> list[Commit]:
    """Read a history."""
    return [commit_of(each) for each in document["commits"]]


def result_of(document: Document) -> ServedResult:
    """Read the rows of a query."""
    rows: Sequence[Document] = document["rows"]
    return ServedResult(
        document.get("columns") or (list(rows[0]) if rows else []),
        rows,
        query_name=document["query_name"],
        branch=document["target"]["branch"] or MAIN_BRANCH,
        commit_id=document.get("graph_commit_id") or "",
    )


def mutation_of(document: Document) -> Any:
    """Read what a mutation did, as a `MutationResult`."""
    from omnigraph.query.mutate.run import MutationResult

    return MutationResult(
        branch=document["branch"],
        query_name=document["query_name"],
        affected_nodes=document["affected_nodes"],
        affected_edges=document["affected_edges"],
        actor_id=document.get("actor_id"),
        commit=_commit_or_none(document),
    )


def load_of(document: Document, *, uri: str) -> Any:
    """Read what a load did, as a `LoadResult`; its address is the one that the load was sent to."""
    from omnigraph.pipeline.load.run import LoadResult, TableLoaded

    return LoadResult(
        uri=uri,
        branch=document["branch"],
        base_branch=document.get("base_branch"),
        branch_created=document["branch_created"],
        mode=document["mode"],
        tables=tuple(
            TableLoaded(table_key=each["table_key"], rows_loaded=each["rows_loaded"]) for each in document["tables"]
        ),
        actor_id=document.get("actor_id"),
        engine="server",
        engine_reason="the server decides where its work runs",
        commit=_commit_or_none(document),
    )


def branch_of(document: Document) -> ServedBranch:
    """Read which branch was created or deleted."""
    return ServedBranch(name=document["name"], actor_id=document.get("actor_id"))


def merge_of(document: Document) -> ServedMerge:
    """Read what a merge did."""
    return ServedMerge(
        source=document["source"],
        target=document["target"],
        outcome=document["outcome"],
        actor_id=document.get("actor_id"),
        commit=_commit_or_none(document),
        branch_deleted=document.get("branch_deleted"),
        branch_delete_error=document.get("branch_delete_error"),
    )


def schema_change_of(document: Document) -> ServedSchema:
    """Read what a schema change did."""
    return ServedSchema(
        uri=document["uri"],
        applied=document["applied"],
        graph_version=document["manifest_version"],
        steps=tuple(document["steps"]),
        commit=_commit_or_none(document),
    )


def snapshot_of(document: Document) -> ServedSnapshot:
    """Read which tables a snapshot has."""
    return ServedSnapshot(
        branch=document["branch"],
        graph_version=document["manifest_version"],
        internal_schema_version=document["internal_schema_version"],
        tables=tuple(
            ServedTable(
                table_key=each["table_key"],
                entity_kind=each["entity_kind"],
                type_name=each["type_name"],
                location=each["table_path"],
                version=each["table_version"],
                ref=each.get("table_branch"),
                row_count=each["row_count"],
            )
            for each in document["tables"]
        ),
    )


def graphs_of(document: Document) -> list[ListedGraph]:
    """Read which graphs a server has."""
    return [ListedGraph(graph_id=each["graph_id"], uri=each.get("uri")) for each in document["graphs"]]


def stored_queries_of(document: Document) -> list[StoredQueryInfo]:
    """Read which queries are kept for a graph."""
    return [
        StoredQueryInfo(
            name=each["name"],
            is_mutation=each["mutation"],
            parameters=tuple(
                StoredParameterInfo(
                    name=one["name"],
                    kind=one["kind"],
                    nullable=one["nullable"],
                    item_kind=one.get("item_kind"),
                    vector_dim=one.get("vector_dim"),
                )
                for one in each["params"]
            ),
            description=each.get("description"),
            instruction=each.get("instruction"),
        )
        for each in document["queries"]
    ]


def change_of(document: Document) -> Any:
    """Read a changed entity, as an `EntityChange`."""
    from omnigraph.changes.compare import Op
    from omnigraph.changes.entities import ChangedType, EntityChange

    return EntityChange(
        type=ChangedType(kind=document["kind"], type_id=document["type"]["id"], name=document["type"]["name"]),
        id=document["id"],
        op=Op(document["op"]),
        before=_image(document.get("before")),
        after=_image(document.get("after")),
    )


def cause_of(document: Document) -> Commit:
    """Read the commit that made changes."""
    return Commit(
        graph_commit_id=document["graph_commit_id"],
        parent_commit_id=document.get("parent_commit_id"),
        merged_parent_commit_id=document.get("merged_parent_commit_id"),
        graph_branch=document["authored_branch"],
        graph_version=document["manifest_version"],
        kind=CommitKind(document["kind"]),
        actor_id=document.get("actor_id"),
        created_at_us=document["authored_at"],
    )


def feed_page_of(document: Document) -> Any:
    """Read one answer of a poll, as a `FeedPage`."""
    from omnigraph.changes.feed import ChangeBlock, FeedPage

    blocks = tuple(
        ChangeBlock(cause=cause_of(each["cause"]), changes=tuple(map(change_of, each["changes"])))
        for each in document["blocks"]
    )
    return FeedPage(
        blocks=blocks,
        cursor=document.get("cursor"),
        caught_up=document.get("caught_up"),
        next_page_token=document.get("next_page_token"),
    )


def _image(document: Document | None) -> Any:
    if document is None:
        return None
    from omnigraph.changes.entities import Endpoints, Image

    ends = document.get("endpoints")
    return Image(
        properties=document["properties"],
        endpoints=None if ends is None else Endpoints(source=ends["from"], target=ends["to"]),
        size_bytes=0,
    )


def _commit_or_none(document: Document) -> Commit | None:
    commit: Document | None = document.get("commit")
    return None if commit is None else commit_of(commit)


def _commit_document(commit: Commit | None) -> Json:
    from omnigraph.documents.commits import commit_document

    return None if commit is None else commit_document(commit)
