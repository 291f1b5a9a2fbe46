"""Finding graphs through a cluster's ledger, and nothing else.

Maintenance is needed most when a cluster is degraded. So these functions read `__cluster/state.json` and, for a
directory, the `storage:` key of `cluster.yaml`; they open no catalog blob, check no digest, take no lock and ignore
whatever they do not know.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from omnigraph import errors
from omnigraph.base.cluster_shape import GRAPH_SUFFIX, GRAPHS_DIRECTORY, cluster_shape, split_location
from omnigraph.base.events import Events, Warned, ignore_events
from omnigraph.base.home import expand_home
from omnigraph.base.plain_text import read_yaml
from omnigraph.base.values import dataclass

LEDGER_PATH = "__cluster/state.json"
LEDGER_VERSION = 1

_GRAPH_PREFIX = "graph."


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedGraphs:
    """The graphs that a ledger says exist; `cluster` is the address as given, `root` the storage root behind it."""

    cluster: str
    root: str
    graph_ids: tuple[str, ...]

    def storage_uri(self, graph_id: str) -> str:
        """Return the derived root of an applied graph."""
        if graph_id not in self.graph_ids:
            raise errors.GraphNotApplied(
                f"graph `{graph_id}` is not applied in cluster `{self.cluster}`. "
                f"Applied: [{', '.join(self.graph_ids)}]. "
                "Check the spelling, or add it to cluster.yaml and run `omnigraph cluster apply`.",
                graph_id=graph_id,
                applied=list(self.graph_ids),
            )
        return graph_root_uri(self.root, graph_id)


def graph_root_uri(root: str, graph_id: str) -> str:
    """Return where a graph of the cluster with this storage root is; always derived, never configured."""
    return f"{root.rstrip('/')}{GRAPHS_DIRECTORY}{graph_id}{GRAPH_SUFFIX}"


def resolve_graph_storage_uri(
    cluster: str, graph_id: str, *, events: Events = ignore_events, environ: Mapping[str, str] = os.environ
) -> str:
    """Return where an applied graph of a cluster is stored; `cluster` is a directory or a storage-root URI."""
    return read_applied_graphs(cluster, events=events, environ=environ).storage_uri(graph_id)


def cluster_graph_ids(
    cluster: str, *, events: Events = ignore_events, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Return the sorted ids of the graphs applied in a cluster."""
    return list(read_applied_graphs(cluster, events=events, environ=environ).graph_ids)


def cluster_root_for_graph_uri(graph_uri: str, *, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the root of the cluster that manages a location, or None.

    Looks at storage only if the location is shaped like the root of a cluster's graph.
    """
    root = cluster_shaped_root(graph_uri)
    return root if root is not None and _read_ledger(root, environ) is not None else None


def cluster_shaped_root(graph_uri: str) -> str | None:
    """Return what stands before the last `/graphs/` if one `….omni` segment follows it, else None; pure text."""
    shape = cluster_shape(graph_uri)
    return None if shape is None else shape[0]


def read_applied_graphs(
    cluster: str, *, events: Events = ignore_events, environ: Mapping[str, str] = os.environ
) -> AppliedGraphs:
    """Read which graphs are applied in a cluster, in one read besides `cluster.yaml`."""
    root = storage_root(cluster, events)
    content = _read_ledger(root, environ)
    if content is None:
        raise errors.ClusterStateMissing(
            f"cluster `{cluster}` has no applied state: {root}/{LEDGER_PATH} does not exist. "
            "Run `omnigraph cluster import`, then `omnigraph cluster apply`.",
            cluster=cluster,
        )
    return AppliedGraphs(cluster=cluster, root=root, graph_ids=_parse_graph_ids(content, cluster))


def storage_root(cluster: str, events: Events = ignore_events) -> str:
    """Return the storage root behind what a person calls the cluster: a plain absolute path or a URI."""
    root = _normal_root(cluster)
    if "://" in cluster:
        if (problem := unusable_root(cluster)) is not None:
            raise _diagnostic("storage_root_invalid", cluster, f"cannot be the storage root of a cluster: {problem}")
        return root
    try:
        storage = _declared_storage(Path(root))
    except errors.ClusterDiagnostics as problem:
        if not Path(root, LEDGER_PATH).exists():
            raise
        events(Warned(message=f"{problem.message} The ledger beside it is used."))
        return root
    return root if storage is None else declared_root(Path(root), storage)


def declared_root(directory: Path, storage: str) -> str:
    """Return the storage root that `storage:` in the cluster.yaml of a directory means."""
    return _normal_root(storage if "://" in storage else str(Path(directory, expand_home(storage))))


def _normal_root(location: str) -> str:
    prefix, path = split_location(location)
    return f"{prefix}{path.rstrip('/')}" or "/"


def _declared_storage(directory: Path) -> str | None:
    path = directory / "cluster.yaml"
    try:
        parsed = read_yaml(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _diagnostic("cluster_config_read_error", path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _diagnostic("invalid_cluster_yaml", path, f"cannot be parsed: {error}") from error
    if not isinstance(parsed, dict):
        raise _diagnostic("invalid_cluster_yaml", path, "is not a mapping of keys to values")
    storage = parsed.get("storage")
    if storage is not None and not (isinstance(storage, str) and storage.strip()):
        raise _diagnostic("invalid_storage_root", path, "has a `storage` that is not a path or URI")
    if storage is not None and (problem := unusable_root(storage)) is not None:
        raise _diagnostic("invalid_storage_root", path, f"has a `storage` that cannot be used: {problem}")
    return storage


def unusable_root(storage: str) -> str | None:
    """Say why a declared root cannot hold a cluster; None when it can."""
    from omnigraph.storage.uris import GraphRoot, StoreKind

    scheme, separator, rest = storage.partition("://")
    known = [kind.value for kind in StoreKind]
    if separator and scheme not in known:
        return f"{scheme}:// is not storage; give a path, {' or '.join(f'{name}://' for name in known)}"
    if separator and scheme != StoreKind.LOCAL and not rest.strip("/"):
        return f"{scheme}:// must name a bucket"
    try:
        GraphRoot.parse(f"{storage.rstrip('/')}/{LEDGER_PATH}")
    except errors.Addressing as refusal:
        return refusal.message.rstrip(".")
    return None


def _read_ledger(root: str, environ: Mapping[str, str]) -> bytes | None:
    from omnigraph.storage.objects import open_objects
    from omnigraph.storage.settings import StoreSettings
    from omnigraph.storage.uris import GraphRoot

    # A cluster may own a whole bucket, a graph may not: the ledger's directory is addressable in both cases.
    directory, _, name = LEDGER_PATH.rpartition("/")
    location = GraphRoot.parse(f"{root.rstrip('/')}/{directory}")
    try:
        stored = open_objects(location, StoreSettings.resolve(location, None, environ)).read(name)
    except errors.StorageError as error:
        problem = (
            f"of {root} cannot be read: {error.message} Restore it, or remove it and run `omnigraph cluster import`"
        )
        raise _diagnostic("state_read_error", LEDGER_PATH, problem) from error
    return stored.content if stored else None


def _parse_graph_ids(content: bytes, cluster: str) -> tuple[str, ...]:
    try:
        ledger = json.loads(content)
        version = ledger["version"]
        addresses = list(ledger["applied_revision"]["resources"].keys()) if version == LEDGER_VERSION else []
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        problem = f"of cluster `{cluster}` is not a ledger; restore it from a copy"
        raise _diagnostic("invalid_state_json", LEDGER_PATH, problem) from error
    if version != LEDGER_VERSION:
        raise _diagnostic(
            "unsupported_state_version",
            LEDGER_PATH,
            f"of cluster `{cluster}` has version {version!r}; this omnigraph reads version {LEDGER_VERSION}",
        )
    return tuple(
        sorted(address.removeprefix(_GRAPH_PREFIX) for address in addresses if address.startswith(_GRAPH_PREFIX))
    )


def _diagnostic(code: str, path: Path | str, problem: str) -> errors.ClusterDiagnostics:
    message = f"{path} {problem}."
    finding = {"code": code, "severity": "error", "path": str(path), "message": message}
    return errors.ClusterDiagnostics(message, diagnostics=[finding])
