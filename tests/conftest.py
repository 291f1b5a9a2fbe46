"""Stores to test against: a fresh directory, and a fresh prefix on a real S3 server in a process of its own."""

import os
import re
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

# Tests are not a package; what they share is imported as `support.…`.
sys.path.insert(0, str(Path(__file__).parent))

import crash.report
import merge.report
from crash.report import pytest_addoption  # noqa: F401 — a hook that pytest finds by name
from omnigraph.base import clock, ids
from support.faulty_s3 import FaultyS3, faulty_s3

_BUCKET = "graphs"

# How long an example takes depends on who else uses the machine; tests state facts, benchmarks measure.
# A run of the tests is repeatable: the same code gives the same answer. `make search` looks for new counterexamples.
settings.register_profile("facts", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "facts"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most cases of a test that is marked `sampled` to `make test-all`.

    Every n-th case, in the order of collection, stays in `make test`. So each run of both together is every case once.
    """
    seen: Counter[str] = Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is None or item.get_closest_marker("exhaustive"):
            continue
        test = item.nodeid.partition("[")[0]
        if seen[test] % sampled.kwargs["every"]:
            item.add_marker("exhaustive")
        seen[test] += 1


def pytest_configure(config: pytest.Config) -> None:
    crash.report.pytest_configure(config)
    merge.report.pytest_configure(config)


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an S3 server with one bucket; one server per test worker."""
    with run_s3_server(tmp_path_factory.mktemp("s3") / "server.log") as url:
        yield url


@contextmanager
def run_s3_server(log: Path, *, shift_seconds: int = 0) -> Iterator[str]:
    """Run an S3 server whose clock is ahead of this machine's, or behind it if negative."""
    s3_server_script = Path(__file__).parent / "support" / "s3_server.py"
    command = [sys.executable, str(s3_server_script), str(shift_seconds)]
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        url = _announced_url(server, log)
        urllib.request.urlopen(urllib.request.Request(f"{url}/{_BUCKET}", method="PUT")).close()
        yield url
    finally:
        server.kill()
        server.wait()


def _announced_url(server: subprocess.Popen[bytes], log: Path) -> str:
    """Wait for the server to say which port the system gave it."""
    is_up = clock.wait_until(
        lambda: "Running on" in log.read_text() or server.poll() is not None, timeout_seconds=60, pause_seconds=0.1
    )
    announced = re.search(r"Running on (http://127\.0\.0\.1:\d+)", log.read_text())
    assert is_up, "the S3 server did not start in time"
    assert announced, log.read_text()
    return announced[1]


@pytest.fixture
def s3_root(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of a graph that nobody has written to yet, with the environment set for this process and its children."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_server)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    return f"s3://{_BUCKET}/{ids.new_ulid()}/graph.omni"


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
