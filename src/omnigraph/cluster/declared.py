"""What `cluster.yaml` declares, as values: names, files and bindings. The files have not been read."""

from collections.abc import Mapping
from pathlib import Path

from omnigraph.base.values import Json, dataclass
from omnigraph.cluster.resources import EmbeddingProfile, ExternalBlobPolicy

CONFIG_NAME = "cluster.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterHeader:
    """What every command needs of `cluster.yaml`, also of one that is wrong further down."""

    directory: Path
    """The directory of the config, absolute."""
    root: str
    """The storage root."""
    locks: bool
    """Whether commands that change the cluster lock it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedQueries:
    """Files and directories of query files; every query in them is stored."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedQueries:
    """The stored queries one by one: each name with the file that declares it."""

    file_by_name: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredGraph:
    """One graph."""

    graph_id: str
    schema: str
    queries: ListedQueries | NamedQueries
    embedding_provider: str | None
    """The address of its provider."""
    external_blobs: ExternalBlobPolicy | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPolicy:
    """One policy; `applies_to` is sorted, each `cluster` or the address of a graph."""

    name: str
    file: str
    applies_to: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredCluster:
    """A whole configuration."""

    header: ClusterHeader
    providers: Mapping[str, EmbeddingProfile]
    graphs: Mapping[str, DeclaredGraph]
    policies: Mapping[str, DeclaredPolicy]
    parsed: Mapping[str, Json]
    """The configuration as YAML has it, without what says only how the cluster is maintained."""
