"""What pages ask of graphs, wherever they are; every method raises what a graph raises."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from omnigraph.base.values import dataclass
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from omnigraph.branches.merge.run import MergeResult
    from omnigraph.catalog.model import Catalog
    from omnigraph.changes.entities import EntityChange
    from omnigraph.changes.paging import ChangePage
    from omnigraph.client.values import ServedMerge, StoredQueryInfo
    from omnigraph.console.sources.upkeep import GraphUpkeep
    from omnigraph.graphs.blobs import Blob
    from omnigraph.graphs.result import Result
    from omnigraph.manifest.commits import Commit
    from omnigraph.pipeline.load.run import LoadResult
    from omnigraph.query.mutate.run import MutationResult
    from omnigraph.query.plan.explain import Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCount:
    """How many entities of a type a state has."""

    kind: str
    type_name: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphState:
    """One graph version, as pages show it."""

    branch: str
    commit_id: str
    counts: tuple[TypeCount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchComparison:
    """What merging a branch would bring: the first changes, and how many there are of each kind."""

    changes: "tuple[EntityChange, ...]"
    inserted: int
    updated: int
    deleted: int
    is_whole: bool
    """Whether `changes` are all of them."""


class GraphSource(Protocol):
    """One graph; an `at` is a branch or the id of a commit."""

    @property
    def graph_id(self) -> str:
        """What the graph is called in addresses of pages."""

    @property
    def uri(self) -> str:
        """Where it is, as people are shown it."""

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be changed from here, whatever a policy says."""

    @property
    def cli_address(self) -> str:
        """The words of a command line that address it, quoted for a shell."""

    @property
    def upkeep(self) -> "GraphUpkeep | None":
        """Health and maintenance; None where there is no way to the storage."""

    async def catalog(self, at: str = MAIN_BRANCH) -> "Catalog":
        """Return the compiled schema."""
        ...

    async def schema_source(self, at: str = MAIN_BRANCH) -> str:
        """Return the schema as it was written."""
        ...

    async def state(self, at: str = MAIN_BRANCH) -> GraphState:
        """Return which commit a state is, and how many entities it has."""
        ...

    async def branches(self) -> list[str]:
        """Return the names of all branches that may be seen, `main` first."""
        ...

    async def commits(self, branch: str = MAIN_BRANCH, *, limit: int = 50) -> "list[Commit]":
        """Return the newest commits of a branch, newest first."""
        ...

    async def commit(self, commit_id: str) -> "Commit":
        """Return one commit."""
        ...

    async def changes(self, commit_id: str, *, page_token: str | None = None, limit: int = 50) -> "ChangePage":
        """Return what a commit changed, a page at a time."""
        ...

    async def compare(self, source: str, into: str, *, limit: int = 200) -> BranchComparison:
        """Return what merging a branch into another would bring."""
        ...

    async def preview_merge(self, source: str, into: str) -> "MergeResult | None":
        """Say what a merge would do, or raise `MergeConflicts`; None where only merging itself can tell."""
        ...

    async def merge(self, source: str, into: str, *, message: str | None = None) -> "MergeResult | ServedMerge":
        """Merge as one commit, or raise `MergeConflicts` and change nothing."""
        ...

    async def create_branch(self, name: str, source: str) -> None:
        """Create a branch."""
        ...

    async def query(
        self, text: str, name: str | None = None, *, params: Mapping[str, object] | None = None, at: str = MAIN_BRANCH
    ) -> "Result":
        """Run a read."""
        ...

    async def blob(self, type_name: str, entity_id: str, name: str, *, at: str = MAIN_BRANCH) -> "Blob | None":
        """Find a Blob value, to tell how large it is; None where there is none."""
        ...

    async def mutate(
        self,
        text: str,
        name: str | None = None,
        *,
        params: Mapping[str, object] | None = None,
        branch: str = MAIN_BRANCH,
    ) -> "MutationResult":
        """Run a mutation as one commit."""
        ...

    async def put(self, lines: bytes, *, branch: str = MAIN_BRANCH, message: str | None = None) -> "LoadResult":
        """Write entities, spelled as `export` does, over those of the same ids, as one commit."""
        ...

    async def explain(
        self, text: str, name: str | None = None, *, params: Mapping[str, object] | None = None, at: str = MAIN_BRANCH
    ) -> "Explanation | None":
        """Run a read and say what each step did and took; None where that cannot be asked for."""
        ...

    async def stored_queries(self) -> "Sequence[StoredQueryInfo]":
        """Return the queries that are kept for the graph."""
        ...

    def stored_text(self, name: str) -> str | None:
        """Return the text of a stored query; None where it is run by its name alone."""
        ...

    async def run_stored(
        self, query: "StoredQueryInfo", params: Mapping[str, object], *, at: str = MAIN_BRANCH
    ) -> "Result | MutationResult":
        """Run one of them."""
        ...


class GraphSite(Protocol):
    """All graphs that one person may see."""

    @property
    def title(self) -> str:
        """What is shown, in a few words: an address."""

    async def graph_ids(self) -> list[str]:
        """Return the ids of the graphs, sorted."""
        ...

    async def graph(self, graph_id: str) -> GraphSource:
        """Open one of them; raise `GraphNotFound` if there is none of this id."""
        ...

    async def close(self) -> None:
        """Let go of what is open."""
        ...
