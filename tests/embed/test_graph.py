"""Embedding a graph's rows: which vectors are filled, from which text, in which commit, and what a race changes."""

import gzip
import json
import pickle
from pathlib import Path

import pytest

import omnigraph
from omnigraph.base import ids
from omnigraph.base.events import ignore_events
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import EmbeddingConfig, EmbeddingProvider, EntityNotFound, InvalidTarget
from omnigraph.graphs.capture import capture_branch
from omnigraph.graphs.context import GraphContext
from omnigraph.pipeline.embed import blocks, workers
from omnigraph.pipeline.embed.targets import find_targets
from omnigraph.pipeline.embed.workers import WorkersEmbedWriter
from omnigraph.pipeline.load.bulk import pieces
from omnigraph.providers.config import EmbedConfig
from omnigraph.providers.mock import mock_vector
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.store import GraphStore
from omnigraph.writes.protocol import run_write
from support.bulk_story import row_ids
from support.embedding_server import KEY, embedding_server
from support.graphs import graph_of, load, node, refusal, rows

SCHEMA = """
node Doc {
    slug: String @key
    title: String?
    body: String?
    photo: Blob?
    vec: Vector(4) @embed(title)
    body_vec: Vector(3)? @embed(body)
}
node Page { slug: String @key  text: String  vec: Vector(4)? @embed(text, model="m1") }
node Tag { name: String @key }
edge About: Doc -> Tag
"""
MOCK = EmbedConfig.from_environ({"OMNIGRAPH_EMBEDDINGS_MOCK": "1", "OMNIGRAPH_EMBED_MODEL": "m1"})


@pytest.fixture
def docs(local_root):
    return graph_of(
        local_root,
        SCHEMA,
        node("Doc", slug="a", title="alpha", photo="base64:SGk="),
        node("Doc", slug="b", title="beta", vec=[1, 0, 0, 0], body="long"),
        node("Doc", slug="c", title=" \t", vec=None),
        node("Doc", slug="d"),
        node("Page", slug="p", text="alpha"),
        node("Tag", name="t"),
        {"edge": "About", "from": "a", "to": "t"},
    )


def mock(text: str, dimension: int) -> list[float]:
    return mock_vector(text, dimension).to_pylist()


def test_pending_vectors_are_filled_as_one_commit_and_nothing_else_changes(docs):
    before = rows(docs, "Doc")

    result = docs.embed(config=MOCK, actor="act-ines")

    after = rows(docs, "Doc")
    assert after["a"] == {**before["a"], "vec": mock("alpha", 4)}
    assert after["b"] == {**before["b"], "body_vec": mock("long", 3)}
    assert (after["c"], after["d"]) == (before["c"], before["d"])
    assert rows(docs, "Page")["p"]["vec"] == mock("alpha", 4)
    assert (result.records, result.embedded_records, result.dimension, result.model) == (5, 3, None, "m1")
    commits = docs.commits()
    assert [commit.kind.value for commit in commits] == ["embed", "load", "genesis"]
    assert (commits[0].actor_id, commits[0].graph_commit_id) == ("act-ines", result.commit.graph_commit_id)
    assert docs.snapshot().table("Doc").to_arrow(["photo"])["photo"].to_pylist().count(b"Hi") == 1


def test_a_second_run_asks_for_nothing_and_commits_nothing(docs):
    docs.embed(config=MOCK)

    with embedding_server() as server:
        config = EmbedConfig.from_environ(server.environ(OMNIGRAPH_EMBED_MODEL="m1"))
        result = docs.embed(config=config)

    assert result.commit is None
    assert server.requests == []


def test_a_changed_text_makes_its_vector_pending_again(docs):
    docs.embed(config=MOCK)
    load(docs, "merge", node("Doc", slug="a", title="gamma"))

    result = docs.embed(config=MOCK)

    assert result.embedded_records == 1
    assert rows(docs, "Doc")["a"]["vec"] == mock("gamma", 4)


def test_reembed_all_makes_existing_vectors_again(docs):
    result = docs.embed(types=["Doc"], reembed_all=True, config=MOCK)

    assert rows(docs, "Doc")["b"]["vec"] == mock("beta", 4)
    assert result.mode == "reembed_all"
    assert docs.embed(types=["node:Doc"], reembed_all=True, config=MOCK).commit is None


def test_a_recorded_model_must_be_the_one_of_the_provider(docs):
    other = EmbedConfig.from_environ({"OMNIGRAPH_EMBEDDINGS_MOCK": "1", "OMNIGRAPH_EMBED_MODEL": "m2"})

    error = refusal(docs, lambda: docs.embed(config=other))

    assert isinstance(error, EmbeddingConfig)
    assert "Page.vec" in str(error)
    assert "'m1'" in str(error)
    assert "'m2'" in str(error)
    assert docs.embed(types=["Doc"], config=other).commit is not None


@pytest.mark.parametrize(
    ("name", "kind"), [("Tag", InvalidTarget), ("Ghost", EntityNotFound), ("About", EntityNotFound)]
)
def test_a_type_without_vectors_is_named(docs, name, kind):
    error = refusal(docs, lambda: docs.embed(types=[name], config=MOCK))

    assert isinstance(error, kind)
    assert name in str(error)


def test_a_missing_key_matters_only_when_there_is_something_to_embed(docs):
    config = EmbedConfig.from_environ({"OMNIGRAPH_EMBED_MODEL": "m1"})
    assert isinstance(refusal(docs, lambda: docs.embed(config=config)), EmbeddingConfig)

    docs.embed(config=MOCK)

    assert docs.embed(config=config).commit is None


def test_a_text_that_occurs_twice_is_sent_once(docs):
    with embedding_server() as server:
        docs.embed(config=EmbedConfig.from_environ(server.environ(OMNIGRAPH_EMBED_MODEL="m1")))

    assert sorted(server.texts) == ["alpha", "long"]


def test_a_provider_that_fails_half_way_leaves_no_commit(docs):
    with embedding_server() as server:
        config = EmbedConfig.from_environ(server.environ(OMNIGRAPH_EMBED_MODEL="m1"))
        server.misbehave({"body": json.dumps({"data": [{"index": 0, "embedding": [1, 2]}]})})
        error = refusal(docs, lambda: docs.embed(config=config))

    assert isinstance(error, EmbeddingProvider)
    assert "expected a vector of" in str(error)


def test_rows_that_changed_meanwhile_are_embedded_again_and_the_others_are_not(docs):
    other = omnigraph.open(docs.uri)
    with embedding_server() as server:
        plain = server.vector_of

        def vector_of(text: str, dimension: int) -> list[float]:
            if text == "long":  # the last text of the first attempt: somebody else writes while it is embedded
                with other.write() as batch:
                    batch.update("Doc", {"title": "delta"}, ids=["a"])
                server.vector_of = plain
            return plain(text, dimension)

        server.vector_of = vector_of
        result = docs.embed(types=["Doc"], config=EmbedConfig.from_environ(server.environ()))

    assert sorted(server.texts) == ["alpha", "delta", "long"]
    assert result.embedded_records == 2
    assert [commit.kind.value for commit in docs.commits()] == ["embed", "mutation", "load", "genesis"]
    stored = rows(docs, "Doc")["a"]
    assert stored["title"] == "delta"
    assert stored["vec"][0] == pytest.approx(6 / (36 + 3) ** 0.5)


def test_a_branch_is_embedded_without_touching_main(docs):
    docs.branches.create("review")

    docs.embed(branch="review", config=MOCK)

    assert rows(docs, "Doc", branch="review")["a"]["vec"] == mock("alpha", 4)
    assert rows(docs, "Doc")["a"]["vec"] is None


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_workers_of_spark_fill_the_same_vectors_with_a_key_that_does_not_travel(docs, tmp_path):
    load(docs, "append", *(node("Doc", slug=f"s{number}", title=f"text {number % 7}") for number in range(20)))
    here = omnigraph.init(str(tmp_path / "here.omni"), SCHEMA)
    docs.export(tmp_path / "copy.jsonl")
    here.load(tmp_path / "copy.jsonl", mode="append")
    kept = row_ids(docs, "node:Doc")
    with embedding_server() as server:
        config = EmbedConfig.from_environ(server.environ(OMNIGRAPH_EMBED_MODEL="m1"))
        done = docs.embed(config=config, engine="spark")
        again = docs.embed(config=config, engine="spark")
        told = here.embed(config=config, engine="local")

    assert (done.engine, done.embedded_records, told.embedded_records) == ("spark", 23, 23)
    assert (again.commit, again.engine, again.embedded_records) == (None, "local", 0)
    assert [rows(docs, name) for name in ("Doc", "Page")] == [rows(here, name) for name in ("Doc", "Page")]
    assert row_ids(docs, "node:Doc") == kept
    assert KEY.encode() not in pickle.dumps(config.shared_by(2))
    assert [commit.kind.value for commit in docs.commits()] == ["embed", "load", "load", "genesis"]
    assert not Path(docs.uri, "__staging").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_workers_of_spark_embed_files_into_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_BYTES_MIN", 600)
    monkeypatch.setattr(pieces, "PIECE_BYTES_MAX", 600)
    given = tmp_path / "in"
    given.mkdir()
    lines = [json.dumps(node("Doc", slug=f"s{number}", title=f"text {number}")) for number in range(40)]
    (given / "a.jsonl").write_text("\n".join(lines))
    (given / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[:3]).encode()))
    spec = {"dimension": 3, "types": {"Doc": {"target": "vec", "fields": ["title"]}}}

    here = omnigraph.embed_files(given, tmp_path / "here", spec=spec, config=MOCK, engine="local")
    there = omnigraph.embed_files(given, tmp_path / "there", spec=spec, config=MOCK, engine="spark")

    assert (here.engine, there.engine, there.embedded_records) == ("local", "spark", 43)
    for name in ("a.jsonl", "b.jsonl.gz"):
        read = gzip.open if name.endswith(".gz") else open
        with read(tmp_path / "here" / name) as left, read(tmp_path / "there" / name) as right:
            assert left.read() == right.read()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "in", "there"]


def embed_on_workers(graph, config, *, branch="main", reembed_all=False):
    """Embed as on a cluster, on threads of this process."""
    context = GraphContext.over(GraphStore.open(graph.uri), LocalEngine())
    capture = capture_branch(context, branch)
    scratch = Scratch(context.store, ids.new_ulid())
    writer = WorkersEmbedWriter(
        engine=context.engine,
        operation_id=scratch.operation_id,
        targets=find_targets(capture.catalog, ["Doc"]),
        config=config,
        reembed_all=reembed_all,
        ir_hash=capture.snapshot.schema.ir_hash,
        branch=branch,
        actor_id=None,
        events=ignore_events,
    )
    try:
        return run_write(context, writer, ignore_events), writer.embedded
    finally:
        scratch.clear()


def test_workers_embed_a_branch_and_leave_main_alone(docs):
    load(docs, "append", *(node("Doc", slug=f"s{number}", title=f"t{number}") for number in range(5)))
    docs.branches.create("review")

    _, embedded = embed_on_workers(docs, MOCK, branch="review")
    again, _ = embed_on_workers(docs, MOCK, branch="review", reembed_all=True)

    assert embedded == 7
    assert rows(docs, "Doc", branch="review")["s3"]["vec"] == mock("t3", 4)
    assert rows(docs, "Doc", branch="review")["a"]["photo"] == b"Hi"
    assert rows(docs, "Doc")["s3"]["vec"] is None
    assert again is not None  # the vector that somebody gave by hand is made again, the others stay
    assert rows(docs, "Doc", branch="review")["b"]["vec"] == mock("beta", 4)
    assert embed_on_workers(docs, MOCK, branch="review", reembed_all=True)[0] is None


def test_one_fragment_is_shared_by_all_workers(docs, monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK_BITS", 2)
    monkeypatch.setattr(LocalEngine, "slots", 4)
    load(docs, "append", *(node("Doc", slug=f"s{number:02}", title=f"t{number}") for number in range(30)))
    docs.optimize()
    kept = row_ids(docs, "node:Doc")
    shares: list[int] = []
    plain = workers.embed_tables

    def counted(tasks):
        done = plain(tasks)
        shares.append(sum(part.embedded for part in done))
        return done

    monkeypatch.setattr(workers, "embed_tables", counted)
    commit, embedded = embed_on_workers(docs, MOCK)

    assert (commit is not None, embedded) == (True, 32)
    assert len(shares) == 4
    assert max(shares) <= 12
    assert {slug: row["vec"] for slug, row in rows(docs, "Doc").items() if slug.startswith("s")} == {
        f"s{number:02}": mock(f"t{number}", 4) for number in range(30)
    }
    assert row_ids(docs, "node:Doc") == kept


def test_workers_ask_again_only_for_what_a_race_changed(docs, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    load(docs, "append", node("Doc", slug="e", title="epsilon"))  # a fragment of its own
    with embedding_server() as server:
        plain, other = server.vector_of, omnigraph.open(docs.uri)

        def vector_of(text: str, dimension: int) -> list[float]:
            server.vector_of = plain
            with other.write() as batch:
                batch.update("Doc", {"title": "delta"}, ids=["a"])
            return plain(text, dimension)

        server.vector_of = vector_of
        commit, embedded = embed_on_workers(docs, EmbedConfig.from_environ(server.environ()))

    assert (commit is not None, embedded) == (True, 3)
    assert sorted(server.texts) == ["alpha", "delta", "epsilon", "long"]
    assert rows(docs, "Doc")["a"]["title"] == "delta"


def test_the_bound_on_requests_is_shared_by_all_workers():
    config = EmbedConfig.from_environ({"OMNIGRAPH_EMBED_CONCURRENCY": "6", "OPENAI_API_KEY": "k", "OTHER": "x"})

    assert [config.shared_by(workers).requests_at_once for workers in (1, 2, 4, 6)] == [6, 3, 1, 1]
    assert config.shared_by(2).with_key_from(config.key_environment()).api_key == "k"
