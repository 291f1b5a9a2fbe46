"""Where stored queries come from, and who runs them: a server with a token, or a graph that is opened here."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.base.values import Json
from omnigraph.client.values import StoredParameterInfo, StoredQueryInfo
from omnigraph.documents.answers import Answer, query_document
from omnigraph.documents.data import mutation_document
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from omnigraph.client.remote_async import AsyncRemoteGraph
    from omnigraph.graph import Graph
    from omnigraph.server.stored import StoredQuery as HeldQuery


class QuerySource(Protocol):
    """Lists stored queries and runs them; raises what a graph raises."""

    async def queries(self) -> list[StoredQueryInfo]:
        """Return the queries as they are now."""
        ...

    async def run(self, query: StoredQueryInfo, values: Mapping[str, object]) -> Json:
        """Run one of them, and return the document of its result."""
        ...

    async def schema(self) -> str:
        """Return the schema of the graph, as it was written."""
        ...


class ServedQueries:
    """The stored queries of a graph behind a server, which decides who may run them."""

    def __init__(self, graph: "AsyncRemoteGraph", *, branch: str = MAIN_BRANCH) -> None:
        self._graph = graph
        self._branch = branch

    async def queries(self) -> list[StoredQueryInfo]:
        """Return the queries as they are now."""
        return await self._graph.stored_queries()

    async def run(self, query: StoredQueryInfo, values: Mapping[str, object]) -> Json:
        """Run one of them, and return the document of its result."""
        if query.is_mutation:
            return mutation_document(await self._graph.mutate_stored(query.name, params=values, branch=self._branch))
        result = await self._graph.query_stored(query.name, params=values, branch=self._branch)
        return query_document(Answer(result=result, branch=self._branch, snapshot=None))

    async def schema(self) -> str:
        """Return the schema of the graph, as it was written."""
        return await self._graph.schema_source()


class HeldQueries:
    """Queries of a file, or those applied to a cluster, over a graph that is opened here."""

    def __init__(
        self, graph: "Graph", texts: Mapping[str, str], *, actor: str | None, branch: str = MAIN_BRANCH
    ) -> None:
        from omnigraph.server.stored import check_stored

        self._graph = graph
        self._held: dict[str, HeldQuery] = check_stored(texts, graph.snapshot(branch).catalog)
        self._actor = actor
        self._branch = branch

    async def queries(self) -> list[StoredQueryInfo]:
        """Return the queries as they were when the source was made."""
        return [_described(self._held[name]) for name in sorted(self._held)]

    async def run(self, query: StoredQueryInfo, values: Mapping[str, object]) -> Json:
        """Run one of them in a thread, and return the document of its result."""
        held = self._held[query.name]
        if query.is_mutation:
            return await asyncio.to_thread(self._mutated, held, values)
        return await asyncio.to_thread(self._answered, held, values)

    async def schema(self) -> str:
        """Return the schema of the graph, as it was written."""
        return await asyncio.to_thread(lambda: self._graph.schema_source)

    def _answered(self, held: "HeldQuery", values: Mapping[str, object]) -> Json:
        result = self._graph.query(held.text, held.name, params=values, branch=self._branch, query_source=held.source)
        return query_document(Answer(result=result, branch=self._branch, snapshot=None))

    def _mutated(self, held: "HeldQuery", values: Mapping[str, object]) -> Json:
        return mutation_document(
            self._graph.mutate(
                held.text,
                held.name,
                params=dict(values),
                branch=self._branch,
                actor=self._actor,
                query_source=held.source,
            )
        )


def _described(held: "HeldQuery") -> StoredQueryInfo:
    document: Any = held.document()
    return StoredQueryInfo(
        name=held.name,
        is_mutation=held.is_mutation,
        parameters=tuple(StoredParameterInfo(**one) for one in document["params"]),
        description=held.description,
        instruction=held.instruction,
    )
