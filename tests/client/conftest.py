"""One server for all tests of clients, over a graph with everything that travels, and a twin of it that is storage."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support.program import SCHEMA, SEED
from support.served import POLICY, SERVER_POLICY, TOKENS, Declared, ServerProcess, make_cluster, running_server

BLOB_SCHEMA = SCHEMA.replace("born: I32?", "born: I32?\n  portrait: Blob?")
BLOB_SEED = SEED.replace('"born": 1907', '"born": 1907, "portrait": "base64:MDEyMzQ1Njc4OQ=="')
POLICIES = {"keepers": (POLICY, ("graph.art",)), "listing": (SERVER_POLICY, ("cluster",))}


class Served(NamedTuple):
    """A running server, and where its graph lies on this machine."""

    server: ServerProcess
    storage: str

    @property
    def url(self) -> str:
        return self.server.url


def made(directory: Path, name: str) -> str:
    root = directory / name
    root.mkdir()
    make_cluster(str(root), {"art": Declared(schema=BLOB_SCHEMA, seed=BLOB_SEED)}, policies=POLICIES)
    return str(root)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose graph tests only read."""
    directory = tmp_path_factory.mktemp("client")
    root = made(directory, "museum")
    with running_server(root, directory) as server:
        yield Served(server, f"{root}/graphs/art.omni")


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose graph the tests of one module write to."""
    directory = tmp_path_factory.mktemp("client")
    root = made(directory, "museum")
    with running_server(root, directory) as server:
        yield Served(server, f"{root}/graphs/art.omni")


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch, workplace: Path) -> str:
    """The token of somebody who may do everything, where every command finds it."""
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", TOKENS["act-ines"])
    return TOKENS["act-ines"]
