"""The client of Python: the verbs and values of graphs, over a real server, waiting and awaited."""

import asyncio
import gzip
import io
from datetime import date
from pathlib import Path

import pytest

import omnigraph
from omnigraph import errors
from omnigraph.documents import commit_document
from support.served import TOKENS

ARTISTS = "match { $a: Artist } return { $a.name, $a.born } order { $a.name }"
INSERT = "query add($n: String) { insert Artist { name: $n } }"


@pytest.fixture
def graph(served):
    with omnigraph.connect(served.url, token=TOKENS["act-ines"], graph="art") as connected:
        yield connected


@pytest.fixture
def writable(busy):
    with omnigraph.connect(busy.url, token=TOKENS["act-ines"], graph="art") as connected:
        yield connected


def test_reads_give_the_values_that_a_graph_gives(graph, served):
    here = omnigraph.open(served.storage, read_only=True)

    answer, expected = graph.query(ARTISTS), here.query(ARTISTS)
    assert isinstance(answer, omnigraph.Result)
    assert answer.rows() == expected.rows()
    assert (answer.columns, answer.commit_id, answer.branch) == (expected.columns, expected.commit_id, "main")
    assert answer.to_arrow().to_pylist() == expected.to_arrow().to_pylist()
    assert list(answer.to_pandas()["a.name"]) == ["Ines", "Rémy"]
    assert list(map(commit_document, graph.commits())) == list(map(commit_document, here.commits()))
    assert commit_document(graph.commit("main~1")) == commit_document(here.commit("main~1"))
    assert graph.schema_source == here.schema_source
    assert [table.row_count for table in graph.snapshot().tables] == [pin.row_count for pin in here.snapshot().tables]
    assert graph.branches.list() == [branch.name for branch in here.branches.list()]
    assert [(one.graph_id, one.uri) for one in graph.graphs()] == [("art", None)]
    assert graph.server_health()["status"] == "ok"


def test_changes_are_the_same_entities(graph, served):
    here = omnigraph.open(served.storage, read_only=True)
    head = here.commits(limit=1)[0].graph_commit_id

    there = list(graph.changes.of_commit(head, types=["Artist"]))
    assert [(change.id, change.op, change.after.properties) for change in there] == [
        (change.id, change.op, change.after.properties) for change in here.changes.of_commit(head, types=["Artist"])
    ]
    page, expected = graph.changes.poll(start="beginning"), here.changes.poll(start="beginning")
    assert (page.cursor, page.caught_up) == (expected.cursor, True)
    assert [block.cause.graph_commit_id for block in page.blocks] == [head]
    assert graph.changes.poll(cursor=page.cursor).blocks == ()


def test_a_blob_is_read_in_pieces_of_the_state_that_was_found(graph):
    blob = graph.blob("Artist", "Ines", "portrait")

    assert (blob.kind, blob.size, blob.read()) == ("managed", 10, b"0123456789")
    assert list(blob.pieces(offset=4, length=3)) == [b"456"]
    with pytest.raises(errors.RangeNotSatisfiable):
        blob.read(offset=10)
    with pytest.raises(errors.EntityNotFound, match="no value"):
        graph.blob("Artist", "Rémy", "portrait")


def test_exports_and_baselines_stream(graph):
    with graph.export(types=["Artwork"]) as pieces:
        assert b"".join(pieces) == b'{"type":"Artwork","data":{"id":"Still Life","title":"Still Life"}}\n'
    with graph.baseline(types=["Artwork"]) as pieces:
        assert b'{"baseline": {"snapshot_commit_id"' in b"".join(pieces)


def test_stored_queries_are_listed_and_run_by_name(graph):
    by_name = {query.name: query for query in graph.stored_queries()}

    assert [(one.name, one.kind, one.nullable) for one in by_name["add_artist"].parameters] == [
        ("name", "string", False),
        ("born", "int", True),
    ]
    assert (by_name["add_artist"].is_mutation, by_name["by_artist"].description) == (True, "Works of one artist.")
    assert graph.query_stored("by_artist", name="Ines").rows() == [{"w.title": "Still Life", "a.born": 1907}]
    with pytest.raises(errors.OmniError, match="mutate"):
        graph.query_stored("add_artist", params={"name": "x"})
    with pytest.raises(errors.StoredQueryNotFound):
        graph.query_stored("none")


def test_writes_make_commits_in_the_name_of_the_token(writable, busy, tmp_path: Path):
    zipped = tmp_path / "more.jsonl.gz"
    zipped.write_bytes(gzip.compress(b'{"type": "Artist", "data": {"name": "Gil"}}\n'))

    done = writable.mutate(INSERT, n="Abe")
    assert (done.affected_nodes, done.actor_id, done.commit.kind) == (1, "act-ines", "mutation")
    with pytest.raises(errors.PreconditionFailed) as lost:
        writable.mutate_stored("add_artist", name="Bob", if_commit=done.commit.parent_commit_id)
    assert lost.value.details["actual"] == done.commit.graph_commit_id
    assert writable.mutate_stored("add_artist", name="Bob", if_commit=done.commit.graph_commit_id).affected_nodes == 1
    assert writable.branches.create("etl/run 1".replace(" ", "-")).actor_id == "act-ines"
    loaded = writable.load(zipped, mode="append", branch="etl/run-1")
    assert (loaded.total_rows, loaded.engine, loaded.uri) == (1, "server", f"{busy.url}/graphs/art")
    merged = writable.branches.merge("etl/run-1", delete_branch=True)
    assert (merged.outcome, merged.branch_deleted, merged.commit.graph_branch) == ("fast_forward", True, "main")
    [newest] = omnigraph.open(busy.storage, read_only=True).commits(limit=1)
    assert commit_document(newest) == commit_document(merged.commit)
    with pytest.raises(errors.KeyConflict) as twice:
        writable.load(io.BytesIO(b'{"type": "Artist", "data": {"name": "Gil"}}'), mode="append")
    assert twice.value.request_id
    with pytest.raises(errors.OmniError, match="cluster apply"):
        writable.apply_schema("node Artist { name: String @key }")


def test_values_of_python_travel_as_records_have_them(graph):
    rows = graph.query("query q($d: Date) { match { $a: Artist } return { $a.name } limit 1 }", d=date(2026, 1, 31))

    assert len(rows) == 1


def test_a_refusal_is_the_error_that_a_graph_raises(served, graph):
    with pytest.raises(errors.BranchNotFound) as missing:
        graph.snapshot("nope")
    assert missing.value.details["branch"] == "nope"
    assert missing.value.document() == {**missing.value.answered}
    with omnigraph.connect(served.url, token=TOKENS["act-rae"], graph="art") as reader:
        with pytest.raises(errors.PolicyDenied) as denied:
            reader.mutate(INSERT, n="x")
        assert (denied.value.exit_code, denied.value.http_status) == (6, 403)
    with omnigraph.connect(served.url, token="wrong", graph="art") as stranger, pytest.raises(errors.Unauthorized):
        stranger.commits()
    with pytest.raises(errors.GraphNotFound):
        graph.graph("none").commits()
    with omnigraph.connect(served.url, token=TOKENS["act-ines"]) as unpicked:
        with pytest.raises(errors.MissingError, match="No graph was selected"):
            unpicked.commits()
        assert unpicked.graph("art").commits(limit=1) == graph.commits(limit=1)


def test_the_same_verbs_can_be_awaited(served, graph):
    async def talk() -> None:
        async with omnigraph.connect_async(served.url, token=TOKENS["act-ines"], graph="art") as there:
            answers = await asyncio.gather(*(there.query(ARTISTS) for _ in range(3)))
            assert {str(answer.rows()) for answer in answers} == {str(graph.query(ARTISTS).rows())}
            assert await there.commits() == graph.commits()
            assert await there.schema_source() == graph.schema_source
            assert await there.branches.list() == ["main"]
            head = (await there.commits(limit=1))[0].graph_commit_id
            assert [change.id async for change in there.changes.of_commit(head)] == [
                change.id for change in graph.changes.of_commit(head)
            ]
            assert (await there.changes.poll(start="beginning")).cursor is not None
            async with there.export(types=["Artwork"]) as pieces:
                assert b"Still Life" in b"".join([piece async for piece in pieces])
            blob = await there.blob("Artist", "Ines", "portrait")
            assert (blob.about.size, await blob.read(offset=8)) == (10, b"89")
            assert [query.name for query in await there.stored_queries()] == ["add_artist", "by_artist"]
            with pytest.raises(errors.BranchNotFound):
                await there.snapshot("nope")
            with pytest.raises(errors.EntityNotFound):
                await there.blob("Artist", "Nobody", "portrait")

    asyncio.run(talk())


def test_a_token_is_in_no_text_of_the_client():
    graph = omnigraph.connect("http://127.0.0.1:1/base", token="geheim", graph="a/b")

    with pytest.raises(errors.Connection) as refused:
        graph.commits()
    with pytest.raises(errors.Usage) as unfit:
        omnigraph.connect("http://user:pw@127.0.0.1:1/base?key=k", token="geheim")
    said = f"{graph!r} {graph.uri} {refused.value} {refused.value.document()} {refused.value.__cause__!r} {unfit.value}"
    assert not {word for word in ("geheim", "pw@", "key=k") if word in said}
