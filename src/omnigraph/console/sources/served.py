"""Graphs behind a server, asked with a token: what may be seen and done is the server's to say."""

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from omnigraph.base.ids import is_ulid
from omnigraph.catalog.compile import compile_schema
from omnigraph.changes.paging import PageLimits
from omnigraph.console.sources.folding import net_changes
from omnigraph.console.sources.protocol import BranchComparison, GraphState, TypeCount
from omnigraph.console.sources.reaching import commits_to_bring
from omnigraph.console.sources.shared import main_first, refuse_read_only, selection
from omnigraph.errors import EntityNotFound
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from omnigraph.branches.merge.run import MergeResult
    from omnigraph.catalog.model import Catalog
    from omnigraph.changes.entities import EntityChange
    from omnigraph.changes.paging import ChangePage
    from omnigraph.client.remote_async import AsyncRemoteGraph
    from omnigraph.client.values import ServedMerge, StoredQueryInfo
    from omnigraph.graphs.blobs import Blob
    from omnigraph.graphs.result import Result
    from omnigraph.manifest.commits import Commit
    from omnigraph.pipeline.load.run import LoadResult
    from omnigraph.query.mutate.run import MutationResult
    from omnigraph.query.plan.explain import Explanation

_COMMITS_COMPARED_MAX = 500


class GraphBehindServer:
    """One graph behind a server."""

    upkeep = None
    """Maintenance needs the storage; a server has no routes for it, by design."""

    def __init__(
        self, graph: "AsyncRemoteGraph", *, graph_id: str, uri: str, cli_address: str, is_read_only: bool
    ) -> None:
        self._graph = graph
        self.graph_id = graph_id
        self.uri = uri
        self.cli_address = cli_address
        self.is_read_only = is_read_only

    async def catalog(self, at: str = MAIN_BRANCH) -> "Catalog":
        """Return the compiled schema of `main`, which is the one that a server tells."""
        return _compiled(await self.schema_source(at))

    async def schema_source(self, at: str = MAIN_BRANCH) -> str:
        """Return the schema of `main`, as it was written."""
        del at
        return await self._graph.schema_source()

    async def state(self, at: str = MAIN_BRANCH) -> GraphState:
        """Return which commit a state is, and how many entities it has."""
        if is_ulid(at):
            return await self._past(at)
        snapshot, commits = await asyncio.gather(self._graph.snapshot(at), self._graph.commits(at, limit=1))
        counts = tuple(
            TypeCount(kind=table.entity_kind, type_name=table.type_name, rows=table.row_count)
            for table in snapshot.tables
        )
        return GraphState(branch=at, commit_id=commits[0].graph_commit_id if commits else "", counts=counts)

    async def branches(self) -> list[str]:
        """Return the names of all branches that the server tells, `main` first."""
        return main_first(await self._graph.branches.list())

    async def commits(self, branch: str = MAIN_BRANCH, *, limit: int = 50) -> "list[Commit]":
        """Return the newest commits of a branch, newest first."""
        return await self._graph.commits(branch, limit=limit)

    async def commit(self, commit_id: str) -> "Commit":
        """Return one commit."""
        return await self._graph.commit(commit_id)

    async def changes(self, commit_id: str, *, page_token: str | None = None, limit: int = 50) -> "ChangePage":
        """Return what a commit changed, a page at a time."""
        limits = PageLimits(changes=limit)
        return await self._graph.changes.commit_page(commit_id, page_token=page_token, limits=limits)

    async def compare(self, source: str, into: str, *, limit: int = 200) -> BranchComparison:
        """Return what the commits of one branch changed that the other does not have, taken together."""
        mine, theirs = await asyncio.gather(
            self._graph.commits(source, limit=_COMMITS_COMPARED_MAX),
            self._graph.commits(into, limit=_COMMITS_COMPARED_MAX),
        )
        found: list[EntityChange] = []
        for commit in commits_to_bring(mine, theirs):
            found.extend([each async for each in self._graph.changes.of_commit(commit.graph_commit_id)])
        return net_changes(found, limit=limit)

    async def preview_merge(self, source: str, into: str) -> "MergeResult | None":
        """Say nothing: a server tells conflicts when it is asked to merge, and changes nothing then."""
        del source, into
        return None

    async def merge(self, source: str, into: str, *, message: str | None = None) -> "ServedMerge":
        """Merge as one commit, or raise `MergeConflicts` and change nothing."""
        del message
        refuse_read_only(is_read_only=self.is_read_only)
        return await self._graph.branches.merge(source, into=into)

    async def create_branch(self, name: str, source: str) -> None:
        """Create a branch."""
        refuse_read_only(is_read_only=self.is_read_only)
        await self._graph.branches.create(name, source=source)

    async def query(
        self, text: str, name: str | None = None, *, params: Mapping[str, object] | None = None, at: str = MAIN_BRANCH
    ) -> "Result":
        """Run a read."""
        branch, snapshot = selection(at)
        return await self._graph.query(text, name, params=params, branch=branch, snapshot=snapshot)

    async def blob(self, type_name: str, entity_id: str, name: str, *, at: str = MAIN_BRANCH) -> "Blob | None":
        """Find a Blob value, to tell how large it is; None where there is none."""
        branch, snapshot = selection(at)
        try:
            return (await self._graph.blob(type_name, entity_id, name, branch=branch, snapshot=snapshot)).about
        except EntityNotFound:
            return None

    async def mutate(
        self,
        text: str,
        name: str | None = None,
        *,
        params: Mapping[str, object] | None = None,
        branch: str = MAIN_BRANCH,
    ) -> "MutationResult":
        """Run a mutation as one commit."""
        refuse_read_only(is_read_only=self.is_read_only)
        return await self._graph.mutate(text, name, params=params, branch=branch)

    async def put(self, lines: bytes, *, branch: str = MAIN_BRANCH, message: str | None = None) -> "LoadResult":
        """Write entities, spelled as `export` does, over those of the same ids, as one commit."""
        del message
        refuse_read_only(is_read_only=self.is_read_only)
        return await self._graph.load(BytesIO(lines), mode="merge", branch=branch)

    async def explain(
        self, text: str, name: str | None = None, *, params: Mapping[str, object] | None = None, at: str = MAIN_BRANCH
    ) -> "Explanation | None":
        """Say nothing: servers have no route for it."""
        del text, name, params, at
        return None

    async def stored_queries(self) -> "Sequence[StoredQueryInfo]":
        """Return the queries that the server keeps for the graph."""
        return await self._graph.stored_queries()

    def stored_text(self, name: str) -> str | None:
        """Say nothing: a server tells names and parameters, not texts."""
        del name
        return None

    async def run_stored(
        self, query: "StoredQueryInfo", params: Mapping[str, object], *, at: str = MAIN_BRANCH
    ) -> "Result | MutationResult":
        """Run one of them."""
        if query.is_mutation:
            refuse_read_only(is_read_only=self.is_read_only)
            return await self._graph.mutate_stored(query.name, params=params, branch=at)
        branch, snapshot = selection(at)
        return await self._graph.query_stored(query.name, params=params, branch=branch, snapshot=snapshot)

    async def _past(self, commit_id: str) -> GraphState:
        commit, catalog = await asyncio.gather(self._graph.commit(commit_id), self.catalog())
        counts = [
            TypeCount(kind="node", type_name=node.name, rows=await self._counted(f"$x: {node.name}", commit_id))
            for node in catalog.nodes
        ]
        return GraphState(branch=commit.graph_branch, commit_id=commit_id, counts=tuple(counts))

    async def _counted(self, pattern: str, commit_id: str) -> int:
        found = await self._graph.query(f"match {{ {pattern} }} return {{ count($x) as n }}", snapshot=commit_id)
        return int(found.rows()[0]["n"]) if len(found) else 0


def _compiled(text: str) -> "Catalog":
    return compile_schema(text, source="<schema>", identity_domain="console")


class ServedSite:
    """The graphs of one server, as far as one token reaches."""

    def __init__(
        self,
        server: "AsyncRemoteGraph",
        *,
        title: str,
        cli_server: str,
        only: str | None,
        is_read_only: bool,
        origin: str | None = None,
    ) -> None:
        self._server = server
        self._origin = origin
        """How others reach a server that is asked in this process, where it needs no address."""
        self._cli_server = cli_server
        self._only = only
        self._is_read_only = is_read_only
        self.title = title

    async def graph_ids(self) -> list[str]:
        """Return the ids of the graphs, sorted."""
        if self._only is not None:
            return [self._only]
        return sorted(each.graph_id for each in await self._server.graphs())

    async def graph(self, graph_id: str) -> GraphBehindServer:
        """Address one of them; whether it is there shows with the first question."""
        graph = self._server.graph(graph_id)
        return GraphBehindServer(
            graph,
            graph_id=graph_id,
            uri=graph.uri if self._origin is None else f"{self._origin}/graphs/{graph_id}",
            cli_address=f"--server {shlex.quote(self._cli_server)} --graph {shlex.quote(graph_id)}",
            is_read_only=self._is_read_only,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()
