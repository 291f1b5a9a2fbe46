"""A real S3 server in a process of its own, with one bucket, and what a client must know to reach it."""

import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omnigraph.base import clock

BUCKET = "graphs"
_SERVER = Path(__file__).with_name("s3_server.py")


@contextmanager
def running_s3(directory: Path, *, shift_seconds: int = 0) -> Iterator[str]:
    """Run a server that logs into `directory`; yield its URL. Its clock may be ahead of the time, or behind it."""
    log = directory / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, _SERVER, str(shift_seconds)], stdout=output, stderr=subprocess.STDOUT
        )
    try:
        url = _announced_url(server, log)
        urllib.request.urlopen(urllib.request.Request(f"{url}/{BUCKET}", method="PUT")).close()
        yield url
    finally:
        server.kill()
        server.wait()


def client_environment(url: str) -> dict[str, str]:
    """Return the environment variables of somebody who may use the server."""
    return {
        "AWS_ACCESS_KEY_ID": "test-key",
        "AWS_SECRET_ACCESS_KEY": "test-secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL_S3": url,
        "AWS_ALLOW_HTTP": "true",
    }


def _announced_url(server: subprocess.Popen[bytes], log: Path) -> str:
    """Wait for the server to say which port the system gave it."""
    is_up = clock.wait_until(
        lambda: "Running on" in log.read_text() or server.poll() is not None, timeout_seconds=60, pause_seconds=0.1
    )
    announced = re.search(r"Running on (http://127\.0\.0\.1:\d+)", log.read_text())
    assert is_up, "the S3 server did not start in time"
    assert announced, log.read_text()
    return announced[1]
