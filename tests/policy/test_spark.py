"""The Spark writer and sink ask on the driver, before a task runs."""

from dataclasses import dataclass

import pytest

import omnigraph
from omnigraph.errors import PolicyDenied
from support.keepers import apply_policies
from support.program import POLICY, SCHEMA

pytest.importorskip("pyspark")


@dataclass
class Columns:
    names: list[str]


@pytest.fixture
def options(local_root, tmp_path) -> dict[str, str]:
    omnigraph.init(local_root, SCHEMA).branches.create("draft")
    path = tmp_path / "museum.policy.yaml"
    path.write_text(POLICY)
    return {"graph": local_root, "type": "Artist", "loadMode": "merge", "branch": "draft", "policy": str(path)}


@pytest.mark.parametrize("kind", ["writer", "batch", "stream"])
def test_a_write_through_spark_is_refused_before_it_begins(kind, options):
    from omnigraph.connectors.spark.source import OmniGraphSource

    def begin(**further: str) -> object:
        batch = {"batchId": "1", "queryId": "q"} if kind == "batch" else {}
        source = OmniGraphSource({**options, **batch, **further})
        make = source.streamWriter if kind == "stream" else source.writer
        return make(Columns(["name"]), False)

    with pytest.raises(PolicyDenied, match="no actor"):
        begin()
    with pytest.raises(PolicyDenied, match="act-ines"):
        begin(actor="act-ines")
    with pytest.raises(PolicyDenied, match="main"):
        begin(actor="act-lee", branch="main")
    assert begin(actor="act-lee") is not None


def test_a_graph_of_a_cluster_is_judged_by_its_applied_policy(tmp_path):
    from omnigraph.connectors.spark.source import OmniGraphSource

    uri = f"{tmp_path}/museum/graphs/artworks.omni"
    omnigraph.init(uri, SCHEMA).branches.create("draft")
    apply_policies(f"{tmp_path}/museum")

    def begin(**further: str) -> object:
        options = {"graph": uri, "type": "Artist", "loadMode": "merge", "branch": "draft", **further}
        return OmniGraphSource(options).writer(Columns(["name"]), False)

    with pytest.raises(PolicyDenied, match="act-ines"):
        begin(actor="act-ines")
    assert begin(actor="act-lee") is not None
    assert begin() is not None, "nobody may, on this machine"


def test_a_frame_is_written_under_the_actor_who_was_checked(options, spark):
    frame = spark.createDataFrame([("Zoe",)], "name string")
    refused = frame.write.format("omnigraph").options(**options, actor="act-ines").mode("append")

    with pytest.raises(Exception, match="policy denied action 'change' on branch 'draft' for actor 'act-ines'"):
        refused.save()
    frame.write.format("omnigraph").options(**options, actor="act-lee").mode("append").save()

    graph = omnigraph.open(options["graph"])
    assert [commit.actor_id for commit in graph.commits("draft", limit=2)] == ["act-lee", None]


def test_the_handle_asks_before_it_computes_a_frame(options, spark):
    graph = omnigraph.open(options["graph"], policy=omnigraph.PolicyEngine.load_graph(options["policy"], "artworks"))
    frame = spark.createDataFrame([("Lou",)], "name string")

    with pytest.raises(PolicyDenied):
        graph.load_dataframe(frame, type="Artist", mode="merge", branch="draft", actor="act-ines")
    loaded = graph.load_dataframe(frame, type="Artist", mode="merge", branch="draft", actor="act-lee")

    assert loaded.commit is not None
    assert loaded.commit.actor_id == "act-lee"
