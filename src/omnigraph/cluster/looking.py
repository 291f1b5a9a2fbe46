"""Looking at a graph of a cluster: whether it is there, which schema it lives by, and what another one would change."""

from omnigraph.base.values import dataclass
from omnigraph.cluster.resources import file_digest
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import GraphNotFound, OmniError
from omnigraph.evolution.plan import SchemaPlan, SchemaRequest, SchemaText, plan_from, plan_schema
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.manifest.missing import refuse_file
from omnigraph.storage.store import GraphStore
from omnigraph.storage.whole_roots import holds_anything


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveGraph:
    """What a look at a root came to; nothing is written by looking."""

    uri: str
    exists: bool
    """Whether anything is there."""
    error: str | None = None
    """Why it cannot be opened, if it is there and cannot."""
    context: GraphContext | None = None
    """The open graph."""
    version: int | None = None
    schema_source: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is a graph that can be read."""
        return self.context is not None

    @property
    def schema_digest(self) -> str | None:
        """The digest of the schema that it lives by."""
        return None if self.schema_source is None else file_digest(self.schema_source.encode())

    def lives_by(self, digest: str | None, text: str | None) -> bool:
        """Whether its schema is the one with this digest, or means the same as its text.

        A schema file may change in its comments alone. That is no change to the graph, which then keeps the text it
        has, so that comparing bytes would find a difference for ever.
        """
        if self.context is None or digest is None:
            return False
        if self.schema_digest == digest:
            return True
        if text is None or file_digest(text.encode()) != digest:
            return False
        catalog = self.context.schemas.catalog(self.context.manifest.load(MAIN_BRANCH).snapshot.schema)
        return not plan_from(catalog, SchemaText(text=text, source="<schema>"), allow_data_loss=False).steps

    def kept_its_schema_since(self, version: int | None) -> bool:
        """Whether no schema change has happened since a graph version."""
        if self.context is None or version is None:
            return False
        state = self.context.manifest.load(MAIN_BRANCH)
        if version == state.head.graph_version:
            return True
        commits = self.context.log.newest(state.head, limit=None, merged=False)
        since = [commit for commit in commits if commit.graph_version == version]
        if not since:
            return False
        before = state.snapshot_at(version, since[0].graph_commit_id)
        return before.schema == state.snapshot.schema


def look_at_graph(uri: str) -> LiveGraph:
    """Open the graph at a root to read it, or say that there is none, or why it cannot be opened."""
    context = open_context(uri)
    try:
        refuse_file(context.store)
        state = context.manifest.load(MAIN_BRANCH)
        source = context.schemas.source(state.snapshot.schema)
    except GraphNotFound as missing:
        return _without_graph(context.store, missing)
    except (OmniError, OSError) as error:
        return LiveGraph(uri=uri, exists=True, error=str(error))
    return LiveGraph(uri=uri, exists=True, context=context, version=state.head.graph_version, schema_source=source)


def _without_graph(store: GraphStore, missing: OmniError) -> LiveGraph:
    try:
        exists = holds_anything(store)
    except OmniError as error:
        return LiveGraph(uri=store.uri, exists=True, error=error.message)
    return LiveGraph(uri=store.uri, exists=exists, error=missing.message if exists else None)


def open_context(uri: str) -> GraphContext:
    """Compose the parts of the graph at a root; nothing is read yet."""
    return GraphContext.over(GraphStore.open(uri), LocalEngine())


def preview_schema(context: GraphContext, request: SchemaRequest) -> SchemaPlan:
    """Plan a schema change as the engine would carry it out; writes nothing."""
    return plan_schema(context, request)
