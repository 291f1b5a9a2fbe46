"""What a client says of a server that is not there, is none, breaks off, or is slow: one clear sentence each."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import omnigraph
from omnigraph import errors

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@contextmanager
def answering(*answers: bytes, holds: bool = False) -> Iterator[tuple[str, list[bytes]]]:
    """Listen on a port of this machine and give these answers, one per connection; keep what was asked."""
    asked: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def serve() -> None:
        for answer in answers:
            connection, _ = listener.accept()
            with connection:
                asked.append(connection.recv(65536))
                connection.sendall(answer)
                if holds:
                    done.wait(10)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
    finally:
        done.set()
        listener.close()
        thread.join(10)


def body(text: bytes, head: bytes = OK) -> bytes:
    return head + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(text) + text


def test_nobody_listens():
    with pytest.raises(errors.Connection, match=r"127\.0\.0\.1:1 could not be reached") as refused:
        omnigraph.connect("http://127.0.0.1:1", graph="art").mutate("query q() { delete A where x = 1 }")

    assert (refused.value.exit_code, refused.value.effect) == (8, "none"), "nothing was sent"


def test_no_such_host():
    with pytest.raises(errors.Connection, match="could not be reached"):
        omnigraph.connect("http://no-such-host.invalid", graph="art").commits()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (body(b"<html>hello</html>"), "answered 200 with something that no graph server sends"),
        (body(b""), "answered 200 with something that no graph server sends"),
        (body(b'{"commits": 3}'), "of another form"),
        (body(b"<html>Bad Gateway</html>", b"HTTP/1.1 502 Bad Gateway\r\n"), "answered 502.*Bad Gateway"),
        (
            body(b"", b"HTTP/1.1 302 Found\r\nLocation: http://evil.example/x?t=1\r\n"),
            "redirect to http://evil.example/x,",
        ),
    ],
)
def test_an_answer_that_is_none(answer, words):
    with answering(answer) as (url, asked), pytest.raises(errors.ServerAnswer, match=words):
        omnigraph.connect(url, token="geheim", graph="art").commits()

    assert len(asked) == 1, "a redirect is not followed"
    assert b"Bearer geheim" in asked[0]


def test_an_error_of_a_kind_that_is_not_known_is_passed_on_as_it_is():
    document = b'{"error": "no", "kind": "moon_phase", "code": "conflict", "request_id": "r1"}'
    conflict = body(document, b"HTTP/1.1 409 Conflict\r\n")
    with answering(conflict) as (url, _), pytest.raises(errors.OmniError) as refused:
        omnigraph.connect(url, graph="art").commits()

    assert (refused.value.message, refused.value.exit_code, refused.value.request_id) == ("no", 5, "r1")
    assert refused.value.document()["kind"] == "moon_phase"


def test_a_write_whose_answer_is_lost_may_have_landed():
    half = OK + b"Content-Length: 100\r\n\r\n{"
    with answering(half) as (url, _), pytest.raises(errors.Connection, match="landed is unknown") as lost:
        omnigraph.connect(url, graph="art").mutate("query q() { delete A where x = 1 }")

    assert lost.value.effect == "unknown"


def test_a_silent_server_is_not_waited_for():
    with answering(b"", holds=True) as (url, _), pytest.raises(errors.Connection, match="did not answer in time"):
        omnigraph.connect(url, graph="art", timeout=0.3).commits()


def test_an_export_that_breaks_off_is_an_error_and_leaves_no_file(run, monkeypatch, workplace):
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", "t")
    half = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcd\n\r\n"
    with answering(half) as (url, _):
        ran = run("export", "--server", url, "--graph", "art", "--out", "half.jsonl")

    assert ran.code == 8
    assert "broke off" in ran.err
    assert list(workplace.iterdir()) == []


def test_a_baseline_without_its_last_line_gives_no_cursor(run, workplace):
    with answering(body(b'{"type":"A","data":{}}\n')) as (url, _):
        ran = run("changes", "baseline", "--server", url, "--graph", "art", "--out", "b.jsonl", "--json")

    assert ran.code == 1
    assert ran.document["kind"] == "server_answer"
    assert not (workplace / "b.jsonl").exists()


def test_tls_with_somebody_who_has_none():
    with answering(body(b"hello")) as (url, _), pytest.raises(errors.Connection, match=r"TLS failed|broke off"):
        omnigraph.connect(url.replace("http", "https"), graph="art").commits()


def test_branches_and_ids_are_one_segment_each():
    with answering(body(b'{"name": "etl/run 1", "uri": "x"}')) as (url, asked):
        omnigraph.connect(f"{url}/", graph="a b").branches.delete(" etl/run 1 ")

    assert asked[0].startswith(b"DELETE /graphs/a%20b/branches/etl%2Frun%201 HTTP/1.1")


@pytest.mark.parametrize("url", ["ftp://host", "host:8080", "http://[bad"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(errors.OmniError):
        omnigraph.connect(url, graph="art").commits()


def test_a_reference_to_a_blob_is_told_and_not_followed():
    there = b"HTTP/1.1 302 Found\r\nLocation: s3://elsewhere/x.bin\r\nOmnigraph-Snapshot-Id: 01M\r\n"
    with answering(body(b"", there)) as (url, asked):
        blob = omnigraph.connect(url, graph="art").blob("edge:Shows", "s1", "mask")
        with pytest.raises(errors.InvalidTarget, match="never followed"):
            blob.read()

    assert (blob.kind, blob.uri, blob.size, blob.commit_id) == ("external", "s3://elsewhere/x.bin", None, "01M")
    assert asked[0].startswith(b"HEAD /graphs/art/blob?entity=edge&type=Shows&id=s1&property=mask ")


WRITE = "query q() { delete A where x = 1 }"


@pytest.mark.parametrize("token", ["geheim\nX-Actor: other", "geheim\x00", "", " \t"])
def test_a_token_that_no_header_carries_is_refused_and_not_shown(token):
    with pytest.raises(errors.Usage, match="token is blank, or has characters") as refused:
        omnigraph.connect("http://127.0.0.1:1", graph="art", token=token)

    assert "geheim" not in str(refused.value)


def test_a_token_goes_out_as_servers_keep_it():
    with answering(body(b'{"commits": []}'), body(b'{"commits": []}')) as (url, asked):
        omnigraph.connect(url, graph="art", token=" gehéim\n").commits()

        async def ask() -> None:
            async with omnigraph.connect_async(url, graph="art", token="gehéim") as there:
                await there.commits()

        asyncio.run(ask())

    assert all("authorization: Bearer gehéim\r\n".encode() in each.replace(b"A", b"a") for each in asked)


@pytest.mark.parametrize(
    ("answer", "effect"),
    [
        (body(b"<html>", b"HTTP/1.1 502 Bad Gateway\r\n"), "unknown"),
        (body(b"<html>", b"HTTP/1.1 504 Gateway Timeout\r\n"), "unknown"),
        (body(b"<html>", b"HTTP/1.1 408 Request Timeout\r\n"), "unknown"),
        (body(b"<html>"), "unknown"),
        (body(b'{"error":"internal error","kind":"internal","code":"internal"}', b"HTTP/1.1 500 X\r\n"), "unknown"),
        (body(b'{"error":"down","kind":"storage","code":"internal"}', b"HTTP/1.1 500 X\r\n"), "unknown"),
        (body(b'{"error":"later","kind":"draining"}', b"HTTP/1.1 503 X\r\n"), "none"),
        (body(b'{"error":"no","kind":"key_conflict","code":"conflict"}', b"HTTP/1.1 409 X\r\n"), "none"),
        (body(b"<html>", b"HTTP/1.1 403 Forbidden\r\n"), "none"),
    ],
)
def test_what_a_proxy_or_an_accident_leaves_open_is_said_of_a_write(answer, effect):
    with answering(answer, answer) as (url, _):
        with pytest.raises(errors.OmniError) as write:
            omnigraph.connect(url, graph="art").mutate(WRITE)
        with pytest.raises(errors.OmniError) as read:
            omnigraph.connect(url, graph="art").query("match { $a: A } return { $a.x }")

    assert (write.value.effect, read.value.effect) == (effect, "none")
    if isinstance(write.value, errors.ServerAnswer):
        assert ("landed is unknown" in write.value.message) == (effect == "unknown")


def test_every_kind_of_failure_comes_back_as_the_class_that_graphs_raise():
    from omnigraph.client.failures import refusal

    def below(base: type[errors.OmniError]) -> list[type[errors.OmniError]]:
        return [found for child in base.__subclasses__() for found in (child, *below(child))]

    kinds = {found.kind: found for found in below(errors.OmniError) if "kind" in vars(found)}
    assert kinds["internal"] is errors.Internal
    for kind, expected in kinds.items():
        document = json.dumps({"error": "e", "kind": kind}).encode()
        assert type(refusal(400, document, url="http://s", is_write=False)) is expected


@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request"])
def test_a_document_without_a_bottom_is_no_answer(status):
    answer = body(b"[" * 100_000, b"HTTP/1.1 " + status + b"\r\n")
    with answering(answer) as (url, _), pytest.raises(errors.ServerAnswer, match="no graph server sends"):
        omnigraph.connect(url, graph="art").commits()


def test_dots_are_names_and_no_way_up():
    with answering(body(b'{"branches": []}'), body(b'{"name": "..", "uri": "x"}')) as (url, asked):
        omnigraph.connect(url, graph="..").branches.list()
        omnigraph.connect(url, graph="art").branches.delete("..")

    assert asked[0].startswith(b"GET /graphs/%2E%2E/branches HTTP/1.1")
    assert asked[1].startswith(b"DELETE /graphs/art/branches/%2E%2E HTTP/1.1")


@pytest.mark.parametrize(
    ("name", "value"),
    [("ALL_PROXY", "socks5://u:geheim@127.0.0.1:1"), ("HTTP_PROXY", "ftp://u:geheim@x"), ("SSL_CERT_FILE", "/nowhere")],
)
def test_an_environment_that_cannot_be_used_is_told_in_a_sentence(run, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    url = "https://127.0.0.1:1" if name == "SSL_CERT_FILE" else "http://127.0.0.1:1"

    with pytest.raises(errors.Usage, match="SOCKS" if "socks" in value else name):
        omnigraph.connect(url, graph="art")
    ran = run("commit", "list", "--server", url, "--graph", "art")

    assert ran.code == 2
    assert "geheim" not in ran.err
    assert "Traceback" not in ran.err


def test_what_was_closed_says_so():
    graph = omnigraph.connect("http://127.0.0.1:1", graph="art")
    graph.close()

    with pytest.raises(errors.Usage, match="were closed"):
        graph.commits()
    with pytest.raises(errors.Usage, match="timeout"):
        omnigraph.connect("http://127.0.0.1:1", timeout=0)


def test_what_no_request_can_carry_is_not_sent():
    refusal = body(b'{"error": "no", "kind": "bad_request"}', b"HTTP/1.1 400 X\r\n")
    with answering(*4 * [refusal]) as (url, asked):
        graph = omnigraph.connect(url, graph="art", timeout=10)
        for condition in ("a\nb: c", "é"):
            with pytest.raises(errors.Usage, match="nothing was sent") as refused:
                graph.mutate(WRITE, if_commit=condition)
            assert refused.value.effect == "none"
        with pytest.raises(errors.Usage, match="nothing was sent"):
            graph.commits("\ud800")
        assert not any(asked)
    with answering(refusal) as (url, asked), pytest.raises(errors.BadRequest):
        omnigraph.connect(url, graph="art").commit("\ud800")
