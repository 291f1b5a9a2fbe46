"""One server for all tests that only read, and one for those of a module that write."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.served import TOKENS, running_server
from support.twins import Served, make_twin


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose graph tests only read."""
    directory = tmp_path_factory.mktemp("client")
    root = make_twin(directory, "museum")
    with running_server(root, directory) as server:
        yield Served(server, root)


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose graph the tests of one module write to."""
    directory = tmp_path_factory.mktemp("client")
    root = make_twin(directory, "museum")
    with running_server(root, directory) as server:
        yield Served(server, root)


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch, workplace: Path) -> str:
    """The token of somebody who may do everything, where every command finds it."""
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", TOKENS["act-ines"])
    return TOKENS["act-ines"]
