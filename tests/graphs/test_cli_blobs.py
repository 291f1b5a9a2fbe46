"""`omnigraph blob`, as a user types it."""

import pytest

import omnigraph

pytestmark = pytest.mark.usefixtures("photos")

VALUE = ("node", "Photo", "sea", "content")


@pytest.fixture
def photos(workplace):
    """A graph with one photo of ten bytes, an empty one, and one without content."""
    workplace.joinpath("photos.jsonl").write_text(
        '{"type": "Photo", "data": {"name": "sea", "content": "base64:MDEyMzQ1Njc4OQ=="}}\n'
        '{"type": "Photo", "data": {"name": "fog", "content": "base64:"}}\n'
        '{"type": "Photo", "data": {"name": "nil"}}\n'
    )
    graph = omnigraph.init(str(workplace / "photos.omni"), "node Photo { name: String @key\n content: Blob? }")
    graph.load("photos.jsonl", mode="append")
    return "photos.omni"


def test_get_writes_raw_bytes(run, photos, workplace):
    assert run("blob", "get", *VALUE, photos).out == "0123456789"
    assert run("blob", "get", *VALUE, "--store", photos, "--offset", "2", "--length", "3").out == "234"
    assert run("blob", "get", *VALUE, "--uri", photos, "--offset", "8", "--length", "30").out == "89"

    ran = run("blob", "get", *VALUE, photos, "--out", "sea.bin")

    assert (ran.code, ran.out) == (0, "")
    assert workplace.joinpath("sea.bin").read_bytes() == b"0123456789"


def test_an_empty_value_is_a_success_with_no_bytes(run, photos, workplace):
    ran = run("blob", "get", "node", "Photo", "fog", "content", photos, "--out", "fog.bin")

    assert ran.code == 0
    assert workplace.joinpath("fog.bin").read_bytes() == b""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("node", "Photo", "nil", "content"), 1, "not found"),
        (("node", "Photo", "nobody", "content"), 1, "not found"),
        ((*VALUE, "--offset", "10"), 1, "not satisfiable"),
        ((*VALUE, "--length", "0"), 2, "--length"),
        ((*VALUE, "--offset", str(2**64)), 2, "--length"),
        (("thing", "Photo", "sea", "content"), 2, "ENTITY"),
        ((*VALUE, "--branch", "main", "--snapshot", "main"), 2, "--branch"),
    ],
)
def test_what_cannot_be_read_leaves_no_file(run, photos, workplace, words, code, said):
    ran = run("blob", "get", *words, "--store", photos, "--out", "new.bin")

    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert sorted(path.name for path in workplace.iterdir()) == ["photos.jsonl", photos]


def test_a_file_that_is_there_is_left(run, photos, workplace):
    workplace.joinpath("old.bin").write_bytes(b"old")

    ran = run("blob", "get", *VALUE, photos, "--out", "old.bin")

    assert ran.code == 2
    assert workplace.joinpath("old.bin").read_bytes() == b"old"


def test_stat_describes_without_reading(run, photos):
    document = run("blob", "stat", *VALUE, photos, "--json").document
    commit = document["target"]["resolved_snapshot"]

    assert list(document) == ["selector", "kind", "size", "etag", "target"]
    assert document["selector"] == {"entity": "node", "type": "Photo", "id": "sea", "property": "content"}
    assert (document["kind"], document["size"]) == ("managed", 10)
    assert document["target"] == {"branch": "main", "resolved_snapshot": commit}
    older = run("blob", "stat", *VALUE, photos, "--snapshot", commit, "--json").document
    assert older["target"] == {"snapshot": commit, "resolved_snapshot": commit}
    assert run("blob", "stat", *VALUE, photos).out.splitlines()[:3] == [
        "value: Photo.content of node 'sea'",
        "kind: managed",
        "size: 10 bytes",
    ]
