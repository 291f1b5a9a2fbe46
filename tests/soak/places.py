"""Where a soak keeps its graphs: a local directory, or a bucket on an S3 server of its own."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from unittest.mock import patch

from omnigraph.base import ids
from omnigraph.engine.local import LocalEngine
from omnigraph.graph import Graph
from omnigraph.graphs.context import GraphContext
from omnigraph.storage.locks import LeaseTerms
from omnigraph.storage.store import GraphStore
from support.s3_process import BUCKET, client_environment, running_s3

# On S3 the lease of a writer that was killed is waited out, and with the usual minute nothing would happen in a soak.
# Six processes share the machine, so that a renewal may well come a second late.
_TERMS = LeaseTerms(ttl_seconds=4.0, renew_seconds=1.0, margin_seconds=1.0, undo_grace_seconds=2.0)

AFLOAT = "SOAK_AFLOAT"
"""The variable that names a file; a process makes it when it begins to work, which on a busy machine takes a while."""

Place = Callable[[], AbstractContextManager[str]]


def lifetime_seconds(uri: str) -> tuple[float, float]:
    """How long a process lives here: long enough that not all of the time is spent on waiting for the dead."""
    return (10.0, 30.0) if uri.startswith("s3://") else (3.0, 12.0)


def open_graph(uri: str) -> Graph:
    """Open a graph with the leases of a soak, settle what the dead left, and say that work begins."""
    graph = Graph(GraphContext.over(GraphStore.open(uri, lease_terms=_TERMS), LocalEngine()), read_only=False)
    graph.recover()
    if AFLOAT in os.environ:
        Path(os.environ[AFLOAT]).touch()
    return graph


@contextmanager
def local_place() -> Iterator[str]:
    """Yield the address of a graph that does not exist yet, on local disk."""
    with tempfile.TemporaryDirectory() as directory:
        yield str(Path(directory) / "graph.omni")


@contextmanager
def s3_place() -> Iterator[str]:
    """Yield the address of a graph that does not exist yet, on an S3 server; children inherit how to reach it."""
    with (
        tempfile.TemporaryDirectory() as directory,
        running_s3(Path(directory)) as url,
        patch.dict(os.environ, client_environment(url)),
    ):
        yield f"s3://{BUCKET}/{ids.new_ulid()}/graph.omni"
