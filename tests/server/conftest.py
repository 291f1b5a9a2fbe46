"""One cluster for tests that only read, one for those that write, and an application over each."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.served import POLICY, SERVER_POLICY, Declared, ServedApp, make_cluster, served_app

POLICIES = {"keepers": (POLICY, ("graph.art",)), "listing": (SERVER_POLICY, ("cluster",))}


@pytest.fixture(scope="session")
def museum_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster with one graph, a policy for it and one for the server."""
    root = tmp_path_factory.mktemp("served") / "museum"
    root.mkdir()
    make_cluster(str(root), {"art": Declared()}, policies=POLICIES)
    return root


@pytest.fixture(scope="session")
def plain_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster with one graph and no policy."""
    root = tmp_path_factory.mktemp("served") / "plain"
    root.mkdir()
    make_cluster(str(root))
    return root


@pytest.fixture
def museum(museum_template: Path, tmp_path: Path) -> str:
    """A cluster of one's own, with policies; the graphs say themselves where they live, so a copy moves in place."""
    return _copied(museum_template, tmp_path / "museum")


@pytest.fixture
def plain(plain_template: Path, tmp_path: Path) -> str:
    """A cluster of one's own, without policies."""
    return _copied(plain_template, tmp_path / "plain")


def _copied(template: Path, target: Path) -> str:
    shutil.copytree(template, target)
    return str(target)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """An application over a cluster with policies that the tests of one module share."""
    root = tmp_path_factory.mktemp("served") / "museum"
    root.mkdir()
    make_cluster(str(root), {"art": Declared()}, policies=POLICIES)
    served = served_app(str(root))
    yield served
    served.close()


@pytest.fixture(scope="module")
def open_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """An open application, where everybody may do everything."""
    root = tmp_path_factory.mktemp("served") / "open"
    root.mkdir()
    make_cluster(str(root))
    served = served_app(str(root), environ={}, unauthenticated=True, default_graph="art")
    yield served
    served.close()
