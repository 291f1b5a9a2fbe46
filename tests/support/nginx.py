"""A real nginx with the configuration of the documentation, in front of servers on this machine."""

import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from support.served import TOKENS

PAGE = Path(__file__).parents[2] / "docs" / "operations" / "server.md"
PROGRAM = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@dataclass(frozen=True)
class Proxy:
    """A running proxy."""

    url: str
    trust: ssl.SSLContext
    certificate: Path

    def client(self, actor: str = "act-ines") -> httpx.Client:
        return httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {TOKENS[actor]}"}, verify=self.trust, timeout=60
        )


def documented_configuration() -> str:
    """Return the block of the page."""
    [found] = re.findall(r"^```text nginx.conf\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return found


@contextmanager
def running_nginx(directory: Path, ports: tuple[int, int]) -> Iterator[Proxy]:
    """Run nginx on a port of its own: the block of the page, with other ports and another certificate, and no more."""
    certificate, key = directory / "proxy.crt", directory / "proxy.key"
    _sign(certificate, key)
    port = free_port()
    block = documented_configuration()
    for documented, here in (
        ("127.0.0.1:8080", f"127.0.0.1:{ports[0]}"),
        ("127.0.0.1:8081", f"127.0.0.1:{ports[1]}"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("/etc/nginx/tls/omnigraph.crt", str(certificate)),
        ("/etc/nginx/tls/omnigraph.key", str(key)),
    ):
        assert documented in block
        block = block.replace(documented, here)
    configuration = directory / "nginx.conf"
    configuration.write_text(_whole(block, directory))
    assert PROGRAM is not None, "scripts/ensure_nginx.sh installs nginx"
    errors = directory / "error.log"
    process = subprocess.Popen([PROGRAM, "-e", str(errors), "-c", str(configuration), "-p", str(directory)])
    try:
        _await(port, process, errors)
        yield Proxy(f"https://localhost:{port}", ssl.create_default_context(cafile=str(certificate)), certificate)
    finally:
        process.terminate()
        process.wait(30)


def _whole(block: str, directory: Path) -> str:
    """Return a whole configuration file around what stands in `http`."""
    temporary = "\n".join(f"    {name}_temp_path {directory / name};" for name in _TEMPORARY)
    return f"""\
daemon off;
{"user root;" if os.geteuid() == 0 else ""}
worker_processes 1;
pid {directory / "nginx.pid"};
error_log {directory / "error.log"} info;
events {{ worker_connections 512; }}
http {{
    access_log {directory / "access.log"};
{temporary}
{block}
}}
"""


def _sign(certificate: Path, key: Path) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _await(port: int, process: "subprocess.Popen[bytes]", errors: Path) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, errors.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        else:
            return
