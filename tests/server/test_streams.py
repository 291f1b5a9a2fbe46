"""Streams over real sockets: one state however long it takes, slow clients, clients that leave, memory."""

import asyncio
import json
import socket
import time
from pathlib import Path
from typing import BinaryIO

import pytest

from omnigraph.errors import StorageError
from support.served import TOKENS, Declared, ServedApp, ServerProcess, make_cluster, running_server

SCHEMA = "node Item { name: String @key\n text: String }\n"
POLICY = """\
version: 1
groups: { keepers: [act-ines] }
rules:
  - id: all
    allow: { actors: { group: keepers }, actions: [read, export, change], branch_scope: any }
"""


def items(count: int, width: int) -> str:
    return "".join(
        json.dumps({"type": "Item", "data": {"name": f"i{n:07d}", "text": "x" * width}}) + "\n" for n in range(count)
    )


def cluster_of(root: Path, count: int, width: int) -> str:
    root.mkdir()
    declared = Declared(schema=SCHEMA, seed=items(count, width), queries=None, query_names=())
    make_cluster(str(root), {"items": declared}, policies={"all": (POLICY, ("graph.items",))})
    return str(root)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    directory = tmp_path_factory.mktemp("streams")
    with running_server(
        cluster_of(directory / "cluster", 6_000, 1_000), directory, environ={"OMNIGRAPH_EXPORT_STREAMS_MAX": "2"}
    ) as running:
        yield running


def request(server: ServerProcess, body: bytes = b"{}", path: str = "/graphs/items/export") -> socket.socket:
    """Send a request over a socket of its own, with little room for what comes back."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_192)
    sock.connect(server.address)
    head = f"POST {path} HTTP/1.1\r\nHost: s\r\nAuthorization: Bearer {TOKENS['act-ines']}\r\n"
    sock.sendall(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    return sock


def metric(server: ServerProcess, name: str) -> float:
    with server.client() as client:
        text = client.get("/metrics").text
    (line,) = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    return float(line.split()[1])


def wait_for(condition, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_an_export_shows_one_state_whatever_is_written_meanwhile(server: ServerProcess) -> None:
    slow = request(server)
    first = slow.recv(1_024)
    with server.client() as client:
        line = b'{"type":"Item","data":{"name":"late","text":"late"}}\n'
        loaded = client.post(
            "/graphs/items/load/ndjson?mode=merge", content=line, headers={"Content-Type": "application/x-ndjson"}
        )
        assert loaded.status_code == 200

    content = first
    while not content.endswith(b"0\r\n\r\n"):
        content += slow.recv(65_536)
    slow.close()

    assert content.count(b'"type":') == 6_000 or content.count(b'"type"') == 6_000
    assert b"late" not in content
    assert b"transfer-encoding: chunked" in content.lower()


def test_a_client_that_leaves_frees_its_slot_at_once(server: ServerProcess) -> None:
    leaving = request(server)
    assert leaving.recv(1_024)
    assert metric(server, "omnigraph_export_streams_in_flight") == 1
    # The stream, which an end of the server waits for like for any other request, and the question itself.
    assert metric(server, "omnigraph_http_requests_running") == 2

    leaving.close()

    assert wait_for(lambda: metric(server, "omnigraph_export_streams_in_flight") == 0)
    assert wait_for(lambda: "status=499" in server.log)
    assert "Traceback" not in server.log


def test_when_all_slots_are_busy_the_next_is_sent_away_for_a_second(server: ServerProcess) -> None:
    busy = [request(server), request(server)]
    for sock in busy:
        assert sock.recv(1_024)

    with server.client() as client:
        refused = client.post("/graphs/items/export", json={})
        health = client.get("/healthz")
    for sock in busy:
        sock.close()

    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["code"] == "too_many_requests"
    assert refused.json()["resource_limit"] == {"resource": "export_streams", "limit": 2, "actual": 2}
    assert health.status_code == 200
    assert wait_for(lambda: metric(server, "omnigraph_export_streams_in_flight") == 0)


def test_what_cannot_be_exported_is_told_before_anything_is_sent(server: ServerProcess) -> None:
    with server.client() as client:
        for body, status, kind in (
            ({"type_names": ["Nobody"]}, 400, "bad_request"),
            ({"branch": "nowhere"}, 404, "branch_not_found"),
            ({"what": 1}, 400, "bad_request"),
            ({"table_keys": "node:Item"}, 400, "bad_request"),
        ):
            answer = client.post("/graphs/items/export", json=body)

            assert (answer.status_code, answer.json()["kind"]) == (status, kind)
    assert metric(server, "omnigraph_export_streams_in_flight") == 0


def test_a_baseline_ends_with_the_cursor_that_the_feed_goes_on_from(server: ServerProcess) -> None:
    with server.client() as client:
        lines = client.post("/graphs/items/changes/baseline", json={}).text.splitlines()
        last = json.loads(lines[-1])["baseline"]
        caught_up = client.get("/graphs/items/changes", params={"cursor": last["resume_cursor"]}).json()
        client.post(
            "/graphs/items/load/ndjson",
            content=b'{"type":"Item","data":{"name":"behind","text":""}}\n',
            headers={"Content-Type": "application/x-ndjson"},
        )
        behind = client.get("/graphs/items/changes", params={"cursor": last["resume_cursor"]}).json()

    assert all("baseline" not in json.loads(line) for line in lines[:-1])
    assert (caught_up["blocks"], caught_up["caught_up"]) == ([], True)
    ((change,),) = [block["changes"] for block in behind["blocks"]]
    assert (change["op"], change["id"]) == ("insert", "behind")


def test_an_export_of_many_rows_takes_little_memory(tmp_path: Path) -> None:
    """200,000 rows, and the process grows by less than 64 MiB."""
    with running_server(cluster_of(tmp_path / "cluster", 200_000, 200), tmp_path) as server, server.client() as client:
        client.post("/graphs/items/export", json={"type_names": ["Item"]}).close()
        client.post(
            "/graphs/items/query",
            json={"query": 'query q() { match { $i: Item { name: "i0000001" } } return { $i.name } }'},
        )
        before = resident_bytes(server.process.pid)
        peak, lines = before, 0
        with client.stream("POST", "/graphs/items/export", json={}) as answer:
            for number, chunk in enumerate(answer.iter_bytes()):
                lines += chunk.count(b"\n")
                if number % 50 == 0:
                    peak = max(peak, resident_bytes(server.process.pid))

    assert lines == 200_000
    assert peak - before < 64 << 20, f"{(peak - before) >> 20} MiB"


def resident_bytes(pid: int) -> int:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1_024


def test_a_stream_that_fails_on_its_way_has_no_end(app: ServedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was sent is followed by no last message, so that the connection breaks off."""
    sent: list[dict[str, object]] = []

    def export(out: BinaryIO, **_: object) -> None:
        out.write(b"{}\n")
        raise StorageError("the rest is gone", storage_kind="not_found", uri="somewhere")

    monkeypatch.setattr(app.application.service.graphs["art"].graph, "export", export)
    arriving = [{"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive() -> dict[str, object]:
        if not arriving:
            await asyncio.sleep(30)
        return arriving.pop()

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    headers = [(b"authorization", f"Bearer {TOKENS['act-ines']}".encode()), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "http_version": "1.0",
        "method": "POST",
        "raw_path": b"/graphs/art/export",
        "query_string": b"",
        "headers": headers,
    }
    with pytest.raises(StorageError):
        asyncio.run_coroutine_threadsafe(app.application(scope, receive, send), app.loop).result(30)

    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[1]["more_body"] is True
    assert wait_for(lambda: app.application.service.streams.in_flight == 0)
