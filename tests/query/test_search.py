"""Searching: the examples of the language, with and without indexes, and next to rows that no index knows."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.errors import EmbeddingConfig, QueryExecution
from omnigraph.graph import Graph
from omnigraph.query.search import fields, vectors
from omnigraph.query.search.words import is_near
from support.graphs import graph_of, node
from support.sailing import CREW, crew_graph


@pytest.fixture(scope="module", params=["without indexes", "indexed", "with a tail"])
def crew(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """The example graph in three states: nothing is indexed, everything is, or rows came after the indexes."""
    uri = str(tmp_path_factory.mktemp("search") / "crew.omni")
    if request.param != "with a tail":
        graph = crew_graph(uri)
        if request.param == "indexed":
            graph.optimize()
        return graph
    early = [record for record in CREW if record.get("data", {}).get("name") in {"Ana", "Bo"}]
    graph = graph_of(uri, crew_schema(), *early)
    graph.optimize()
    with graph.write() as batch:
        batch.update("Sailor", {"bio": "forgotten words about cheese"}, ids=["Bo"])
    write_all(graph, CREW)
    return graph


def crew_schema() -> str:
    from support.sailors import SCHEMA

    return SCHEMA


def write_all(graph: Graph, records: list[dict[str, Any]]) -> None:
    import io
    import json

    lines = "\n".join(json.dumps(record) for record in records)
    graph.load(io.BytesIO(lines.encode()), mode="merge")


def names(graph: Graph, text: str, **params: object) -> list[Any]:
    return [next(iter(row.values())) for row in graph.query(text, **params).rows()]


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ('search($h.title, "stars")', ["S1", "S2"]),
        ('search($h.title, "star sea")', ["S1", "S2"]),
        ('match_text($h.title, "sea star")', ["S2"]),
        ('match_text($h.title, "sea tub")', []),
        ('search($h.title, "the")', []),
        ('match_text($h.title, "the")', []),
        ('fuzzy($h.title, "Nothern")', ["S1"]),
        ('fuzzy($h.title, "Nothern", 0)', []),
        ('fuzzy($h.title, "the", 0)', ["S2"]),
        ('not { search($h.title, "star") }', ["S3"]),
    ],
)
def test_texts_of_ships(crew: Graph, clause: str, expected: list[str]) -> None:
    assert sorted(names(crew, f"match {{ $h: Ship  {clause} }} return {{ $h.hull }}")) == expected


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ('not { search($s.bio, "navigation") }', ["Bo", "Cy", "Ed"]),
        ('search($s.bio, "navigating")', ["Ana", "Di"]),
        ('search($s.bio, "cheese")', []),
        ('search($s.bio, "ICE")', ["Ana", "Ed"]),
        ("search($s.bio, $s.name)", []),
    ],
)
def test_texts_of_sailors(crew: Graph, clause: str, expected: list[str]) -> None:
    """`cheese` was overwritten: an index may remember it, an answer must not."""
    assert sorted(names(crew, f"match {{ $s: Sailor  {clause} }} return {{ $s.name }}")) == expected


def test_the_text_of_a_traversals_target(crew: Graph) -> None:
    text = 'match { $s: Sailor  $s servesOn $h  search($h.title, "sea") } return { $s.name }'

    assert names(crew, text) == ["Cy"]


@pytest.mark.parametrize(
    ("order", "limit", "expected"),
    [
        ("nearest($h.vec, [1.0, 0.0])", 3, ["S1", "S2"]),
        ('bm25($h.title, "sea")', None, ["S2"]),
        ('bm25($h.title, "star sea")', None, ["S2", "S1"]),
        ('bm25($h.title, "star sea") asc', None, ["S1", "S2"]),
        ('rrf(nearest($h.vec, [1.0,0.0]), bm25($h.title, "sea"))', 2, ["S2", "S1"]),
        ('rrf(nearest($h.vec, [1.0,0.0]), bm25($h.title, "sea"))', 1, ["S1"]),
    ],
)
def test_ranked_ships(crew: Graph, order: str, limit: int | None, expected: list[str]) -> None:
    rest = "" if limit is None else f" limit {limit}"

    assert names(crew, f"match {{ $h: Ship }} return {{ $h.hull }} order {{ {order} }}{rest}") == expected


def test_what_is_matched_first_is_ranked_second(crew: Graph) -> None:
    text = """match { $a: Sailor { name: "Cy" }  $a servesOn $h } return { $h.hull }
        order { nearest($h.vec, [1.0, 0.0]) } limit 1"""

    assert names(crew, text) == ["S2"]


def test_values_of_rankings(crew: Graph) -> None:
    text = """match { $h: Ship } return { $h.hull, nearest($h.vec, [1.0, 0.0]) as d, bm25($h.title, "sea") as w }
        order { $h.hull }"""
    rows = list(crew.query(text).rows())

    assert [row["d"] for row in rows] == [0.0, 1.0, None]
    assert [row["w"] > 0 for row in rows] == [False, True, False]


def test_the_value_of_a_fusion_is_that_of_the_whole_match(crew: Graph) -> None:
    text = """match { $h: Ship } return { $h.hull, rrf(nearest($h.vec, [1.0,0.0]), bm25($h.title, "sea")) as score }
        order { rrf(nearest($h.vec, [1.0,0.0]), bm25($h.title, "sea")) } limit 2"""

    assert [(row["h.hull"], row["score"]) for row in crew.query(text).rows()] == [
        ("S2", 1 / 62 + 1 / 61),
        ("S1", 1 / 61),
    ]


def test_a_query_without_direction_is_an_error(crew: Graph) -> None:
    with pytest.raises(QueryExecution, match=r"^query: .*zeros"):
        crew.query("match { $h: Ship } return { $h.hull } order { nearest($h.vec, [0.0, 0.0]) } limit 1")


def test_fewer_edits_than_none_are_an_error(crew: Graph) -> None:
    with pytest.raises(QueryExecution, match=r"^query: .*-1 edits"):
        crew.query('match { $h: Ship  fuzzy($h.title, "x", -1) } return { $h.hull }')


def test_null_asks_for_nothing(crew: Graph) -> None:
    text = "query q($q: String?) { match { $h: Ship  search($h.title, $q) } return { $h.hull } }"

    assert names(crew, text, q=None) == []


EMBEDDED = """
node Doc { title: String @key  vec: Vector(8) @embed("title") @index }
"""


def test_a_text_is_embedded_when_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    graph = graph_of(str(tmp_path / "g.omni"), EMBEDDED, *(node("Doc", title=title) for title in ("ice", "nav", "sea")))
    graph.embed()
    text = "query q($t: String) { match { $d: Doc } return { $d.title } order { nearest($d.vec, $t) } limit 1 }"

    assert [names(graph, text, t=title) for title in ("ice", "nav", "sea")] == [["ice"], ["nav"], ["sea"]]


def test_the_recorded_model_must_be_the_providers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "openai")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    schema = EMBEDDED.replace('@embed("title")', '@embed("title", model="small-8")')
    graph = graph_of(str(tmp_path / "g.omni"), schema, node("Doc", title="ice"))
    text = "query q($t: String) { match { $d: Doc } return { $d.title } order { nearest($d.vec, $t) } limit 1 }"

    with pytest.raises(EmbeddingConfig, match=r"small-8.*text-embedding-3-large"):
        graph.query(text, t="ice")


WORDS = ["harbor", "winter", "letters", "garden", "signal", "running", "bridges", "the"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A few hundred documents with vectors, indexed, and some more that came later."""
    chance = random.Random(5)
    graph = omnigraph.init(
        str(tmp_path_factory.mktemp("library") / "g.omni"),
        "node Doc { name: String @key  kind: I32  text: String @index  vec: Vector(4)? @index }",
    )

    def documents(first: int, count: int) -> list[dict[str, Any]]:
        return [
            node(
                "Doc",
                name=f"d{number:04d}",
                kind=number % 7,
                text=" ".join(chance.choices(WORDS, k=chance.randint(1, 9))),
                vec=[chance.uniform(-1, 1) for _ in range(4)],
            )
            for number in range(first, first + count)
        ]

    write_all(graph, documents(0, 600))
    graph.optimize()
    write_all(graph, documents(600, 100))
    return graph


@pytest.mark.parametrize("where", ["", "$d.kind = 3", "$d.kind > 4"])
@pytest.mark.parametrize("by_index", [False, True])
def test_the_nearest_are_the_nearest(
    library: Graph, where: str, by_index: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by_index:
        monkeypatch.setattr(vectors, "_INDEX_MIN", 0)
    wanted = [0.3, -0.2, 0.9, 0.1]
    body = f"match {{ $d: Doc {where} }} return {{ $d.name }} order {{ nearest($d.vec, $v) }} limit 9"
    text = f"query q($v: Vector(4)) {{ {body} }}"
    rows = library.snapshot().table("Doc").to_arrow(["name", "kind", "vec"]).to_pylist()
    kept = [row for row in rows if not where or eval(where.replace("$d.kind", str(row["kind"])).replace(" = ", " == "))]
    lengths = {row["name"]: np.array(row["vec"]) / np.linalg.norm(row["vec"]) for row in kept}
    direction = np.array(wanted) / np.linalg.norm(wanted)
    expected = sorted(lengths, key=lambda name: (1 - lengths[name] @ direction, name))[:9]

    assert names(library, text, v=wanted) == expected


@pytest.mark.parametrize("by", ["words in memory", "a part of an index", "an index"])
def test_ranked_words_are_the_same_with_and_without_help_of_the_index(
    library: Graph, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every document that has a word is there, ties in the order of their ids."""
    if by != "words in memory":
        monkeypatch.setattr(fields, "words_in_memory", lambda *_, **__: None)
    if by == "an index":
        monkeypatch.setattr(fields, "_READ_MAX", 0)
        monkeypatch.setattr(fields, "_RESCORED_MAX", 0)
        library.optimize()
    scored = list(
        library.query('match { $d: Doc } return { $d.name, bm25($d.text, "letter run") as s } order { $d.name }').rows()
    )
    ranked = names(library, 'match { $d: Doc } return { $d.name } order { bm25($d.text, "letter run") }')
    best = names(library, 'match { $d: Doc } return { $d.name } order { bm25($d.text, "letter run") } limit 7')
    found = names(library, 'match { $d: Doc  search($d.text, "letter run") } return { $d.name } order { $d.name }')

    value = {row["d.name"]: row["s"] for row in scored}
    assert sorted(ranked) == found == sorted(name for name, score in value.items() if score > 0)
    assert ranked == sorted(found, key=lambda name: (-value[name], name))
    assert len(best) == 7
    assert {round(value[name], 6) for name in best} <= {round(value[name], 6) for name in ranked[:40]}


@settings(max_examples=60)
@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.integers(0, 3))
def test_words_that_are_near(one: str, other: str, edits: int) -> None:
    def distance(left: str, right: str) -> int:
        if not left or not right:
            return len(left) + len(right)
        return min(
            distance(left[1:], right) + 1,
            distance(left, right[1:]) + 1,
            distance(left[1:], right[1:]) + (left[0] != right[0]),
        )

    assert is_near(one, other, edits) == (distance(one, other) <= edits)
