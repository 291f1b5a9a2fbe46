"""Random loads and write batches against a plain model: the same answer, the same content, at every version."""

import tempfile
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import omnigraph
from omnigraph.errors import OmniError
from omnigraph.graph import Graph
from support.harbor import lines

SCHEMA = """
node A { k: String @key  u: I32? @unique  v: I32? @default(3) }
node B { t: I32? }
edge E: A -> B @card(0..2) { w: I32? @unique }
edge F: A -> A { w: I32?  @unique(src, dst) }
"""
PROPERTIES = {"A": ("u", "v"), "B": ("t",), "E": ("src", "dst", "w"), "F": ("src", "dst", "w")}
UNIQUE = {"A": ("u",), "E": ("w",), "F": ("src", "dst")}
ENDS = {"E": ("A", "B"), "F": ("A", "A")}
CARD_MAX = {"E": 2}
OK, CONFLICT, BROKEN = None, "key_conflict", "constraint_violation"

Row = dict[str, Any]
State = dict[str, list[Row]]
"""Rows by type. Edges of F have no id here: their endpoints are their name."""


class KeyTaken(Exception):
    """A statement inserts an id that exists."""


@dataclass
class Model:
    """The rules of loads and writes over lists of rows."""

    state: State = field(default_factory=lambda: {name: [] for name in PROPERTIES})

    def load(self, mode: str, incoming: State) -> str | None:
        """Load rows; return the kind of the error, or None and take them over."""
        problems: Counter[str | None] = Counter()
        after = deepcopy(self.state)
        for name, rows in incoming.items():
            if not rows:
                continue
            last = {identity(name, row): row for row in rows}
            if len(last) < len(rows) and (mode != "merge" or name in {"A", "F"}):
                problems[BROKEN] += 1
            base = after[name] if mode != "overwrite" else []
            taken = [row for row in base if identity(name, row) in last]
            if mode == "append" and taken:
                problems[BROKEN if name == "F" else CONFLICT] += 1
            after[name] = [row for row in base if row not in taken] + list(last.values())
        if problems[BROKEN] or is_broken(after):
            return BROKEN
        if problems[CONFLICT]:
            return CONFLICT
        self.state = after
        return OK

    def write(self, statements: Iterable[tuple[str, str, Any]]) -> str | None:
        """Apply statements in order; return the kind of the error, or None and keep the outcome."""
        after = deepcopy(self.state)
        try:
            for verb, name, argument in statements:
                self._apply(after, verb, name, argument)
        except KeyTaken:
            return CONFLICT
        if is_broken(after):
            return BROKEN
        self.state = after
        return OK

    def _apply(self, state: State, verb: str, name: str, argument: Any) -> None:
        if verb == "delete":
            # Only what exists is deleted: an edge to a node that never was stays a mistake of the write.
            gone = {row["id"] for row in state[name]} & set(argument)
            state[name] = [row for row in state[name] if row["id"] not in gone]
            for edge, (source, target) in ENDS.items():
                lost = [(end, gone) for end, kind in (("src", source), ("dst", target)) if kind == name]
                state[edge] = [row for row in state[edge] if not any(row[end] in ids for end, ids in lost)]
        elif verb == "update":
            ids, values = argument
            for row in state[name]:
                row.update(values if row["id"] in ids else {})
        else:
            incoming = {row["id"] for row in argument}
            if name != "F" and verb == "insert" and any(row["id"] in incoming for row in state[name]):
                raise KeyTaken
            kept = [row for row in state[name] if name == "F" or row["id"] not in incoming]
            state[name] = kept + deepcopy(argument)


def identity(name: str, row: Row) -> Any:
    return (row["src"], row["dst"]) if name == "F" else row["id"]


def is_broken(state: State) -> bool:
    """Whether a state breaks uniqueness, endpoints or cardinality."""
    ids = {name: {row["id"] for row in state[name]} for name in ("A", "B")}
    for name, members in UNIQUE.items():
        tuples = [tuple(row[member] for member in members) for row in state[name]]
        if any(count > 1 for value, count in Counter(tuples).items() if None not in value):
            return True
    for name, (source, target) in ENDS.items():
        if any(row["src"] not in ids[source] or row["dst"] not in ids[target] for row in state[name]):
            return True
    return any(
        count > most for name, most in CARD_MAX.items() for count in Counter(r["src"] for r in state[name]).values()
    )


def canonical(state: State) -> dict[str, list[str]]:
    return {
        name: sorted(str([identity(name, row), *(row[each] for each in names)]) for row in state[name])
        for name, names in PROPERTIES.items()
    }


def stored(graph: Graph, version: int | None = None) -> dict[str, list[str]]:
    snapshot = graph.snapshot(version=version)
    return canonical({name: snapshot.table(name).to_arrow().to_pylist() for name in PROPERTIES})


# --- what is tried

small = st.none() | st.integers(0, 3)
a_ids, b_ids = st.sampled_from(["a0", "a1", "a2", "a3"]), st.sampled_from(["b0", "b1", "b2"])
ROWS = {
    "A": st.fixed_dictionaries({"id": a_ids, "u": small, "v": small}),
    "B": st.fixed_dictionaries({"id": b_ids, "t": small}),
    "E": st.fixed_dictionaries(
        {"id": st.sampled_from(["e0", "e1", "e2", "e3"]), "src": a_ids, "dst": b_ids, "w": small}
    ),
    "F": st.fixed_dictionaries({"id": st.none(), "src": a_ids, "dst": a_ids, "w": small}),
}
INPUT = st.fixed_dictionaries({name: st.lists(rows, max_size=3) for name, rows in ROWS.items()})
DISTINCT = {
    name: st.lists(rows, min_size=1, max_size=3, unique_by=lambda row, name=name: identity(name, row))
    for name, rows in ROWS.items()
}
STATEMENT = st.one_of(
    *(st.tuples(st.just("insert"), st.just(name), DISTINCT[name]) for name in ROWS),
    *(st.tuples(st.just("upsert"), st.just(name), DISTINCT[name]) for name in ("A", "B", "E")),
    st.tuples(st.just("delete"), st.just("A"), st.lists(a_ids, max_size=2)),
    st.tuples(st.just("delete"), st.just("B"), st.lists(b_ids, max_size=2)),
    st.tuples(
        st.just("update"), st.just("A"), st.tuples(st.lists(a_ids, max_size=3), st.fixed_dictionaries({"u": small}))
    ),
    st.tuples(
        st.just("update"), st.just("B"), st.tuples(st.lists(b_ids, max_size=3), st.fixed_dictionaries({"t": small}))
    ),
)


def record(name: str, row: Row) -> dict[str, Any]:
    data = {each: row[each] for each in ("id", *PROPERTIES[name]) if each not in {"src", "dst"}}
    if name == "F":
        del data["id"]
    if name in ENDS:
        return {"edge": name, "from": row["src"], "to": row["dst"], "data": data}
    return {"type": name, "data": data | ({"k": data.pop("id")} if name == "A" else {})}


def flat(name: str, row: Row) -> Row:
    written = record(name, row)
    return {**{each: written[each] for each in ("from", "to") if each in written}, **written["data"]}


class Writes(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()
        self.graph = omnigraph.init(str(Path(self._directory.name) / "graph.omni"), SCHEMA)
        self.model = Model()
        self.past: dict[int, dict[str, list[str]]] = {}

    @initialize()
    def start_with_some_entities(self) -> None:
        rows: State = {
            "A": [{"id": f"a{number}", "u": number, "v": 3} for number in range(3)],
            "B": [{"id": "b0", "t": None}, {"id": "b1", "t": 1}],
            "E": [{"id": "e0", "src": "a0", "dst": "b0", "w": 0}],
            "F": [{"id": None, "src": "a0", "dst": "a1", "w": None}],
        }
        self.load("append", rows)

    @rule(mode=st.sampled_from(["append", "merge", "overwrite"]), incoming=INPUT)
    def load(self, mode: str, incoming: State) -> None:
        before = canonical(self.model.state)
        expected = self.model.load(mode, incoming)
        records = [record(name, row) for name, rows in incoming.items() for row in rows]

        def act() -> bool:
            return self.graph.load(lines(records), mode=mode).commit is not None

        changed = self._compare(expected, act)
        if expected is OK and mode == "merge":
            assert changed == (canonical(self.model.state) != before)

    @rule(statements=st.lists(STATEMENT, min_size=1, max_size=4))
    def write(self, statements: list[tuple[str, str, Any]]) -> None:
        before = canonical(self.model.state)
        expected = self.model.write(statements)

        def act() -> bool:
            with self.graph.write() as batch:
                for verb, name, argument in statements:
                    if verb == "delete":
                        batch.delete(name, ids=argument)
                    elif verb == "update":
                        batch.update(name, argument[1], ids=argument[0])
                    else:
                        getattr(batch, verb)(name, [flat(name, row) for row in argument])
            return batch.result.commit is not None

        changed = self._compare(expected, act)
        if expected is OK and canonical(self.model.state) != before:
            assert changed

    def _compare(self, expected: str | None, act: Any) -> bool:
        version = self.graph.snapshot().graph_version
        try:
            changed, kind = act(), OK
        except OmniError as error:
            changed, kind = False, error.kind
        assert kind == expected
        assert self.graph.snapshot().graph_version == version + changed
        assert stored(self.graph) == canonical(self.model.state)
        assert self.graph.pending_operations() == []
        self.past[version + changed] = canonical(self.model.state)
        return changed

    def teardown(self) -> None:
        for version, content in self.past.items():
            assert stored(self.graph, version) == content
        self._directory.cleanup()


TestWrites = Writes.TestCase
TestWrites.settings = settings(
    max_examples=12,
    stateful_step_count=12,
    deadline=None,
    print_blob=True,
    phases=[Phase.reuse, Phase.generate],  # shrinking would take longer than a test may
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
