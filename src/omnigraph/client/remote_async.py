"""The same graph behind a server for programs with an event loop: every verb is awaited, streams are `async for`."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from omnigraph.client import reads, writes
from omnigraph.client.inputs import read_records
from omnigraph.client.remote import blob_selector, found_blob
from omnigraph.client.transport import ANSWER_SECONDS, AsyncHttpTransport
from omnigraph.errors import Internal, OmniError
from omnigraph.graphs.blobs import BLOB_PIECE_BYTES, Blob
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


def connect_async(
    url: str, *, token: str | None = None, graph: str | None = None, timeout: float = ANSWER_SECONDS
) -> "AsyncRemoteGraph":
    """Address a graph of a server from a program with an event loop; the same as `connect` otherwise."""
    return AsyncRemoteGraph(AsyncHttpTransport(url, graph=graph, token=token, timeout=timeout))


def inside(app: Any, *, token: str | None, timeout: float = ANSWER_SECONDS) -> "AsyncRemoteGraph":
    """Address the server of this very process, past the network and through every check that it makes."""
    transport = AsyncHttpTransport("http://omnigraph", graph=None, token=token, timeout=timeout, app=app)
    return AsyncRemoteGraph(transport)


class AsyncRemoteGraph:
    """A graph behind a server, for programs with an event loop; its verbs are those of `RemoteGraph`, awaited."""

    def __init__(self, transport: AsyncHttpTransport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        return f"<AsyncRemoteGraph {self.uri}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._transport.close()

    @property
    def uri(self) -> str:
        """Where the server has the graph."""
        return str(self._transport.address)

    async def schema_source(self) -> str:
        """Return the accepted schema of `main`, as it was written."""
        return await self._transport.send(reads.schema())

    async def graphs(self) -> "list[ListedGraph]":
        """Return the graphs that the server has, by id."""
        return await self._transport.send(reads.graphs(), of_server=True)

    def graph(self, graph_id: str) -> "AsyncRemoteGraph":
        """Address another graph of the same server, over the same connection."""
        return AsyncRemoteGraph(self._transport.at(graph_id))

    async def server_health(self) -> dict[str, Any]:
        """Return what the server says of itself: `status` and `version`."""
        return await self._transport.send(reads.healthy(), of_server=True)

    async def query(
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
        """Run a read of the query language; see `RemoteGraph.query`."""
        asked = reads.query(text, name, {**(params or {}), **parameters}, branch=branch, snapshot=snapshot)
        return await self._transport.send(asked)

    async def query_stored(
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
        return await self._transport.send(asked)

    async def stored_queries(self) -> "list[StoredQueryInfo]":
        """Return the queries that the server keeps for the graph, with their parameters."""
        return await self._transport.send(reads.stored_queries())

    async def mutate(
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
        """Run a mutation as one commit; see `RemoteGraph.mutate`."""
        given = {**(params or {}), **parameters}
        return await self._transport.send(writes.mutate(text, name, given, branch=branch, if_commit=if_commit))

    async def mutate_stored(
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
        return await self._transport.send(writes.mutate_stored(name, given, branch=branch, if_commit=if_commit))

    async def load(
        self,
        data: "str | Path | BinaryIO",
        *,
        mode: "LoadMode",
        branch: str = MAIN_BRANCH,
        from_branch: str | None = None,
    ) -> "LoadResult":
        """Load records of NDJSON as one commit; see `RemoteGraph.load`. The file is read before anything is sent."""
        records = read_records(data)
        asked = writes.load(records, uri=self.uri, mode=mode, branch=branch, from_branch=from_branch)
        return await self._transport.send(asked)

    @asynccontextmanager
    async def export(
        self, *, branch: str = MAIN_BRANCH, types: Sequence[str] = ()
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Stream the records of one state of a branch, nodes before edges, in an `async with` block."""
        async with self._transport.stream(reads.export(branch, types)) as pieces:
            yield pieces

    @asynccontextmanager
    async def baseline(
        self,
        *,
        branch: str = MAIN_BRANCH,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Stream the records of one state; the last line holds the cursor at which the feed goes on."""
        async with self._transport.stream(reads.baseline(branch, reads.change_filters(kinds, types, ops))) as pieces:
            yield pieces

    async def snapshot(self, branch: str = MAIN_BRANCH) -> "ServedSnapshot":
        """Return which tables make up the head of a branch."""
        return await self._transport.send(reads.snapshot(branch))

    async def commits(self, branch: str = MAIN_BRANCH, *, limit: int | None = None) -> "list[Commit]":
        """Return the history of a branch, newest first along the first parents."""
        return await self._transport.send(reads.commits(branch, limit))

    async def commit(self, address: str) -> "Commit":
        """Return the commit that an id, a unique beginning of one, or an address such as `main~2` means."""
        return await self._transport.send(reads.commit(address))

    @property
    def branches(self) -> "AsyncRemoteBranches":
        """The branches of the graph: create, list, merge and delete them."""
        return AsyncRemoteBranches(self._transport)

    @property
    def changes(self) -> "AsyncRemoteChanges":
        """The changes of the graph: of one commit, or along a branch."""
        return AsyncRemoteChanges(self._transport)

    async def apply_schema(self, schema: str, *, allow_data_loss: bool = False) -> "ServedSchema":
        """Give the graph another schema, where a server allows that."""
        return await self._transport.send(writes.apply_schema(schema, allow_data_loss=allow_data_loss))

    async def blob(
        self,
        type: str,  # noqa: A002 — the words of the command line
        id: str,  # noqa: A002 — the same
        property: str,  # noqa: A002 — the same
        *,
        branch: str | None = None,
        snapshot: str | None = None,
    ) -> "AsyncBlob":
        """Find a Blob value; its bytes are asked for in pieces, all of them of the state that was found."""
        selector = blob_selector(type, id, property)
        try:
            found = await self._transport.send(reads.find_blob(selector, branch=branch, snapshot=snapshot))
        except OmniError:
            await self._transport.send(reads.blob_complaint(selector, branch=branch, snapshot=snapshot))
            raise
        return AsyncBlob(self._transport, found_blob(selector, found, branch=branch, read=_awaited))


def _awaited(offset: int, length: int) -> bytes:
    raise Internal(f"bytes {offset} to {offset + length} of a blob behind an event loop have to be awaited")


class AsyncBlob:
    """A Blob value behind a server: `about` has its size, mark and address, the bytes are awaited."""

    def __init__(self, transport: AsyncHttpTransport, about: Blob) -> None:
        self._transport = transport
        self.about = about
        """What is known of the value without reading it; its own reading methods do not work here."""

    async def read(self, *, offset: int = 0, length: int | None = None) -> bytes:
        """Return the bytes, all or a range of them; a range that ends behind the value is cut to it."""
        return b"".join([piece async for piece in self.pieces(offset=offset, length=length)])

    async def pieces(self, *, offset: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """Yield the same bytes in pieces of at most 4 MiB."""
        start, end = self.about.range_of(offset, length)
        for place in range(start, end, BLOB_PIECE_BYTES):
            size = min(BLOB_PIECE_BYTES, end - place)
            commit = self.about.commit_id
            yield await self._transport.send(
                reads.read_blob(self.about.selector, snapshot=commit, offset=place, length=size)
            )


class AsyncRemoteBranches:
    """The branches of one graph behind a server."""

    def __init__(self, transport: AsyncHttpTransport) -> None:
        self._transport = transport

    async def create(self, name: str, *, source: str = MAIN_BRANCH) -> "ServedBranch":
        """Create a branch from a branch, a commit id or `branch@N`."""
        return await self._transport.send(writes.create_branch(name, source))

    async def list(self) -> list[str]:
        """Return the names of the branches."""
        return await self._transport.send(reads.branches())

    async def merge(self, source: str, *, into: str = MAIN_BRANCH, delete_branch: bool = False) -> "ServedMerge":
        """Merge a branch into another one as one commit, or raise `MergeConflicts` and change nothing."""
        return await self._transport.send(writes.merge(source, into, delete_branch=delete_branch))

    async def delete(self, name: str) -> "ServedBranch":
        """Delete a branch."""
        return await self._transport.send(writes.delete_branch(name))


class AsyncRemoteChanges:
    """The changes of one graph behind a server."""

    def __init__(self, transport: AsyncHttpTransport) -> None:
        self._transport = transport

    async def of_commit(
        self, commit_id: str, *, kinds: Sequence[str] = (), types: Sequence[str] = (), ops: Sequence[str] = ()
    ) -> "AsyncIterator[EntityChange]":
        """Yield what a commit changed against its first parent, a page after the other."""
        filters, token = reads.change_filters(kinds, types, ops), None
        while True:
            asked = reads.commit_changes(commit_id, filters, page_token=token, limit=None)
            _, page = await self._transport.send(asked)
            for change in page.changes:
                yield change
            token = page.next_page_token
            if token is None:
                return

    async def commit_page(
        self, commit_id: str, *, page_token: str | None = None, limits: "PageLimits | None" = None
    ) -> "ChangePage":
        """Return one page of what a commit changed: the first, or the one that a token of an earlier page names."""
        limit = None if limits is None else limits.changes
        asked = reads.commit_changes(commit_id, reads.change_filters((), (), ()), page_token=page_token, limit=limit)
        _, page = await self._transport.send(asked)
        return page  # type: ignore[no-any-return]  # which class it is, is known there

    async def poll(
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
        return await self._transport.send(asked)
