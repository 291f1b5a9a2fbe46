"""What the queries of the benchmark are asked about: people who know each other, and what they wrote."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import omnigraph

DIMENSION = 384
OLD = 52
"""About 41 % of people are older: ages are even over 90 years."""
SCHEMA = f"""
node Person {{ name: String @key  age: I32  city: String }}
node Doc {{ title: String @key  text: String @index  vec: Vector({DIMENSION}) @index }}
edge Knows: Person -> Person
edge Wrote: Person -> Doc
"""
_CONSONANTS = "bcdfghjklmnprtvz"
_CITIES, _WORDS, _WORDS_PER_TEXT, _TOPICS = 200, 5_000, 30, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much there is."""

    people: int
    edges: int
    docs: int
    patience: float = 1.0
    """How many seconds are spent on measuring one answer, in each way."""
    processes: int = 5
    """How many new processes are asked the same."""
    following: float = 60.0
    """How many seconds a writer is followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Everything, in columns, and the ends of all edges as numbers of people."""

    people: pa.Table
    knows: pa.Table
    docs: pa.Table
    wrote: pa.Table
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    vectors: NDArray[np.float32]


def person(number: int) -> str:
    """Return what a person is called."""
    return f"person-{number}"


def word(number: int) -> str:
    """Return a word of letters, which every tokenizer leaves as it is; the lower its number, the more frequent."""
    syllables = (f"{_CONSONANTS[part // 5]}{'aeiou'[part % 5]}" for part in divmod(number, len(_CONSONANTS) * 5))
    return f"{''.join(syllables)}x"


def generate(size: Size) -> Data:
    """Make data up: no edge twice and none to oneself, which databases count differently."""
    chance = np.random.default_rng(1)
    names = pa.array([person(number) for number in range(size.people)])
    sources, targets = _pairs(chance, size.people, size.edges)
    topics = chance.normal(size=(_TOPICS, DIMENSION))
    vectors = (topics[chance.integers(0, _TOPICS, size.docs)] + chance.normal(size=(size.docs, DIMENSION))).astype(
        np.float32
    )
    titles = pa.array([f"doc-{number}" for number in range(size.docs)])
    return Data(
        people=pa.table(
            {
                "name": names,
                "age": pa.array(chance.integers(0, 90, size.people), pa.int32()),
                "city": pa.array([f"city-{number}" for number in chance.integers(0, _CITIES, size.people)]),
            }
        ),
        knows=pa.table({"from": names.take(pa.array(sources)), "to": names.take(pa.array(targets))}),
        docs=pa.table(
            {
                "title": titles,
                "text": pa.array([_text(chance) for _ in range(size.docs)]),
                "vec": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), DIMENSION),
            }
        ),
        wrote=pa.table({"from": names.take(pa.array(chance.integers(0, size.people, size.docs))), "to": titles}),
        sources=sources,
        targets=targets,
        vectors=vectors,
    )


def new_graph(uri: str, data: Data) -> omnigraph.Graph:
    """Load everything, and give it its indexes."""
    graph = omnigraph.init(uri, SCHEMA)
    for name, rows in (("Person", data.people), ("Doc", data.docs), ("Knows", data.knows), ("Wrote", data.wrote)):
        graph.load_table(rows, type=name, mode="append")
    graph.optimize()
    return graph


def _pairs(chance: np.random.Generator, people: int, edges: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    codes = np.unique(chance.integers(0, people * people, edges + edges // 10))
    codes = chance.permutation(codes[codes // people != codes % people])[:edges]
    assert len(codes) == edges
    return codes // people, codes % people


def _text(chance: np.random.Generator) -> str:
    """Write some words, of which few are frequent and many are rare."""
    return " ".join(word(int(_WORDS**share)) for share in chance.random(_WORDS_PER_TEXT))
