"""Methods of `Graph` that bring data in and out, files, frames and blobs; each makes a request and hands it on."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from omnigraph.base.events import Events, ignore_events
from omnigraph.catalog.type_names import each_name
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.manifest.commits import MAIN_BRANCH

if TYPE_CHECKING:
    from datetime import datetime

    from omnigraph.connectors.spark.frames import GraphFrames
    from omnigraph.connectors.spark.views import RegisteredViews
    from omnigraph.drawing.drawn import Drawing
    from omnigraph.graph import Graph
    from omnigraph.graphs.blobs import Blob
    from omnigraph.graphs.comparisons import Where
    from omnigraph.graphs.result import Result
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.pipeline.embed.result import EmbedResult
    from omnigraph.pipeline.embed.spec import EmbedSpec
    from omnigraph.pipeline.export.baseline import BaselineResult
    from omnigraph.pipeline.export.run import ExportResult
    from omnigraph.pipeline.load.request import LoadMode
    from omnigraph.pipeline.load.run import LoadResult
    from omnigraph.providers.config import EmbedConfig
    from omnigraph.records.arrow_rows import ArrowRows


def load(
    self: "Graph",
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
    from omnigraph.pipeline.load.request import LoadRequest
    from omnigraph.pipeline.load.run import run_load

    self._admit(PolicyAction.CHANGE, actor=actor, branch=branch)
    request = LoadRequest(
        data=data,
        mode=mode,
        type=type,
        map=map or {},
        branch=branch,
        from_branch=from_branch,
        actor=actor,
        message=message,
        max_errors=max_errors,
        engine=EngineChoice.named(engine, os.environ),
    )
    return run_load(self._context, request, events=events)


def load_table(
    self: "Graph",
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
    from omnigraph.pipeline.load.inputs import rows_input
    from omnigraph.pipeline.load.request import LoadRequest
    from omnigraph.pipeline.load.run import run_load

    self._admit(PolicyAction.CHANGE, actor=actor, branch=branch)
    request = LoadRequest(
        data=rows_input(rows, type_name=type, property_by_column=map or {}),
        mode=mode,
        branch=branch,
        from_branch=from_branch,
        actor=actor,
        message=message,
        max_errors=max_errors,
        engine=EngineChoice(engine=EngineName.LOCAL),
    )
    return run_load(self._context, request, events=events)


def load_dataframe(
    self: "Graph",
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
    self: "Graph",
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
    from omnigraph.pipeline.load.request import LoadRequest
    from omnigraph.pipeline.load.run import run_load
    from omnigraph.pipeline.load.tables import ColumnMap

    self._admit(PolicyAction.CHANGE, actor=actor, branch=branch)
    columns = {name: ColumnMap(property_by_column=names) for name, names in (maps or {}).items()}
    request = LoadRequest(
        data=frames_input(frames, columns, worker_environment=self._context.store.settings.environment),
        mode=mode,
        branch=branch,
        from_branch=from_branch,
        actor=actor,
        message=message,
        max_errors=max_errors,
    )
    return run_load(self._context, request, events=events)


def export(
    self: "Graph",
    out: str | Path | BinaryIO,
    *,
    branch: str = MAIN_BRANCH,
    snapshot: str | None = None,
    types: Sequence[str] = (),
    format: str = "jsonl",  # noqa: A002 — the word of the command line
    overwrite: bool = False,
    engine: "str | EngineChoice | None" = None,
    events: Events = ignore_events,
) -> "ExportResult":
    """Write one snapshot as graph NDJSON to a stream or a file, or as files per type to a directory or prefix.

    `format` is jsonl, parquet or lance, of which the last two need a directory. Everything appears complete or not at
    all; a file that exists is replaced only with `overwrite`, a directory must be empty or new. `engine` says whose
    workers write a directory.
    """
    from omnigraph.pipeline.export.request import ExportFormat, ExportRequest
    from omnigraph.pipeline.export.run import run_export

    request = ExportRequest(
        out=out,
        branch=branch,
        snapshot=snapshot,
        types=each_name(types),
        format=ExportFormat.named(format),
        overwrite=overwrite,
        engine=EngineChoice.named(engine, os.environ),
    )
    return run_export(self._context, request, events=events)


def blob(
    self: "Graph",
    type: str,  # noqa: A002 — the words of the command line
    id: str,  # noqa: A002 — the same
    property: str,  # noqa: A002 — the same
    *,
    branch: str | None = None,
    snapshot: str | None = None,
) -> "Blob":
    """Find a Blob value in the head of a branch, by default `main`, or in an older state; see `Snapshot.blob`."""
    return self.snapshot(snapshot, branch=branch).blob(type, id, property)


def show(
    self: "Graph",
    what: "str | Result | None" = None,
    ids: str | Sequence[str] | None = None,
    *,
    hops: int = 1,
    limit: int = 100,
    branch: str | None = None,
    snapshot: str | None = None,
    at: "datetime | str | None" = None,
) -> "Drawing":
    """Draw a part of the graph for a notebook, of the state that `branch`, `snapshot` or `at` says, as for `query`.

    `show("Sailor", "Ana")` draws a node, or several, with all that is up to `hops` edges away, `show("Sailor")` the
    first nodes of a type, `show(result)` the nodes that a query returned, at the commit that it read, and `show()` the
    schema. Up to `limit` nodes are drawn; of many neighbours the first, and how many there are more.
    """
    from omnigraph.drawing.showing import ShowRequest, drawing_of
    from omnigraph.graphs.result import Result

    if isinstance(what, Result) and branch is None and snapshot is None and at is None:
        snapshot = what.commit_id
    over = self._asked_snapshot(snapshot, branch=branch, at=at)
    request = ShowRequest(what=what, ids=ids, hops=hops, limit=limit)
    return drawing_of(request, over.catalog, lambda asked: over.query(asked.text, params=asked.params).rows())


def embed(
    self: "Graph",
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
    from omnigraph.pipeline.embed.request import EmbedRequest
    from omnigraph.providers.config import EmbedConfig

    self._admit(PolicyAction.CHANGE, actor=actor, branch=branch)
    request = EmbedRequest(
        types=each_name(types),
        branch=branch,
        reembed_all=reembed_all,
        actor=actor,
        message=message,
        config=config or EmbedConfig.from_environ(os.environ),
        engine=EngineChoice.named(engine, os.environ),
    )
    return run_embed(self._context, request, events=events)


def baseline(
    self: "Graph",
    out: str | Path | BinaryIO,
    *,
    branch: str = MAIN_BRANCH,
    kinds: Sequence[str] = (),
    types: Sequence[str] = (),
    ops: Sequence[str] = (),
    exclude_types: Sequence[str] = (),
    events: Events = ignore_events,
) -> "BaselineResult":
    """Write the head of a branch to a file or stream, with the cursor at which `changes.poll` goes on behind it."""
    from omnigraph.changes.filters import ChangesRequest
    from omnigraph.pipeline.export.baseline import BaselineRequest, write_baseline

    changes = ChangesRequest(kinds=kinds, types=types, ops=ops, exclude_types=exclude_types)
    return write_baseline(self._context, BaselineRequest(out=out, branch=branch, changes=changes), events=events)


def frames(self: "Graph", spark: Any, *, snapshot: str = MAIN_BRANCH, properties: bool = False) -> "GraphFrames":
    """Return all nodes and all edges of one snapshot as two Spark data frames, as graph algorithms take them.

    With `properties` they have all properties as columns; one that types have with different types is a column
    `Type_property` for each of them.
    """
    from omnigraph.connectors.spark.frames import graph_frames

    return graph_frames(spark, self._context.store, self.snapshot_at(snapshot), with_properties=properties)


def register_views(
    self: "Graph",
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


def spark_frame(
    self: "Graph",
    spark: Any,
    snapshot: "Snapshot",
    name: str,
    *,
    columns: Sequence[str] | None,
    where: "Where",
    partition_bytes: int | None,
) -> Any:
    """Return one type of a snapshot as a Spark data frame; what `Snapshot.to_spark` calls."""
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
    from omnigraph.pipeline.embed.request import EmbedFilesRequest
    from omnigraph.pipeline.embed.spec import EmbedSpec
    from omnigraph.providers.config import EmbedConfig

    request = EmbedFilesRequest(
        input=input,
        output=output,
        spec=EmbedSpec.given(spec),
        reembed_all=reembed_all,
        clean=clean,
        types=each_name(types),
        select=tuple(select),
        config=lambda: config or EmbedConfig.from_environ(os.environ),
        engine=EngineChoice.named(engine, os.environ),
    )
    return run_embed_files(request, events=events)
