"""References behind a server: it sends clients to them, opens none, and takes new ones below server-safe bases only."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import ExternalBlobDenied, InvalidRecord, InvalidTarget
from support import harbor
from support.references import CONTENTS, SCANS, Value, filled, photo
from support.served import TOKENS, ServedApp, running_server, served_app
from support.twins import POLICIES, Served

PHOTO = "/graphs/art/blob?entity=node&type=Photo&property=content&id="
INSERT = "query q($name: String, $content: String) { insert Photo { name: $name, content: $content } }"


@pytest.fixture(scope="module")
def museum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServedApp, dict[str, Value], str]]:
    directory = tmp_path_factory.mktemp("references")
    root = str(directory / "cluster")
    _, values = filled(root, directory / "files", policies=POLICIES)
    app = served_app(root)
    yield app, values, f"{(directory / 'files').as_uri()}/new.bin"
    app.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, dict[str, Value]]]:
    directory = tmp_path_factory.mktemp("references")
    root = str(directory / "cluster")
    _, values = filled(root, directory / "files", policies=POLICIES)
    with running_server(root, directory) as process:
        yield Served(process, root), values


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("name", ["bucket", "missing", "here"])
def test_a_client_is_sent_to_where_the_bytes_are(museum, method: str, name: str) -> None:
    app, values, _ = museum

    answer = app.ask(method, f"{PHOTO}{name}", headers={"Range": "bytes=0-1", "If-None-Match": "*", "If-Match": '"x"'})

    assert (answer.status_code, answer.content) == (302, b"")
    assert answer.headers["location"] == values[name]
    assert answer.headers.get_list("cache-control") == ["no-store"]
    assert answer.headers["omnigraph-snapshot-id"]
    assert not {"etag", "accept-ranges", "content-type"} & set(answer.headers)


def test_an_edge_and_an_older_state_too(museum) -> None:
    app, values, _ = museum
    head = app.ask("GET", f"{PHOTO}bucket").headers["omnigraph-snapshot-id"]

    edge = app.ask("GET", "/graphs/art/blob?entity=edge&type=Shows&property=mask&id=here-small")
    older = app.ask("GET", f"{PHOTO}bucket&snapshot={head}")

    assert (edge.status_code, edge.headers["location"]) == (302, values["here"])
    assert (older.status_code, older.headers["location"]) == (302, values["bucket"])


def test_null_empty_and_content_are_something_else(museum) -> None:
    app, _, _ = museum

    found = {name: app.ask("GET", f"{PHOTO}{name}") for name in CONTENTS}

    assert {name: answer.status_code for name, answer in found.items()} == {
        name: 404 if content is None else 200 for name, content in CONTENTS.items()
    }
    assert all(found[name].content == content for name, content in CONTENTS.items() if content is not None)


def test_who_may_not_read_is_not_told_the_address(museum) -> None:
    app, _, _ = museum

    answer = app.ask("GET", f"{PHOTO}bucket", actor="act-zoe")

    assert answer.status_code == 403
    assert SCANS not in str(answer.headers) + answer.text


def test_a_mutation_takes_references_below_server_safe_bases_only(museum) -> None:
    app, _, local = museum

    def insert(name: str, content: str):
        return app.ask("POST", "/graphs/art/mutate", {"query": INSERT, "params": {"name": name, "content": content}})

    accepted, elsewhere, embedded = insert("safe", f"{SCANS}s"), insert("no", "s3://other/s"), insert("no", local)

    assert accepted.status_code == 200, accepted.text
    assert app.ask("GET", f"{PHOTO}safe").headers["location"] == f"{SCANS}s"
    for refused in (elsewhere, embedded):
        assert (refused.status_code, refused.json()["code"]) == (400, "bad_request"), refused.text
        assert refused.json()["kind"] == "external_blob_denied"
        assert local not in refused.text
    long = insert("no", SCANS + "x" * 5_000)
    assert (long.status_code, long.json()["resource_limit"]["resource"]) == (413, "external_blob_uri_bytes")
    assert app.ask("GET", f"{PHOTO}no").status_code == 404


def test_a_load_takes_references_below_server_safe_bases_only(museum) -> None:
    app, _, local = museum

    def load(name: str, content: str):
        return app.ask("POST", "/graphs/art/load", {"data": json.dumps(photo(name, content)), "mode": "append"})

    accepted, refused = load("loaded", f"{SCANS}l"), load("no", local)

    assert accepted.status_code == 200, accepted.text
    assert app.ask("HEAD", f"{PHOTO}loaded").headers["location"] == f"{SCANS}l"
    assert refused.status_code == 400
    assert "external_blob_denied" in refused.text
    assert local not in refused.text


def test_an_export_has_the_addresses(museum) -> None:
    app, values, _ = museum

    lines = app.ask("POST", "/graphs/art/export", {"type_names": ["Photo"]}).text.splitlines()

    found = {each["data"]["name"]: each["data"]["content"] for each in map(json.loads, lines)}
    assert {name: found[name] for name in ("bucket", "missing", "here")} == {
        name: values[name] for name in ("bucket", "missing", "here")
    }


def test_no_byte_follows_the_head_of_the_answer(server) -> None:
    served, values = server
    host, port = served.server.address
    connection = http.client.HTTPConnection(host, port, timeout=30)

    for method in ("GET", "HEAD", "GET"):  # on one connection: a body that nobody expects would break the next answer
        connection.request(method, f"{PHOTO}bucket", headers={"Authorization": f"Bearer {TOKENS['act-ines']}"})
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("Location"), answer.read()) == (302, values["bucket"], b"")
        assert answer.getheader("Cache-Control") == "no-store"
        assert answer.getheader("Content-Length") == "0"
    connection.close()


def test_the_python_client_tells_the_address_and_does_not_follow_it(server) -> None:
    served, values = server
    graph = omnigraph.connect(served.url, token=TOKENS["act-ines"], graph="art")

    blob = graph.blob("Photo", "here", "content")

    assert (blob.kind, blob.uri, blob.size, blob.etag) == ("external", values["here"], None, None)
    with pytest.raises(InvalidTarget, match="never followed"):
        blob.read()
    with pytest.raises(ExternalBlobDenied):
        graph.mutate(INSERT, params={"name": "no", "content": "s3://other/x"})
    with pytest.raises(InvalidRecord, match="external object"):
        graph.load(harbor.lines([photo("no", "s3://other/x")]), mode="append")


@pytest.mark.parametrize("words", [("stat",), ("stat", "--json"), ("get",)])
@pytest.mark.parametrize("name", ["bucket", "here"])
def test_the_command_line_says_the_same_both_ways(
    server, run, monkeypatch: pytest.MonkeyPatch, workplace: Path, words: tuple[str, ...], name: str
) -> None:
    served, values = server
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", TOKENS["act-ines"])
    command = ("blob", words[0], "node", "Photo", name, "content", *words[1:])

    direct = run(*command, "--store", served.storage)
    remote = run(*command, "--server", served.url, "--graph", "art")

    assert (remote.code, remote.out, remote.err) == (direct.code, direct.out, direct.err)
    assert str(values[name]) in direct.out + direct.err
    if words[0] == "get":
        assert (direct.code, direct.out) == (1, "")
        assert "blob stat" in direct.err
    elif "--json" in words:
        said = json.loads(direct.out)
        assert (said["kind"], said["uri"]) == ("external", values[name])
        assert not {"size", "etag"} & set(said)
