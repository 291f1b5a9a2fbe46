"""One way to name a type: with or without its kind, in every call that takes one, with the same answer to a typo."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.base.nearest import listed, nearest
from omnigraph.catalog.model import TableKey
from omnigraph.catalog.type_names import find_type, find_types
from omnigraph.errors import EntityNotFound, InvalidTarget, Usage
from omnigraph.graph import Graph
from omnigraph.providers.config import EmbedConfig
from support.graphs import CREW_SCHEMA, graph_of, node, rows

KEYS = [TableKey(key) for key in ("edge:Likes", "edge:Person", "node:Person", "node:Town")]
EMBED_SCHEMA = "node Doc { slug: String @key  text: String  vec: Vector(2)? @embed(text) }"
MOCK = EmbedConfig.from_environ({"OMNIGRAPH_EMBEDDINGS_MOCK": "1"})
SPEC = {"dimension": 2, "types": {"Doc": {"target": "vec", "fields": ["text"]}}}

CALLS: dict[str, Callable[[Graph, str], Any]] = {
    "snapshot.table": lambda graph, name: graph.snapshot().table(name).count_rows(),
    "export": lambda graph, name: graph.export(io.BytesIO(), types=[name]),
    "export, a name alone": lambda graph, name: graph.export(io.BytesIO(), types=name),
    "load_table": lambda graph, name: graph.load_table(
        pa.table({"hull": ["S9"], "title": ["t"]}), type=name, mode="merge"
    ),
    "write": lambda graph, name: graph.write().upsert(name, [{"hull": "S9", "title": "t"}]).commit(),
    "diff": lambda graph, name: list(graph.diff("main~1", "main", types=[name])),
    "changes": lambda graph, name: graph.changes.poll(start="beginning", types=[name]),
    "optimize": lambda graph, name: graph.optimize(tables=[name], dry_run=True),
    "repair": lambda graph, name: graph.repair(tables=[name]),
}


@pytest.fixture
def ships(local_root: str) -> Graph:
    return graph_of(local_root, CREW_SCHEMA, node("Ship", hull="S1", title="Northern Star"))


@pytest.mark.parametrize("name", ["Ship", "node:Ship"])
@pytest.mark.parametrize("call", CALLS)
def test_every_call_takes_a_type_with_or_without_its_kind(ships: Graph, call: str, name: str) -> None:
    CALLS[call](ships, name)

    assert "S1" in rows(ships, name)


@pytest.mark.parametrize(
    ("misspelled", "meant"), [("Shp", "Ship"), ("node:ship", "node:Ship"), ("SERVESON", "ServesOn")]
)
@pytest.mark.parametrize("call", CALLS)
def test_every_call_names_the_type_that_a_misspelled_one_means(
    ships: Graph, call: str, misspelled: str, meant: str
) -> None:
    with pytest.raises(EntityNotFound, match=rf"'{misspelled}' in this graph; did you mean {meant}\? It has") as caught:
        CALLS[call](ships, misspelled)

    assert caught.value.details["selector"] == misspelled
    assert "node:Ship, edge:Mentors" in caught.value.message


@pytest.mark.parametrize("wrong", [7, None, ["Ship"]])
def test_what_is_no_name_is_refused_as_such(ships: Graph, wrong: Any) -> None:
    with pytest.raises(InvalidTarget, match="A type is named by text"):
        ships.snapshot().table(wrong)


def test_a_name_that_a_node_and_an_edge_type_share_means_both_in_a_list_and_needs_its_kind_alone() -> None:
    assert find_types(["Person"], KEYS) == ("node:Person", "edge:Person")
    assert find_type("edge:Person", KEYS) == "edge:Person"
    with pytest.raises(InvalidTarget, match="say node:Person or edge:Person"):
        find_type("Person", KEYS)


def test_nothing_is_suggested_for_a_name_like_no_other() -> None:
    with pytest.raises(EntityNotFound, match=r"no type 'Zyzzyva' in this graph; it has node:Person, node:Town, edge:"):
        find_type("Zyzzyva", KEYS)


def test_a_graph_of_many_types_lists_some_of_them() -> None:
    names = [f"T{number:02}" for number in range(84)]

    assert listed(names).endswith("T19 and 64 more")
    assert nearest("t8", names) in names


@pytest.mark.parametrize("name", ["Doc", "node:Doc"])
def test_embedding_takes_both_spellings(local_root: str, tmp_path: Path, name: str) -> None:
    graph = graph_of(local_root, EMBED_SCHEMA, node("Doc", slug="a", text="hello"))
    graph.export(tmp_path / "in.jsonl")

    in_graph = graph.embed(types=[name], config=MOCK)
    in_files = omnigraph.embed_files(
        tmp_path / "in.jsonl", tmp_path / "out.jsonl", spec=SPEC, types=[name], select=[f"{name}:slug=a"], config=MOCK
    )

    assert (in_graph.embedded_records, in_files.embedded_records) == (1, 1)


def test_embedding_names_the_type_that_was_meant(local_root: str, tmp_path: Path) -> None:
    graph = graph_of(local_root, EMBED_SCHEMA)

    with pytest.raises(EntityNotFound, match=r"no node type 'Dok' in this graph; did you mean Doc\?"):
        graph.embed(types=["Dok"], config=MOCK)
    with pytest.raises(Usage, match=r"no type 'Dok'; did you mean Doc\?"):
        omnigraph.embed_files(tmp_path / "in", tmp_path / "out", spec=SPEC, types=["Dok"], config=MOCK)
