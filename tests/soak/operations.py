"""What the writers of a soak do: random writes that say beforehand, in full, what they mean.

An intent can be carried out on a graph and on a model of it. Its actor names it, so that every commit in the history
leads back to the one intent that made it.
"""

import json
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

from omnigraph.errors import ReadSetConflict
from omnigraph.graph import Graph
from omnigraph.manifest.commits import Commit
from support import harbor

_LIVERIES = ("", "colour: String?", "colour: String?  weight: I64? @index", "weight: I64? @index")
"""What a schema change makes of berths: properties that nobody writes, so that rows read the same with or without.

Each can become each other: an index goes with its property, never without.
"""


def schema(livery: int = 0) -> str:
    """Return one of the schemas between which the graph of a soak changes."""
    return f"""
node Sailor {{ name: String @key  age: I64?  crew: String? }}
node Berth {{ code: String @key  note: String?  {_LIVERIES[livery]} }}
edge Mentors: Sailor -> Sailor {{ since: I64? }}
"""


TYPES = ("Sailor", "Berth", "Mentors")
_MERGES_TRIED = 30
_SHARED = 12
"""How many keys all writers fight over."""

Content = dict[str, dict[str, dict[str, Any]]]
"""Per type the rows by id."""


@dataclass(frozen=True, kw_only=True)
class Intent:
    """One write: a load of records in one of three modes, a mutation, a branch that is merged, or a schema."""

    actor: str
    kind: str
    sailors: dict[str, dict[str, Any]] = field(default_factory=dict)
    berths: dict[str, dict[str, Any]] = field(default_factory=dict)
    mentors: dict[str, dict[str, Any]] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    """Sailors that a mutation, on main or on a branch, deletes after its upserts."""
    livery: int = 0
    """Which schema a schema change is after."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Intent":
        return cls(**json.loads(text))

    def carry_out(self, graph: Graph) -> str | None:
        """Write to the graph; return the id of the commit, None if nothing changed."""
        match self.kind:
            case "mutation":
                commit = self._mutate(graph, "main")
            case "branch":
                commit = self._branch_and_merge(graph)
            case "schema":
                commit = graph.apply_schema(schema(self.livery), actor=self.actor).commit
            case mode:
                commit = graph.load(harbor.lines(self._records()), mode=mode, actor=self.actor).commit
        return None if commit is None else commit.graph_commit_id

    def _mutate(self, graph: Graph, branch: str) -> Commit | None:
        with graph.write(branch=branch, actor=self.actor) as batch:
            batch.upsert("Sailor", [*self.sailors.values()])
            batch.delete("Sailor", ids=self.removed)
        return batch.result.commit

    def _branch_and_merge(self, graph: Graph) -> Commit | None:
        """Write to a branch of one's own, twice, and merge it; branches that earlier ones died over go first."""
        for summary in graph.branches.list():
            if summary.name != "main":
                graph.branches.delete(summary.name)
        branch = graph.branches.create(self.actor)
        self._mutate(graph, branch)
        records = harbor.lines(self._edges())
        if self.mentors:
            graph.load(records, mode="append", branch=branch, actor=self.actor)
        for _ in range(_MERGES_TRIED - 1):
            # Others commit to main all the time, and a merge leaves it to its caller whether to look again.
            with suppress(ReadSetConflict):
                return graph.branches.merge(branch, delete_branch=True, actor=self.actor).commit
        return graph.branches.merge(branch, delete_branch=True, actor=self.actor).commit

    def applied_to(self, content: Content) -> Content:
        """Return what the graph must hold after this write."""
        after = deepcopy(content)
        after["Sailor"] |= {key: {"id": key, **row} for key, row in self.sailors.items()}
        after["Mentors"] |= {
            key: {"id": key, "src": row["from"], "dst": row["to"], "since": row["since"]}
            for key, row in self.mentors.items()
        }
        berths = {key: {"id": key, **row} for key, row in self.berths.items()}
        after["Berth"] = berths if self.kind == "overwrite" else {**after["Berth"], **berths}
        gone = {*self.removed}
        after["Sailor"] = {key: row for key, row in after["Sailor"].items() if key not in gone}
        after["Mentors"] = {
            key: row for key, row in after["Mentors"].items() if gone.isdisjoint({row["src"], row["dst"]})
        }
        return after

    def _records(self) -> list[dict[str, Any]]:
        return [
            *({"type": "Sailor", "data": row} for row in self.sailors.values()),
            *({"type": "Berth", "data": row} for row in self.berths.values()),
            *self._edges(),
        ]

    def _edges(self) -> list[dict[str, Any]]:
        return [
            harbor.edge("Mentors", row["from"], row["to"], id=key, since=row["since"])
            for key, row in self.mentors.items()
        ]


def draw_branch(chance: Random, crew: str, number: int) -> Intent:
    """Choose what the crew of branches does next: people of its own come on a branch, and older ones leave on it."""
    actor = f"act-{crew}-{number}"
    own = [f"{crew}-{number}-{key}" for key in range(3)]
    old = [f"{crew}-{gone}-{key}" for gone in range(max(0, number - 12), number) for key in range(3)]
    removed = chance.sample(old, min(4, len(old)))
    sailors = _sailors(chance, crew, own)
    return Intent(actor=actor, kind="branch", sailors=sailors, mentors=_chain(actor, own), removed=removed)


def draw_schema(chance: Random, crew: str, number: int) -> Intent:
    """Choose the next schema."""
    return Intent(actor=f"act-{crew}-{number}", kind="schema", livery=chance.randrange(len(_LIVERIES)))


def draw_intent(chance: Random, crew: str, number: int) -> Intent:
    """Choose the next write of a crew; two crews meet on the shared keys and on berths, never on their own keys."""
    actor = f"act-{crew}-{number}"
    shared = chance.sample([f"shared-{key}" for key in range(_SHARED)], 3)
    own = [f"{crew}-{number}-{key}" for key in range(3)]
    match chance.choice(["append", "append", "contested", "merge", "overwrite", "mutation", "mutation"]):
        case "append":
            return Intent(actor=actor, kind="append", sailors=_sailors(chance, crew, own), mentors=_chain(actor, own))
        case "contested":
            berths = _berths(chance, shared[:1])
            return Intent(actor=actor, kind="append", sailors=_sailors(chance, crew, own[:1]), berths=berths)
        case "merge":
            names = [*shared, own[0]]
            return Intent(
                actor=actor, kind="merge", sailors=_sailors(chance, crew, names), mentors=_chain(actor, names)
            )
        case "overwrite":
            return Intent(actor=actor, kind="overwrite", berths=_berths(chance, shared))
        case _:
            # What this crew added a while ago goes, so that the graph does not grow without end.
            old = [f"{crew}-{gone}-{key}" for gone in range(max(0, number - 12), number) for key in range(3)]
            removed = [*chance.sample(old, min(9, len(old))), shared[2]]
            return Intent(actor=actor, kind="mutation", sailors=_sailors(chance, crew, shared[:2]), removed=removed)


def _sailors(chance: Random, crew: str, names: list[str]) -> dict[str, dict[str, Any]]:
    return {name: {"name": name, "age": chance.randrange(1_000_000), "crew": crew} for name in names}


def _berths(chance: Random, codes: list[str]) -> dict[str, dict[str, Any]]:
    return {code: {"code": code, "note": str(chance.random())} for code in codes}


def _chain(actor: str, names: list[str]) -> dict[str, dict[str, Any]]:
    pairs = pairwise(names)
    return {f"{actor}-{at}": {"from": one, "to": other, "since": at} for at, (one, other) in enumerate(pairs)}
