"""The proxy of the page, run: two servers on one cluster behind a real nginx with the configuration of the page."""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, Self

import httpx
import pytest
from websockets.sync.client import connect

from support.nginx import Proxy, running_nginx
from support.served import TOKENS, ServerProcess, running_server
from support.twins import make_twin

READ = {"query": 'query q() { match { $a: Artist { name: "Ines" } } return { $a.name } }'}
INSERT = "query add($n: String) { insert Artist { name: $n } }"
NAMES = "query q() { match { $a: Artist } return { $a.name } }"
NDJSON = {"Content-Type": "application/x-ndjson"}
BLOB = {"entity": "node", "type": "Artist", "id": "Ines", "property": "portrait"}


class Site(NamedTuple):
    """Two servers on one cluster, and what is in front of them."""

    servers: list[ServerProcess]
    proxy: Proxy
    root: str
    directory: Path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("proxied")
    root = make_twin(directory, "museum")
    with ExitStack() as stack:
        servers = [stack.enter_context(running_server(root, directory, "--ui")) for _ in range(2)]
        ports = servers[0].address[1], servers[1].address[1]
        yield Site(servers, stack.enter_context(running_nginx(directory, ports)), root, directory)


@pytest.fixture
def client(site: Site) -> Iterator[httpx.Client]:
    with site.proxy.client() as found:
        yield found


def test_requests_and_answers_come_through_as_they_are(site: Site, client: httpx.Client) -> None:
    asked = client.post("/graphs/art/query", json=READ, headers={"X-Request-Id": "mine-1"})
    assert (asked.status_code, asked.json()["row_count"], asked.headers["x-request-id"]) == (200, 1, "mine-1")

    assert client.post("/graphs/art/branches", json={"name": "etl/run-1"}).status_code == 200
    deleted = client.delete("/graphs/art/branches/etl%2Frun-1")
    assert (deleted.status_code, deleted.json()["name"]) == (200, "etl/run-1")

    part = client.get("/graphs/art/blob", params=BLOB, headers={"Range": "bytes=2-4"})
    assert (part.status_code, part.content, part.headers["content-range"]) == (206, b"234", "bytes 2-4/10")
    unchanged = client.get("/graphs/art/blob", params=BLOB, headers={"If-None-Match": part.headers["etag"]})
    assert unchanged.status_code == 304
    assert client.head("/graphs/art/blob", params=BLOB).headers["content-length"] == "10"

    nobody = httpx.get(f"{site.proxy.url}/graphs/art/schema", verify=site.proxy.trust)
    assert (nobody.status_code, nobody.headers["www-authenticate"]) == (401, "Bearer")


def test_bodies_over_the_limit_get_the_answer_of_the_server(client: httpx.Client) -> None:
    for path, mebibytes in (
        ("/graphs/art/load/ndjson", 33),
        ("/graphs/art/load/ndjson", 200),
        ("/graphs/art/query", 2),
    ):
        headers = NDJSON if path.endswith("ndjson") else {"Content-Type": "application/json"}
        answer = client.post(path, content=bytes(mebibytes << 20), headers=headers)

        assert (answer.status_code, answer.json()["kind"]) == (413, "resource_limit")


def test_a_large_load_arrives_and_an_export_leaves_piece_by_piece(site: Site, client: httpx.Client) -> None:
    """A proxy that gathered the answer would have taken all of it by the time that the first piece is read."""
    client.post("/graphs/art/branches", json={"name": "large"})
    rows = 120_000
    body = b"".join(b'{"type":"Artist","data":{"name":"%07d%b"}}\n' % (n, b"x" * 220) for n in range(rows))
    assert 30 << 20 < len(body) < 32 << 20

    loaded = client.post("/graphs/art/load/ndjson?branch=large", content=body, headers=NDJSON)
    with client.stream("POST", "/graphs/art/export", json={"branch": "large", "type_names": ["Artist"]}) as answer:
        pieces = answer.iter_raw()
        size = len(next(pieces))
        time.sleep(1)
        under_way = sum(_metric(server, "omnigraph_export_streams_in_flight") for server in site.servers)
        size += sum(map(len, pieces))

    assert (loaded.status_code, loaded.json()["total_rows"]) == (200, rows)
    assert under_way == 1
    assert size > len(body)


def test_the_console_is_there_with_its_socket(site: Site, client: httpx.Client) -> None:
    wanted = client.get("/ui/g/art/overview")
    assert (wanted.status_code, wanted.headers["location"]) == (303, "/ui/enter?to=%2Fui%2Fg%2Fart%2Foverview")
    entered = client.post("/ui/enter", content=TOKENS["act-ines"], headers={"Origin": site.proxy.url})
    assert entered.json() == {"entered": True}
    assert "Secure" in entered.headers["set-cookie"]
    assert client.post("/ui/enter", content="x", headers={"Origin": "https://elsewhere.example"}).status_code == 403

    page = client.get("/ui/g/art/overview")
    assert (page.status_code, "OmniGraph" in page.text) == (200, True)
    address = f"{site.proxy.url.replace('https', 'wss')}/ui/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    cookie = {"Cookie": entered.headers["set-cookie"].partition(";")[0]}
    with connect(address, ssl=site.proxy.trust, origin=site.proxy.url, additional_headers=cookie) as talk:
        assert json.loads(str(talk.recv(10)).removeprefix("0"))["sid"]


def test_nobody_misses_a_server_that_is_stopped_killed_and_started_again(site: Site) -> None:
    """Reads never fail; a write fails only where it may have happened, or where a server said that it is ending."""
    first, second = site.servers
    callers = [
        _Caller(site.proxy, lambda client, _: client.post("/graphs/art/query", json=READ)),
        _Caller(site.proxy, lambda client, _: client.get("/graphs/art/branches")),
        _Caller(
            site.proxy,
            lambda client, n: client.post("/graphs/art/mutate", json={"query": INSERT, "params": {"n": f"w{n}"}}),
        ),
    ]
    with ExitStack() as serving, ExitStack() as calling:
        for caller in callers:
            calling.enter_context(caller)
        _await_answers(callers, 5)
        second.signal()
        assert second.wait() == 0
        _await_answers(callers, 5)
        port = second.address[1]
        again = serving.enter_context(running_server(site.root, site.directory, "--bind", f"127.0.0.1:{port}"))
        _wait(lambda: " request " in again.log, "the server that was started again is asked")
        first.process.kill()
        _await_answers(callers, 5)
        calling.close()
        with site.proxy.client() as client:
            answer = client.post("/graphs/art/query", json={"query": NAMES}).json()

    found = {row["a.name"] for row in answer["rows"]}
    reads, lists, writes = (caller.answers for caller in callers)
    assert {status for status, _ in (*reads, *lists)} == {200}
    assert Counter(status for status, _ in writes).keys() <= {200, 502, 503}
    assert all('"draining"' in text for status, text in writes if status == 503)
    missing = {n for n, (status, _) in enumerate(writes) if status == 200 and f"w{n}" not in found}
    assert missing == set()
    assert not {n for n, (status, _) in enumerate(writes) if status == 503 and f"w{n}" in found}


class _Caller:
    """Asks the same thing over and over, and keeps what was answered."""

    def __init__(self, proxy: Proxy, ask: Callable[[httpx.Client, int], httpx.Response]) -> None:
        self.answers: list[tuple[int, str]] = []
        self._proxy = proxy
        self._ask = ask
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._go_on)

    def _go_on(self) -> None:
        with self._proxy.client() as client:
            while not self._enough.is_set():
                answer = self._ask(client, len(self.answers))
                self.answers.append((answer.status_code, answer.text))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join(60)


def _await_answers(callers: list[_Caller], more: int) -> None:
    wanted = [len(caller.answers) + more for caller in callers]
    _wait(lambda: all(len(each.answers) >= n for each, n in zip(callers, wanted, strict=True)), "answers go on")


def _wait(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def _metric(server: ServerProcess, name: str) -> float:
    with server.client() as client:
        [found] = re.findall(rf"^{name} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return float(found)
