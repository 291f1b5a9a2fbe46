"""The object users hold: wiring and delegation, no decisions.

Its methods are written down by subject: those that bring data in and out in `_graph_data.py`, those that maintain it in
`_graph_upkeep.py`, and the others here.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from omnigraph import _graph_data, _graph_upkeep
from omnigraph._graph_clusters import bound_to_cluster
from omnigraph.base.events import Events, ignore_events
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import GraphNotFound, InvalidTarget
from omnigraph.graphs.authorizing import Authorizer, PolicyAction
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.given import values_together
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.manifest.missing import no_graph_at, refuse_file, refuse_unfit_for_new_graph
from omnigraph.storage.store import GraphStore

if TYPE_CHECKING:
    from omnigraph.branches.verbs import Branches
    from omnigraph.changes.diff import Diff
    from omnigraph.changes.verbs import Changes
    from omnigraph.engine.local import Parameters
    from omnigraph.evolution.plan import SchemaPlan
    from omnigraph.evolution.run import AppliedSchema
    from omnigraph.graphs.heads import HeadSnapshots
    from omnigraph.graphs.result import Result
    from omnigraph.graphs.snapshot import PreparedQuery, Snapshot
    from omnigraph.graphs.sql import SqlResult
    from omnigraph.manifest.commits import Commit
    from omnigraph.query.algorithms.algorithms import Algorithms
    from omnigraph.query.asking import Asking
    from omnigraph.query.following import Following
    from omnigraph.query.lint import LintReport
    from omnigraph.query.mutate.run import MutationResult
    from omnigraph.query.plan.explain import Explanation
    from omnigraph.writes.batch import WriteBatch


def init(
    uri: str,
    schema: str,
    *,
    schema_source: str = "<schema>",
    force: bool = False,
    consent: bool = False,
    actor: str | None = None,
    message: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    events: Events = ignore_events,
) -> "Graph":
    """Create a graph at `uri` from schema text and open it.

    Refuses an existing graph, always. `force` clears what an interrupted `init` left; on an object store, taking over
    the claim of another process also needs `consent`. `schema_source` names the text in error messages.
    """
    from omnigraph.cluster.direct import refuse_cluster_managed
    from omnigraph.manifest.birth import InitRequest, create_graph

    refuse_cluster_managed(uri, remedy="declare the graph in cluster.yaml")
    store = GraphStore.open(uri, storage_options)
    refuse_unfit_for_new_graph(store)
    request = InitRequest(
        schema=schema, schema_source=schema_source, force=force, consent=consent, actor=actor, message=message
    )
    create_graph(store, request, events=events)
    return Graph(GraphContext.over(store, LocalEngine()), read_only=False)


def open_graph(
    uri: str,
    *,
    read_only: bool = False,
    recover: bool = True,
    policy: Authorizer | None = None,
    storage_options: Mapping[str, str] | None = None,
    embed_environ: Mapping[str, str] | None = None,
    events: Events = ignore_events,
) -> "Graph":
    """Open a graph; a read-write open first settles what interrupted writers left, a read-only one writes nothing.

    `recover=False` leaves that to `Graph.recover`, which says what it did. With a `policy`, such as
    `PolicyEngine.load_graph(path, graph_id)`, whatever writes needs an `actor` to whom the policy allows it. Without
    one, a graph of a cluster has the policy that the cluster has bound to it. `embed_environ` is where queries find
    their embedding provider.
    """
    context = GraphContext.over(GraphStore.open(uri, storage_options), LocalEngine(), policy, embed_environ)
    if not read_only:
        context = bound_to_cluster(context, is_judged=policy is not None, options=storage_options, events=events)
    return open_context(context, read_only=read_only, recover=recover, events=events)


def open_context(context: GraphContext, *, read_only: bool, recover: bool, events: Events) -> "Graph":
    """Open the graph of a context, which says who may write and to what blobs may refer."""
    refuse_file(context.store)
    try:
        context.manifest.load(MAIN_BRANCH)
    except GraphNotFound as missing:
        raise no_graph_at(context.store) from missing
    if recover and not read_only:
        from omnigraph.writes.opening import settle_on_open

        settle_on_open(context, events)
    return Graph(context, read_only=read_only)


class Graph:
    """A typed property graph: many Lance tables, published as one version."""

    def __init__(self, context: GraphContext, *, read_only: bool) -> None:
        self._context = context
        self._read_only = read_only

    def __repr__(self) -> str:
        return f"<Graph {self.uri}{' read-only' if self._read_only else ''}>"

    def _repr_html_(self) -> str:
        from omnigraph.graphs.snapshot import Snapshot

        # Not held: whoever looks at a page keeps nothing from cleanup.
        return Snapshot(self._context, self._context.addresses.head(MAIN_BRANCH).snapshot)._repr_html_()

    @property
    def uri(self) -> str:
        """Where the graph lives."""
        return self._context.store.uri

    @property
    def schema_source(self) -> str:
        """The accepted schema of `main`, as it was written."""
        return self.snapshot().schema_source

    def snapshot(
        self,
        address: str | datetime | None = None,
        *,
        branch: str | None = None,
        commit: str | None = None,
        version: int | None = None,
        at: datetime | str | None = None,
    ) -> "Snapshot":
        """Pin the graph version that an address means, by default the head of `main`.

        An address is a branch, `main@7`, `main~1`, `main@2026-01-31T18:00:00Z`, a commit id, or a moment. `version`
        and `at` choose on a branch, `commit` names a commit. Held, a snapshot keeps its versions from cleanup.
        """
        from omnigraph.graphs.locating import locate
        from omnigraph.graphs.snapshot import Snapshot

        located = locate(self._context, address, branch=branch, commit=commit, version=version, at=at)
        return Snapshot(
            self._context, located.snapshot, is_held=True, spark_frames=self._spark_frame, queries=self._asking
        )

    def snapshot_at(self, address: str) -> "Snapshot":
        """Pin the snapshot that a written address means; the same as `snapshot`."""
        return self.snapshot(address)

    def diff(
        self,
        before: str,
        after: str,
        *,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
        exclude_types: Sequence[str] = (),
    ) -> "Diff":
        """Compare two snapshots, each addressed as for `snapshot_at`; iterate over the result."""
        from omnigraph.changes.diff import diff_snapshots
        from omnigraph.changes.filters import ChangesRequest

        request = ChangesRequest(kinds=kinds, types=types, ops=ops, exclude_types=exclude_types)
        was, now = (self._context.addresses.resolve(address).snapshot for address in (before, after))
        return diff_snapshots(self._context, was, now, request)

    @overload
    def query(
        self,
        text: str,
        name: str | None = None,
        /,
        *,
        params: Mapping[str, object] | None = None,
        branch: str | None = None,
        snapshot: str | None = None,
        at: datetime | str | None = None,
        engine: EngineChoice | Literal["local"] | None = None,
        query_source: str = "<query>",
        **values: object,
    ) -> "Result": ...

    @overload
    def query(
        self,
        text: str,
        name: str | None = None,
        /,
        *,
        params: Mapping[str, object] | None = None,
        branch: str | None = None,
        snapshot: str | None = None,
        at: datetime | str | None = None,
        engine: Literal["spark"],
        query_source: str = "<query>",
        **values: object,
    ) -> Any: ...

    def query(
        self,
        text: str,
        name: str | None = None,
        /,
        *,
        params: Mapping[str, object] | None = None,
        branch: str | None = None,
        snapshot: str | None = None,
        at: datetime | str | None = None,
        engine: EngineChoice | Literal["local", "spark"] | None = None,
        query_source: str = "<query>",
        **values: object,
    ) -> Any:
        """Run a read of the query language over the head of a branch, by default `main`, or over an older state.

        The text is a query, a bare `match { … } return { … }`, or several queries of which `name` says one. Parameters
        come by name, or in `params`, where they may be called like the arguments of this method. `snapshot` and `at`
        are addresses as for `snapshot()`. `query_source` names the text in messages. With `engine="spark"` the answer
        is a data frame of the caller's session, for rows that are many; search functions are not for it. An
        `EngineChoice` of Spark names a session, which runs the query and sends its rows here.
        """
        over = self._asked_snapshot(snapshot, branch=branch, at=at)
        given = values_together(params, values)
        if engine in (None, "local") or (isinstance(engine, EngineChoice) and engine.engine is not EngineName.SPARK):
            return self._asking.query(over, text, name, given, source=query_source)
        if engine != "spark" and not isinstance(engine, EngineChoice):
            raise InvalidTarget(f"A query runs on the engine 'local' or 'spark', not {engine!r}.")
        from omnigraph.connectors.spark.querying import callers_frame, collected

        asked = self._asking.asked(over, text, name, given, source=query_source)
        if isinstance(engine, EngineChoice):
            return collected(self._context.store, over, asked, engine)
        return callers_frame(self._context.store, over, asked)

    def algorithms(
        self, *, branch: str | None = None, snapshot: str | None = None, at: datetime | str | None = None
    ) -> "Algorithms":
        """Run graph algorithms over one state: `pagerank`, `components`, `degree`, `shortest_path`."""
        from omnigraph.query.algorithms.algorithms import Algorithms
        from omnigraph.query.opening import open_tables

        over = self._asked_snapshot(snapshot, branch=branch, at=at)
        return Algorithms(self._asking.access(over), over.catalog, tables=lambda: open_tables(over))

    def explain(
        self,
        text: str,
        name: str | None = None,
        /,
        *,
        analyze: bool = False,
        params: Mapping[str, object] | None = None,
        branch: str | None = None,
        snapshot: str | None = None,
        at: datetime | str | None = None,
        query_source: str = "<query>",
        **values: object,
    ) -> "Explanation":
        """Describe the steps that answer a read and how many rows each is expected to leave.

        With `analyze` the query is run, and each step says how many rows it left and how long it took. All else is as
        in `query`; only a query that is run needs its parameters.
        """
        over = self._asked_snapshot(snapshot, branch=branch, at=at)
        given = values_together(params, values)
        return self._asking.explain(over, text, name, given, is_run=analyze, source=query_source)

    def prepare(self, text: str, name: str | None = None, /, *, branch: str = MAIN_BRANCH) -> "PreparedQuery":
        """Check a read once, to run it with different values, each time over the newest state of a branch."""
        from omnigraph.query.asking import Prepared

        return Prepared(self._asking, lambda: self._asked_snapshot(None, branch=branch, at=None), text, name)

    @cached_property
    def following(self) -> "Following":
        """The newest snapshots as of a moment ago, for a process that answers many reads."""
        from omnigraph.query.following import Following

        return Following(self._heads, self._asking, lambda text: self._asked_snapshot(text, branch=None, at=None))

    def _asked_snapshot(self, address: str | None, *, branch: str | None, at: datetime | str | None) -> "Snapshot":
        """Return the snapshot that a query reads; not held, because it is read at once."""
        if address is None and at is None and (branch is None or isinstance(branch, str)):
            return self._heads.newest(branch or MAIN_BRANCH)
        from omnigraph.graphs.locating import locate
        from omnigraph.graphs.snapshot import Snapshot

        located = locate(self._context, address, branch=branch, commit=None, version=None, at=at)
        return Snapshot(self._context, located.snapshot, queries=self._asking)

    @cached_property
    def _heads(self) -> "HeadSnapshots":
        from omnigraph.graphs.heads import HeadSnapshots

        return HeadSnapshots(self._context, self._asking)

    @cached_property
    def _asking(self) -> "Asking":
        from omnigraph.query.asking import Asking

        return Asking()

    def sql(
        self,
        query: str,
        *,
        snapshot: str = MAIN_BRANCH,
        params: "Parameters" = None,
        frames: Mapping[str, Any] | None = None,
    ) -> "SqlResult":
        """Ask a question in SQL over one snapshot, addressed as for `snapshot`; see `Snapshot.sql`."""
        return self.snapshot(snapshot).sql(query, params=params, frames=frames)

    @cached_property
    def changes(self) -> "Changes":
        """The changes of this graph: of one commit, or along a branch."""
        from omnigraph.changes.verbs import Changes

        return Changes(self._context)

    def commits(self, branch: str = MAIN_BRANCH, *, limit: int | None = None, merged: bool = False) -> "list[Commit]":
        """Return the history of a branch, newest first along the first parents, or with all that was merged into it."""
        return self._context.log.newest(self._context.manifest.load(branch).head, limit=limit, merged=merged)

    def commit(self, address: str) -> "Commit":
        """Return the commit that an id, a unique beginning of one, or an address such as `main~2` means."""
        return self._context.addresses.commit(address)

    @property
    def branches(self) -> "Branches":
        """The branches of this graph: create, list, merge and delete them."""
        from omnigraph.branches.verbs import Branches

        return Branches(self._context, self._admit)

    def write(
        self,
        *,
        branch: str = MAIN_BRANCH,
        actor: str | None = None,
        message: str | None = None,
        expected_head: str | None = None,
        events: Events = ignore_events,
    ) -> "WriteBatch":
        """Collect inserts, upserts, updates and deletes in a `with` block and commit them together at its end.

        With `expected_head` the commit happens only if that commit still is the head (`PreconditionFailed` otherwise).
        """
        from omnigraph.writes.batch import WriteBatch

        self._admit(PolicyAction.CHANGE, actor=actor, branch=branch)
        return WriteBatch(
            self._context, branch=branch, actor_id=actor, message=message, expected_head=expected_head, events=events
        )

    def mutate(
        self,
        text: str,
        name: str | None = None,
        /,
        *,
        params: Mapping[str, object] | None = None,
        branch: str = MAIN_BRANCH,
        if_commit: str | None = None,
        actor: str | None = None,
        message: str | None = None,
        query_source: str = "<query>",
        events: Events = ignore_events,
        **values: object,
    ) -> "MutationResult":
        """Run one mutation of a query text as one commit, or raise and change nothing.

        `name` says which query, if the text holds several. Parameters come by name, or in `params`, where they may be
        called like the arguments of this method. With `if_commit` the commit happens only if that one still is the head
        of the branch (`PreconditionFailed` otherwise). `query_source` names the text in messages.
        """
        from omnigraph.query.mutate.request import MutateRequest
        from omnigraph.query.mutate.run import run_mutation

        self._admit(PolicyAction.CHANGE, actor=actor, branch=branch)
        request = MutateRequest(
            query=text,
            name=name,
            params=values_together(params, values),
            branch=branch,
            if_commit=if_commit,
            actor=actor,
            message=message,
            query_source=query_source,
        )
        return run_mutation(self._context, request, events)

    def plan_schema(
        self, schema: str, *, schema_source: str = "<schema>", allow_data_loss: bool = False
    ) -> "SchemaPlan":
        """Say what giving the graph this schema would do, step by step; writes nothing and reads no data.

        With `allow_data_loss` drops are shown as hard. `schema_source` names the text in error messages.
        """
        from omnigraph.evolution.plan import SchemaRequest, plan_schema

        request = SchemaRequest(schema=schema, schema_source=schema_source, allow_data_loss=allow_data_loss)
        return plan_schema(self._context, request)

    def lint(self, queries: str, *, query_source: str = "<queries>") -> "LintReport":
        """Check the text of a query file against the schema of `main`; reads no data.

        `query_source` names the text in messages. Nothing is raised for queries that do not parse or do not fit: the
        report says so.
        """
        from omnigraph.query.lint import lint_queries

        if not isinstance(queries, str):
            raise InvalidTarget(f"queries is the text of a query file, not {queries!r}.")
        # Not held: the schema is read once, and no data at all.
        head = self._context.addresses.head(MAIN_BRANCH).snapshot
        catalog = self._context.schemas.catalog(head.schema)
        return lint_queries(queries, catalog, source=query_source)

    def apply_schema(
        self,
        schema: str,
        *,
        schema_source: str = "<schema>",
        allow_data_loss: bool = False,
        actor: str | None = None,
        message: str | None = None,
        events: Events = ignore_events,
    ) -> "AppliedSchema":
        """Give the graph this schema as one commit, or raise and change nothing; without steps there is no commit.

        Earlier graph versions keep what is dropped, unless `allow_data_loss` gives it up for good right away.
        """
        from omnigraph.cluster.direct import refuse_cluster_managed
        from omnigraph.evolution.plan import SchemaRequest
        from omnigraph.evolution.run import apply_schema

        self._admit(PolicyAction.SCHEMA_APPLY, actor=actor, target_branch=MAIN_BRANCH)
        refuse_cluster_managed(self.uri, remedy="change its schema file there")
        request = SchemaRequest(
            schema=schema, schema_source=schema_source, allow_data_loss=allow_data_loss, actor=actor, message=message
        )
        return apply_schema(self._context, request, events=events)

    load = _graph_data.load
    load_table = _graph_data.load_table
    load_dataframe = _graph_data.load_dataframe
    load_dataframes = _graph_data.load_dataframes
    blob = _graph_data.blob
    show = _graph_data.show
    export = _graph_data.export
    embed = _graph_data.embed
    baseline = _graph_data.baseline
    frames = _graph_data.frames
    register_views = _graph_data.register_views
    _spark_frame = _graph_data.spark_frame

    optimize = _graph_upkeep.optimize
    repair = _graph_upkeep.repair
    health = _graph_upkeep.health
    verify = _graph_upkeep.verify
    cleanup = _graph_upkeep.cleanup
    maintain = _graph_upkeep.maintain
    recover = _graph_upkeep.recover
    abandon = _graph_upkeep.abandon
    pending_operations = _graph_upkeep.pending_operations
    recoveries = _graph_upkeep.recoveries

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to release: handles are plain reads, and locks are held only inside a write."""

    def _admit(
        self, action: PolicyAction, *, actor: str | None, branch: str | None = None, target_branch: str | None = None
    ) -> None:
        """Let a write go on: every method that writes calls this first, except for maintenance."""
        self._refuse_read_only()
        self._context.authorizer.authorize(action, actor=actor, branch=branch, target_branch=target_branch)

    def _refuse_read_only(self) -> None:
        if self._read_only:
            raise InvalidTarget(f"{self.uri} was opened read-only; open it without read_only to write.")
