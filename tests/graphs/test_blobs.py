"""Single Blob values: their size and mark without reading them, their bytes in pieces, and references left alone."""

import base64
import io
import json
import resource
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.errors import EntityNotFound, InvalidTarget, RangeNotSatisfiable
from omnigraph.graphs.blobs import BLOB_PIECE_BYTES
from support.raw_tables import pin_of

SCHEMA = "node Photo { name: String @key\n content: Blob?\n year: I32? }\nedge Shows: Photo -> Photo { mask: Blob? }"
SIZES = {"empty": 0, "inline": 10, "packed": 100_000, "dedicated": BLOB_PIECE_BYTES + 10}
CONTENTS = {name: bytes(byte % 251 for byte in range(size)) for name, size in SIZES.items()}


def photo(name: str, content: bytes | None, year: int | None = None) -> str:
    spelled = None if content is None else f"base64:{base64.b64encode(content).decode()}"
    return json.dumps({"type": "Photo", "data": {"name": name, "content": spelled, "year": year}})


def loaded(graph: Graph, *lines: str, branch: str = "main") -> None:
    graph.load(io.BytesIO("\n".join(lines).encode()), mode="merge", branch=branch)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = omnigraph.init(str(tmp_path_factory.mktemp("photos") / "photos.omni"), SCHEMA)
    lines = [photo(name, content) for name, content in CONTENTS.items()]
    mask = {"edge": "Shows", "from": "inline", "to": "packed", "data": {"id": "s1", "mask": "base64:AAEC"}}
    loaded(graph, *lines, photo("null", None), json.dumps(mask))
    return graph


@pytest.mark.parametrize("name", CONTENTS)
def test_a_value_has_its_size_its_bytes_and_any_range_of_them(photos: Graph, name: str) -> None:
    content = CONTENTS[name]

    blob = photos.blob("Photo", name, "content")

    assert (blob.kind, blob.size, blob.uri) == ("managed", len(content), None)
    assert blob.commit_id == photos.snapshot().commit_id
    assert blob.read() == content
    assert blob.read(offset=3, length=4) == content[3:7]
    assert blob.read(offset=5) == content[5:]
    assert max(map(len, blob.pieces()), default=0) <= BLOB_PIECE_BYTES


def test_an_edge_has_blobs_too_and_is_named_by_its_key(photos: Graph) -> None:
    assert photos.blob("edge:Shows", "s1", "mask").read() == b"\0\1\2"


def test_a_range_is_cut_to_the_value_and_one_behind_it_is_refused(photos: Graph) -> None:
    blob = photos.blob("Photo", "inline", "content")

    assert blob.read(offset=8, length=100) == CONTENTS["inline"][8:]
    assert photos.blob("Photo", "empty", "content").read(offset=9) == b""
    with pytest.raises(RangeNotSatisfiable) as caught:
        blob.pieces(offset=10, length=2)
    assert caught.value.document()["blob_range"] == {"start": 10, "end": 12, "length": 10}
    for wrong in ({"offset": -1}, {"length": 0}):
        with pytest.raises(InvalidTarget):
            blob.read(**wrong)


@pytest.mark.parametrize(
    ("selector", "error", "words"),
    [
        (("Photo", "null", "content"), EntityNotFound, "no value"),
        (("Photo", "nobody", "content"), EntityNotFound, "not found"),
        (("Picture", "inline", "content"), EntityNotFound, "Picture"),
        (("Photo", "inline", "year"), InvalidTarget, "not Blob"),
        (("Photo", "inline", "contents"), InvalidTarget, "did you mean content"),
    ],
)
def test_what_is_no_value_is_refused_with_a_reason(photos: Graph, selector, error, words) -> None:
    with pytest.raises(error, match=words):
        photos.blob(*selector)


def test_the_mark_follows_the_bytes_and_survives_writes_to_others(tmp_path: Path) -> None:
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    loaded(graph, photo("a", b"one"), photo("b", b"one"))
    first = graph.blob("Photo", "a", "content")
    assert first.etag != graph.blob("Photo", "b", "content").etag, "equal bytes may have different marks"

    loaded(graph, photo("c", b"two"))
    assert graph.blob("Photo", "a", "content").etag == first.etag
    graph.branches.create("review")
    assert graph.blob("Photo", "a", "content", branch="review").etag == first.etag

    loaded(graph, photo("a", b"new"), branch="review")
    changed = graph.blob("Photo", "a", "content", branch="review")
    assert (changed.etag != first.etag, changed.read()) == (True, b"new")
    assert graph.blob("Photo", "a", "content", snapshot=first.commit_id).read() == b"one"


def test_a_rewrite_and_a_cleanup_leave_the_bytes_of_a_blob_that_somebody_holds(tmp_path: Path) -> None:
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    for name in "abc":
        loaded(graph, photo(name, name.encode() * 70_000))
    held = graph.blob("Photo", "a", "content")

    graph.optimize()

    assert held.read() == graph.blob("Photo", "a", "content").read() == b"a" * 70_000


def test_reading_takes_the_memory_of_a_piece(tmp_path: Path) -> None:
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    size = 16 * BLOB_PIECE_BYTES
    rows = pa.table({"name": ["large"], "content": pa.array([bytes(size)], pa.large_binary())})
    graph.load_table(rows, type="Photo", mode="append")
    del rows
    blob = omnigraph.open(graph.uri, read_only=True).blob("Photo", "large", "content")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert sum(map(len, blob.pieces())) == size
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < size / 2


def test_a_reference_tells_its_address_and_is_never_opened(tmp_path: Path) -> None:
    """Lance can store references; a graph refuses them, so this one is put behind its back and vouched for."""
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    pin = pin_of(graph, "Photo")
    uri = graph._context.store.tables.uri(pin.address)
    schema = lance.dataset(uri).schema
    elsewhere = "file:///nowhere/at/all.bin"
    row = {"id": "x", "name": "x", "year": None, "content": None}
    columns = [
        lance.blob_array([elsewhere]) if f.name == "content" else pa.array([row[f.name]], f.type) for f in schema
    ]
    lance.write_dataset(pa.table(columns, schema=schema), uri, mode="append", allow_external_blob_outside_bases=True)
    graph.repair(confirm=True, force=True)

    blob = graph.blob("Photo", "x", "content")

    assert (blob.kind, blob.uri, blob.size, blob.etag) == ("external", elsewhere, None, None)
    with pytest.raises(InvalidTarget, match=elsewhere):
        blob.read()
