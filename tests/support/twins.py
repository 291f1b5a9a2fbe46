"""A graph with everything that travels, in a cluster that a server can serve."""

from pathlib import Path
from typing import NamedTuple

from support.program import SCHEMA, SEED
from support.served import POLICY, SERVER_POLICY, Declared, ServerProcess, make_cluster

BLOB_SCHEMA = SCHEMA.replace("born: I32?", "born: I32?\n  portrait: Blob?")
BLOB_SEED = SEED.replace('"born": 1907', '"born": 1907, "portrait": "base64:MDEyMzQ1Njc4OQ=="')
POLICIES = {"keepers": (POLICY, ("graph.art",)), "listing": (SERVER_POLICY, ("cluster",))}


class Served(NamedTuple):
    """A running server, and where its graph lies on this machine."""

    server: ServerProcess
    root: str

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def storage(self) -> str:
        return f"{self.root}/graphs/art.omni"


def make_twin(directory: Path, name: str) -> str:
    """Make a cluster with the graph `art`; return its root."""
    root = directory / name
    root.mkdir()
    make_cluster(str(root), {"art": Declared(schema=BLOB_SCHEMA, seed=BLOB_SEED)}, policies=POLICIES)
    return str(root)
