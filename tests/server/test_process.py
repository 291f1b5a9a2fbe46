"""The server as a process: its address line, its end, slow and rude clients, and others beside it."""

import json
import signal
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

import httpx
import pytest

import omnigraph
from support.served import TOKENS, ServerProcess, running_server

INSERT = "query add($n: String) { insert Artist { name: $n } }"
READ = "query q($n: String) { match { $a: Artist { name: $n } } return { $a.name } }"
READ_INES = {"query": READ, "params": {"n": "Ines"}}
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def server(museum_template: Path, tmp_path_factory: pytest.TempPathFactory):
    import shutil

    directory = tmp_path_factory.mktemp("process")
    shutil.copytree(museum_template, directory / "museum")
    with running_server(str(directory / "museum"), directory) as running:
        yield running


def raw(server: ServerProcess, content: bytes, *, seconds: float = 10) -> bytes:
    """Send bytes and return everything that comes back until the server closes, or falls silent."""
    with socket.create_connection(server.address, timeout=seconds) as sock:
        sock.sendall(content)
        found = b""
        try:
            while piece := sock.recv(65_536):
                found += piece
        except TimeoutError:
            pass
        return found


def test_the_address_line_is_the_only_one_on_stdout(museum: str, tmp_path: Path) -> None:
    with running_server(museum, tmp_path, "--log-format", "json") as server:
        assert server.address[1] > 0
        with server.client() as client:
            assert client.get("/healthz").json()["status"] == "ok"
            client.get("/graphs/art/schema", headers={"X-Request-Id": "abc-1"})
            # A merge uses DuckDB, which would have its say on stderr if anything of it were left at the exit.
            client.post("/graphs/art/branches", json={"name": "review"})
            for branch in ("review", "main"):
                body = {"query": INSERT, "params": {"n": branch}, "branch": branch}
                assert client.post("/graphs/art/mutate", json=body).status_code == 200
            assert client.post("/graphs/art/branches/merge", json={"source": "review"}).json()["outcome"] == "merged"
        server.signal(signal.SIGINT)
        assert server.wait() == 0
        assert server.process.stdout.read() == ""
        lines = [json.loads(line) for line in server.log.splitlines()]
        (access,) = [line for line in lines if line.get("request_id") == "abc-1" and line["msg"] == "request"]
        assert access["route"] == "/graphs/{graph_id}/schema"
        assert (access["status"], access["actor_id"], access["graph_id"]) == (200, "act-ines", "art")
        assert {"ts", "level", "msg", "duration_ms", "bytes_in", "bytes_out", "method"} <= set(access)
        assert all(token not in server.log for token in TOKENS.values())


def test_a_running_load_ends_well_after_sigterm(museum: str, tmp_path: Path) -> None:
    with running_server(museum, tmp_path) as server:
        going = threading.Event()

        def body():
            yield b'{"type":"Artist","data":{"name":"Slow"}}\n'
            going.wait(30)
            yield b'{"type":"Artist","data":{"name":"Slower"}}\n'

        answers: list[httpx.Response] = []

        def load() -> None:
            with server.client() as client:
                answers.append(client.post("/graphs/art/load/ndjson", content=body(), headers=NDJSON))

        thread = threading.Thread(target=load)
        with server.client() as waiting:
            assert waiting.get("/readyz").status_code == 200
            thread.start()
            wait_until(lambda: "omnigraph_writes_in_flight 1" in waiting.get("/metrics").text)
            server.signal()
            wait_until(lambda: waiting.get("/readyz").status_code == 503)
            assert waiting.get("/readyz").json() == {"status": "draining"}
            assert waiting.get("/healthz").status_code == 200
            refused = waiting.get("/graphs/art/schema")
            assert (refused.status_code, refused.json()["kind"]) == (503, "draining")
            assert "code" not in refused.json()
            # A proxy keeps connections; it must not send the next request to the same end.
            assert refused.headers["connection"] == "close"
            wait_until(lambda: not accepts(server))
            going.set()
            thread.join(30)

        assert [answer.status_code for answer in answers] == [200]
        assert server.wait() == 0
        assert "Traceback" not in server.log, "an end that somebody asked for is no error"
    assert omnigraph.open(f"{museum}/graphs/art.omni").query(READ, n="Slower").rows() == [{"a.name": "Slower"}]


def accepts(server: ServerProcess) -> bool:
    try:
        socket.create_connection(server.address, timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


def wait_until(condition, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


MANY = "".join(f'{{"type":"Artist","data":{{"name":"many-{n:06d}"}}}}\n' for n in range(150_000)).encode()


def start_large_load(server: ServerProcess, waiting: httpx.Client) -> threading.Thread:
    """Begin a load that takes a second or more, and return when it has begun."""

    def write() -> None:
        with server.client() as client, suppress(httpx.HTTPError):
            client.post("/graphs/art/load/ndjson?mode=append", content=MANY, headers=NDJSON)

    thread = threading.Thread(target=write)
    waiting.get("/readyz")
    thread.start()
    wait_until(lambda: "omnigraph_writes_running 1" in waiting.get("/metrics").text)
    return thread


def test_a_write_that_began_is_waited_for_beyond_the_timeout(museum: str, tmp_path: Path) -> None:
    with running_server(museum, tmp_path, "--shutdown-timeout", "0") as server:
        with server.client() as waiting:
            thread = start_large_load(server, waiting)
            server.signal()
            assert server.wait() == 0
        thread.join(30)
        assert "waiting for writes that have begun" in server.log
    assert omnigraph.open(f"{museum}/graphs/art.omni").query(READ, n="many-149999").rows() == [
        {"a.name": "many-149999"}
    ]


def test_a_second_signal_ends_at_once_and_the_next_open_settles(museum: str, tmp_path: Path) -> None:
    with running_server(museum, tmp_path) as server:
        with server.client() as waiting:
            thread = start_large_load(server, waiting)
            server.signal()
            wait_until(lambda: waiting.get("/readyz").status_code == 503)
            server.signal()
            assert server.wait() == 130
        thread.join(30)
    with running_server(museum, tmp_path) as again, again.client() as client:
        after = client.post("/graphs/art/mutate", json={"query": INSERT, "params": {"n": "After"}})
        count = client.post("/graphs/art/query", json={"query": COUNT}).json()["rows"]
    assert after.status_code == 200
    assert count in ([{"n": 3}], [{"n": 150_003}])


COUNT = "query q() { match { $a: Artist } return { count($a) as n } }"


def test_two_servers_serve_and_write_one_cluster_and_one_may_die(museum: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with running_server(museum, tmp_path / "a") as first, running_server(museum, tmp_path / "b") as second:
        with first.client() as a, second.client() as b:
            assert b.post("/graphs/art/query", json={"query": READ, "params": {"n": "Ines"}}).json()["row_count"] == 1
            written = a.post("/graphs/art/mutate", json={"query": INSERT, "params": {"n": "Shared"}}).json()
            commit = written["commit"]["graph_commit_id"]

            named = b.post("/graphs/art/query", json={"query": READ, "params": {"n": "Shared"}, "snapshot": commit})
            assert named.json()["row_count"] == 1
            started = time.monotonic()
            while b.post("/graphs/art/query", json={"query": READ, "params": {"n": "Shared"}}).json()["row_count"] == 0:
                assert time.monotonic() - started < 1.0
            conditional = b.post(
                "/graphs/art/mutate/if-graph-commit",
                json={"query": INSERT, "params": {"n": "Conditional"}},
                headers={"Omnigraph-If-Graph-Commit": commit},
            )
            assert conditional.status_code == 200
        threads = [
            threading.Thread(target=write_many, args=(server, name)) for server, name in ((first, "a"), (second, "b"))
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.7)
        first.process.kill()
        for thread in threads:
            thread.join(60)
        with second.client() as b:
            assert b.post("/graphs/art/mutate", json={"query": INSERT, "params": {"n": "Still"}}).status_code == 200
            names = {row["a.name"] for row in b.post("/graphs/art/query", json={"query": ALL}).json()["rows"]}
        assert {"Shared", "Conditional", "Still"} <= names
        assert acknowledged <= names


ALL = "query q() { match { $a: Artist } return { $a.name } }"
acknowledged: set[str] = set()


def write_many(server: ServerProcess, prefix: str) -> None:
    with server.client() as client:
        for number in range(8):
            name = f"{prefix}-{number}"
            try:
                answer = client.post("/graphs/art/mutate", json={"query": INSERT, "params": {"n": name}})
            except httpx.HTTPError:
                return
            if answer.status_code == 200:
                acknowledged.add(name)


def test_health_answers_while_queries_are_long(server: ServerProcess) -> None:
    """Ask for health again and again while a query of a second or two runs: a loop that waited would answer once."""
    product = " ".join(f"$a{n}: Artist" for n in range(20))
    long = f"query q() {{ match {{ {product} }} return {{ $a0.name, $a19.name as n }} order {{ $a19.name }} limit 1 }}"
    answers: list[int] = []

    def ask() -> None:
        with server.client() as client:
            answers.append(client.post("/graphs/art/query", json={"query": long}).status_code)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    took = []
    with server.client(actor=None) as client, server.client() as watching:
        for thread in threads:
            thread.start()
        wait_until(lambda: answers or "omnigraph_http_requests_running 3" in watching.get("/metrics").text)
        while not answers:
            started = time.monotonic()
            assert client.get("/healthz").status_code == 200
            took.append(time.monotonic() - started)
    for thread in threads:
        thread.join(120)

    assert answers == [200, 200]
    assert len(took) > 5
    assert median(took) < 1.0


def request_of(body: bytes, *, token: str = TOKENS["act-ines"], name: str = "query", more: str = "") -> bytes:
    """Spell a request with a body, which is the last of a connection."""
    head = (
        f"POST /graphs/art/{name} HTTP/1.1\r\nHost: s\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nX-Request-Id: same\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    )
    return head.encode() + body


def in_two_pieces(server: ServerProcess, content: bytes) -> bytes:
    """Send a request whose last byte comes later, and return the answer."""
    with socket.create_connection(server.address, timeout=20) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(content[:-1])
        time.sleep(0.05)
        sock.sendall(content[-1:])
        return b"".join(iter(lambda: sock.recv(65_536), b""))


def without_date(answer: bytes) -> list[bytes]:
    return [line for line in answer.split(b"\r\n") if not line.startswith(b"date: ")]


@pytest.mark.parametrize(
    ("body", "token", "name", "status"),
    [
        (READ_INES, "act-ines", "query", b"200"),
        ({"query": READ, "params": {"n": "Nobody"}}, "act-ines", "query", b"200"),
        ({"query": READ, "params": {"n": 5}}, "act-ines", "query", b"400"),
        ({"query": READ}, "act-ines", "query", b"400"),
        ({"query": 5}, "act-ines", "query", b"400"),
        ({**READ_INES, "branch": " "}, "act-ines", "query", b"400"),
        (READ_INES, "act-lee", "query", b"403"),
        (READ_INES, None, "query", b"401"),
        ({"params": {"name": "Ines"}}, "act-ines", "queries/by_artist", b"200"),
        ({"params": {"name": "Ines"}, "expect_mutation": True}, "act-ines", "queries/by_artist", b"400"),
        ({"params": {"name": "Ines"}}, "act-lee", "queries/by_artist", b"404"),
        (READ_INES, "act-ines", "read", b"200"),
    ],
)
def test_what_is_answered_at_once_is_answered_as_by_a_task(
    server: ServerProcess, body: dict[str, object], token: str | None, name: str, status: bytes
) -> None:
    with server.client() as client:
        for _ in range(3):  # from then on it is at hand
            client.post("/graphs/art/query", json=READ_INES)
            client.post("/graphs/art/queries/by_artist", json={"params": {"name": "Ines"}})
    request = request_of(json.dumps(body).encode(), token=TOKENS[token] if token else "nobodys", name=name)

    whole, later = raw(server, request), in_two_pieces(server, request)

    assert whole.startswith(b"HTTP/1.1 " + status)
    assert sorted(without_date(whole)) == sorted(without_date(later))


def test_two_small_reads_in_one_packet_are_two_answers(server: ServerProcess) -> None:
    last = request_of(json.dumps(READ_INES).encode())
    first = last.replace(b"Connection: close\r\n", b"")

    answers = raw(server, first + last)

    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert answers.count(b'"rows":[{"a.name":"Ines"}]') == 2


def test_who_knows_everybody_is_read_in_a_thread_and_logged_once(server: ServerProcess) -> None:
    records = "".join(
        f'{{"type":"Artwork","data":{{"title":"w{n}"}}}}\n{{"edge":"CreatedBy","from":"w{n}","to":"Rémy"}}\n'
        for n in range(1_100)
    )
    works = "query q($n: String) { match { $a: Artist { name: $n } $w createdBy $a } return { $w.title } }"

    def ask(client: httpx.Client, name: str, request_id: str) -> int:
        body = {"query": works, "params": {"n": name}}
        return client.post("/graphs/art/query", json=body, headers={"X-Request-Id": request_id}).json()["row_count"]

    with server.client() as client:
        assert client.post("/graphs/art/load/ndjson", content=records.encode(), headers=NDJSON).status_code == 200
        assert [ask(client, "Ines", f"few-{n}") for n in range(3)] == [1, 1, 1]
        before = client.get("/metrics").text
        assert ask(client, "Rémy", "many") == 1_100
        assert ask(client, "Ines", "few-3") == 1
        after = client.get("/metrics").text
    wait_until(lambda: "request_id=few-3 method" in server.log)

    def count(text: str, name: str) -> float:
        return float(next(line for line in text.splitlines() if line.startswith(name)).rpartition(" ")[2])

    for name in ("omnigraph_queries_in_threads_total", "omnigraph_queries_from_memory_total"):
        assert count(after, name) == count(before, name) + 1
    lines = [line.split()[2] for line in server.log.splitlines() if "request_id=many " in line]
    assert lines == ["policy", "request"]


def test_the_answer_written_in_one_piece_is_what_others_would_write(server: ServerProcess) -> None:
    request = "GET /readyz HTTP/1.1\r\nHost: s\r\nX-Request-Id: same\r\n"
    kept = raw(server, f"{request}\r\n{request}Connection: close\r\n\r\n".encode())

    head, _, body = kept.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\ndate: ")
    assert b"\r\ncontent-type: application/json\r\n" in head
    assert b"\r\nx-request-id: same" in head
    assert kept.count(b"HTTP/1.1 200 OK") == 2
    assert kept.count(b"connection: close") == 1
    assert body.count(b'"status":"ready"') == 2
    assert b"server:" not in kept.lower()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: s\r\nX-A: " + b"a" * 100_000 + b"\r\n\r\n", b"431"),
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: s\r\n\r\n", b"4"),
        (b"\x00\x01\x02\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: s\r\n\r\n\x00\x01\r\n\r\n", b"400"),
        (request_of(json.dumps(READ_INES).encode()).replace(b"Connection: close\r\n", b"") + b"\x00\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: s\r\nHost: t\r\nConnection: close\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.0\r\n\r\n", b"200"),
        (b"GET /healthz HTTP/1.1\r\nHost: s\r\n" + b"X-A: a\r\n" * 20_000 + b"\r\n", b"431"),
        (b"GET /graphs/../healthz HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n", b"401"),
        (b"GET //healthz HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n", b"404"),
        (b"GET /healthz/ HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n", b"404"),
        (b"GET /graphs/art%00/schema HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n", b"401"),
        (b"OPTIONS /graphs HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n", b"405"),
        (b"GET /healthz HTTP/1.1\r\nHost: s\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n", b"200"),
        (
            b"POST /graphs HTTP/1.1\r\nHost: s\r\nContent-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"",
        ),
    ],
    ids=[
        "header",
        "path",
        "noise",
        "noise behind",
        "noise behind a body",
        "no host",
        "two hosts",
        "http 1.0",
        "many headers",
        "dots",
        "slashes",
        "slash",
        "zero",
        "options",
        "upgrade",
        "smuggling",
    ],
)
def test_rude_requests_break_nothing(server: ServerProcess, content: bytes, expected: bytes) -> None:
    answer = raw(server, content, seconds=2)

    assert b"Traceback" not in answer
    assert b" 500 " not in answer.partition(b"\r\n")[0]
    if expected:
        assert answer.startswith(b"HTTP/1.1 " + expected)
    if expected.startswith(b"4"):
        head, _, body = answer.partition(b"\r\n\r\n")
        assert f"x-request-id: {json.loads(body)['request_id']}".encode() in head
    with server.client(actor=None) as client:
        assert client.get("/healthz").status_code == 200


def test_a_client_that_sends_next_to_nothing_is_not_waited_for(museum: str, tmp_path: Path) -> None:
    from omnigraph.server.protocol import protocol_class
    from omnigraph.server.settings import Limits

    assert protocol_class(Limits(arrival_seconds=1), lambda _: False).limits.arrival_seconds == 1
    with running_server(museum, tmp_path, environ={"OMNIGRAPH_SERVER_ARRIVAL_SECONDS": "1"}) as server:
        slow = [socket.create_connection(server.address) for _ in range(20)]
        for sock in slow:
            sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
        body = socket.create_connection(server.address)
        body.sendall(
            b"POST /graphs/art/query HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\n"
            + f"Authorization: Bearer {TOKENS['act-ines']}\r\nContent-Length: 100\r\n\r\n{{".encode()
        )
        for sock in [*slow, body]:
            sock.settimeout(10)
            assert sock.recv(1_024) == b""
            sock.close()
        with server.client(actor=None) as client:
            assert client.get("/healthz").status_code == 200
