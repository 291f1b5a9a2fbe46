"""Export and load are inverse: every value bit for bit, in whatever order and in however many files it comes."""

import base64
import io
import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.graph import Graph
from support.harbor import lines

SCALARS = ("String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime")
Record = dict[str, Any]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["", "\x00", '"\\\n\t', "\u2028", "🚢", "null", "NaN", "\ufeff", "base64:"]
)


def integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.sampled_from([low, high, 0, 1]) | st.integers(low, high)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "String": texts,
    "Bool": st.booleans(),
    "I32": integers(-(2**31), 2**31 - 1),
    "I64": integers(-(2**63), 2**63 - 1),
    "U32": integers(0, 2**32 - 1),
    "U64": integers(0, 2**64 - 1),
    "F32": st.floats(width=32, allow_nan=False, allow_infinity=False) | st.sampled_from([-0.0, 1e-45, 3.4028235e38]),
    "F64": st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-0.0, 5e-324, 1.7976931348623157e308]),
    "Date": integers(-(2**31), 2**31 - 1) | st.integers(-719_162, 2_932_896),
    "DateTime": integers(-(2**63), 2**63 - 1) | st.integers(-62_135_596_800_000, 253_402_300_799_999),
    "enum(p, q)": st.sampled_from("pq"),
    "Vector(3)": st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
    "Blob": st.binary(max_size=40).map(lambda data: "base64:" + base64.b64encode(data).decode()),
}
VALUES |= {f"[{scalar}]": st.lists(VALUES[scalar], max_size=4) for scalar in SCALARS}


def spelled_once(key: Any) -> Any:
    """Make keys with one spelling equal: both zeros of a float are one key."""
    return key + 0 if isinstance(key, float) else key


@st.composite
def graphs(draw: st.DrawFn) -> tuple[str, list[Record]]:
    """Return a schema with some properties of every kind, required and nullable, and records that fit it."""
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=6))
    nullable = draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    properties = [(f"p{place}", kind, free) for place, (kind, free) in enumerate(zip(kinds, nullable, strict=True))]
    body = "  ".join(f"{name}: {kind}{'?' if free else ''}" for name, kind, free in properties)
    key = draw(st.sampled_from([kind for kind in (*SCALARS, "enum(p, q)") if kind != "Bool"]))
    schema = f"node Keyed {{ k: {key} @key  {body} }}  node Free {{ {body} }}  edge Link: Free -> Free {{ {body} }}"
    data = st.fixed_dictionaries(
        {name: st.none() | VALUES[kind] if free else VALUES[kind] for name, kind, free in properties}
    )
    records: list[Record] = [{"type": "Free", "data": {"id": "n0", **draw(data)}}]
    keys = draw(st.lists(VALUES[key], max_size=4, unique_by=spelled_once))
    records += [{"type": "Keyed", "data": {"k": value, **draw(data)}} for value in keys]
    names = sorted(draw(st.sets(texts, max_size=3)) - {"n0"})
    records += [{"type": "Free", "data": {"id": name, **draw(data)}} for name in names]
    records += [
        {"edge": "Link", "from": "n0", "to": "n0", "data": {"id": name, **draw(data)}}
        for name in sorted(draw(st.sets(texts, max_size=4)))
    ]
    return schema, records


@contextmanager
def empty_graphs(schema: str, count: int) -> Iterator[tuple[Path, list[Graph]]]:
    with tempfile.TemporaryDirectory() as directory:
        uris = [str(Path(directory) / f"graph-{number}.omni") for number in range(count)]
        yield Path(directory), [omnigraph.init(uri, schema) for uri in uris]


def exported(graph: Graph) -> bytes:
    out = io.BytesIO()
    graph.export(out)
    return out.getvalue()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(graphs())
def test_an_export_loads_back_bit_for_bit(generated: tuple[str, list[Record]]) -> None:
    schema, records = generated
    with empty_graphs(schema, 2) as (_, (first, second)):
        first.load(lines(records), mode="append")
        text = exported(first)

        second.load(io.BytesIO(text), mode="overwrite")

        assert exported(second) == text
        assert text.count(b"\n") == len(records)
        assert second.load(io.BytesIO(text), mode="merge").commit is None, "a merge of the export changes nothing"


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(graphs(), st.sampled_from(["jsonl", "parquet", "lance"]))
def test_an_exported_directory_loads_back_bit_for_bit(generated: tuple[str, list[Record]], form: str) -> None:
    schema, records = generated
    with empty_graphs(schema, 2) as (directory, (first, second)):
        first.load(lines(records), mode="append")
        first.export(f"{directory}/out/", format=form)

        second.load(directory / "out", mode="overwrite")

        assert exported(second) == exported(first)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(graphs(), st.randoms(use_true_random=False))
def test_neither_the_order_of_lines_nor_their_files_matter(
    generated: tuple[str, list[Record]], chance: random.Random
) -> None:
    schema, records = generated
    with empty_graphs(schema, 3) as (directory, (plain, shuffled, split)):
        plain.load(lines(records), mode="append")
        mixed = chance.sample(records, len(records))
        shuffled.load(lines(mixed), mode="append")
        for number, record in enumerate(mixed):
            part = directory / "parts" / str(chance.randrange(3)) / f"{number}.jsonl"
            part.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(record), encoding="utf-8")
        split.load(directory / "parts", mode="append")

        assert exported(shuffled) == exported(plain)
        assert exported(split) == exported(plain)
