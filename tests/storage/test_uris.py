import os
import pickle

import lance
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from omnigraph.errors import Addressing, Internal
from omnigraph.storage.objects import open_objects
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot
from support.nasty_texts import NASTY_CHARACTERS


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("/data/g.omni", "/data/g.omni"),
        ("/data/g.omni/", "/data/g.omni"),
        ("//data///x/../g.omni/.", "/data/g.omni"),
        ("file:///data/g.omni", "/data/g.omni"),
        ("file://localhost/data/g.omni//", "/data/g.omni"),
        ("FILE:///data/my%20graph", "/data/my graph"),
        ("file:///data/100%25", "/data/100%"),
        ("/data/a#b?c%20d", "/data/a#b?c%20d"),
        ("s3://bucket/a/g.omni", "s3://bucket/a/g.omni"),
        ("s3://bucket/a/g.omni/", "s3://bucket/a/g.omni"),
        ("S3://bucket/Ä b+c=d", "s3://bucket/Ä b+c=d"),
    ],
)
def test_every_spelling_of_an_address_has_one_canonical_uri(text, uri):
    assert GraphRoot.parse(text).uri == uri


def test_a_relative_path_is_taken_from_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert GraphRoot.parse("sub/../g.omni").uri == f"{tmp_path}/g.omni"


def test_a_tilde_is_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))

    assert GraphRoot.parse("~/g.omni").uri == f"{tmp_path}/g.omni"


def test_a_path_through_a_symlink_keeps_its_spelling_but_shares_the_identity(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    straight = GraphRoot.parse(str(tmp_path / "real" / "g.omni"))
    roundabout = GraphRoot.parse(str(tmp_path / "link" / "g.omni"))

    assert roundabout.uri == f"{tmp_path}/link/g.omni"
    assert roundabout.identity == straight.identity == os.path.realpath(straight.uri)


def test_a_local_root_knows_its_path_and_has_no_bucket():
    root = GraphRoot.parse("/data/g.omni")

    assert root.is_local
    assert str(root.local_path) == "/data/g.omni"
    assert root.table_uri("nodes/01") == "/data/g.omni/nodes/01"
    with pytest.raises(Internal):
        _ = root.bucket


def test_an_s3_root_knows_its_bucket_and_key_and_has_no_path():
    root = GraphRoot.parse("s3://bucket/a/g.omni")

    assert not root.is_local
    assert (root.bucket, root.key) == ("bucket", "a/g.omni")
    assert root.table_uri("nodes/01") == "s3://bucket/a/g.omni/nodes/01"
    with pytest.raises(Internal):
        _ = root.local_path


@pytest.mark.parametrize(
    ("text", "name"), [("/data/music.omni", "music"), ("/data/music", "music"), ("s3://b/x/music.omni/", "music")]
)
def test_the_name_is_the_last_segment_without_its_suffix(text, name):
    assert GraphRoot.parse(text).name == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\0b",
        "/",
        "file:///",
        "file:/data/g",
        "file://otherhost/data",
        "file://relative",
        "file:///data/g?x=1",
        "file:///data/g#x",
        "file:///data/%00",
        "s3:/bucket/g",
        "s3://",
        "s3://bucket",
        "s3://bucket/",
        "s3:///g",
        "s3://buc ket/g",
        "s3://bucket:9000/g",
        "s3://bucket/a//g",
        "s3://bucket/./g",
        "s3://bucket/a/../g",
        "s3://bucket/g?versionId=1",
        "s3://bucket/g#x",
        "s3://bucket/a%20b",
        "s3://bucket/a\tb",
        "http://localhost:8080",
        "https://example.org/g",
        "gs://bucket/g",
        "memory://g",
    ],
)
def test_anything_else_is_refused_with_the_list_of_accepted_forms(text):
    with pytest.raises(Addressing) as caught:
        GraphRoot.parse(text)

    assert "a path, file:///path and s3://bucket/prefix" in caught.value.message


def test_a_server_address_is_refused_as_such():
    with pytest.raises(Addressing, match="address of a server, not of storage"):
        GraphRoot.parse("https://graphs.example.org")


@pytest.mark.parametrize(
    "text",
    [
        "s3://AKIA:hunter2@bucket/g",
        "s3://bucket/g?X-Amz-Signature=hunter2",
        "https://me:hunter2@host/g",
        "https://host/g?token=hunter2",
        "gs://x#hunter2",
    ],
)
def test_a_refusal_never_repeats_credentials(text):
    with pytest.raises(Addressing) as caught:
        GraphRoot.parse(text)

    assert "hunter2" not in str(caught.value)
    assert "AKIA" not in str(caught.value)


@given(st.text(st.characters(exclude_characters="".join(NASTY_CHARACTERS), exclude_categories=["Cs"]), min_size=1))
def test_parsing_a_canonical_uri_changes_nothing(tail):
    assume(os.path.normpath(f"/data/{tail}").strip("/"))

    root = GraphRoot.parse(f"/data/{tail}")

    assert GraphRoot.parse(root.uri) == root


def test_a_root_travels_to_another_process_unchanged():
    root = GraphRoot.parse("s3://bucket/a/g.omni")

    assert pickle.loads(pickle.dumps(root)) == root


@pytest.mark.parametrize(
    "odd", ["with space", "plus+", "per%cent", "per%20cent", "a#b?c", "Ünï", "colon:", "back\\slash"]
)
def test_lance_and_control_objects_meet_in_one_local_directory(tmp_path, odd):
    root = GraphRoot.parse(f"{tmp_path}/{odd}.omni")

    _write_both(root)

    assert [path.name for path in tmp_path.iterdir()] == [f"{odd}.omni"]
    assert {path.name for path in root.local_path.iterdir()} == {"control.json", "nodes"}


@pytest.mark.s3
@pytest.mark.parametrize("odd", ["with space", "plus+", "a=b&c", "Ünï", "colon:", "back\\slash", "star*(1)"])
def test_lance_and_control_objects_meet_under_one_s3_prefix(s3_root, odd):
    outer = GraphRoot.parse(s3_root)
    root = GraphRoot.parse(f"{s3_root}/{odd}.omni")

    _write_both(root)

    found = open_objects(outer, StoreSettings.resolve(outer, None, os.environ)).list("")
    assert {path.split("/")[0] for path in found} == {f"{odd}.omni"}
    assert f"{odd}.omni/control.json" in found


def _write_both(root: GraphRoot) -> None:
    settings = StoreSettings.resolve(root, None, os.environ)
    lance.write_dataset(pa.table({"x": [1]}), root.table_uri("nodes"), storage_options=settings.lance_options)
    open_objects(root, settings).create("control.json", b"{}")
    assert open_objects(root, settings).read("control.json") is not None
