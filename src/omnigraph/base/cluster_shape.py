"""Whether a location is shaped like a graph of a cluster: text alone, so that other graphs pay nothing for clusters."""

import os
from urllib.parse import unquote

from omnigraph.base.home import expand_home

GRAPHS_DIRECTORY = "/graphs/"
GRAPH_SUFFIX = ".omni"


def cluster_shape(graph_uri: str) -> tuple[str, str] | None:
    """Split a location that has the shape of a cluster's graph into storage root and graph id; pure text."""
    prefix, path = split_location(graph_uri)
    before, marker, name = path.rstrip("/").rpartition(GRAPHS_DIRECTORY)
    if not marker or "/" in name or not name.endswith(GRAPH_SUFFIX):
        return None
    return f"{prefix}{before}" or "/", name.removesuffix(GRAPH_SUFFIX)


def split_location(uri: str) -> tuple[str, str]:
    """Split a location into scheme and bucket, where no marker counts, and an absolute path; touches no disk."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return "", _absolute(uri)
    if scheme == "file":
        return "", _absolute(f"/{unquote(rest).lstrip('/')}")
    bucket, _, key = rest.partition("/")
    return f"{scheme}://{bucket}", f"/{key}"


def _absolute(path: str) -> str:
    return os.path.abspath(expand_home(path))  # noqa: PTH100  # pathlib has no lexical form
