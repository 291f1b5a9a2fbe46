"""OmniGraph: typed property graphs on Lance tables, published as one version.

    import omnigraph

    graph = omnigraph.init("art.omni", schema="node Artist { name: String @key }")
    graph.load("artists.jsonl", mode="append")
    graph.snapshot().table("Artist").to_arrow()

Names are imported on first use, so that `import omnigraph` costs next to nothing. What is not named here, and in
`omnigraph.errors` and `omnigraph.spark`, is private and may move between any two versions.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from omnigraph import errors as errors
    from omnigraph._graph_clusters import open_cluster_graph
    from omnigraph._graph_data import embed_files
    from omnigraph._graph_upkeep import maintain_cluster
    from omnigraph.base.events import (
        Advanced,
        EngineChosen,
        Event,
        Events,
        Noted,
        PhaseFinished,
        PhaseStarted,
        Published,
        Warned,
    )
    from omnigraph.branches.diff import BranchDiff
    from omnigraph.branches.listing import BranchSummary
    from omnigraph.branches.merge.run import MergeResult
    from omnigraph.branches.verbs import Branches
    from omnigraph.changes.commit import CommitChanges
    from omnigraph.changes.diff import Diff
    from omnigraph.changes.entities import EntityChange
    from omnigraph.changes.feed import ChangeBlock, Feed, FeedPage
    from omnigraph.changes.paging import ChangePage, PageLimits
    from omnigraph.changes.verbs import Changes
    from omnigraph.client.remote import (
        RemoteBranches,
        RemoteChanges,
        RemoteCommitChanges,
        RemoteGraph,
        connect,
    )
    from omnigraph.client.remote_async import (
        AsyncBlob,
        AsyncRemoteBranches,
        AsyncRemoteChanges,
        AsyncRemoteGraph,
        connect_async,
    )
    from omnigraph.client.values import (
        ListedGraph,
        ServedBranch,
        ServedMerge,
        ServedSchema,
        ServedSnapshot,
        ServedTable,
        StoredParameterInfo,
        StoredQueryInfo,
    )
    from omnigraph.connectors.spark.frames import GraphFrames
    from omnigraph.connectors.spark.views import RegisteredViews
    from omnigraph.drawing.drawn import Drawing
    from omnigraph.engine.choice import EngineChoice
    from omnigraph.evolution.plan import SchemaPlan
    from omnigraph.evolution.run import AppliedSchema
    from omnigraph.graph import Graph, init
    from omnigraph.graph import open_graph as open  # noqa: A004 — the verb users look for
    from omnigraph.graphs.blobs import Blob, BlobSelector
    from omnigraph.graphs.result import Result
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.graphs.sql import SqlResult
    from omnigraph.graphs.table import SnapshotTable
    from omnigraph.maintenance.cleanup.policy import CleanupPolicy
    from omnigraph.maintenance.cleanup.report import CleanupReport
    from omnigraph.maintenance.health.judging import HealthReport
    from omnigraph.maintenance.maintain.report import MaintainReport
    from omnigraph.maintenance.optimize.report import OptimizeResult
    from omnigraph.maintenance.repair.run import RepairReport
    from omnigraph.maintenance.verify.report import Problem, VerifyReport
    from omnigraph.manifest.commits import Commit
    from omnigraph.manifest.snapshot import TablePin
    from omnigraph.manifest.stamp import INTERNAL_SCHEMA_VERSION
    from omnigraph.pipeline.embed.result import EmbedResult
    from omnigraph.pipeline.embed.spec import EmbedSpec
    from omnigraph.pipeline.export.baseline import BaselineResult
    from omnigraph.pipeline.export.run import ExportResult
    from omnigraph.pipeline.load.run import LoadResult
    from omnigraph.policy.decisions import PolicyDecision
    from omnigraph.policy.engine import PolicyEngine
    from omnigraph.providers.config import EmbedConfig
    from omnigraph.query.algorithms.algorithms import Algorithms, PathNode
    from omnigraph.query.lint import LintReport
    from omnigraph.query.mutate.run import MutationResult
    from omnigraph.query.plan.explain import Explanation
    from omnigraph.writes.batch import WriteBatch, WriteResult
    from omnigraph.writes.pending import PendingOperation
    from omnigraph.writes.recovery.audit import RecoveryRecord
    from omnigraph.writes.recovery.sweep import SweepResult

_NAMES_BY_HOME = {
    "omnigraph.base.events": (
        "Advanced",
        "EngineChosen",
        "Event",
        "Events",
        "Noted",
        "PhaseFinished",
        "PhaseStarted",
        "Published",
        "Warned",
    ),
    "omnigraph.branches.diff": ("BranchDiff",),
    "omnigraph.branches.listing": ("BranchSummary",),
    "omnigraph.branches.merge.run": ("MergeResult",),
    "omnigraph.branches.verbs": ("Branches",),
    "omnigraph.changes.commit": ("CommitChanges",),
    "omnigraph.changes.diff": ("Diff",),
    "omnigraph.changes.entities": ("EntityChange",),
    "omnigraph.changes.feed": ("ChangeBlock", "Feed", "FeedPage"),
    "omnigraph.changes.paging": ("ChangePage", "PageLimits"),
    "omnigraph.changes.verbs": ("Changes",),
    "omnigraph.providers.config": ("EmbedConfig",),
    "omnigraph.client.remote": ("RemoteBranches", "RemoteChanges", "RemoteCommitChanges", "RemoteGraph", "connect"),
    "omnigraph.client.remote_async": (
        "AsyncBlob",
        "AsyncRemoteBranches",
        "AsyncRemoteChanges",
        "AsyncRemoteGraph",
        "connect_async",
    ),
    "omnigraph.client.values": (
        "ServedBranch",
        "ListedGraph",
        "ServedMerge",
        "ServedSchema",
        "ServedSnapshot",
        "ServedTable",
        "StoredParameterInfo",
        "StoredQueryInfo",
    ),
    "omnigraph.connectors.spark.frames": ("GraphFrames",),
    "omnigraph.connectors.spark.views": ("RegisteredViews",),
    "omnigraph.drawing.drawn": ("Drawing",),
    "omnigraph.engine.choice": ("EngineChoice",),
    "omnigraph.evolution.plan": ("SchemaPlan",),
    "omnigraph.evolution.run": ("AppliedSchema",),
    "omnigraph._graph_data": ("embed_files",),
    "omnigraph._graph_upkeep": ("maintain_cluster",),
    "omnigraph.graph": ("Graph", "init"),
    "omnigraph._graph_clusters": ("open_cluster_graph",),
    "omnigraph.maintenance.cleanup.policy": ("CleanupPolicy",),
    "omnigraph.maintenance.cleanup.report": ("CleanupReport",),
    "omnigraph.maintenance.health.judging": ("HealthReport",),
    "omnigraph.maintenance.maintain.report": ("MaintainReport",),
    "omnigraph.maintenance.optimize.report": ("OptimizeResult",),
    "omnigraph.maintenance.repair.run": ("RepairReport",),
    "omnigraph.maintenance.verify.report": ("Problem", "VerifyReport"),
    "omnigraph.manifest.commits": ("Commit",),
    "omnigraph.manifest.snapshot": ("TablePin",),
    "omnigraph.manifest.stamp": ("INTERNAL_SCHEMA_VERSION",),
    "omnigraph.pipeline.embed.result": ("EmbedResult",),
    "omnigraph.pipeline.embed.spec": ("EmbedSpec",),
    "omnigraph.pipeline.export.baseline": ("BaselineResult",),
    "omnigraph.pipeline.export.run": ("ExportResult",),
    "omnigraph.pipeline.load.run": ("LoadResult",),
    "omnigraph.policy.decisions": ("PolicyDecision",),
    "omnigraph.policy.engine": ("PolicyEngine",),
    "omnigraph.query.algorithms.algorithms": ("Algorithms", "PathNode"),
    "omnigraph.query.lint": ("LintReport",),
    "omnigraph.query.plan.explain": ("Explanation",),
    "omnigraph.graphs.blobs": ("Blob", "BlobSelector"),
    "omnigraph.graphs.result": ("Result",),
    "omnigraph.query.mutate.run": ("MutationResult",),
    "omnigraph.graphs.snapshot": ("Snapshot",),
    "omnigraph.graphs.sql": ("SqlResult",),
    "omnigraph.graphs.table": ("SnapshotTable",),
    "omnigraph.writes.batch": ("WriteBatch", "WriteResult"),
    "omnigraph.writes.recovery.audit": ("RecoveryRecord",),
    "omnigraph.writes.recovery.sweep": ("SweepResult",),
    "omnigraph.writes.pending": ("PendingOperation",),
}
_HOME = {name: (module, name) for module, names in _NAMES_BY_HOME.items() for name in names}
_HOME["open"] = ("omnigraph.graph", "open_graph")

__all__ = [
    "INTERNAL_SCHEMA_VERSION",
    "Advanced",
    "Algorithms",
    "AppliedSchema",
    "AsyncBlob",
    "AsyncRemoteBranches",
    "AsyncRemoteChanges",
    "AsyncRemoteGraph",
    "BaselineResult",
    "Blob",
    "BlobSelector",
    "BranchDiff",
    "BranchSummary",
    "Branches",
    "ChangeBlock",
    "ChangePage",
    "Changes",
    "CleanupPolicy",
    "CleanupReport",
    "Commit",
    "CommitChanges",
    "Diff",
    "Drawing",
    "EmbedConfig",
    "EmbedResult",
    "EmbedSpec",
    "EngineChoice",
    "EngineChosen",
    "EntityChange",
    "Event",
    "Events",
    "Explanation",
    "ExportResult",
    "Feed",
    "FeedPage",
    "Graph",
    "GraphFrames",
    "HealthReport",
    "LintReport",
    "ListedGraph",
    "LoadResult",
    "MaintainReport",
    "MergeResult",
    "MutationResult",
    "Noted",
    "OptimizeResult",
    "PageLimits",
    "PathNode",
    "PendingOperation",
    "PhaseFinished",
    "PhaseStarted",
    "PolicyDecision",
    "PolicyEngine",
    "Problem",
    "Published",
    "RecoveryRecord",
    "RegisteredViews",
    "RemoteBranches",
    "RemoteChanges",
    "RemoteCommitChanges",
    "RemoteGraph",
    "RepairReport",
    "Result",
    "SchemaPlan",
    "ServedBranch",
    "ServedMerge",
    "ServedSchema",
    "ServedSnapshot",
    "ServedTable",
    "Snapshot",
    "SnapshotTable",
    "SqlResult",
    "StoredParameterInfo",
    "StoredQueryInfo",
    "SweepResult",
    "TablePin",
    "VerifyReport",
    "Warned",
    "WriteBatch",
    "WriteResult",
    "__version__",
    "connect",
    "connect_async",
    "embed_files",
    "errors",
    "init",
    "maintain_cluster",
    "open",
    "open_cluster_graph",
]


if not TYPE_CHECKING:
    # Hidden from type checkers, which would otherwise take any misspelled name for a public one.

    def __getattr__(name: str) -> Any:
        if name == "errors":
            return import_module("omnigraph.errors")
        if name not in _HOME:
            raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")
        module, attribute = _HOME[name]
        return getattr(import_module(module), attribute)

    def __dir__() -> list[str]:
        # What is imported on first use would otherwise be missing from completion until then.
        return sorted(__all__)
