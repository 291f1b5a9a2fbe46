"""Random reads of random graphs on disk, answered by an image that follows commits and by trying everything."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.errors import QueryTypeError
from omnigraph.graph import Graph
from omnigraph.query.columns import result_schema
from omnigraph.query.image import images
from omnigraph.query.image.graph_image import GraphImage
from omnigraph.query.image.images import Images
from omnigraph.query.image.shelf import Shelf
from omnigraph.query.plan.planner import plan_read
from omnigraph.query.run.bindings import Run
from omnigraph.query.run.execute import execute
from omnigraph.query.run.search import LazySearch
from support import query_worlds
from support.naive_answers import NOW_MS, insist_equal
from support.naive_query import Naive, NaiveGraph
from support.sailors import check


def become(graph: Graph, before: NaiveGraph, after: NaiveGraph) -> None:
    """Commit what is missing, what is different and what is too much; edges of deleted nodes go by themselves."""
    with graph.write() as batch:
        for type_name, edges in before.edges.items():
            batch.delete(type_name, ids=[edge for edge in edges if edge not in after.edges[type_name]])
        for type_name, nodes in before.nodes.items():
            batch.delete(type_name, ids=[node for node in nodes if node not in after.nodes[type_name]])
    graph.load(query_worlds.records(after), mode="merge")


def insist_on_reads(graph: Graph, kept: Images, plain: NaiveGraph, texts: list[str]) -> None:
    snapshot = graph.snapshot()
    image = GraphImage(snapshot._context, snapshot._pinned, snapshot.catalog, kept)
    for text in texts:
        try:
            read: Any = check(text, snapshot.catalog)
        except QueryTypeError:
            continue
        run = Run(access=image, catalog=snapshot.catalog, parameters={}, now_ms=NOW_MS, search=LazySearch(snapshot))
        plan = plan_read(read, lambda entity: snapshot.table(entity.table_key).pin.row_count)
        insist_equal(execute(run, plan, result_schema(read)), Naive(plain, read, {}, NOW_MS))


@given(
    states=st.lists(query_worlds.graphs(), min_size=2, max_size=3),
    texts=st.lists(query_worlds.reads(), min_size=5, max_size=12),
)
@settings(max_examples=4, suppress_health_check=[*HealthCheck])
def test_an_image_answers_as_trying_everything_does(
    tmp_path_factory: pytest.TempPathFactory, states: list[NaiveGraph], texts: list[str]
) -> None:
    graph = omnigraph.init(str(tmp_path_factory.mktemp("world") / "g.omni"), query_worlds.SCHEMA)
    kept = Images(Shelf(1 << 28))
    before = NaiveGraph(nodes={name: {} for name in states[0].nodes}, edges={name: {} for name in states[0].edges})
    for plain in states:
        become(graph, before, plain)
        insist_on_reads(graph, kept, plain, texts)
        before = plain


def test_with_too_little_memory_the_answers_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = omnigraph.init(str(tmp_path / "g.omni"), "node Person { name: String @key  age: I32? }")
    with graph.write() as batch:
        batch.insert("Person", [{"name": f"p{number}", "age": number} for number in range(20)])
    text = "match { $p: Person  $p.age > 17 } return { $p.name } order { $p.name }"
    expected = graph.query(text).to_arrow()
    monkeypatch.setattr(images, "_shelf", Shelf(100))
    monkeypatch.setattr(images, "_images", {})

    found = omnigraph.open(graph.uri).query(text).to_arrow()

    assert found == expected
    assert found.num_rows == 2
