"""The object users hold: wiring and delegation, no decisions."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from omnigraph.base.events import Events, ignore_events
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import ClusterManaged, InvalidTarget
from omnigraph.manifest.addresses import Located
from omnigraph.manifest.commits import MAIN_BRANCH, Commit
from omnigraph.reads.snapshot import Snapshot
from omnigraph.storage.store import GraphStore
from omnigraph.writes.context import GraphContext
from omnigraph.writes.opening import settle_on_open
from omnigraph.writes.recovery.audit import RecoveryRecord, list_recoveries
from omnigraph.writes.recovery.sweep import SweepResult, settle_all
from omnigraph.writes.sidecar import PendingOperation, list_pending

if TYPE_CHECKING:
    from omnigraph.branches.verbs import Branches
    from omnigraph.engine.choice import EngineChoice
    from omnigraph.pipeline.export.run import ExportResult
    from omnigraph.pipeline.load.run import LoadResult
    from omnigraph.pipeline.load.writer import LoadMode
    from omnigraph.writes.batch import WriteBatch


def init(
    uri: str,
    schema: str,
    *,
    schema_source: str = "<schema>",
    force: bool = False,
    consent: bool = False,
    actor: str | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> "Graph":
    """Create a graph at `uri` from schema text and open it.

    Refuses an existing graph, always. `force` clears what an interrupted `init` left; on an object store, taking over
    the claim of another process also needs `consent`. `schema_source` names the text in error messages.
    """
    from omnigraph.cluster.ledger import cluster_root_for_graph_uri
    from omnigraph.manifest.birth import create_graph

    root = cluster_root_for_graph_uri(uri)
    if root is not None:
        raise ClusterManaged(
            f"{uri} belongs to the cluster at {root}: declare the graph in cluster.yaml and run "
            "`omnigraph cluster apply`. Nothing was created.",
            uri=uri,
            root=root,
        )
    store = GraphStore.open(uri, storage_options)
    create_graph(store, schema, schema_source=schema_source, force=force, has_consent=consent, actor_id=actor)
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
    context.manifest.load(MAIN_BRANCH)
    if recover and not read_only:
        settle_on_open(context, events)
    return Graph(context, read_only=read_only)


class Graph:
    """A typed property graph: many Lance tables, published as one version."""

    def __init__(self, context: GraphContext, *, read_only: bool) -> None:
        self._context = context
        self._read_only = read_only

    def __repr__(self) -> str:
        return f"<Graph {self.uri}{' read-only' if self._read_only else ''}>"

    @property
    def uri(self) -> str:
        """Where the graph lives."""
        return self._context.store.uri

    @property
    def schema_source(self) -> str:
        """The accepted schema of `main`, as it was written."""
        return self.snapshot().schema_source

    def snapshot(self, branch: str | None = None, *, commit: str | None = None, version: int | None = None) -> Snapshot:
        """Pin one graph version: the head of a branch, a graph version of it, or a commit."""
        return Snapshot(self._context, self._locate(branch, commit, version).snapshot)

    def snapshot_at(self, address: str) -> Snapshot:
        """Pin the snapshot that a written address means: a branch, `branch@N`, `branch~N` or a commit id."""
        return Snapshot(self._context, self._context.addresses.resolve(address).snapshot)

    def commits(self, branch: str = MAIN_BRANCH, *, limit: int | None = None) -> list[Commit]:
        """Return the history of a branch, newest first along the first parents."""
        head = self._context.manifest.load(branch).head
        history = self._context.log.first_parents(head)
        return [commit for _, commit in zip(range(limit), history, strict=False)] if limit is not None else [*history]

    def commit(self, commit_id: str) -> Commit:
        """Return one commit."""
        return self._context.addresses.commit(commit_id)

    @property
    def branches(self) -> "Branches":
        """The branches of this graph: create, list and delete them."""
        from omnigraph.branches.verbs import Branches

        return Branches(self._context, self._refuse_read_only)

    def load(
        self,
        data: str | Path | BinaryIO,
        *,
        mode: "LoadMode",
        branch: str = MAIN_BRANCH,
        from_branch: str | None = None,
        actor: str | None = None,
        max_errors: int = 20,
        engine: "str | EngineChoice | None" = None,
        events: Events = ignore_events,
    ) -> "LoadResult":
        """Load graph NDJSON (a file, directory, glob or open stream) as one commit, or raise and change nothing.

        With `from_branch`, a branch that does not exist yet is created from it; if the load fails, it does not remain.
        `engine` is auto, local or spark, by default what `$OMNIGRAPH_ENGINE` says; Spark takes the active session.
        """
        from omnigraph.engine.choice import EngineChoice
        from omnigraph.pipeline.load.run import run_load

        self._refuse_read_only()
        return run_load(
            self._context,
            data,
            mode=mode,
            branch=branch,
            from_branch=from_branch,
            actor_id=actor,
            max_errors=max_errors,
            choice=engine if isinstance(engine, EngineChoice) else EngineChoice.named(engine, os.environ),
            events=events,
        )

    def export(
        self,
        out: str | Path | BinaryIO,
        *,
        branch: str = MAIN_BRANCH,
        snapshot: str | None = None,
        types: Sequence[str] = (),
        events: Events = ignore_events,
    ) -> "ExportResult":
        """Write one snapshot as graph NDJSON to a stream, a file, or a directory with one file per type."""
        from omnigraph.pipeline.export.run import run_export

        pinned = self.snapshot_at(snapshot) if snapshot is not None else self.snapshot(branch)
        return run_export(pinned, out, uri=self.uri, types=types, events=events)

    def write(
        self,
        *,
        branch: str = MAIN_BRANCH,
        actor: str | None = None,
        expected_head: str | None = None,
        events: Events = ignore_events,
    ) -> "WriteBatch":
        """Collect inserts, upserts, updates and deletes in a `with` block and commit them together at its end.

        With `expected_head` the commit happens only if that commit still is the head (`PreconditionFailed` otherwise).
        """
        from omnigraph.writes.batch import WriteBatch

        self._refuse_read_only()
        return WriteBatch(self._context, branch=branch, actor_id=actor, expected_head=expected_head, events=events)

    def recover(self) -> SweepResult:
        """Settle all interrupted writes, oldest first, and say what was done, what is in use and what is blocked."""
        self._refuse_read_only()
        return settle_all(self._context)

    def abandon(self, operation_id: str) -> SweepResult:
        """Give up an operation that recovery cannot settle: its sidecar goes, the tables stay as they are."""
        from omnigraph.writes.recovery.abandon import abandon_operation

        self._refuse_read_only()
        return SweepResult(recovered=[abandon_operation(self._context, operation_id)])

    def pending_operations(self) -> list[PendingOperation]:
        """Return the operations that were interrupted or are under way, oldest first; changes nothing."""
        return list_pending(self._context.sidecars)

    def recoveries(self) -> list[RecoveryRecord]:
        """Return the recorded recoveries, oldest first."""
        return list_recoveries(self._context.store.tables)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to release: handles are plain reads, and locks are held only inside a write."""

    def _locate(self, branch: str | None, commit: str | None, version: int | None) -> Located:
        addresses = self._context.addresses
        if commit is not None:
            if branch is not None or version is not None:
                raise InvalidTarget("A commit names its snapshot by itself; leave out branch and version.")
            return addresses.at_commit(commit)
        if version is not None:
            return addresses.at_version(branch or MAIN_BRANCH, version)
        return addresses.head(branch or MAIN_BRANCH)

    def _refuse_read_only(self) -> None:
        if self._read_only:
            raise InvalidTarget(f"{self.uri} was opened read-only; open it without read_only to write.")
