"""What happens on one connection: answers in their order, bodies that nobody reads, clients that stop to read."""

import json
import re
import shutil
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from support.served import TOKENS, Declared, ServerProcess, make_cluster, running_server

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n"
READ = b'{"query":"query q() { match { $a: Artist { name: \\"Ines\\" } } return { $a.name } }"}'
H2C = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
_ESTABLISHED = "01"
NOISE = b"\x00\x01 no request\r\n\r\n"


@pytest.fixture(scope="module")
def server(museum_template: Path, tmp_path_factory: pytest.TempPathFactory):
    directory = tmp_path_factory.mktemp("connections")
    shutil.copytree(museum_template, directory / "museum")
    with running_server(str(directory / "museum"), directory) as running:
        yield running


def request(
    path: str,
    body: bytes = b"",
    *,
    method: str = "POST",
    actor: str | None = "act-ines",
    kind: str = "application/json",
    more: str = "",
    is_chunked: bool = False,
) -> bytes:
    """Spell a request whose connection stays open."""
    token = f"Authorization: Bearer {TOKENS[actor]}\r\n" if actor is not None else ""
    framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {len(body)}"
    sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if is_chunked else body
    return (
        f"{method} {path} HTTP/1.1\r\nHost: s\r\n{token}Content-Type: {kind}\r\n{more}{framing}\r\n\r\n".encode() + sent
    )


def conversation(server: ServerProcess, *pieces: bytes, pause: float = 0.05) -> bytes:
    """Send pieces one after the other and return everything that came back until the server closed."""
    with socket.create_connection(server.address, timeout=30) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            sock.sendall(piece)
            time.sleep(pause)
        return b"".join(iter(lambda: sock.recv(65_536), b""))


def statuses(answers: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", answers)]


@pytest.mark.parametrize(
    ("unread", "status"),
    [
        (request("/graphs/art/query", b" " * 2_000_000), 413),
        (request("/graphs/art/query", b" " * 300_000, actor=None), 401),
        (request("/graphs/other/query", b" " * 300_000), 404),
        (request("/graphs/art/query", b" " * 300_000, kind="text/plain"), 415),
        (request("/healthz", b" " * 300_000, method="GET"), 200),
        (request("/graphs/art/load/ndjson", b" " * 300_000, kind="application/x-ndjson", actor="act-rae"), 403),
        (request("/graphs/art/query", b" " * 1_200_000, is_chunked=True), 413),
        (request("/nothing", b" " * 300_000, is_chunked=True), 404),
    ],
    ids=["too large", "no token", "no graph", "type", "get", "denied", "grows", "no path"],
)
def test_a_body_that_nobody_read_is_not_taken_for_the_next_request(
    server: ServerProcess, unread: bytes, status: int
) -> None:
    """It has one answer, and the next answer belongs to the next request."""
    assert statuses(conversation(server, unread, HEALTH)) == [status, 200]
    assert statuses(conversation(server, unread[:400], unread[400:70_000], unread[70_000:] + HEALTH)) == [status, 200]


def test_a_body_without_end_that_nobody_reads_ends_with_the_connection(server: ServerProcess) -> None:
    piece = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    head = request("/graphs/art/query", actor=None, is_chunked=True).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"

    with socket.create_connection(server.address, timeout=30) as sock:
        sock.sendall(head)
        answer = sock.recv(65_536)
        sent = 0
        with suppress(OSError):  # the pipe breaks, or the connection is reset
            while sent < 4 * 33_554_432:
                sock.sendall(piece)
                sent += 65_536

    assert statuses(answer) == [401]
    assert sent < 4 * 33_554_432


@pytest.mark.parametrize("is_chunked", [False, True])
def test_who_offers_another_protocol_is_answered_in_this_one(server: ServerProcess, is_chunked: bool) -> None:
    """As Java's client does with every request: what comes behind the headers is the body."""
    ask = request("/graphs/art/query", READ, more=H2C, is_chunked=is_chunked)
    export = request("/graphs/art/export", b'{"type_names":["Artwork"]}', more=H2C, is_chunked=is_chunked)
    get = request("/graphs/art/branches", method="GET", more=H2C)

    whole = conversation(server, ask + get + ask + HEALTH)
    later = conversation(server, ask[:-9], ask[-9:] + HEALTH)
    exported = conversation(server, export + HEALTH)

    assert statuses(whole) == [200, 200, 200, 200]
    assert whole.count(b'"rows":[{"a.name":"Ines"}]') == 2
    assert statuses(later) == [200, 200]
    assert b'"type":"Artwork"' in exported
    assert b'"type":"Artist"' not in exported


def test_noise_behind_a_request_that_runs_does_not_take_the_place_of_its_answer(server: ServerProcess) -> None:
    """A client that read `400` would believe that nothing was written."""
    insert = b'{"query":"query add() { insert Artist { name: \\"Noise behind\\" } }"}'

    written = conversation(server, request("/graphs/art/mutate", insert), NOISE, pause=0.002)
    exported = conversation(server, request("/graphs/art/export", b"{}"), NOISE, pause=0.002)
    broken = conversation(
        server, request("/graphs/art/query", b"12", is_chunked=True).removesuffix(b"0\r\n\r\n"), b"no size\r\n"
    )

    assert statuses(written) == [200]
    assert b'"affected_nodes":1' in written
    assert b"connection: close" in written
    assert statuses(exported) == [200]
    assert exported.endswith(b"0\r\n\r\n")
    assert statuses(broken) == [400]


def test_who_leaves_with_two_requests_under_way_leaves_no_trace_of_an_error(server: ServerProcess) -> None:
    insert = b'{"query":"query add() { insert Artist { name: \\"Left\\" } }"}'
    with socket.create_connection(server.address) as sock:
        sock.sendall(request("/graphs/art/mutate", insert) + request("/graphs/art/query", READ))
        time.sleep(0.01)

    assert wait_for(lambda: re.search(r"route=/graphs/{graph_id}/mutate graph_id=art status=(200|499)", server.log))
    assert "Traceback" not in server.log


def wait_for(condition, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def connections_of(server: ServerProcess) -> int:
    """Count the connections that a server has not let go of, as the system knows them."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("utf-8").splitlines()[1:]]
    return sum(state == _ESTABLISHED and int(here[-4:], 16) == server.address[1] for _, here, _, state, *_ in rows)


def rest_of(sock: socket.socket) -> bytes:
    """Read until the server is found to have closed or reset the connection."""
    sock.settimeout(20)
    found = b""
    with sock, suppress(ConnectionResetError):
        while piece := sock.recv(65_536):
            found += piece
    return found


ITEMS = "node Item { name: String @key\n text: String\n data: Blob? }\n"


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("stalled") / "items"
    root.mkdir()
    seed = "".join(
        json.dumps({"type": "Item", "data": {"name": f"i{n:05d}", "text": f"{n:05d}" * 400}}) + "\n"
        for n in range(3_000)
    )
    blob = json.dumps({"type": "Item", "data": {"name": "b", "text": "", "data": "base64:" + "AAAA" * 8_000_000}})
    make_cluster(str(root), {"art": Declared(schema=ITEMS, seed=f"{seed}{blob}\n", queries=None, query_names=())})
    return str(root)


def test_a_client_that_stops_to_read_is_not_waited_for_for_ever(items: str, tmp_path: Path) -> None:
    """Neither by an export, whose slot it holds, nor by any other answer."""
    environ = {"OMNIGRAPH_SERVER_STALLED_SECONDS": "1", "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": ""}
    everything = b'{"query":"query q() { match { $i: Item } return { $i.text } }"}'
    with running_server(items, tmp_path, "--unauthenticated", environ=environ) as server:
        stalled = []
        for path, body in (("/graphs/art/export", b"{}"), ("/graphs/art/query", everything)):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_192)
            sock.connect(server.address)
            sock.sendall(request(path, body, actor=None))
            assert sock.recv(1_024).startswith(b"HTTP/1.1 200 ")
            stalled.append(sock)
        with server.client(actor=None) as client:
            assert "omnigraph_export_streams_in_flight 1.0" in client.get("/metrics").text
            assert wait_for(lambda: "omnigraph_export_streams_in_flight 0.0" in client.get("/metrics").text)
        # Nobody reads before both are given up: an answer that goes on to be taken is sent to its end.
        assert wait_for(lambda: connections_of(server) == 0)
        exported, found = map(rest_of, stalled)
        assert not exported.endswith(b"0\r\n\r\n")
        assert len(found) < 3_000 * 2_000
        assert wait_for(lambda: "route=/graphs/{graph_id}/export graph_id=art status=499" in server.log)
        assert "Traceback" not in server.log


def test_no_more_of_a_blob_is_read_for_a_client_that_has_left(items: str, tmp_path: Path) -> None:
    environ = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": ""}
    with running_server(items, tmp_path, "--unauthenticated", environ=environ) as server:
        address = "/graphs/art/blob?entity=node&type=Item&id=b&property=data"
        with socket.create_connection(server.address) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_192)
            sock.sendall(request(address, method="GET", actor=None))
            assert sock.recv(1_024).startswith(b"HTTP/1.1 200 ")
        assert wait_for(lambda: "route=/graphs/{graph_id}/blob graph_id=art status=499" in server.log)
        (sent,) = re.findall(r"route=/graphs/{graph_id}/blob .* bytes_out=(\d+)", server.log)
        assert int(sent) <= 3 * 4_194_304


def test_a_read_that_does_not_end_does_not_keep_the_process(items: str, tmp_path: Path) -> None:
    environ = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": ""}
    triples = "$a: Item $b: Item $c: Item $a.text < $b.text $b.text < $c.text"
    body = json.dumps({"query": f"query q() {{ match {{ {triples} }} return {{ $a.name }} }}"}).encode()
    with running_server(items, tmp_path, "--unauthenticated", "--shutdown-timeout", "1", environ=environ) as server:
        answers: list[bytes] = []
        asking = threading.Thread(
            target=lambda: answers.append(conversation(server, request("/graphs/art/query", body, actor=None)))
        )
        asking.start()
        with server.client(actor=None) as client:
            assert wait_for(lambda: "omnigraph_http_requests_running 2.0" in client.get("/metrics").text)
            server.signal()
            started = time.monotonic()
            assert server.wait(20) == 0
        assert time.monotonic() - started < 8
        asking.join(20)
        assert answers == [b""]
        assert "requests did not end in time" in server.log
        assert "Traceback" not in server.log
