"""Stores to test against: a fresh directory, and a fresh prefix on a real S3 server in a process of its own."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Tests are not a package; what they share is imported as `support.…`.
sys.path.insert(0, str(Path(__file__).parent))

from omnigraph.base import ids
from omnigraph.graph import Graph
from sampling import leave_most_to_test_all
from support.faulty_s3 import FaultyS3, faulty_s3
from support.graphs import CREW_SCHEMA, graph_of
from support.s3_process import BUCKET, client_environment, running_s3

pytest_plugins = ["support.crash_report", "support.merge_report", "support.program", "support.record_schemas"]

# How long an example takes depends on who else uses the machine; tests state facts, benchmarks measure.
# A run of the tests is repeatable: the same code gives the same answer. `make search` looks for new counterexamples.
settings.register_profile("facts", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "facts"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    leave_most_to_test_all(items)


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an S3 server with one bucket; one server per test worker."""
    with running_s3(tmp_path_factory.mktemp("s3")) as url:
        yield url


@pytest.fixture
def s3_root(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of a graph that nobody has written to yet, with the environment set for this process and its children."""
    for name, value in client_environment(s3_server).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    return f"s3://{BUCKET}/{ids.new_ulid()}/graph.omni"


@pytest.fixture
def local_root(tmp_path: Path) -> str:
    """The path of a graph that does not exist yet."""
    return str(tmp_path / "graph.omni")


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def store_root(request: pytest.FixtureRequest) -> str:
    """A fresh graph root on each kind of store."""
    return str(request.getfixturevalue(f"{request.param}_root"))


@pytest.fixture
def s3_faults(s3_root: str, s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyS3]:
    """Put a proxy between this test and the S3 server that breaks requests on demand; `s3_root` goes through it."""
    with faulty_s3(s3_server) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
        yield proxy


@pytest.fixture
def crew(local_root: str) -> Graph:
    """An empty graph of sailors and ships."""
    return graph_of(local_root, CREW_SCHEMA)


@pytest.fixture(scope="module")
def spark() -> Any:
    """The session of this process, which knows the data source."""
    from omnigraph.spark import register
    from support.spark_session import process_session

    session = process_session()
    register(session)
    return session
