"""What a graph accepts as a reference: below the bases that its cluster applied, and nowhere else."""

from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.catalog.blob_bases import REFERENCE_BYTES_MAX
from omnigraph.errors import ExternalBlobDenied, InvalidRecord, ResourceLimit
from support import harbor
from support.references import SCANS, SCHEMA, gallery, held, opened, photo, value_of

SPARK = pytest.param("spark", marks=[pytest.mark.slow, pytest.mark.timeout(900)])
INSERT = "query q($name: String, $content: String) { insert Photo { name: $name, content: $content } }"
SET = "query q($name: String, $content: String) { update Photo set { content: $content } where name = $name }"


@pytest.fixture
def museum(tmp_path: Path) -> Graph:
    gallery(str(tmp_path / "cluster"), tmp_path / "files")
    return opened(str(tmp_path / "cluster"))


def test_a_mutation_stores_a_reference_and_replaces_it(museum: Graph) -> None:
    museum.mutate(INSERT, params={"name": "a", "content": f"{SCANS}a.jpg"})
    first = value_of(museum, "Photo", "a", "content")
    museum.mutate(SET, params={"name": "a", "content": f"{SCANS}b.jpg"})

    assert (first, value_of(museum, "Photo", "a", "content")) == (f"{SCANS}a.jpg", f"{SCANS}b.jpg")
    museum.mutate(SET, params={"name": "a", "content": "base64:aGk="})
    assert value_of(museum, "Photo", "a", "content") == b"hi"


def test_a_mutation_is_refused_outside_of_the_bases_and_tells_no_key(museum: Graph) -> None:
    with pytest.raises(ExternalBlobDenied, match=r"Photo\.content") as caught:
        museum.mutate(INSERT, params={"name": "a", "content": "s3://key:secret@museum-scans/originals/a"})

    assert caught.value.details["uri"] == "s3://…"
    assert "secret" not in str(caught.value.document())
    assert held(museum) == {}


def test_a_reference_has_a_longest_length(museum: Graph) -> None:
    longest = SCANS + "x" * (REFERENCE_BYTES_MAX - len(SCANS))
    museum.mutate(INSERT, params={"name": "a", "content": longest})

    with pytest.raises(ResourceLimit) as caught:
        museum.mutate(INSERT, params={"name": "b", "content": f"{longest}x"})

    assert (caught.value.details["resource"], caught.value.details["limit"], caught.value.details["actual"]) == (
        "external_blob_uri_bytes",
        REFERENCE_BYTES_MAX,
        REFERENCE_BYTES_MAX + 1,
    )
    with pytest.raises(InvalidRecord, match="at most"):
        museum.load(harbor.lines([photo("b", f"{longest}x")]), mode="append")
    assert held(museum) == {"a": longest}


@pytest.mark.parametrize("engine", ["local", SPARK])
def test_a_load_refuses_what_lies_elsewhere_and_names_the_property(museum: Graph, engine: str) -> None:
    records = [photo("good", f"{SCANS}a"), photo("bad", "s3://museum-scans/originals-secret/a?key=hush")]

    with pytest.raises(InvalidRecord) as caught:
        museum.load(harbor.lines(records), mode="append", engine=engine)

    document = caught.value.document()
    assert "external_blob_denied" in str(document)
    assert "Photo.content" in caught.value.message
    assert "hush" not in str(document)
    assert held(museum) == {}


@pytest.mark.parametrize("engine", ["local", SPARK])
def test_a_table_of_texts_stores_references(museum: Graph, tmp_path: Path, engine: str) -> None:
    path = tmp_path / "photos.csv"
    path.write_text(f"name,content\na,{SCANS}a.jpg\nb,base64:aGk=\nc,\n")

    museum.load(str(path), type="Photo", mode="append", engine=engine)

    assert held(museum) == {"a": f"{SCANS}a.jpg", "b": b"hi", "c": None}


def test_a_batch_and_a_frame_store_references(museum: Graph) -> None:
    with museum.write() as batch:
        batch.insert("Photo", [{"name": "a", "content": f"{SCANS}a"}, {"name": "b", "content": b"bytes"}])
    museum.load_table(pa.table({"name": ["c"], "content": [f"{SCANS}c"]}), type="Photo", mode="append")
    with museum.write() as batch:
        batch.update("Photo", {"content": f"{SCANS}b"}, ids=["b"])

    assert held(museum) == {name: f"{SCANS}{name}" for name in "abc"}


def test_a_graph_of_no_cluster_refuses_every_reference(tmp_path: Path) -> None:
    graph = omnigraph.init(str(tmp_path / "lone.omni"), SCHEMA)

    with pytest.raises(InvalidRecord, match="base64"):
        graph.load(harbor.lines([photo("a", f"{SCANS}a")]), mode="append")
    with pytest.raises(ExternalBlobDenied):
        graph.mutate(INSERT, params={"name": "a", "content": f"{SCANS}a"})


def test_a_graph_that_only_lies_where_clusters_keep_theirs_refuses_them_too(tmp_path: Path) -> None:
    uri = tmp_path / "graphs" / "lone.omni"
    graph = omnigraph.open(omnigraph.init(str(uri), SCHEMA).uri)

    with pytest.raises(ExternalBlobDenied):
        graph.mutate(INSERT, params={"name": "a", "content": f"{SCANS}a"})


def test_opening_through_the_cluster_allows_the_same(tmp_path: Path) -> None:
    root = str(tmp_path / "cluster")
    gallery(root, tmp_path / "files")
    inside = (tmp_path / "files" / "a.bin").as_uri()

    graph = omnigraph.open_cluster_graph(root, "art")
    graph.mutate(INSERT, params={"name": "a", "content": inside})

    assert held(graph) == {"a": inside}
