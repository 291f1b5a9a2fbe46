"""Input that lies in a bucket: objects, prefixes, patterns, compressed or not, records or tables."""

import gzip
import io
import urllib.request

import lance
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import omnigraph
from omnigraph.errors import Io, StorageError
from omnigraph.storage.bucket import Bucket
from omnigraph.storage.store import GraphStore
from support.harbor import CREW, SCHEMA, lines

pytestmark = pytest.mark.s3


@pytest.fixture
def inbox(s3_root: str) -> str:
    """A prefix of its own for the input of a test."""
    return f"{s3_root.rpartition('/')[0]}/inbox"


@pytest.fixture
def graph(local_root: str, inbox: str) -> omnigraph.Graph:
    return omnigraph.init(local_root, SCHEMA)


def put(uri: str, content: bytes) -> str:
    Bucket(uri).write(uri, io.BytesIO(content))
    return uri


def loaded(graph: omnigraph.Graph, data: str, **options) -> dict[str, int]:
    result = graph.load(data, mode="merge", **options)
    return {table.table_key: table.rows_loaded for table in result.tables}


NODES, EDGES = lines(CREW[:5]).read(), lines(CREW[5:]).read()
BOTH = {"edge:Mentors": 2, "edge:ServesOn": 1, "node:Sailor": 3, "node:Ship": 2}


def test_a_prefix_is_searched_for_records_plain_and_compressed(graph, inbox):
    put(f"{inbox}/a.jsonl", NODES)
    put(f"{inbox}/b/c.ndjson.gz", gzip.compress(EDGES[:60]) + gzip.compress(EDGES[60:]))
    put(f"{inbox}/_skip.jsonl", b"nonsense")
    put(f"{inbox}/d.txt", b"nonsense")
    put(f"{inbox}-beside/e.jsonl", b"nonsense")

    assert loaded(graph, inbox) == BOTH
    assert loaded(graph, f"{inbox}/") == BOTH


def test_an_object_and_a_pattern_are_loaded(graph, inbox):
    put(f"{inbox}/nodes.data", NODES)
    put(f"{inbox}/p/x-1.jsonl", EDGES)
    put(f"{inbox}/p/x-2.jsonl.zst", zstandard.compress(b"\n"))
    put(f"{inbox}/p/y.jsonl", b"nonsense")

    assert loaded(graph, f"{inbox}/nodes.data") == {"node:Sailor": 3, "node:Ship": 2}
    assert loaded(graph, f"{inbox}/p/x-*") == {"edge:Mentors": 2, "edge:ServesOn": 1}


def test_tables_are_read_from_a_bucket(graph, inbox):
    sink = io.BytesIO()
    pq.write_table(pa.table({"name": ["Ana", "Bo"], "rank": ["mate", "mate"]}), sink)
    put(f"{inbox}/sailors.parquet", sink.getvalue())
    put(f"{inbox}/ships.csv.gz", gzip.compress(b"hull,title\nS1,Tub\n"))
    options = GraphStore.open(f"{inbox}/g.omni").tables.storage_options
    lance.write_dataset(pa.table({"text": ["hello"]}), f"{inbox}/notes.lance", storage_options=options)

    assert loaded(graph, f"{inbox}/sailors.parquet", type="Sailor") == {"node:Sailor": 2}
    assert loaded(graph, f"{inbox}/ships.csv.gz", type="Ship") == {"node:Ship": 1}
    assert loaded(graph, f"{inbox}/notes.lance", type="Note") == {"node:Note": 1}


def test_a_bad_line_is_named_by_its_place_in_the_prefix(graph, inbox):
    put(f"{inbox}/a/b.jsonl", NODES + b"oops\n")

    with pytest.raises(omnigraph.errors.InvalidRecord) as caught:
        graph.load(inbox, mode="append")

    assert (caught.value.details["file"], caught.value.details["line"]) == ("a/b.jsonl", 6)


def test_nothing_there_and_no_bucket_are_told_apart(graph, inbox):
    with pytest.raises(Io, match="No input found"):
        graph.load(f"{inbox}/none", mode="append")
    with pytest.raises(StorageError, match="no such bucket"):
        graph.load("s3://no-such-bucket-here/x.jsonl", mode="append")


def test_an_object_larger_than_a_buffer_arrives_whole(graph, inbox, s3_server):
    records = [{"type": "Note", "data": {"text": f"{number} {'x' * 2000}"}} for number in range(9000)]
    uri = put(f"{inbox}/large.jsonl", lines(records).read())

    assert loaded(graph, uri) == {"node:Note": 9000}
    with urllib.request.urlopen(f"{s3_server}/{uri.removeprefix('s3://')}") as answer:
        assert int(answer.headers["Content-Length"]) > 16 * 2**20
