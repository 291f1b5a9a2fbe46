"""A graph behind a server, with the verbs of a graph that is opened here."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from omnigraph.client import reads, writes
from omnigraph.client.inputs import read_records
from omnigraph.client.transport import ANSWER_SECONDS, HttpTransport
from omnigraph.errors import OmniError
from omnigraph.graphs.blobs import Blob, BlobSelector
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.changes.entities import EntityChange
    from omnigraph.changes.feed import FeedPage
    from omnigraph.changes.paging import ChangePage, PageLimits
    from omnigraph.client.values import (
        ListedGraph,
        ServedBranch,
        ServedMerge,
        ServedSchema,
        ServedSnapshot,
        StoredQueryInfo,
    )
    from omnigraph.graphs.result import Result
    from omnigraph.manifest.commits import Commit
    from omnigraph.pipeline.load.request import LoadMode
    from omnigraph.pipeline.load.run import LoadResult
    from omnigraph.query.mutate.run import MutationResult


def connect(
    url: str, *, token: str | None = None, graph: str | None = None, timeout: float = ANSWER_SECONDS
) -> "RemoteGraph":
    """Address a graph of a server; nothing is sent before the first verb.

    `graph` is the id of one graph; without it requests go to the server's own address, where a server may have one
    graph, and `graphs()` says which there are. `timeout` is how many seconds the server may be silent.
    """
    return RemoteGraph(HttpTransport(url, graph=graph, token=token, timeout=timeout))


class RemoteGraph:
    """A graph behind a server. Every call is one request; the server decides who may, by the token."""

    def __init__(self, transport: HttpTransport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        return f"<RemoteGraph {self.uri}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the server."""
        self._transport.close()

    @property
    def uri(self) -> str:
        """Where the server has the graph."""
        return str(self._transport.address)

    @property
    def schema_source(self) -> str:
        """The accepted schema of `main`, as it was written."""
        return self._transport.send(reads.schema())

    def graphs(self) -> "list[ListedGraph]":
        """Return the graphs that the server has, by id."""
        return self._transport.send(reads.graphs(), of_server=True)

    def graph(self, graph_id: str) -> "RemoteGraph":
        """Address another graph of the same server, over the same connection."""
        return RemoteGraph(self._transport.at(graph_id))

    def server_health(self) -> dict[str, Any]:
        """Return what the server says of itself: `status` and `version`."""
        return self._transport.send(reads.healthy(), of_server=True)

    def query(
        self,
        text: str,
        name: str | None = None,
        /,
        *,
        params: Mapping[str, object] | None = None,
        branch: str | None = None,
        snapshot: str | None = None,
        **parameters: object,
    ) -> "Result":
        """Run a read of the query language over the head of a branch, by default `main`, or over an older state.

        Values of the result are those of JSON: dates are texts.
        """
        asked = reads.query(text, name, {**(params or {}), **parameters}, branch=branch, snapshot=snapshot)
        return self._transport.send(asked)

    def query_stored(
        self,
        name: str,
        /,
        *,
        params: Mapping[str, object] | None = None,
        branch: str | None = None,
        snapshot: str | None = None,
        **parameters: object,
    ) -> "Result":
        """Run a read that the server keeps under a name."""
        asked = reads.query_stored(name, {**(params or {}), **parameters}, branch=branch, snapshot=snapshot)
        return self._transport.send(asked)

    def stored_queries(self) -> "list[StoredQueryInfo]":
        """Return the queries that the server keeps for the graph, with their parameters."""
        return self._transport.send(reads.stored_queries())

    def mutate(
        self,
        text: str,
        name: str | None = None,
        /,
        *,
        params: Mapping[str, object] | None = None,
        branch: str = MAIN_BRANCH,
        if_commit: str | None = None,
        **parameters: object,
    ) -> "MutationResult":
        """Run a mutation as one commit; with `if_commit` only if that commit still is the head of the branch."""
        given = {**(params or {}), **parameters}
        return self._transport.send(writes.mutate(text, name, given, branch=branch, if_commit=if_commit))

    def mutate_stored(
        self,
        name: str,
        /,
        *,
        params: Mapping[str, object] | None = None,
        branch: str = MAIN_BRANCH,
        if_commit: str | None = None,
        **parameters: object,
    ) -> "MutationResult":
        """Run a mutation that the server keeps under a name."""
        given = {**(params or {}), **parameters}
        return self._transport.send(writes.mutate_stored(name, given, branch=branch, if_commit=if_commit))

    def load(
        self,
        data: "str | Path | BinaryIO",
        *,
        mode: "LoadMode",
        branch: str = MAIN_BRANCH,
        from_branch: str | None = None,
    ) -> "LoadResult":
        """Load records of NDJSON, from a file, compressed or not, or a stream, as one commit.

        At most 33,554,432 bytes go into one load; larger inputs are refused before anything is sent.
        """
        return self._loaded(data, mode=mode, branch=branch, from_branch=from_branch)

    def ingest(
        self,
        data: "str | Path | BinaryIO",
        *,
        mode: "LoadMode" = "merge",
        branch: str = MAIN_BRANCH,
        from_branch: str | None = None,
    ) -> "LoadResult":
        """Load over the route of older clients."""
        return self._loaded(data, mode=mode, branch=branch, from_branch=from_branch, is_ingest=True)

    def _loaded(self, data: "str | Path | BinaryIO", *, is_ingest: bool = False, **options: Any) -> "LoadResult":
        records = read_records(data)
        return self._transport.send(writes.load(records, uri=self.uri, is_ingest=is_ingest, **options))

    @contextmanager
    def export(self, *, branch: str = MAIN_BRANCH, types: Sequence[str] = ()) -> Iterator[Iterator[bytes]]:
        """Stream the records of one state of a branch, nodes before edges, in a `with` block.

        Pieces end anywhere. What comes before a failure is of no use.
        """
        with self._transport.stream(reads.export(branch, types)) as pieces:
            yield pieces

    @contextmanager
    def baseline(
        self,
        *,
        branch: str = MAIN_BRANCH,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> Iterator[Iterator[bytes]]:
        """Stream the records of one state; the last line holds the cursor at which the feed goes on."""
        with self._transport.stream(reads.baseline(branch, reads.change_filters(kinds, types, ops))) as pieces:
            yield pieces

    def snapshot(self, branch: str = MAIN_BRANCH) -> "ServedSnapshot":
        """Return which tables make up the head of a branch."""
        return self._transport.send(reads.snapshot(branch))

    def commits(self, branch: str = MAIN_BRANCH, *, limit: int | None = None) -> "list[Commit]":
        """Return the history of a branch, newest first along the first parents."""
        return self._transport.send(reads.commits(branch, limit))

    def commit(self, address: str) -> "Commit":
        """Return the commit that an id, a unique beginning of one, or an address such as `main~2` means."""
        return self._transport.send(reads.commit(address))

    @property
    def branches(self) -> "RemoteBranches":
        """The branches of the graph: create, list, merge and delete them."""
        return RemoteBranches(self._transport)

    @property
    def changes(self) -> "RemoteChanges":
        """The changes of the graph: of one commit, or along a branch."""
        return RemoteChanges(self._transport)

    def apply_schema(self, schema: str, *, allow_data_loss: bool = False) -> "ServedSchema":
        """Give the graph another schema; a server of a cluster refuses this, because the cluster declares schemas."""
        return self._transport.send(writes.apply_schema(schema, allow_data_loss=allow_data_loss))

    def blob(
        self,
        type: str,  # noqa: A002 — the words of the command line
        id: str,  # noqa: A002 — the same
        property: str,  # noqa: A002 — the same
        *,
        branch: str | None = None,
        snapshot: str | None = None,
    ) -> Blob:
        """Find a Blob value; its bytes are asked for in pieces, all of them of the state that was found."""
        selector = blob_selector(type, id, property)
        try:
            found = self._transport.send(reads.find_blob(selector, branch=branch, snapshot=snapshot))
        except OmniError:
            self._transport.send(reads.blob_complaint(selector, branch=branch, snapshot=snapshot))
            raise

        def read(offset: int, length: int) -> bytes:
            wanted = reads.read_blob(selector, snapshot=found.commit_id, offset=offset, length=length)
            return self._transport.send(wanted)

        return found_blob(selector, found, branch=branch, read=read)


def blob_selector(type_name: str, entity_id: str, name: str) -> BlobSelector:
    """Name a value; a type without its kind is one of nodes."""
    kind, _, bare = type_name.rpartition(":")
    return BlobSelector(entity="edge" if kind == "edge" else "node", type=bare, id=entity_id, property=name)


def found_blob(selector: BlobSelector, found: reads.FoundBlob, *, branch: str | None, read: Any) -> Blob:
    """Make the value that a server described."""
    return Blob(
        selector,
        size=found.size,
        etag=found.etag,
        uri=found.uri,
        branch=branch or MAIN_BRANCH,
        commit_id=found.commit_id,
        read=read,
    )


class RemoteBranches:
    """The branches of one graph behind a server."""

    def __init__(self, transport: HttpTransport) -> None:
        self._transport = transport

    def create(self, name: str, *, source: str = MAIN_BRANCH) -> "ServedBranch":
        """Create a branch from a branch, a commit id or `branch@N`."""
        return self._transport.send(writes.create_branch(name, source))

    def list(self) -> list[str]:
        """Return the names of the branches."""
        return self._transport.send(reads.branches())

    def merge(self, source: str, *, into: str = MAIN_BRANCH, delete_branch: bool = False) -> "ServedMerge":
        """Merge a branch into another one as one commit, or raise `MergeConflicts` and change nothing."""
        return self._transport.send(writes.merge(source, into, delete_branch=delete_branch))

    def delete(self, name: str) -> "ServedBranch":
        """Delete a branch."""
        return self._transport.send(writes.delete_branch(name))


class RemoteChanges:
    """The changes of one graph behind a server."""

    def __init__(self, transport: HttpTransport) -> None:
        self._transport = transport

    def of_commit(
        self, commit_id: str, *, kinds: Sequence[str] = (), types: Sequence[str] = (), ops: Sequence[str] = ()
    ) -> "RemoteCommitChanges":
        """Compare a commit with its first parent; iterate over the result, or take pages of it."""
        return RemoteCommitChanges(self._transport, commit_id, reads.change_filters(kinds, types, ops))

    def poll(
        self,
        *,
        branch: str = MAIN_BRANCH,
        cursor: str | None = None,
        start: str | None = None,
        page_token: str | None = None,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
        limits: "PageLimits | None" = None,
    ) -> "FeedPage":
        """Return the next blocks of a branch's feed, oldest first; see `Changes.poll`."""
        asked = reads.poll(
            branch,
            reads.change_filters(kinds, types, ops),
            cursor=cursor,
            start=start,
            page_token=page_token,
            limit=None if limits is None else limits.changes,
        )
        return self._transport.send(asked)


class RemoteCommitChanges:
    """The entities that one commit changed, asked for a page at a time."""

    def __init__(self, transport: HttpTransport, commit_id: str, filters: Mapping[str, Sequence[str]]) -> None:
        self._transport = transport
        self._commit_id = commit_id
        self._filters = filters
        self._cause: Commit | None = None

    @property
    def cause(self) -> "Commit":
        """The commit."""
        if self._cause is None:
            self.page()
        assert self._cause is not None
        return self._cause

    def __iter__(self) -> "Iterator[EntityChange]":
        """Yield every change, nodes first, by type name and id."""
        page = self.page()
        yield from page.changes
        while page.next_page_token is not None:
            page = self.page(page_token=page.next_page_token)
            yield from page.changes

    def page(self, *, page_token: str | None = None, limits: "PageLimits | None" = None) -> "ChangePage":
        """Return one page: the first, or the one that a token of this very answer names."""
        limit = None if limits is None else limits.changes
        asked = reads.commit_changes(self._commit_id, self._filters, page_token=page_token, limit=limit)
        self._cause, page = self._transport.send(asked)
        return page  # type: ignore[no-any-return]  # which class it is, is known there
