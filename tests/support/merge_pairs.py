"""The operation pairs of a merge as data: what the source did × what the target did → what must come out.

An operation is defined twice: as a write to a branch and as a function of a plain state, so that the state after a
merge is the source's operation applied to the target's state. A cell says what the merge is and which conflicts it
meets; where both sides write a value, it says so for an equal one and for another one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from omnigraph.graph import Graph

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { since: I32? }
"""
PEOPLE = ("Alice", "Bob", "Carol", "Dan")


@dataclass(frozen=True, kw_only=True)
class State:
    """Ages by name, and edges as endpoints and a value: equal edges are one."""

    people: frozenset[tuple[str, int | None]]
    edges: frozenset[tuple[str, str, int | None]]

    def with_person(self, name: str, age: int | None) -> "State":
        return replace(self, people=self.without_person(name, keeps_edges=True).people | {(name, age)})

    def without_person(self, name: str, *, keeps_edges: bool = False) -> "State":
        return State(
            people=frozenset(person for person in self.people if person[0] != name),
            edges=frozenset(edge for edge in self.edges if keeps_edges or name not in edge[:2]),
        )

    def with_edge(self, source: str, target: str, since: int | None) -> "State":
        return replace(self, edges=self.edges | {(source, target, since)})

    def without_edge(self, source: str, target: str) -> "State":
        return replace(self, edges=frozenset(edge for edge in self.edges if edge[:2] != (source, target)))

    def with_changed_edge(self, source: str, target: str, since: int) -> "State":
        has_edge = self.without_edge(source, target) != self
        return self.without_edge(source, target).with_edge(source, target, since) if has_edge else self

    @classmethod
    def of(cls, graph: Graph, branch: str) -> "State":
        snapshot = graph.snapshot(branch)
        people = snapshot.table("Person").to_arrow(["name", "age"]).to_pylist()
        edges = snapshot.table("Knows").to_arrow(["src", "dst", "since"]).to_pylist()
        read = cls(
            people=frozenset((row["name"], row["age"]) for row in people),
            edges=frozenset((row["src"], row["dst"], row["since"]) for row in edges),
        )
        assert (len(read.people), len(read.edges)) == (len(people), len(edges)), "something is there twice"
        return read


BASE = State(people=frozenset((name, None) for name in PEOPLE), edges=frozenset({("Bob", "Carol", None)}))


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One thing that a branch does, with the value it writes, if it writes one."""

    write: Callable[[Graph, str, int], object]
    on_state: Callable[[State, int], State]
    has_value: bool = False


def _batch(statement: Callable[..., object]) -> Callable[[Graph, str, int], object]:
    def run(graph: Graph, branch: str, value: int) -> None:
        with graph.write(branch=branch) as batch:
            statement(batch, value)

    return run


def _add_and_remove_an_edge(graph: Graph, branch: str, value: int) -> None:
    with graph.write(branch=branch) as batch:
        batch.insert("Knows", [{"id": "passing", "from": "Alice", "to": "Dan"}])
    with graph.write(branch=branch) as batch:
        batch.delete("Knows", ids=["passing"])


def _remove_and_add_the_edge(graph: Graph, branch: str, value: int) -> None:
    with graph.write(branch=branch) as batch:
        batch.delete("Knows", ids=["bc"])
    with graph.write(branch=branch) as batch:
        batch.insert("Knows", [{"from": "Bob", "to": "Carol"}])


OPERATIONS = {
    "none": Operation(write=lambda graph, branch, value: None, on_state=lambda state, value: state),
    "add Eve": Operation(
        write=_batch(lambda batch, value: batch.insert("Person", [{"name": "Eve", "age": value}])),
        on_state=lambda state, value: state.with_person("Eve", value),
        has_value=True,
    ),
    "delete Alice": Operation(
        write=_batch(lambda batch, value: batch.delete("Person", ids=["Alice"])),
        on_state=lambda state, value: state.without_person("Alice"),
    ),
    "delete Bob": Operation(
        write=_batch(lambda batch, value: batch.delete("Person", ids=["Bob"])),
        on_state=lambda state, value: state.without_person("Bob"),
    ),
    "add edge A->C": Operation(
        write=_batch(lambda batch, value: batch.insert("Knows", [{"from": "Alice", "to": "Carol", "since": value}])),
        on_state=lambda state, value: state.with_edge("Alice", "Carol", value),
        has_value=True,
    ),
    "delete edge B->C": Operation(
        write=_batch(lambda batch, value: batch.delete("Knows", ids=["bc"])),
        on_state=lambda state, value: state.without_edge("Bob", "Carol"),
    ),
    "set Alice.age": Operation(
        write=_batch(lambda batch, value: batch.update("Person", {"age": value}, ids=["Alice"])),
        on_state=lambda state, value: state.with_person("Alice", value),
        has_value=True,
    ),
    "set B->C.since": Operation(
        write=_batch(lambda batch, value: batch.update("Knows", {"since": value}, ids=["bc"])),
        on_state=lambda state, value: state.with_changed_edge("Bob", "Carol", value),
        has_value=True,
    ),
    "net-zero edge": Operation(write=_add_and_remove_an_edge, on_state=lambda state, value: state),
    "replaced edge": Operation(write=_remove_and_add_the_edge, on_state=lambda state, value: state),
}

_CELLS = """
                  none  add Eve  delete Alice  delete Bob     add edge A->C  delete edge B->C  set Alice.age  set B->C.since  net-zero edge  replaced edge
none              up    up       up            up             up            up               up             up             up             up
add Eve           ff    ok/DI    ok            ok             ok            ok               ok             ok             ok             ok
delete Alice      ff    ok       ok            ok             OE:A->C        ok               DVU:Alice      ok             ok             ok
delete Bob        ff    ok       ok            ok             ok            ok               ok             DVU+OE         ok             ok
add edge A->C      ff    ok       OE:A->C        ok             ok/ok         ok               ok             ok             ok             ok
delete edge B->C   ff    ok       ok            ok             ok            ok               ok             DVU:B->C        ok             ok
set Alice.age     ff    ok       DVU:Alice     ok             ok            ok               ok/DU:Alice    ok             ok             ok
set B->C.since     ff    ok       ok            DVU+OE         ok            DVU:B->C          ok             ok/DU:B->C      ok             ok
net-zero edge     ff    ok       ok            ok             ok            ok               ok             ok             ok             ok
replaced edge     ff    ok       ok            ok             ok            ok               ok             ok             ok             ok
"""  # noqa: E501 — a table
_OUTCOMES = {"up": "already_up_to_date", "ff": "fast_forward", "ok": "merged"}
_CONFLICTS = {
    "DI": (("divergent_insert", "Eve"),),
    "DU:Alice": (("divergent_update", "Alice"),),
    "DU:B->C": (("divergent_update", "Bob->Carol"),),
    "DVU:Alice": (("delete_vs_update", "Alice"),),
    "DVU:B->C": (("delete_vs_update", "Bob->Carol"),),
    "OE:A->C": (("orphan_edge", "Alice->Carol"),),
    "DVU+OE": (("delete_vs_update", "Bob->Carol"), ("orphan_edge", "Bob->Carol")),
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One pair of operations and what must come of it; `right_value` equals the left one or does not."""

    left: str
    right: str
    right_value: int
    spelled: str

    @property
    def outcome(self) -> str | None:
        return _OUTCOMES.get(self.spelled)

    @property
    def conflicts(self) -> tuple[tuple[str, str], ...]:
        return () if self.outcome else _CONFLICTS[self.spelled]

    @property
    def left_alone(self) -> State:
        return OPERATIONS[self.left].on_state(BASE, LEFT_VALUE)

    @property
    def right_alone(self) -> State:
        return OPERATIONS[self.right].on_state(BASE, self.right_value)

    @property
    def merged(self) -> State:
        return OPERATIONS[self.left].on_state(self.right_alone, LEFT_VALUE)

    @property
    def id(self) -> str:
        other = "" if self.right_value == LEFT_VALUE else ", another value"
        return f"{self.left} | {self.right}{other}"


LEFT_VALUE = 1
OTHER_VALUE = 2


def _cells() -> list[Cell]:
    rows = [line.split("  ") for line in _CELLS.strip("\n").splitlines()]
    (_, *names), *rows = [[word.strip() for word in row if word.strip()] for row in (["·", *rows[0]], *rows[1:])]
    assert names == list(OPERATIONS) == [row[0] for row in rows], "every operation has a row and a column"
    cells = []
    for left, *spelled in rows:
        for right, text in zip(names, spelled, strict=True):
            same, _, other = text.partition("/")
            cells.append(Cell(left=left, right=right, right_value=LEFT_VALUE, spelled=same))
            writes_a_value_twice = left == right and OPERATIONS[left].has_value
            assert bool(other) is writes_a_value_twice, f"{left} | {right}: say what an equal and another value give"
            if other:
                cells.append(Cell(left=left, right=right, right_value=OTHER_VALUE, spelled=other))
    return cells


CELLS = _cells()
