"""The object users hold: wiring and delegation, no decisions."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Self

from omnigraph.base.events import Events, ignore_events
from omnigraph.catalog.type_names import each_name
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import ClusterManaged, GraphNotFound, InvalidTarget
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.manifest.missing import no_graph_at, refuse_file, refuse_unfit_for_new_graph
from omnigraph.storage.store import GraphStore

if TYPE_CHECKING:
    from datetime import timedelta

    from omnigraph.branches.verbs import Branches
    from omnigraph.changes.diff import Diff
    from omnigraph.changes.verbs import Changes
    from omnigraph.connectors.spark.frames import GraphFrames
    from omnigraph.connectors.spark.views import RegisteredViews
    from omnigraph.engine.local import Parameters
    from omnigraph.evolution.plan import SchemaPlan
    from omnigraph.evolution.run import AppliedSchema
    from omnigraph.graphs.conditions import Where
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.graphs.sql import SqlResult
    from omnigraph.maintenance.cleanup.policy import CleanupPolicy
    from omnigraph.maintenance.cleanup.run import CleanupReport
    from omnigraph.maintenance.health.report import HealthReport
    from omnigraph.maintenance.optimize.report import OptimizeResult
    from omnigraph.maintenance.repair.run import RepairReport
    from omnigraph.maintenance.verify.report import VerifyReport
    from omnigraph.manifest.addresses import Located
    from omnigraph.manifest.commits import Commit
    from omnigraph.pipeline.embed.result import EmbedResult
    from omnigraph.pipeline.embed.spec import EmbedSpec
    from omnigraph.pipeline.export.baseline import BaselineResult
    from omnigraph.pipeline.export.run import ExportResult
    from omnigraph.pipeline.load.run import LoadResult
    from omnigraph.pipeline.load.writer import LoadMode
    from omnigraph.providers.config import EmbedConfig
    from omnigraph.query.lint import LintReport
    from omnigraph.records.arrow_rows import ArrowRows
    from omnigraph.writes.batch import WriteBatch
    from omnigraph.writes.recovery.audit import RecoveryRecord
    from omnigraph.writes.recovery.sweep import SweepResult
    from omnigraph.writes.sidecar import PendingOperation


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
    from omnigraph.manifest.birth import create_graph

    _refuse_cluster_managed(uri, remedy="declare the graph in cluster.yaml")
    store = GraphStore.open(uri, storage_options)
    refuse_unfit_for_new_graph(store)
    create_graph(
        store,
        schema,
        schema_source=schema_source,
        force=force,
        has_consent=consent,
        actor_id=actor,
        message=message,
        events=events,
    )
    return Graph(GraphContext.over(store, LocalEngine()), read_only=False)


def open_graph(
    uri: str,
    *,
    read_only: bool = False,
    recover: bool = True,
    storage_options: Mapping[str, str] | None = None,
    events: Events = ignore_events,
) -> "Graph":
    """Open a graph; a read-write open first settles what interrupted writers left, a read-only one writes nothing.

    `recover=False` leaves that to `Graph.recover`, which says what it did.
    """
    context = GraphContext.over(GraphStore.open(uri, storage_options), LocalEngine())
    refuse_file(context.store)
    try:
        context.manifest.load(MAIN_BRANCH)
    except GraphNotFound as missing:
        raise no_graph_at(context.store) from missing
    if recover and not read_only:
        from omnigraph.writes.opening import settle_on_open

        settle_on_open(context, events)
    return Graph(context, read_only=read_only)


def _refuse_cluster_managed(uri: str, *, remedy: str) -> None:
    from omnigraph.cluster.ledger import cluster_root_for_graph_uri

    root = cluster_root_for_graph_uri(uri)
    if root is not None:
        raise ClusterManaged(
            f"{uri} belongs to the cluster at {root}: {remedy} and apply it there. `cluster apply` is not part of this "
            "version, so that is for the program that manages the cluster. Nothing was changed.",
            uri=uri,
            root=root,
        )


def embed_files(
    input: str | Path,  # noqa: A002 — the word of the command line
    output: str | Path,
    *,
    spec: "EmbedSpec | Mapping[str, object] | str | Path",
    reembed_all: bool = False,
    clean: bool = False,
    types: Sequence[str] = (),
    select: Sequence[str] = (),
    config: "EmbedConfig | None" = None,
    engine: "str | EngineChoice | None" = None,
    events: Events = ignore_events,
) -> "EmbedResult":
    """Embed the records of load files, no graph needed: a file gives a file, a directory a directory.

    `spec` is a mapping like the JSON spec, the path of one, or a parsed one. The provider comes from `config`, or from
    the environment, and is asked only if a record needs a vector, by the workers of `engine`.
    """
    from omnigraph.pipeline.embed.files import run_embed_files
    from omnigraph.pipeline.embed.spec import EmbedSpec
    from omnigraph.providers.config import EmbedConfig

    if isinstance(spec, (str, Path)):
        spec = EmbedSpec.read(spec)
    return run_embed_files(
        input,
        output,
        spec=spec if isinstance(spec, EmbedSpec) else EmbedSpec.parse(spec, source="<spec>"),
        reembed_all=reembed_all,
        clean=clean,
        types=types,
        select=select,
        config=lambda: config or EmbedConfig.from_environ(os.environ),
        choice=EngineChoice.named(engine, os.environ),
        events=events,
    )


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
        from omnigraph.graphs.snapshot import Snapshot

        located = self._locate(address, branch=branch, commit=commit, version=version, at=at)
        return Snapshot(self._context, located.snapshot, is_held=True, spark_frames=self._spark_frame)

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
        from omnigraph.changes.snapshots import diff_snapshots

        sides = (self._context.addresses.resolve(address).snapshot for address in (before, after))
        return diff_snapshots(self._context, *sides, kinds=kinds, types=types, ops=ops, exclude_types=exclude_types)

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

    @property
    def changes(self) -> "Changes":
        """The changes of this graph: of one commit, or along a branch."""
        from omnigraph.changes.verbs import Changes

        return Changes(self._context)

    def commits(self, branch: str = MAIN_BRANCH, *, limit: int | None = None, merged: bool = False) -> "list[Commit]":
        """Return the history of a branch, newest first along the first parents, or with all that was merged into it."""
        from omnigraph.manifest.topological import newest_first

        head = self._context.manifest.load(branch).head
        log = self._context.log
        history = newest_first(log.history(head), head.graph_commit_id) if merged else log.first_parents(head)
        return [commit for _, commit in zip(range(limit), history, strict=False)] if limit is not None else [*history]

    def commit(self, address: str) -> "Commit":
        """Return the commit that an id, a unique beginning of one, or an address such as `main~2` means."""
        return self._context.addresses.commit(address)

    @property
    def branches(self) -> "Branches":
        """The branches of this graph: create, list, merge and delete them."""
        from omnigraph.branches.verbs import Branches

        return Branches(self._context, self._refuse_read_only)

    def load(
        self,
        data: "str | Path | BinaryIO | ArrowRows",
        *,
        mode: "LoadMode",
        type: str | None = None,  # noqa: A002 — the word of the command line
        map: Mapping[str, str | None] | None = None,  # noqa: A002 — the same
        branch: str = MAIN_BRANCH,
        from_branch: str | None = None,
        actor: str | None = None,
        message: str | None = None,
        max_errors: int = 20,
        engine: "str | EngineChoice | None" = None,
        events: Events = ignore_events,
    ) -> "LoadResult":
        """Load a file, directory, glob or open stream as one commit, or raise and change nothing.

        The input is graph NDJSON. With `type` it is a table of that type (Parquet, CSV, Arrow, Lance, or rows in
        memory, as `load_table` takes them), whose columns `map` renames; None leaves a column out. With `from_branch`,
        a branch that does not exist yet is created from it; if the load fails, it does not remain. `engine` is auto,
        local or spark, by default what `$OMNIGRAPH_ENGINE` says; Spark takes the active session.
        """
        from omnigraph.pipeline.load.inputs import find_any_input
        from omnigraph.pipeline.load.run import run_load
        from omnigraph.pipeline.load.tables import ColumnMap

        self._refuse_read_only()
        columns = ColumnMap(property_by_column=map or {})
        return run_load(
            self._context,
            lambda: find_any_input(data, type_name=type, columns=columns),
            mode=mode,
            branch=branch,
            from_branch=from_branch,
            actor_id=actor,
            message=message,
            max_errors=max_errors,
            choice=EngineChoice.named(engine, os.environ),
            events=events,
        )

    def load_table(
        self,
        rows: "ArrowRows",
        *,
        type: str,  # noqa: A002 — the word of the command line
        mode: "LoadMode",
        map: Mapping[str, str | None] | None = None,  # noqa: A002 — the same
        branch: str = MAIN_BRANCH,
        from_branch: str | None = None,
        actor: str | None = None,
        message: str | None = None,
        max_errors: int = 20,
        events: Events = ignore_events,
    ) -> "LoadResult":
        """Load rows of one type from memory: an Arrow table, batch or reader, or a frame that speaks Arrow.

        Everything else is as in `load`.
        """
        from omnigraph.pipeline.load.inputs import TableInput
        from omnigraph.pipeline.load.run import run_load
        from omnigraph.pipeline.load.table_files import RowsInMemory
        from omnigraph.pipeline.load.tables import ColumnMap

        self._refuse_read_only()
        given = TableInput(files=(RowsInMemory.of(rows, type),), columns=ColumnMap(property_by_column=map or {}))
        return run_load(
            self._context,
            lambda: given,
            mode=mode,
            branch=branch,
            from_branch=from_branch,
            actor_id=actor,
            message=message,
            max_errors=max_errors,
            choice=EngineChoice(engine=EngineName.LOCAL),
            events=events,
        )

    def load_dataframe(
        self,
        frame: Any,
        *,
        type: str,  # noqa: A002 — the word of the command line
        mode: "LoadMode",
        map: Mapping[str, str | None] | None = None,  # noqa: A002 — the same
        branch: str = MAIN_BRANCH,
        from_branch: str | None = None,
        actor: str | None = None,
        message: str | None = None,
        max_errors: int = 20,
        events: Events = ignore_events,
    ) -> "LoadResult":
        """Load a Spark data frame, classic or Connect, as rows of one type; other frames as `load_table` does.

        The frame is computed once, on the workers of its session, and its rows never pass through this process.
        Everything else is as in `load`.
        """
        if not (hasattr(frame, "mapInArrow") and hasattr(frame, "sparkSession")):
            return self.load_table(
                frame,
                type=type,
                mode=mode,
                map=map,
                branch=branch,
                from_branch=from_branch,
                actor=actor,
                message=message,
                max_errors=max_errors,
                events=events,
            )
        return self.load_dataframes(
            {type: frame},
            mode=mode,
            maps={type: map or {}},
            branch=branch,
            from_branch=from_branch,
            actor=actor,
            message=message,
            max_errors=max_errors,
            events=events,
        )

    def load_dataframes(
        self,
        frames: Mapping[str, Any],
        *,
        mode: "LoadMode",
        maps: Mapping[str, Mapping[str, str | None]] | None = None,
        branch: str = MAIN_BRANCH,
        from_branch: str | None = None,
        actor: str | None = None,
        message: str | None = None,
        max_errors: int = 20,
        events: Events = ignore_events,
    ) -> "LoadResult":
        """Load Spark data frames of several types, such as nodes and the edges between them, as one commit.

        `frames` and `maps`, which renames columns, go by type. All else is as in `load_dataframe`.
        """
        from omnigraph.connectors.spark.loading import frames_input
        from omnigraph.pipeline.load.run import run_load
        from omnigraph.pipeline.load.tables import ColumnMap

        self._refuse_read_only()
        columns = {name: ColumnMap(property_by_column=names) for name, names in (maps or {}).items()}
        given = frames_input(frames, columns, worker_environment=self._context.store.settings.environment)
        return run_load(
            self._context,
            lambda: given,
            mode=mode,
            branch=branch,
            from_branch=from_branch,
            actor_id=actor,
            message=message,
            max_errors=max_errors,
            choice=EngineChoice(engine=EngineName.SPARK),
            events=events,
        )

    def export(
        self,
        out: str | Path | BinaryIO,
        *,
        branch: str = MAIN_BRANCH,
        snapshot: str | None = None,
        types: Sequence[str] = (),
        format: Literal["jsonl", "parquet", "lance"] = "jsonl",  # noqa: A002 — the word of the command line
        overwrite: bool = False,
        engine: "str | EngineChoice | None" = None,
        events: Events = ignore_events,
    ) -> "ExportResult":
        """Write one snapshot as graph NDJSON to a stream or a file, or as files per type to a directory or prefix.

        Parquet and Lance need a directory. Everything appears complete or not at all; a file that exists is replaced
        only with `overwrite`, a directory must be empty or new. `engine` says whose workers write a directory.
        """
        from omnigraph.pipeline.export.parts import ExportFormat
        from omnigraph.pipeline.export.run import export_snapshot

        pinned = self.snapshot_at(snapshot) if snapshot is not None else self.snapshot(branch)
        return export_snapshot(
            self._context,
            pinned,
            out,
            types=types,
            form=ExportFormat(format),
            overwrite=overwrite,
            choice=EngineChoice.named(engine, os.environ),
            events=events,
        )

    def embed(
        self,
        *,
        types: Sequence[str] = (),
        branch: str = MAIN_BRANCH,
        reembed_all: bool = False,
        actor: str | None = None,
        message: str | None = None,
        config: "EmbedConfig | None" = None,
        engine: "str | EngineChoice | None" = None,
        events: Events = ignore_events,
    ) -> "EmbedResult":
        """Fill the pending `@embed` vectors of node types (all, if none is named) as one commit.

        The provider comes from `config`, or from the environment. Nothing to embed makes no request and no commit.
        `engine` says whose workers ask the provider; the bound on requests at once holds over all of them.
        """
        from omnigraph.pipeline.embed.graph import run_embed
        from omnigraph.providers.config import EmbedConfig

        self._refuse_read_only()
        return run_embed(
            self._context,
            types=types,
            branch=branch,
            reembed_all=reembed_all,
            actor_id=actor,
            message=message,
            config=config or EmbedConfig.from_environ(os.environ),
            choice=EngineChoice.named(engine, os.environ),
            events=events,
        )

    def baseline(
        self,
        out: str | Path,
        *,
        branch: str = MAIN_BRANCH,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
        exclude_types: Sequence[str] = (),
        events: Events = ignore_events,
    ) -> "BaselineResult":
        """Write the head of a branch to a file, with the cursor at which `changes.poll` goes on behind it."""
        from omnigraph.pipeline.export.baseline import write_baseline

        return write_baseline(
            self._context,
            out,
            branch=branch,
            kinds=kinds,
            types=types,
            ops=ops,
            exclude_types=exclude_types,
            events=events,
        )

    def frames(self, spark: Any, *, snapshot: str = MAIN_BRANCH, properties: bool = False) -> "GraphFrames":
        """Return all nodes and all edges of one snapshot as two Spark data frames, as graph algorithms take them.

        With `properties` they have all properties as columns; one that types have with different types is a column
        `Type_property` for each of them.
        """
        from omnigraph.connectors.spark.frames import graph_frames

        return graph_frames(spark, self._context.store, self.snapshot_at(snapshot), with_properties=properties)

    def register_views(
        self,
        spark: Any,
        *,
        prefix: str = "og",
        snapshot: str | None = None,
        branch: str | None = None,
        commit: str | None = None,
    ) -> "RegisteredViews":
        """Make a temporary view of every type for SQL on a Spark session, called like `og_Person`; return the names.

        All of them read one snapshot, by default the head of `main`, until they are made anew. Views that are called
        so are replaced. An empty `prefix` gives plain type names.
        """
        from omnigraph.connectors.spark.views import register_views

        pinned = self.snapshot(snapshot, branch=branch, commit=commit)
        return register_views(spark, self._context.store, pinned, prefix=prefix)

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

        self._refuse_read_only()
        return WriteBatch(
            self._context, branch=branch, actor_id=actor, message=message, expected_head=expected_head, events=events
        )

    def plan_schema(
        self, schema: str, *, schema_source: str = "<schema>", allow_data_loss: bool = False
    ) -> "SchemaPlan":
        """Say what giving the graph this schema would do, step by step; writes nothing and reads no data.

        With `allow_data_loss` drops are shown as hard. `schema_source` names the text in error messages.
        """
        from omnigraph.evolution.plan import SchemaText, plan_schema

        desired = SchemaText(text=schema, source=schema_source)
        return plan_schema(self._context, desired, allow_data_loss=allow_data_loss)

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
        from omnigraph.evolution.plan import SchemaText
        from omnigraph.evolution.run import apply_schema

        self._refuse_read_only()
        _refuse_cluster_managed(self.uri, remedy="change its schema file there")
        desired = SchemaText(text=schema, source=schema_source)
        return apply_schema(
            self._context, desired, allow_data_loss=allow_data_loss, actor_id=actor, message=message, events=events
        )

    def recover(self, *, wait_seconds: float = 0.0, events: Events = ignore_events) -> "SweepResult":
        """Settle all interrupted writes, oldest first, and say what was done, what is in use and what is blocked.

        An operation whose branch is locked is waited for; on object stores the lock of a dead writer lives on for up
        to a minute.
        """
        from omnigraph.writes.recovery.sweep import settle_all

        self._refuse_read_only()
        return settle_all(self._context, wait_seconds=wait_seconds, events=events)

    def optimize(
        self,
        *,
        branch: str = MAIN_BRANCH,
        tables: Sequence[str] = (),
        target_rows: int = 1 << 20,
        max_bytes_per_file: int = 1 << 30,
        deleted_ratio: float = 0.10,
        reindex: bool = True,
        verify: bool = False,
        max_seconds: float | None = None,
        max_bytes: int | None = None,
        max_memory: int = 1 << 30,
        dry_run: bool = False,
        message: str | None = None,
        wait_seconds: float = 0.0,
        engine: "str | EngineChoice | None" = None,
        events: Events = ignore_events,
    ) -> "OptimizeResult":
        """Merge small fragments, bring indexes up to date and build declared ones, for all tables as one commit.

        No row changes and no version is removed. Writers wait only while finished files are committed. `failure` of
        the result says what could not be done; everything else is published.
        """
        from omnigraph.maintenance.optimize.options import OptimizeOptions
        from omnigraph.maintenance.optimize.run import run_optimize

        if not dry_run:
            self._refuse_read_only()
        options = OptimizeOptions(
            target_rows=target_rows,
            max_bytes_per_file=max_bytes_per_file,
            deleted_ratio=deleted_ratio,
            tables=each_name(tables),
            reindex=reindex,
            verify=verify,
            max_seconds=max_seconds,
            max_bytes=max_bytes,
            max_memory=max_memory,
            dry_run=dry_run,
            message=message,
            wait_seconds=wait_seconds,
        )
        choice = EngineChoice.named(engine, os.environ)
        return run_optimize(self._context, branch=branch, options=options, choice=choice, events=events)

    def repair(
        self,
        *,
        confirm: bool = False,
        force: bool = False,
        discard: bool = False,
        branch: str | None = None,
        tables: Sequence[str] = (),
        review_limit: int | None = None,
        message: str | None = None,
        sample_limit: int = 20,
        wait_seconds: float = 0.0,
        events: Events = ignore_events,
    ) -> "RepairReport":
        """Show tables whose newest version is not the one that the graph pins; with `confirm`, publish that version.

        `confirm` publishes only what provably changed no row; `force` together with it also publishes what somebody
        has reviewed, and `discard` brings the tables back to what the graph pins instead. Without `confirm` nothing is
        written. `review_limit` compares rows: what publishing changes and which declared rules that breaks, with that
        many samples per table. Forced tables are judged by the rules in any case, with `sample_limit` samples.
        """
        from omnigraph.maintenance.repair.run import Consent, run_repair

        if (force or discard) and not confirm:
            raise InvalidTarget("force and discard change what readers may see; pass confirm=True with them.")
        if force and discard:
            raise InvalidTarget("force publishes drift and discard takes it back; choose one.")
        if confirm:
            self._refuse_read_only()
        consent = Consent.DISCARD if discard else Consent.ANYTHING if force else Consent.VERIFIED
        return run_repair(
            self._context,
            consent=consent if confirm else Consent.PREVIEW,
            branch=branch,
            tables=tables,
            review_limit=review_limit,
            message=message,
            sample_limit=sample_limit,
            wait_seconds=wait_seconds,
            events=events,
        )

    def health(self) -> "HealthReport":
        """Say how the graph is doing and what to do about it; changes nothing and takes no lock."""
        from omnigraph.maintenance.health.report import report_health

        return report_health(self._context)

    def verify(
        self,
        *,
        deep: bool = False,
        branch: str | None = None,
        all_branches: bool = False,
        engine: "str | EngineChoice | None" = None,
        events: Events = ignore_events,
    ) -> "VerifyReport":
        """Prove that what every readable graph version needs is there and agrees with itself; changes nothing.

        Looks at `main`, at another `branch` or at all of them. With `deep` every byte is read, on the engine that is
        asked for, every declared rule checked, and every index compared with a scan.
        """
        from omnigraph.maintenance.verify.run import run_verify

        if branch is not None and all_branches:
            raise InvalidTarget("branch names one branch and all_branches means all of them; choose one.")
        manifest = self._context.manifest
        names = [MAIN_BRANCH, *manifest.branch_names()] if all_branches else [branch or MAIN_BRANCH]
        choice = EngineChoice.named(engine, os.environ)
        return run_verify(self._context, branches=names, deep=deep, choice=choice, events=events)

    def cleanup(
        self,
        policy: "CleanupPolicy | None" = None,
        *,
        keep: int | None = None,
        older_than: "timedelta | str | None" = None,
        confirm: bool = False,
        wait_seconds: float = 0.0,
        engine: "str | EngineChoice | None" = None,
        events: Events = ignore_events,
    ) -> "CleanupReport":
        """Remove old versions that nobody needs; without `confirm`, say exactly what would go and change nothing.

        `keep=10` keeps the newest ten published versions of each table, `older_than="7d"` those younger than that;
        with both, only what is outside both goes. A `CleanupPolicy` says the same in one value.
        """
        from omnigraph.maintenance.cleanup.policy import CleanupPolicy
        from omnigraph.maintenance.cleanup.run import run_cleanup

        if policy is not None and (keep is not None or older_than is not None):
            raise InvalidTarget("Give cleanup a policy or `keep` and `older_than`, not both.")
        if policy is None:
            policy = CleanupPolicy.of(keep=keep, older_than=older_than)
        if confirm:
            self._refuse_read_only()
        choice = EngineChoice.named(engine, os.environ)
        return run_cleanup(
            self._context, policy, confirm=confirm, choice=choice, wait_seconds=wait_seconds, events=events
        )

    def abandon(self, operation_id: str, *, events: Events = ignore_events) -> "SweepResult":
        """Give up an operation that recovery cannot settle: its sidecar goes, the tables stay as they are."""
        from omnigraph.writes.recovery.abandon import abandon_operation
        from omnigraph.writes.recovery.sweep import SweepResult

        self._refuse_read_only()
        return SweepResult(recovered=[abandon_operation(self._context, operation_id, events)])

    def pending_operations(self) -> "list[PendingOperation]":
        """Return the operations that were interrupted or are under way, oldest first; changes nothing."""
        from omnigraph.writes.sidecar import list_pending, sidecars_of

        return list_pending(sidecars_of(self._context))

    def recoveries(self) -> "list[RecoveryRecord]":
        """Return the recorded recoveries, oldest first."""
        from omnigraph.writes.recovery.audit import list_recoveries

        return list_recoveries(self._context.store.tables)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to release: handles are plain reads, and locks are held only inside a write."""

    def _spark_frame(
        self,
        spark: Any,
        snapshot: "Snapshot",
        name: str,
        *,
        columns: Sequence[str] | None,
        where: "Where",
        partition_bytes: int | None,
    ) -> Any:
        from omnigraph.connectors.spark.frames import type_frame
        from omnigraph.connectors.spark.registration import register

        register(spark)
        return type_frame(
            spark,
            self._context.store,
            snapshot,
            name,
            columns=columns,
            where=where,
            partition_bytes=partition_bytes,
        )

    def _locate(
        self,
        address: str | datetime | None,
        *,
        branch: str | None,
        commit: str | None,
        version: int | None,
        at: datetime | str | None,
    ) -> "Located":
        addresses = self._context.addresses
        if isinstance(address, datetime):
            address, at = None, _the_only("at", at, address)
        if isinstance(address, str) and ":" in address and "@" not in address:  # in no name of a branch
            address, at = None, _the_only("at", at, address)
        chosen = [name for name, value in (("commit", commit), ("version", version), ("at", at)) if value is not None]
        if len(chosen) > 1:
            raise InvalidTarget(f"{' and '.join(chosen)} are different ways to say which state is meant; give one.")
        if not chosen:
            return addresses.resolve(_text("address", _the_only("branch", branch, address) or MAIN_BRANCH))
        if commit is not None:
            if branch is not None or address is not None:
                raise InvalidTarget("A commit names its snapshot by itself; leave out branch, version and time.")
            return addresses.at_commit(_text("commit", commit))
        line = _text("branch", _the_only("branch", branch, address) or MAIN_BRANCH)
        if version is not None:
            if not isinstance(version, int):
                raise InvalidTarget(f"version is a number, such as 7, not {version!r}.")
            return addresses.at_version(line, version)
        return addresses.resolve(f"{line}@{at}") if isinstance(at, str) else addresses.at_moment(line, _moment(at))

    def _refuse_read_only(self) -> None:
        if self._read_only:
            raise InvalidTarget(f"{self.uri} was opened read-only; open it without read_only to write.")


def _the_only(name: str, *given: Any) -> Any:
    """Return what was given, as an argument or in the place of the address; both are one too many."""
    found = [value for value in given if value is not None]
    if len(found) > 1:
        raise InvalidTarget(f"{name} is given twice: as {found[0]!r} and as {found[1]!r}.")
    return found[0] if found else None


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidTarget(f"{name} is a text such as 'main' or 'main~1', not {value!r}.")
    return value


def _moment(value: object) -> datetime:
    if not isinstance(value, datetime):
        raise InvalidTarget(f"at is a datetime with its zone, or the text of one, not {value!r}.")
    return value
