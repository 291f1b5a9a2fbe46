"""References are compared with bases by what they name, and only one spelling of a name is taken."""

import os
from pathlib import Path
from urllib.parse import quote

import lance
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.catalog.blob_bases import BlobBases

BASES = BlobBases(uris=("s3://museum-scans/originals/", "s3://whole-bucket/", "s3://odd/a%20b/"))


@pytest.mark.parametrize(
    "uri",
    [
        "s3://museum-scans/originals/a.jpg",
        "s3://museum-scans/originals/deep/er/a.jpg",
        "s3://museum-scans/originals/a%20b%C3%A9.jpg",
        "s3://museum-scans/originals/a+b;c=d,e!'()*@:&$~",
        "s3://museum-scans/%6Friginals/a",
        "s3://museum-scans/originals/%252e%252e/a",
        "s3://museum-scans/originals/..a",
        "s3://whole-bucket/anything",
        "s3://odd/a%20b/c",
    ],
)
def test_what_lies_below_a_base_is_accepted(uri: str) -> None:
    assert BASES.refusal(uri) is None


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "a.jpg",
        "/originals/a.jpg",
        "s3:/museum-scans/originals/a",
        "s3://museum-scans",
        "s3://museum-scans/originals",
        "s3://museum-scans/originals/",
        "s3://museum-scans/originals-secret/a",
        "s3://museum-scans/originalsa",
        "s3://museum-scans/Originals/a",
        "s3://museum-scans2/originals/a",
        "s3://Museum-Scans/originals/a",
        "S3://museum-scans/originals/a",
        "s3a://museum-scans/originals/a",
        "https://museum-scans/originals/a",
        "s3://museum-scans/originals/../secret/a",
        "s3://museum-scans/originals/./a",
        "s3://museum-scans/originals//a",
        "s3://museum-scans//originals/a",
        "s3://museum-scans/originals/%2e%2e/secret",
        "s3://museum-scans/originals/%2E./secret",
        "s3://museum-scans/originals/.%2e/secret",
        "s3://museum-scans/originals/..%2fsecret",
        "s3://museum-scans/originals/a%2Fb",
        "s3://museum-scans/originals/a%5Cb",
        "s3://museum-scans/originals/..\\secret",
        "s3://museum-scans/originals/a%00",
        "s3://museum-scans/originals/a%0A",
        "s3://museum-scans/originals/a\n",
        "s3://museum-scans/originals/a b",
        "s3://museum-scans/originals/é",
        "s3://museum-scans/originals/%ff",
        "s3://museum-scans/originals/%",
        "s3://museum-scans/originals/%4",
        "s3://museum-scans/originals/a?versionId=1",
        "s3://museum-scans/originals/a?",
        "s3://museum-scans/originals/a#part",
        "s3://museum-scans/originals/a#",
        "s3://me:secret@museum-scans/originals/a",
        "s3://@museum-scans/originals/a",
        "s3://museum-scans:443/originals/a",
        "s3://museum-scans%2Foriginals/a",
        "s3://other#@museum-scans/originals/a",
        "s3:///museum-scans/originals/a",
        " s3://museum-scans/originals/a",
        "file:///originals/a",
    ],
)
def test_everything_else_is_refused_without_being_repeated(uri: str) -> None:
    refusal = BASES.refusal(uri)

    assert refusal
    assert "secret" not in refusal


NAMES = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=8)


@given(st.lists(NAMES, min_size=1, max_size=5), st.lists(NAMES, min_size=1, max_size=5))
def test_names_below_a_base_are_accepted_however_they_are_encoded_and_others_never(
    base: list[str], names: list[str]
) -> None:
    """What a reader of the reference makes of it is the measure: decoded once, cut at slashes, dots followed."""
    allowed = BlobBases(uris=(f"s3://bucket/{'/'.join(quote(name, safe='') for name in base)}/",))
    uri = f"s3://bucket/{'/'.join(quote(name, safe='') for name in names)}"

    is_accepted = allowed.refusal(uri) is None

    resolved = os.path.normpath("/" + "/".join(names).replace("\\", "/"))
    below = os.path.normpath("/" + "/".join(base).replace("\\", "/"))
    assert not is_accepted or resolved.startswith(below.rstrip("/") + "/")
    plain = all(
        name.isprintable() and name not in {".", ".."} and "/" not in name and "\\" not in name
        for name in (*base, *names)
    )
    assert not plain or is_accepted == (len(names) > len(base) and names[: len(base)] == base)


@given(st.text("/.%2eEfF5cC\\?#@:abAB", max_size=24))
def test_no_trick_leads_out_of_a_base(tail: str) -> None:
    uri = f"s3://bucket/base/{tail}"

    if BlobBases(uris=("s3://bucket/base/",)).refusal(uri) is None:
        from urllib.parse import unquote, urlsplit

        parts = urlsplit(uri)
        path = unquote(parts.path)
        assert (parts.netloc, parts.query, parts.fragment) == ("bucket", "", "")
        assert os.path.normpath(path) == path
        assert path.startswith("/base/")
        assert "\\" not in path


def test_files_lie_below_a_base_by_where_links_lead(tmp_path: Path) -> None:
    base, outside = tmp_path / "base", tmp_path / "outside"
    base.mkdir()
    outside.mkdir()
    (base / "inner").mkdir()
    (base / "out").symlink_to(outside)
    (base / "in").symlink_to(base / "inner")
    (base / "loop").symlink_to(base / "loop")
    (tmp_path / "alias").symlink_to(base)
    allowed = BlobBases(uris=(f"{base.as_uri()}/",))

    for inside in ("a.bin", "inner/a", "in/a", "missing/deep"):
        assert allowed.refusal(f"{base.as_uri()}/{inside}") is None, inside
    for elsewhere in ("out/a", "out", "../outside/a"):
        assert allowed.refusal(f"{base.as_uri()}/{elsewhere}"), elsewhere
    assert allowed.refusal(f"{outside.as_uri()}/a")
    assert allowed.refusal(f"{(tmp_path / 'alias').as_uri()}/a"), "a reference is spelled like its base"
    assert BlobBases(uris=(f"{(tmp_path / 'alias').as_uri()}/",)).refusal(f"{(tmp_path / 'alias').as_uri()}/a") is None
    assert allowed.refusal(f"file://localhost{base}/a")
    assert allowed.refusal(f"file://elsewhere{base}/a")


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_lance_stores_an_accepted_reference_as_it_is_spelled(names: list[str]) -> None:
    uri = f"s3://bucket/{'/'.join(quote(name, safe='') for name in names)}"
    if BlobBases(uris=("s3://bucket/",)).refusal(uri) is not None:
        return
    schema = pa.schema([lance.blob_field("content")])

    dataset = lance.write_dataset(
        pa.table([lance.blob_array([uri])], schema=schema),
        "memory://references",
        mode="overwrite",
        data_storage_version="2.2",
        allow_external_blob_outside_bases=True,
    )

    [stored] = dataset.scanner(blob_handling="blobs_descriptions").to_table()["content"].to_pylist()
    assert stored["blob_uri"] == uri
