"""Addresses and digests: the vectors of the contract, and what must and must not change a digest."""

import pytest

from omnigraph.cluster.resources import (
    BlobBase,
    BlobScope,
    EmbeddingProfile,
    ExternalBlobPolicy,
    ResourceKind,
    config_digest,
    file_digest,
    graph_digest,
    graph_of,
    is_graph_id,
    is_name,
    kind_of,
    name_of,
)

SCHEMA = b"node Artist {\n  name: String @key\n}\n"
SCHEMA_DIGEST = "b3bce43b61496db5c5b16ffb9a4cd6ef44e877fe66336db1c286d628f9b7e5a9"
QUERY_DIGEST = "d61d5d47b5bf1ccebad8ef4f4c3945b646fd4eaa5029d84afe5f6e2808f5788a"


def test_digests_are_those_of_the_contract():
    bare = graph_digest("artworks", schema=SCHEMA_DIGEST, queries={})
    asked = graph_digest("artworks", schema=SCHEMA_DIGEST, queries={"by_artist": QUERY_DIGEST})

    assert file_digest(SCHEMA) == SCHEMA_DIGEST
    assert bare == "94f4a73fff4a15435366be567583850597f998626e5705b5ac0890e3a8419f12"
    assert asked == "416555ddf887af13240c4d6cb200b0fe7dcabe351b0224062bb025cc2391d4f7"
    assert EmbeddingProfile(kind="mock").digest == "609029feaa4a1531f22fa31a3045df915e662b48a61766386e890c1f2d05b92d"


def test_every_part_of_a_graph_changes_its_digest():
    base = BlobBase(uri="s3://scans/", scope=BlobScope.SERVER_SAFE)
    seen = {
        graph_digest("a", schema=None, queries={}),
        graph_digest("b", schema=None, queries={}),
        graph_digest("a", schema="d", queries={}),
        graph_digest("a", schema=None, queries={"q": "d"}),
        graph_digest("a", schema=None, queries={}, provider=("provider.embedding.p", "d")),
        graph_digest("a", schema=None, queries={}, external_blobs=ExternalBlobPolicy(bases=(base,))),
    }

    assert len(seen) == 6


def test_the_order_of_keys_and_queries_does_not_matter():
    queries = {"b": "2", "a": "1"}

    assert graph_digest("g", schema="s", queries=queries) == graph_digest(
        "g", schema="s", queries=dict(sorted(queries.items()))
    )
    assert config_digest({"b": 1, "a": 2}, [("y", "1"), ("x", "2")]) == config_digest(
        {"a": 2, "b": 1}, [("x", "2"), ("y", "1")]
    )


@pytest.mark.parametrize(
    ("address", "kind", "graph", "name"),
    [
        ("graph.art", ResourceKind.GRAPH, "art", "art"),
        ("schema.art", ResourceKind.SCHEMA, "art", "art"),
        ("query.art.by_artist", ResourceKind.QUERY, "art", "by_artist"),
        ("policy.keepers", ResourceKind.POLICY, None, "keepers"),
        ("provider.embedding.default", ResourceKind.EMBEDDING_PROVIDER, None, "default"),
        ("pipeline.nightly", None, None, "nightly"),
        ("query.art", None, None, "art"),
        ("provider.chat.default", None, None, "default"),
    ],
)
def test_an_address_says_what_it_names(address, kind, graph, name):
    assert (kind_of(address), graph_of(address), name_of(address)) == (kind, graph, name)


def test_ids_follow_one_rule():
    assert is_graph_id("a")
    assert is_graph_id("Art-works_2")
    assert is_graph_id("a" * 64)
    assert not any(map(is_graph_id, ["", "_a", "2a", "a.b", "a" * 65, "graphs", "healthz"]))
    assert is_name("_hidden-2")
    assert not any(map(is_name, ["", "2a", "a.b", "ä"]))
