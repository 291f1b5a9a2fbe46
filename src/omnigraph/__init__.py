"""OmniGraph: typed property graphs on Lance tables, published as one version.

    import omnigraph

    graph = omnigraph.init("art.omni", schema="node Artist { name: String @key }")
    graph.load("artists.jsonl", mode="append")
    graph.snapshot().table("Artist").to_arrow()

Names are imported on first use, so that `import omnigraph` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from omnigraph import errors as errors
    from omnigraph.embedding.config import EmbedConfig
    from omnigraph.graph import Graph, embed_files, init
    from omnigraph.graph import open_graph as open  # noqa: A004 — the verb users look for
    from omnigraph.maintenance.verify.report import Problem, VerifyReport
    from omnigraph.manifest.commits import Commit
    from omnigraph.manifest.stamp import INTERNAL_SCHEMA_VERSION
    from omnigraph.reads.snapshot import Snapshot, SnapshotTable

_HOME = {
    "Commit": ("omnigraph.manifest.commits", "Commit"),
    "EmbedConfig": ("omnigraph.embedding.config", "EmbedConfig"),
    "Graph": ("omnigraph.graph", "Graph"),
    "INTERNAL_SCHEMA_VERSION": ("omnigraph.manifest.stamp", "INTERNAL_SCHEMA_VERSION"),
    "Problem": ("omnigraph.maintenance.verify.report", "Problem"),
    "Snapshot": ("omnigraph.reads.snapshot", "Snapshot"),
    "SnapshotTable": ("omnigraph.reads.snapshot", "SnapshotTable"),
    "VerifyReport": ("omnigraph.maintenance.verify.report", "VerifyReport"),
    "embed_files": ("omnigraph.graph", "embed_files"),
    "init": ("omnigraph.graph", "init"),
    "open": ("omnigraph.graph", "open_graph"),
}

__all__ = [
    "INTERNAL_SCHEMA_VERSION",
    "Commit",
    "EmbedConfig",
    "Graph",
    "Problem",
    "Snapshot",
    "SnapshotTable",
    "VerifyReport",
    "__version__",
    "embed_files",
    "init",
    "open",
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
