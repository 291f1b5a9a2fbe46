"""Random mutations of random graphs against plain dictionaries: the same counts, the same rows, the same refusals."""

import base64
import math
import shutil
import struct
import tempfile
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.errors import ConstraintViolation
from omnigraph.graph import Graph
from support.graphs import edge, graph_of, load, node

SCHEMA = """
node A {
    k: String @key
    i: I32? @index
    l: I64? @index
    u: U32? @index
    w: U64? @index
    f: F32? @index
    d: F64? @index
    b: Bool? @index
    day: Date? @index
    at: DateTime? @index
    s: String? @index
    e: enum(x, y) @default(x)
    n: I32? @unique
    p: Blob?
    t: [String]?
    @range(i, -50..50)
}
node N { v: I64? }
edge E: A -> A @card(0..2) { c: I32? }
edge F: A -> N { c: F64? }
"""
SCALARS = ("i", "l", "u", "w", "f", "d", "b", "day", "at", "s", "e", "n")
PROPERTIES = {"A": ("k", *SCALARS, "p", "t"), "N": ("v",), "E": ("src", "dst", "c"), "F": ("src", "dst", "c")}
ENDS = {"E": ("A", "A"), "F": ("A", "N")}
PARAMETER = {"i": "I32", "l": "I64", "u": "U32", "w": "U64", "f": "F32", "d": "F64", "b": "Bool", "day": "Date"} | {
    "at": "DateTime",
    "s": "String",
    "e": "String",
    "n": "I32",
    "v": "I64",
    "c": "F64",
    "k": "String",
    "id": "String",
    "from": "String",
    "to": "String",
    "p": "Blob",
    "t": "[String]",
}
COLUMN = {"from": "src", "to": "dst"}
GENERATED = count()
"""Ids that sort like ULIDs: before every id of the tests."""
KEYS = ["a0", "a1", "a2", "a3"]
NOTES = ["n0", "n1"]

Row = dict[str, Any]
State = dict[str, list[Row]]


@dataclass(frozen=True)
class Statement:
    verb: str
    kind: str
    assigned: tuple[tuple[str, Any], ...] = ()
    where: tuple[str, str, Any] | None = None


class Broken(Exception):
    """The final state breaks a rule."""


# --- the model


def single(value: float) -> float:
    """Round to the width of F32; what is too large is beyond all of its numbers."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def stored(kind: str, name: str, value: Any) -> Any:
    if value is None or (name not in {"f", "d"} and (kind, name) != ("F", "c")):
        return value
    return single(value) if name == "f" else float(value)


def holds(row: Row, where: tuple[str, str, Any]) -> bool:
    name, operator, wanted = where
    value = row[COLUMN.get(name, name)]
    if value is None or wanted is None:
        return False
    if name == "f":
        wanted = single(wanted)
    outcomes = {
        "=": value == wanted,
        "!=": value != wanted,
        "<": value < wanted,
        "<=": value <= wanted,
        ">": value > wanted,
        ">=": value >= wanted,
    }
    return outcomes[operator]


def apply(state: State, statements: tuple[Statement, ...]) -> tuple[int, int]:
    """Change the state in place and return the affected nodes and edges; raise `Broken` if it is no state."""
    affected: Counter[str] = Counter()
    for one in statements:
        affected[one.kind] += changed(state, one, affected)
    if is_broken(state):
        raise Broken
    return affected["A"] + affected["N"], affected["E"] + affected["F"]


def changed(state: State, one: Statement, affected: Counter[str]) -> int:
    if one.verb == "insert":
        row = dict.fromkeys(PROPERTIES[one.kind]) | ({"e": "x"} if one.kind == "A" else {})
        row |= {COLUMN.get(name, name): stored(one.kind, name, value) for name, value in one.assigned}
        row["id"] = row["k"] if one.kind == "A" else f"01GENERATED{next(GENERATED)}"
        if one.kind == "A":
            state["A"] = [kept for kept in state["A"] if kept["k"] != row["k"]]
        state[one.kind].append(row)
        return 1
    assert one.where is not None
    meant = [row for row in state[one.kind] if holds(row, one.where)]
    if one.verb == "update":
        for row in meant:
            row.update({name: stored(one.kind, name, value) for name, value in one.assigned})
        return len(meant)
    state[one.kind] = [row for row in state[one.kind] if row not in meant]
    gone = {row["id"] for row in meant}
    for kind, (source, target) in ENDS.items():
        if one.kind not in {"A", "N"}:
            break
        lost = [
            row
            for row in state[kind]
            if (source == one.kind and row["src"] in gone) or (target == one.kind and row["dst"] in gone)
        ]
        affected[kind] += len(lost)
        state[kind] = [row for row in state[kind] if row not in lost]
    return len(meant)


def is_broken(state: State) -> bool:
    ids = {kind: {row["id"] for row in state[kind]} for kind in ("A", "N")}
    held = Counter(row["n"] for row in state["A"] if row["n"] is not None)
    degree = Counter(row["src"] for row in state["E"])
    return (
        any(times > 1 for times in held.values())
        or any(times > 2 for times in degree.values())
        or any(row["i"] is not None and not -50 <= row["i"] <= 50 for row in state["A"])
        or any(row["src"] not in ids[a] or row["dst"] not in ids[b] for e, (a, b) in ENDS.items() for row in state[e])
    )


def plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def spelled(state: State) -> dict[str, Counter[str]]:
    """Rows as texts; ids that were generated are nobody's business."""
    known = {*KEYS, *NOTES, *(f"{kind}{number}" for kind in "EF" for number in range(3))}
    return {
        kind: Counter(
            repr([row["id"] if row["id"] in known else None, *(plain(row[name]) for name in names)])
            for row in state[kind]
        )
        for kind, names in PROPERTIES.items()
    }


def found(graph: Graph) -> dict[str, Counter[str]]:
    snapshot = graph.snapshot()
    return spelled({kind: snapshot.table(kind).to_arrow().to_pylist() for kind in PROPERTIES})


# --- what is tried

DAYS = st.sampled_from([date(1, 1, 1), date(1969, 12, 31), date(2020, 2, 29), date(9999, 12, 31)])
MOMENTS = st.sampled_from(
    [datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC), datetime(2020, 2, 29, tzinfo=UTC), datetime(1, 1, 2, tzinfo=UTC)]
)
TEXTS = st.sampled_from(["", "a", "A", "a'b", "é", "\U0001f600", "\uffff", "%", "a\nb", '"'])
VALUES = {
    "i": st.integers(-3, 3) | st.sampled_from([-50, 50, 51]),
    "l": st.sampled_from([-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1]),
    "u": st.sampled_from([0, 1, 2**32 - 1]),
    "w": st.sampled_from([0, 1, 2**53 + 1, 2**63, 2**64 - 1]),
    "f": st.sampled_from([0.0, -0.0, 0.1, -1.5, 3.0, 16777216.0]),
    "d": st.sampled_from([0.0, -0.0, 0.1, -1.5, 3, 2.0**53, 5e-324, 1e300]),
    "b": st.booleans(),
    "day": DAYS,
    "at": MOMENTS,
    "s": TEXTS,
    "e": st.sampled_from(["x", "y"]),
    "n": st.integers(0, 3),
    "p": st.sampled_from([b"", b"hi", bytes(70_000)]),
    "t": st.lists(TEXTS, max_size=2),
    "v": st.integers(-2, 2),
    "c": st.integers(-2, 2),
    "k": st.sampled_from(KEYS),
}
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([34.5, -0.5, 0.1, 2**31, -(2**31) - 1, 2**53 + 1, 2**64 - 1, -(2**63), 1e39, -1e300, 16777217]),
)
WANTED = VALUES | dict.fromkeys(("i", "l", "u", "w", "f", "d", "n", "v", "c"), NUMBERS)
WANTED |= {"from": VALUES["k"], "to": VALUES["k"] | st.sampled_from(NOTES), "id": VALUES["k"] | st.sampled_from(NOTES)}
OPERATORS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])


@st.composite
def assignments(draw: st.DrawFn, kind: str, *, is_insert: bool) -> tuple[tuple[str, Any], ...]:
    names = [name for name in PROPERTIES[kind] if name not in {"k", "src", "dst"}]
    chosen = draw(st.lists(st.sampled_from(names), unique=True, min_size=0 if is_insert else 1, max_size=4))
    values: list[tuple[str, Any]] = []
    if is_insert and kind == "A":
        values.append(("k", draw(VALUES["k"])))
    if is_insert and kind in ENDS:
        values.append(("from", draw(VALUES["k"])))
        values.append(("to", draw(st.sampled_from(KEYS if kind == "E" else NOTES))))
    for name in chosen:
        value = VALUES[name] if kind != "E" or name != "c" else st.integers(-2, 2)
        values.append((name, draw(value if name == "e" else st.none() | value)))
    return tuple(values)


@st.composite
def predicates(draw: st.DrawFn, kind: str) -> tuple[str, str, Any]:
    names = {"A": ("k", "id", *SCALARS), "N": ("id", "v"), "E": ("id", "from", "to", "c"), "F": ("from", "to", "c")}
    name = draw(st.sampled_from(names[kind]))
    # Half of them meet many rows: what selects nothing tells little.
    if draw(st.booleans()):
        return name, "!=", draw(WANTED[name])
    return name, draw(OPERATORS), draw(WANTED[name])


@st.composite
def changes(draw: st.DrawFn) -> tuple[Statement, ...]:
    if draw(st.integers(0, 3)) == 0:
        kinds = draw(st.lists(st.sampled_from("AANEF"), min_size=1, max_size=3))
        return tuple(Statement("delete", kind, where=draw(predicates(kind))) for kind in kinds)
    statements = []
    for verb, kind in draw(
        st.lists(
            st.tuples(st.just("insert"), st.sampled_from("AANEF"))
            | st.tuples(st.just("update"), st.sampled_from("AAN")),
            min_size=1,
            max_size=5,
        )
    ):
        assigned = draw(assignments(kind, is_insert=verb == "insert"))
        where = draw(predicates(kind)) if verb == "update" else None
        statements.append(Statement(verb, kind, assigned, where))
    return tuple(statements)


def literal(value: Any) -> str | None:
    """Spell a value in a query; None if the language has no spelling for it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            plain = format(Decimal(value), "f")
            return plain if "." in plain else f"{plain}.0"
        case datetime():
            return f'datetime("{value.isoformat()}")'
        case date():
            return f'date("{value.isoformat()}")'
        case list():
            return "[" + ", ".join(literal(item) or "" for item in value) + "]"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case _:
            return None


def text_of(statements: tuple[Statement, ...], *, by_parameter: bool) -> tuple[str, dict[str, Any]]:
    declared: list[str] = []
    values: dict[str, Any] = {}

    def spell(name: str, value: Any, *, kind: str, compares: bool = False) -> str:
        written = literal(value)
        fits = not compares or not isinstance(value, int | float) or isinstance(value, bool)
        if written is not None and (not by_parameter or not fits or value is None):
            return written
        parameter = f"v{len(values)}"
        declared.append(f"${parameter}: {'I32' if (kind, name) == ('E', 'c') else PARAMETER[name]}?")
        values[parameter] = value
        return f"${parameter}"

    body = []
    for one in statements:
        assigned = ", ".join(f"{name}: {spell(name, value, kind=one.kind)}" for name, value in one.assigned)
        where = ""
        if one.where is not None:
            name, operator, value = one.where
            where = f" where {name} {operator} {spell(name, value, kind=one.kind, compares=True)}"
        spelled_set = f" set {{ {assigned} }}" if one.verb == "update" else ""
        inserted = f" {{ {assigned} }}" if one.verb == "insert" else ""
        body.append(f"{one.verb} {one.kind}{inserted}{spelled_set}{where}")
    return f"query q({', '.join(declared)}) {{ {' '.join(body)} }}", values


START = {
    "A": [
        {
            "k": key,
            "i": number,
            "l": number - 1,
            "u": number,
            "w": 2**63 + number,
            "f": number - 0.5,
            "d": number / 2,
            "b": number > 0,
            "day": date(2020, 2, 28 + number % 2),
            "at": datetime(2020, 2, 28 + number % 2, tzinfo=UTC),
            "s": "a" * number,
            "e": "y",
            "p": key.encode(),
            "t": [key],
        }
        for number, key in enumerate(KEYS[:3])
    ],
    "N": [{"id": identity, "v": 1} for identity in NOTES],
    "E": [{"id": f"E{number}", "src": "a0", "dst": f"a{number}", "c": number} for number in range(2)],
    "F": [{"id": "F0", "src": "a1", "dst": "n0", "c": 0.5}],
}


def record_of(row: Row) -> dict[str, Any]:
    spelled = {name: value.isoformat() if isinstance(value, date) else value for name, value in row.items()}
    return node("A", **spelled | {"p": "base64:" + base64.b64encode(row["p"]).decode()})


@pytest.fixture(scope="module")
def templates() -> Iterator[dict[str, Path]]:
    """The same graph without indexes, with all of them, and with rows that came after they were built."""
    with tempfile.TemporaryDirectory() as directory:
        made = {}
        for how in ("scanned", "indexed", "partly indexed"):
            uri = Path(directory, f"{how}.omni".replace(" ", "_"))
            graph = graph_of(
                str(uri),
                SCHEMA,
                *map(record_of, START["A"]),
                *(node("N", **row) for row in START["N"]),
                *(edge("E", row["src"], row["dst"], id=row["id"], c=row["c"]) for row in START["E"]),
                *(edge("F", row["src"], row["dst"], id=row["id"], c=row["c"]) for row in START["F"]),
            )
            if how == "indexed":
                graph.optimize()
            elif how == "partly indexed":
                graph.mutate('query q() { insert A { k: "a2" } insert A { k: "a3" } }')
                graph.optimize()
                load(graph, "merge", record_of(START["A"][2]))
                graph.mutate('query q() { delete A where k = "a3" }')
            made[how] = uri
        yield made


@pytest.mark.parametrize("how", ["partly indexed", "indexed", "scanned"])
@settings(
    max_examples=15,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(queries=st.lists(st.tuples(changes(), st.booleans()), min_size=3, max_size=8))
def test_mutations_do_what_dictionaries_do(
    templates: dict[str, Path], how: str, queries: list[tuple[tuple[Statement, ...], bool]]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        graph = omnigraph.open(str(shutil.copytree(templates[how], Path(directory, "graph.omni"))))
        blank = {kind: dict.fromkeys(names) for kind, names in PROPERTIES.items()}
        state: State = {kind: [{**blank[kind], "id": row.get("k"), **row} for row in START[kind]] for kind in START}
        assert found(graph) == spelled(state)
        for statements, by_parameter in queries:
            text, values = text_of(statements, by_parameter=by_parameter)
            after = deepcopy(state)
            try:
                counts = apply(after, statements)
            except Broken:
                with pytest.raises(ConstraintViolation):
                    graph.mutate(text, params=values)
            else:
                result = graph.mutate(text, params=values)
                assert (result.affected_nodes, result.affected_edges) == counts, text
                state = after
            assert found(graph) == spelled(state), text
        assert graph.verify().is_clean


def test_the_values_of_the_model_are_those_of_the_graph() -> None:
    assert single(0.1) != 0.1
    assert holds({"f": single(0.1)}, ("f", "=", 0.1))
    assert timedelta(milliseconds=1) == datetime(1970, 1, 1) - datetime(1969, 12, 31, 23, 59, 59, 999_000)  # noqa: DTZ001
