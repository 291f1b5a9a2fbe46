"""Search in queries: the nearest vectors, and texts by relevance with a hop from them.

Beside Lance, whose indexes of the same tables are called directly, and beside Kuzu where it is installed: LadybugDB's
search is an extension that is downloaded when it is first used, Kuzu's came with it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import omnigraph
from benchmarks.both_ways import both_ways, compared
from benchmarks.figures import Figure
from benchmarks.query_data import DIMENSION, Data, word
from benchmarks.query_others import Embedded, among, find_module, listed

_ASKED, _WANTED = 24, 10
_NEAREST = (
    f"query q($q: Vector({DIMENSION})) "
    f"{{ match {{ $d: Doc }} return {{ $d.title }} order {{ nearest($d.vec, $q) }} limit {_WANTED} }}"
)
_WORDS = (
    "query q($q: String) { match { $d: Doc $p wrote $d } return { $d.title, $p.name%s } "
    f"order {{ bm25($d.text, $q) }} limit {_WANTED} }}"
)
_GOAL_NEAREST, _GOAL_NEAREST_LANCE, _GOAL_WORDS, _GOAL_WORDS_LANCE = 1.2, 1.0, 0.3, 0.4
_RECALL_MIN = 0.95


def search_figures(uri: str, data: Data, directory: Path, patience: float) -> list[Figure]:
    """Measure both searches over one pinned snapshot."""
    kuzu = _kuzu(directory, data)
    with omnigraph.open(uri).snapshot() as snapshot:
        return [*_nearest(snapshot, data, kuzu, patience), *_words(snapshot, data, kuzu, patience)]


def _kuzu(directory: Path, data: Data) -> Embedded | None:
    module = find_module("kuzu")
    if module is None:
        return None
    made = Embedded(module, directory / "kuzu")
    made.load(data, documents=True)
    made.run("CALL CREATE_VECTOR_INDEX('Doc', 'vectors', 'vec', metric := 'cosine')")
    made.run("CALL CREATE_FTS_INDEX('Doc', 'texts', ['text'])")
    return made


def _nearest(snapshot: Any, data: Data, kuzu: Embedded | None, patience: float) -> list[Figure]:
    chance = np.random.default_rng(5)
    asked = data.vectors[chance.integers(0, len(data.vectors), _ASKED)]
    asked = (asked + chance.normal(scale=0.3, size=asked.shape)).astype(np.float32)
    vectors = [vector.tolist() for vector in asked]
    table = snapshot.table("Doc")

    def of_lance(turn: int) -> list[str]:
        nearest = {
            "column": "vec",
            "q": pa.array(vectors[turn % _ASKED], pa.float32()),
            "k": _WANTED,
            "metric": "cosine",
            "minimum_nprobes": 32,
            "refine_factor": 10,
        }
        found: list[str] = table.scanner(columns=["id", "_distance"], nearest=nearest).to_table()["id"].to_pylist()
        return found

    def of_ours(turn: int) -> Any:
        return snapshot.query(_NEAREST, q=vectors[turn % _ASKED]).to_arrow()

    works: dict[str, Callable[[int], Any]] = {"ours": of_ours, "Lance": of_lance}
    titles: dict[str, Callable[[int], list[str]]] = {
        "ours": lambda turn: of_ours(turn)["d.title"].to_pylist(),
        "Lance": of_lance,
    }
    if kuzu is not None:
        ask = kuzu.question(
            f"CALL QUERY_VECTOR_INDEX('Doc', 'vectors', $q, {_WANTED}) RETURN node.title ORDER BY distance",
            {"q": vectors[0]},
        )
        works[kuzu.name] = lambda turn: ask({"q": vectors[turn % _ASKED]})
        titles[kuzu.name] = lambda turn: [row[0] for row in listed(works[kuzu.name](turn))]
    exact = _exact(data, asked)
    recall = {
        name: float(np.mean([len(exact[turn].intersection(of(turn))) / _WANTED for turn in range(_ASKED)]))
        for name, of in titles.items()
    }
    ways = both_ways(works, seconds_max=patience)
    short = "" if recall["ours"] >= _RECALL_MIN else f", short of {_RECALL_MIN}"
    return [
        compared(
            ways,
            "ours",
            other,
            what=f"query: {_WANTED} nearest of {len(data.vectors):,} vectors of {DIMENSION} numbers",
            goal=_GOAL_NEAREST_LANCE if other == "Lance" else _GOAL_NEAREST,
            note=f"recall {recall['ours']:.2f}{short}",
            other_note=f"recall {recall[other]:.2f}, ",
        )
        for other in works
        if other != "ours"
    ]


def _exact(data: Data, asked: np.ndarray) -> list[set[str]]:
    """Compare with every vector."""
    lengths = np.linalg.norm(data.vectors, axis=1)
    titles = data.docs["title"].to_pylist()
    near = [np.argsort(-(data.vectors @ vector) / lengths, kind="stable")[:_WANTED] for vector in asked]
    return [{titles[place] for place in places} for places in near]


def _words(snapshot: Any, data: Data, kuzu: Embedded | None, patience: float) -> list[Figure]:
    chance = np.random.default_rng(6)
    texts = [f"{word(rare)} {word(5 + turn)}" for turn, rare in enumerate(chance.integers(50, 500, _ASKED).tolist())]
    docs, wrote = snapshot.table("Doc"), snapshot.table("Wrote")

    def of_lance(turn: int) -> tuple[list[float], list[dict[str, str]]]:
        from lance.query import MatchQuery

        query = MatchQuery(texts[turn % _ASKED], "text")
        found = docs.scanner(columns=["id", "_score"], full_text_query=query, limit=_WANTED).to_table()
        written = wrote.scanner(columns=["src", "dst"], filter=among("dst", found["id"].to_pylist())).to_table()
        return found["_score"].to_pylist(), written.to_pylist()

    def of_ours(turn: int) -> Any:
        return snapshot.query(_WORDS % "", q=texts[turn % _ASKED]).to_arrow()

    works: dict[str, Callable[[int], Any]] = {"ours": of_ours, "Lance": of_lance}
    if kuzu is not None:
        ask = kuzu.question(
            f"CALL QUERY_FTS_INDEX('Doc', 'texts', $q) WITH node AS d, score ORDER BY score DESC LIMIT {_WANTED} "
            "MATCH (p:Person)-[:Wrote]->(d) RETURN d.title, p.name",
            {"q": texts[0]},
        )
        works[kuzu.name] = lambda turn: ask({"q": texts[turn % _ASKED]})
    author = dict(zip(data.wrote["to"].to_pylist(), data.wrote["from"].to_pylist(), strict=True))
    for turn in range(_ASKED):
        _check_words(snapshot, texts[turn], of_ours(turn), of_lance(turn)[0], author)
    ways = both_ways(works, seconds_max=patience)
    return [
        compared(
            ways,
            "ours",
            other,
            what=f"query: the {_WANTED} best of {len(data.vectors):,} texts and who wrote them",
            goal=_GOAL_WORDS_LANCE if other == "Lance" else _GOAL_WORDS,
            note="ties by id",
            other_note="any of equals, " if other == "Lance" else "",
        )
        for other in works
        if other != "ours"
    ]


def _check_words(snapshot: Any, text: str, ours: pa.Table, scores: list[float], author: dict[str, str]) -> None:
    """Compare scores with Lance's, as among equals it takes any, and the hop with what was loaded."""
    scored = snapshot.query(_WORDS % ", bm25($d.text, $q) as score", q=text).to_arrow()
    assert scored["d.title"].to_pylist() == ours["d.title"].to_pylist(), text
    assert np.allclose(scored["score"].to_pylist(), sorted(scores, reverse=True), rtol=1e-4), text
    assert [author[title] for title in ours["d.title"].to_pylist()] == ours["p.name"].to_pylist(), text
