"""A small graph against a dictionary while its writes and recoveries break and die at random points.

After every step the graph must hold exactly the acknowledged writes. Only a death, or an error that says "unknown",
leaves the choice open, and then recovery must settle on before or after, for all tables alike.
"""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import omnigraph
from omnigraph.base.faults import FaultInjected
from omnigraph.errors import Effect, OmniError
from support import harbor
from support.crash_cases import RECOVERY_CASES, WRITER_CASES
from support.failpoints import Died, armed

SCHEMA = """
node Sailor { name: String @key  age: I32? }
edge Mentors: Sailor -> Sailor { level: I32? }
"""
NAMES = "ABCDE"

Sailors = dict[str, int | None]
Links = dict[str, tuple[str, str, int | None]]
Content = dict[str, dict[str, dict[str, Any]]]


def spots(cases: list[Any]) -> list[str]:
    """Spell the fail points of matrix cases for this process: what was to be killed dies."""
    return sorted({f"{case.point}:{'die' if case.action == 'kill' else 'error'}" for case in cases})


ages = st.none() | st.integers(0, 9)
sailors = st.dictionaries(st.sampled_from(NAMES), ages, min_size=1, max_size=3)
links = st.dictionaries(
    st.sampled_from(["e1", "e2", "e3"]), st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), ages), max_size=2
)
breaks = st.none() | st.builds(
    lambda spot, skip, times: f"{spot}:{skip}:{times}",
    st.sampled_from(spots(WRITER_CASES)),
    st.sampled_from([0, 0, 0, 1]),
    st.sampled_from([1, 99]),
)
"""Where a write breaks, how many passages it lets through, and how often it breaks there."""
broken_recoveries = st.lists(st.sampled_from(spots(RECOVERY_CASES)), max_size=3)


class RecoveryMachine(RuleBasedStateMachine):
    """Writes through one handle until something goes wrong; then the graph is opened again, like by a new process."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.uri = f"{self.directory.name}/graph.omni"
        self.graph = omnigraph.init(self.uri, SCHEMA)
        self.content: Content = {"Sailor": {}, "Mentors": {}}
        self.contents: dict[int, Content] = {}

    def teardown(self) -> None:
        for graph_version, content in self.contents.items():
            assert read(self.graph, version=graph_version) == content
        self.directory.cleanup()

    @rule(rows=sailors, edges=links, mode=st.sampled_from(["append", "merge"]), spot=breaks, then=broken_recoveries)
    def load(self, rows: Sailors, edges: Links, mode: str, spot: str | None, then: list[str]) -> None:
        known = {*self.content["Sailor"], *rows}
        edges = {key: link for key, link in edges.items() if {link[0], link[1]} <= known}
        clashes = bool({*self.content["Sailor"]} & {*rows} or {*self.content["Mentors"]} & {*edges})
        after = self.content if mode == "append" and clashes else _put(self.content, rows, edges)

        self.write(lambda: self.graph.load(harbor.lines(_records(rows, edges)), mode=mode), after, spot, then)

    @rule(rows=sailors, level=ages, spot=breaks, then=broken_recoveries)
    def overwrite(self, rows: Sailors, level: int | None, spot: str | None, then: list[str]) -> None:
        """Replace both tables: an overwrite leaves the types alone that its input does not mention."""
        edges = {"e9": (min(rows), max(rows), level)}
        after = _put({"Sailor": {}, "Mentors": {}}, rows, edges)

        self.write(lambda: self.graph.load(harbor.lines(_records(rows, edges)), mode="overwrite"), after, spot, then)

    @rule(
        name=st.sampled_from(NAMES),
        age=ages,
        gone=st.sets(st.sampled_from(NAMES), max_size=2),
        spot=breaks,
        then=broken_recoveries,
    )
    def mutate(self, name: str, age: int | None, gone: set[str], spot: str | None, then: list[str]) -> None:
        """Upsert one sailor and delete others; their edges go with them."""
        after = _put(self.content, {name: age}, {})
        after["Sailor"] = {key: row for key, row in after["Sailor"].items() if key not in gone}
        after["Mentors"] = {
            key: row for key, row in after["Mentors"].items() if gone.isdisjoint({row["src"], row["dst"]})
        }

        def run() -> None:
            with self.graph.write() as batch:
                batch.upsert("Sailor", [{"name": name, "age": age}])
                batch.delete("Sailor", ids=sorted(gone))

        self.write(run, after, spot, then)

    @rule(then=broken_recoveries)
    def reopen(self, then: list[str]) -> None:
        self.settle(then, possible=(self.content,))

    @invariant()
    def the_graph_holds_exactly_the_acknowledged_writes(self) -> None:
        assert read(self.graph) == self.content
        self.contents[self.graph.snapshot().graph_version] = self.content

    def write(self, run: Callable[[], object], after: Content, spot: str | None, then: list[str]) -> None:
        before = self.content
        try:
            with armed(spot):
                run()
        except (OmniError, FaultInjected, Died) as failure:
            is_open = isinstance(failure, Died) or getattr(failure, "effect", Effect.NONE) is Effect.UNKNOWN
            event(f"{'unsure' if is_open else 'refused'} after {spot}")
            self.settle(then, possible=(before, after) if is_open else (before,))
        else:
            self.content = after

    def settle(self, then: list[str], *, possible: tuple[Content, ...]) -> None:
        """Open the graph anew, after recoveries that broke or died; on the way it may only go forward, once."""
        for spot in then:
            with armed(spot), suppress(FaultInjected, Died):
                omnigraph.open(self.uri)
            seen = read(self.graph)
            assert seen in possible
            possible = possible[possible.index(seen) :]
        self.graph = omnigraph.open(self.uri)
        self.content = read(self.graph)
        assert self.content in possible
        assert harbor.pending(self.graph) == []
        assert harbor.pins_equal_heads(self.graph)


def read(graph: omnigraph.Graph, **at: int) -> Content:
    snapshot = graph.snapshot(**at)
    return {
        name: {row["id"]: row for row in snapshot.table(name).to_arrow().to_pylist()} for name in ("Sailor", "Mentors")
    }


def _put(content: Content, rows: Sailors, edges: Links) -> Content:
    after = deepcopy(content)
    after["Sailor"] |= {name: {"id": name, "name": name, "age": age} for name, age in rows.items()}
    after["Mentors"] |= {
        key: {"id": key, "src": source, "dst": target, "level": level} for key, (source, target, level) in edges.items()
    }
    return after


def _records(rows: Sailors, edges: Links) -> list[dict[str, Any]]:
    return [
        *({"type": "Sailor", "data": {"name": name, "age": age}} for name, age in rows.items()),
        *(
            harbor.edge("Mentors", source, target, id=key, level=level)
            for key, (source, target, level) in edges.items()
        ),
    ]


TestRecovery = RecoveryMachine.TestCase
TestRecovery.settings = settings(
    max_examples=20,
    stateful_step_count=15,
    deadline=None,
    print_blob=True,
    phases=[Phase.reuse, Phase.generate],  # shrinking would take longer than a test may
    suppress_health_check=[HealthCheck.too_slow],
)
