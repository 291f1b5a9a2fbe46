"""Graphs whose storage is opened in this process; every verb runs in a thread, so that pages stay alive."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.changes.paging import PageLimits
from omnigraph.console.sources.protocol import BranchComparison, GraphState, TypeCount
from omnigraph.console.sources.shared import main_first, refuse_read_only, selection
from omnigraph.console.sources.upkeep import GraphUpkeep
from omnigraph.errors import EntityNotFound, GraphNotFound
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from omnigraph.branches.merge.run import MergeResult
    from omnigraph.catalog.model import Catalog
    from omnigraph.changes.paging import ChangePage
    from omnigraph.client.values import StoredQueryInfo
    from omnigraph.graph import Graph
    from omnigraph.graphs.blobs import Blob
    from omnigraph.graphs.result import Result
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.manifest.commits import Commit
    from omnigraph.pipeline.load.run import LoadResult
    from omnigraph.query.mutate.run import MutationResult
    from omnigraph.query.plan.explain import Explanation


FoundT = TypeVar("FoundT")


class DirectGraph:
    """One graph, opened here; changes are made by `actor`."""

    def __init__(
        self,
        graph: "Graph",
        *,
        graph_id: str,
        cli_address: str,
        actor: str | None,
        is_read_only: bool,
        query_texts: Mapping[str, str],
    ) -> None:
        self._graph = graph
        self._actor = actor
        self._query_texts = query_texts
        self.graph_id = graph_id
        self.uri = graph.uri
        self.cli_address = cli_address
        self.is_read_only = is_read_only
        self.upkeep = GraphUpkeep(graph, is_read_only=is_read_only)

    async def catalog(self, at: str = MAIN_BRANCH) -> "Catalog":
        """Return the compiled schema."""
        return await self._at(at, lambda snapshot: snapshot.catalog)

    async def schema_source(self, at: str = MAIN_BRANCH) -> str:
        """Return the schema as it was written."""
        return await self._at(at, lambda snapshot: snapshot.schema_source)

    async def state(self, at: str = MAIN_BRANCH) -> GraphState:
        """Return which commit a state is, and how many entities it has."""
        return await self._at(at, _described)

    async def branches(self) -> list[str]:
        """Return the names of all branches, `main` first."""
        names = [each.name for each in await asyncio.to_thread(self._graph.branches.list)]
        return main_first(names)

    async def commits(self, branch: str = MAIN_BRANCH, *, limit: int = 50) -> "list[Commit]":
        """Return the newest commits of a branch, newest first, with those that merges brought."""
        return await asyncio.to_thread(self._graph.commits, branch, limit=limit, merged=True)

    async def commit(self, commit_id: str) -> "Commit":
        """Return one commit."""
        return await asyncio.to_thread(self._graph.commit, commit_id)

    async def changes(self, commit_id: str, *, page_token: str | None = None, limit: int = 50) -> "ChangePage":
        """Return what a commit changed, a page at a time."""

        def look() -> "ChangePage":
            changes = self._graph.changes.of_commit(commit_id)
            return changes.page(page_token=page_token, limits=PageLimits(changes=limit))

        return await asyncio.to_thread(look)

    async def compare(self, source: str, into: str, *, limit: int = 200) -> BranchComparison:
        """Return what merging a branch into another would bring."""

        def look() -> BranchComparison:
            diff = self._graph.branches.diff(source, into=into).diff
            counts = diff.counts()
            first = tuple(islice(diff, limit))
            inserted, updated, deleted = (
                sum(getattr(each, word) for each in counts) for word in ("inserted", "updated", "deleted")
            )
            return BranchComparison(
                changes=first,
                inserted=inserted,
                updated=updated,
                deleted=deleted,
                is_whole=len(first) == inserted + updated + deleted,
            )

        return await asyncio.to_thread(look)

    async def preview_merge(self, source: str, into: str) -> "MergeResult | None":
        """Say what a merge would do, or raise `MergeConflicts`."""
        return await asyncio.to_thread(
            self._graph.branches.merge, source, into=into, dry_run=True, show_values=True, actor=self._actor
        )

    async def merge(self, source: str, into: str, *, message: str | None = None) -> "MergeResult":
        """Merge as one commit, or raise `MergeConflicts` and change nothing."""
        refuse_read_only(is_read_only=self.is_read_only)
        return await asyncio.to_thread(
            self._graph.branches.merge, source, into=into, message=message, show_values=True, actor=self._actor
        )

    async def create_branch(self, name: str, source: str) -> None:
        """Create a branch."""
        refuse_read_only(is_read_only=self.is_read_only)
        await asyncio.to_thread(self._graph.branches.create, name, source=source, actor=self._actor)

    async def query(
        self, text: str, name: str | None = None, *, params: Mapping[str, object] | None = None, at: str = MAIN_BRANCH
    ) -> "Result":
        """Run a read."""
        branch, snapshot = selection(at)
        return await asyncio.to_thread(
            lambda: self._graph.query(text, name, params=params, branch=branch, snapshot=snapshot)
        )

    async def blob(self, type_name: str, entity_id: str, name: str, *, at: str = MAIN_BRANCH) -> "Blob | None":
        """Find a Blob value, to tell how large it is; None where there is none."""
        try:
            return await self._at(at, lambda snapshot: snapshot.blob(type_name, entity_id, name))
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
        return await asyncio.to_thread(self._graph.mutate, text, name, params=params, branch=branch, actor=self._actor)

    async def put(self, lines: bytes, *, branch: str = MAIN_BRANCH, message: str | None = None) -> "LoadResult":
        """Write entities, spelled as `export` does, over those of the same ids, as one commit."""
        refuse_read_only(is_read_only=self.is_read_only)
        return await asyncio.to_thread(
            lambda: self._graph.load(BytesIO(lines), mode="merge", branch=branch, message=message, actor=self._actor)
        )

    async def explain(
        self, text: str, name: str | None = None, *, params: Mapping[str, object] | None = None, at: str = MAIN_BRANCH
    ) -> "Explanation | None":
        """Run a read and say what each step did and took."""
        branch, snapshot = selection(at)
        return await asyncio.to_thread(
            self._graph.explain, text, name, analyze=True, params=params, branch=branch, snapshot=snapshot
        )

    async def stored_queries(self) -> "Sequence[StoredQueryInfo]":
        """Return the queries that are kept for the graph."""
        return await self._held.queries() if self._query_texts else ()

    def stored_text(self, name: str) -> str | None:
        """Return the text of a stored query."""
        return self._query_texts.get(name)

    async def run_stored(
        self, query: "StoredQueryInfo", params: Mapping[str, object], *, at: str = MAIN_BRANCH
    ) -> "Result | MutationResult":
        """Run one of them."""
        text = self._query_texts[query.name]
        if query.is_mutation:
            return await self.mutate(text, query.name, params=params, branch=at)
        return await self.query(text, query.name, params=params, at=at)

    @cached_property
    def _held(self) -> Any:
        from omnigraph.mcp.sources import HeldQueries

        return HeldQueries(self._graph, self._query_texts, actor=self._actor)

    async def _at(self, at: str, look: "Callable[[Snapshot], FoundT]") -> "FoundT":
        def opened() -> FoundT:
            with self._graph.snapshot(at) as snapshot:
                return look(snapshot)

        return await asyncio.to_thread(opened)


def _described(snapshot: "Snapshot") -> GraphState:
    return GraphState(
        branch=snapshot.branch,
        commit_id=snapshot.commit_id,
        counts=tuple(
            TypeCount(kind=pin.entity_kind, type_name=pin.type_name, rows=pin.row_count) for pin in snapshot.tables
        ),
    )


class DirectSite:
    """Graphs by id, opened when somebody looks at them first."""

    def __init__(self, title: str, openers: "Mapping[str, Callable[[], DirectGraph]]") -> None:
        self.title = title
        self._openers = openers
        self._open: dict[str, DirectGraph] = {}
        self._lock = asyncio.Lock()

    async def graph_ids(self) -> list[str]:
        """Return the ids of the graphs, sorted."""
        return sorted(self._openers)

    async def graph(self, graph_id: str) -> DirectGraph:
        """Open one of them; raise `GraphNotFound` if there is none of this id."""
        if graph_id not in self._openers:
            raise GraphNotFound(f"There is no graph {graph_id} here.", graph_id=graph_id)
        async with self._lock:
            if graph_id not in self._open:
                self._open[graph_id] = await asyncio.to_thread(self._openers[graph_id])
            return self._open[graph_id]

    async def close(self) -> None:
        """Nothing is held between two calls."""
