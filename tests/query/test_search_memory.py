"""Search in memory: words and vectors answer as reading everything does, also after commits and within a budget."""

import json
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.graph import Graph
from omnigraph.query.access import Ordinals
from omnigraph.query.image import directions, images
from omnigraph.query.image.directions import Directions, cosine_error
from omnigraph.query.image.images import Images
from omnigraph.query.image.postings import AnyPostings, PatchedPostings, build_postings
from omnigraph.query.image.shelf import DoesNotFit, Shelf
from omnigraph.query.run import best_first
from omnigraph.query.search import fields
from omnigraph.storage.text_analysis import terms_of, terms_of_words

TEXTS = st.none() | st.lists(
    st.sampled_from(["sea", "Seas,", "the", "x" * 41, "naïve", "a-b_c", "中文", "ice\tage", "e\u0301t", "İ", "42"])
    | st.text("aZé9- '.\n\u00a0", max_size=5),
    max_size=6,
).map(" ".join)


def postings(texts: dict[int, str | None], size: int) -> AnyPostings:
    ordinals: Ordinals = np.array([*texts], np.int32)
    pieces = [(ordinals[:2], pa.array([*texts.values()][:2], pa.string()))]
    pieces.append((ordinals[2:], pa.array([*texts.values()][2:], pa.string())))
    return build_postings(pieces, size=size)


def insist_on_words(found: AnyPostings, texts: dict[int, str | None]) -> None:
    """Every term of every text is there as often as it is in it, and nothing else."""
    counted = {node: Counter(terms_of(text)) for node, text in texts.items() if text is not None}
    for term in {"nowhere", *(term for counts in counted.values() for term in counts)}:
        nodes, counts = found.of(term)
        expected = {node: counts[term] for node, counts in counted.items() if counts[term]}
        assert dict(zip(nodes.tolist(), counts.tolist(), strict=True)) == expected, term
    lengths = {node: sum(counted[node].values()) if node in counted else -1 for node in texts}
    assert {node: int(found.lengths[node]) for node in texts} == lengths
    known = [length for length in lengths.values() if length >= 0]
    assert math.isclose(found.usual_length, max(sum(known) / len(known), 1.0) if known else 1.0)


@given(st.lists(TEXTS, max_size=12), st.dictionaries(st.integers(0, 15), TEXTS, max_size=5))
@settings(max_examples=30)
def test_words_are_those_of_the_texts_also_after_a_change(
    texts: list[str | None], changed: dict[int, str | None]
) -> None:
    before = dict(enumerate(texts))
    base = build_postings([(np.array([*before], np.int32), pa.array(texts, pa.string()))], size=len(before))
    insist_on_words(base, before)
    insist_on_words(postings(before, len(before)), before)
    if not changed:
        return
    ordinals = np.array(sorted(changed), np.int32)
    values = pa.array([changed[node] for node in sorted(changed)], pa.string())
    patched = PatchedPostings(base, ordinals, values, size=max(len(before), *(node + 1 for node in changed)))

    insist_on_words(patched, {**before, **changed})
    insist_on_words(patched.folded(), {**before, **changed})


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=6), max_size=20))
def test_words_that_are_taken_apart_together_are_as_if_alone(words: list[str]) -> None:
    alone = ["".join(word.split()) for word in [*words, "the", "running", "y" * 40, "y" * 41]]

    assert terms_of_words(alone) == [terms_of(word) for word in alone]


def test_words_that_need_more_than_there_is_are_not_built() -> None:
    texts = pa.array(["one two three"] * 100)

    with pytest.raises(DoesNotFit):
        build_postings([(np.arange(100, dtype=np.int32), texts)], size=100, bytes_max=1_000)


@given(
    st.lists(st.none() | st.lists(st.floats(-2, 2, width=32), min_size=3, max_size=3), min_size=1, max_size=9),
    st.sampled_from([1, 6, 1 << 13]),
)
def test_cosines_are_as_wrong_as_they_may_be(vectors: list[list[float] | None], numbers_at_once: int) -> None:
    column = pa.array(vectors, pa.list_(pa.float32(), 3))
    wanted = np.array([0.6, -0.8, 0.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(directions, "_ONE_THREAD_MAX", numbers_at_once)
        found = Directions(column.slice(1)).cosines(wanted)
    exact = []
    for vector in vectors[1:]:
        length = np.linalg.norm(vector) if vector is not None else 0.0
        exact.append(np.dot(vector, wanted) / length if length else -np.inf)
    if found is None:
        assert any(0 < np.linalg.norm(vector) < 1e-14 for vector in vectors if vector is not None)
        return
    for cosine, truth in zip(found.tolist(), exact, strict=True):
        assert cosine == truth or abs(cosine - truth) <= cosine_error(3)


SCHEMA = """
node Doc { name: String @key  text: String?  vec: Vector(3)? }
node Author { name: String @key }
edge Wrote: Author -> Doc
"""
WORDS = ["harbor", "winter", "letters", "garden", "signal", "running", "bridges", "the"]


def written(number: int) -> dict[str, Any]:
    """Make up a document: many are alike, and some say nothing or point nowhere."""
    chance = np.random.default_rng(number % 60)
    text = " ".join(chance.choice(WORDS, int(chance.integers(0, 6))).tolist())
    vector = [float(value) for value in chance.integers(-2, 3, 3)]
    return {
        "name": f"d{number:03d}",
        "text": None if number % 11 == 0 else text,
        "vec": None if number % 13 == 0 else vector,
    }


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """A shelf of one's own, on which nothing is left from others."""
    own = Shelf(1 << 26)
    monkeypatch.setattr(images, "_shelf", own)
    monkeypatch.setattr(images, "_images", {})
    return own


def library_at(uri: str) -> Graph:
    graph = omnigraph.init(uri, SCHEMA)
    with graph.write() as batch:
        batch.insert("Doc", [written(number) for number in range(240)])
        batch.insert("Author", [{"name": "Ana"}, {"name": "Bo"}])
        edges = [{"from": "Ana" if number % 2 else "Bo", "to": f"d{number:03d}"} for number in range(0, 240, 3)]
        batch.insert("Wrote", edges)
    return graph


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Documents that nobody changes."""
    return library_at(str(tmp_path_factory.mktemp("library") / "g.omni"))


ORDERS = ['bm25($d.text, "letter winter run")', "nearest($d.vec, [0.2, 0.9, -0.1])", "$d.text", "$d.text desc"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rest", ["", "$a wrote $d", "$a wrote $d  $a.name = 'nobody'", "not { $_ wrote $d }"])
def test_the_first_rows_are_those_of_the_whole_order(library: Graph, order: str, rest: str) -> None:
    """However few the limit lets through, and whether or not the best nodes have rows at all."""
    body = f"match {{ $d: Doc {rest.replace(chr(39), chr(34))} }} return {{ $d.name }} order {{ {order} }}"
    everything = library.query(f"{body} limit 1000").rows()

    assert len(everything) == 0 if "nobody" in rest else len(everything) > 20
    for limit in (1, 2, 7, 30):
        assert library.query(f"{body} limit {limit}").rows() == everything[:limit]


def test_fewer_nodes_than_rows_are_wanted_are_followed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = library_at(str(tmp_path / "g.omni"))
    text = 'match { $d: Doc $a wrote $d } return { $d.name } order { bm25($d.text, "winter") } limit 3'
    expected = library.query(text).rows()
    monkeypatch.setattr(best_first, "_MORE", 2)
    with library.write() as batch:
        best = [row["d.name"] for row in library.query(text.replace("$a wrote $d", "").replace("3", "20")).rows()]
        for name in best:
            batch.delete("Wrote", where=[("dst", "=", name)])

    found = library.query(text).rows()

    assert len(expected) == len(found) == 3
    assert not {row["d.name"] for row in found} & {*best}


def answers(graph: Graph) -> list[Any]:
    texts = [
        'match { $d: Doc } return { $d.name, bm25($d.text, "letter run") as s } order { $d.name }',
        'match { $d: Doc } return { $d.name } order { bm25($d.text, "letter run") }',
        'match { $d: Doc  match_text($d.text, "winter letters") } return { $d.name } order { $d.name }',
        'match { $d: Doc  search($d.text, "winter harbor") } return { $d.name } order { $d.name }',
        """match { $d: Doc } return { $d.name, nearest($d.vec, [1.0, 0.5, 0.0]) as n }
            order { nearest($d.vec, [1.0, 0.5, 0.0]) } limit 12""",
    ]
    return [graph.query(text).rows() for text in texts]


def test_commits_change_words_and_vectors(tmp_path: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is patched says the same as what is built of the same rows."""
    library = library_at(str(tmp_path / "g.omni"))
    answers(library)
    assert any("words" in key for key in shelf._entries if isinstance(key, tuple))
    for turn in range(3):
        with library.write() as batch:
            batch.update("Doc", {"text": f"winter letters winter{turn}", "vec": [1.0, 0.4, 0.0]}, ids=[f"d01{turn}"])
            batch.delete("Doc", ids=[f"d02{turn}"])
            batch.insert("Doc", [{**written(turn), "name": f"new{turn}", "text": "running winter"}])
        patched = answers(library)
        with monkeypatch.context() as others:
            others.setattr(images, "_images", {})
            rebuilt = answers(omnigraph.open(library.uri))

        assert [row["d.name"] for row in patched[1]] == [row["d.name"] for row in rebuilt[1]]
        assert [row["s"] for row in patched[0]] == pytest.approx([row["s"] for row in rebuilt[0]])
        assert patched[2:] == rebuilt[2:]
        assert f"new{turn}" in str(patched[1])


def test_words_are_folded_with_their_nodes(tmp_path: Path, shelf: Shelf) -> None:
    """Much that has changed makes a new base, whose words nobody takes apart again."""
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    with graph.write() as batch:
        batch.insert("Doc", [{**written(number), "name": f"d{number:05d}"} for number in range(3_000)])
    text = 'match { $d: Doc } return { $d.name } order { bm25($d.text, "brandnew") }'
    assert graph.query(text).rows() == []
    with graph.write() as batch:
        batch.update("Doc", {"text": "brandnew"}, where=[("name", ">=", "d01000"), ("name", "<", "d02100")])

    found = graph.query(text).rows()

    assert [row["d.name"] for row in found] == [f"d{number:05d}" for number in range(1_000, 2_100)]
    assert shelf.used_bytes > 0


def test_scores_are_those_of_bm25(library: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'match { $d: Doc } return { $d.name, bm25($d.text, "letter run winter") as s } order { $d.name }'
    found = {row["d.name"]: row["s"] for row in library.query(text).rows()}
    documents = {
        row["name"]: terms_of(row["text"] or "") for row in map(written, range(240)) if row["text"] is not None
    }
    usual = sum(map(len, documents.values())) / len(documents)
    expected = dict.fromkeys(found, 0.0)
    for term in terms_of("letter run winter"):
        held = sum(term in words for words in documents.values())
        for name, words in documents.items():
            often = words.count(term)
            weight = math.log(1 + (240 - held + 0.5) / (held + 0.5))
            expected[name] += weight * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * len(words) / usual))

    assert found == pytest.approx(expected)
    monkeypatch.setattr(fields, "words_in_memory", lambda *_, **__: None)
    read = {row["d.name"]: row["s"] for row in library.query(text).rows()}
    assert read == pytest.approx(expected, rel=1e-3)


BUDGET = """
import json, sys
import pyarrow as pa
import omnigraph
graph = omnigraph.open(sys.argv[1], read_only=True)
graph.query("match { $d: Doc { name: 'd0' } } return { $d.name }".replace(chr(39), chr(34)))
before = pa.default_memory_pool().max_memory()
found = [graph.query(text).rows() for text in json.loads(sys.argv[2])]
print(json.dumps([found, pa.default_memory_pool().max_memory() - before]))
"""


def test_search_reads_no_whole_column_where_memory_is_short(tmp_path: Path) -> None:
    """Texts and vectors of many megabytes are looked through some at a time, with equal answers."""
    count, dimension = 3_000, 512
    schema = f"node Doc {{ name: String @key  text: String  vec: Vector({dimension}) }}"
    graph = omnigraph.init(str(tmp_path / "g.omni"), schema)
    chance = np.random.default_rng(4)
    vectors = chance.normal(size=(count, dimension)).astype(np.float32)
    texts = [f"{'padding ' * 300}{WORDS[number % 7]} {WORDS[number % 5]}" for number in range(count)]
    names = [f"d{number}" for number in range(count)]
    columns = {
        "name": names,
        "text": texts,
        "vec": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dimension),
    }
    graph.load_table(pa.table(columns), type="Doc", mode="append")
    wanted = ", ".join(str(float(value)) for value in vectors[77])
    reads = [
        f"match {{ $d: Doc }} return {{ $d.name }} order {{ nearest($d.vec, [{wanted}]) }} limit 5",
        'match { $d: Doc } return { $d.name } order { bm25($d.text, "winter letters") } limit 5',
        'match { $d: Doc  match_text($d.text, "winter letters") } return { count($d) as n }',
        'match { $d: Doc  fuzzy($d.text, "wintr", 1) } return { count($d) as n }',
    ]
    asked = {}
    for budget in ("2000000", "1"):
        done = subprocess.run(
            [sys.executable, "-c", BUDGET, graph.uri, json.dumps(reads)],
            env={**os.environ, "OMNIGRAPH_CACHE_BYTES": budget, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        asked[budget] = json.loads(done.stdout)
    found = [graph.query(text).rows() for text in reads]

    assert found[0][0] == {"d.name": "d77"}
    assert found[2] == [{"n": sum(number % 7 + number % 5 == 3 and number % 7 in (1, 2) for number in range(count))}]
    assert [answer for answer, _ in asked.values()] == [found] * 2
    assert vectors.nbytes > 6_000_000
    assert asked["2000000"][1] < 3_000_000, asked["2000000"][1]
    assert asked["1"][1] < 3_000_000, asked["1"][1]


def test_images_refuse_words_once(library: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where words do not fit, nobody tries to build them for every question."""
    own = Images(Shelf(100_000))
    monkeypatch.setattr(images, "_images", {library._context.store.root.identity: own})
    tries = []
    monkeypatch.setattr(images, "build_postings", lambda *_, **__: tries.append(1) or _refuse())

    graph = omnigraph.open(library.uri)
    for _ in range(3):
        assert graph.query('match { $d: Doc } return { $d.name } order { bm25($d.text, "winter") } limit 1').rows()

    assert len(tries) == 1


def _refuse() -> None:
    raise DoesNotFit("no words")
