"""What a client says of a server that is not there, is none, breaks off, or is slow: one clear sentence each."""

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
