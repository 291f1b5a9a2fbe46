"""Stores to test against: a fresh directory, and a fresh prefix on a real S3 server in a process of its own."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Tests are not a package; what they share is imported as `support.…`.
sys.path.insert(0, str(Path(__file__).parent))

import crash.report
import merge.report
from crash.report import pytest_addoption  # noqa: F401 — a hook that pytest finds by name
from omnigraph.base import ids
from sampling import leave_most_to_test_all
from support.faulty_s3 import FaultyS3, faulty_s3
from support.s3_process import BUCKET, client_environment, running_s3

# How long an example takes depends on who else uses the machine; tests state facts, benchmarks measure.
# A run of the tests is repeatable: the same code gives the same answer. `make search` looks for new counterexamples.
settings.register_profile("facts", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "facts"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    leave_most_to_test_all(items)


def pytest_configure(config: pytest.Config) -> None:
    crash.report.pytest_configure(config)
    merge.report.pytest_configure(config)


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
