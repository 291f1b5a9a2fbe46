"""People and who knows whom, changed again and again: `python -m support.friends_writer <uri> <seconds>`.

What each turn changes follows from the turns before it, so that whoever knows the number of a turn knows the whole
graph after it. The writer prints a line for each commit: the turn and the commit's id.
"""

import random
import sys
import time
from dataclasses import dataclass, field

import omnigraph
from omnigraph.errors import StaleView
from omnigraph.graph import Graph

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { since: Date? }
"""
_PEOPLE = 2_000
_EDGES = 8_000
_COMMITS_PER_SECOND = 20
_OPTIMIZE_EVERY = 400
ASKED = 50
"""The people who are changed and asked about are the first ones."""


@dataclass
class Change:
    """What one commit does."""

    people: dict[str, int] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    knows: dict[str, tuple[str, str]] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)


class Friends:
    """The graph as plain dictionaries, after a number of turns."""

    def __init__(self) -> None:
        chance = random.Random(1)
        self.turn = 0
        self.people: dict[str, int] = {f"p{number}": number for number in range(_PEOPLE)}
        pairs = [(chance.randrange(_PEOPLE), chance.randrange(_PEOPLE)) for _ in range(_EDGES)]
        self.knows = {f"k{number}": (f"p{a}", f"p{b}") for number, (a, b) in enumerate(pairs)}

    def next_change(self) -> Change:
        """Say what the next turn changes."""
        turn = self.turn + 1
        chance = random.Random(turn)
        if turn % 10 == 3:
            return Change(people={f"p{chance.randrange(ASKED)}": turn, f"new{turn % 30}": turn})
        if turn % 10 == 6 and (cut := [edge for edge in (f"t{turn - 1}", f"k{turn}") if edge in self.knows]):
            return Change(cut=cut)
        near = [name for number in range(ASKED) if (name := f"p{number}") in self.people]
        if turn % 30 == 29:
            return Change(gone=[chance.choice(near)])
        return Change(knows={f"{kind}{turn}": (chance.choice(near), chance.choice(near)) for kind in "tu"})

    def go_on(self) -> None:
        """Make the next change."""
        change = self.next_change()
        self.turn += 1
        self.people |= change.people
        self.knows |= change.knows
        for name in change.gone:
            del self.people[name]
        self.knows = {
            edge: ends
            for edge, ends in self.knows.items()
            if edge not in change.cut and not set(ends) & set(change.gone)
        }

    def around(self, name: str) -> tuple[list[int], list[str], list[str]]:
        """Return the age of a person, whom she knows and who knows her."""
        out = {target for source, target in self.knows.values() if source == name}
        into = {source for source, target in self.knows.values() if target == name}
        return [self.people[name]] if name in self.people else [], sorted(out), sorted(into)


def start(uri: str) -> Graph:
    """Make the graph that is changed."""
    graph = omnigraph.init(uri, SCHEMA)
    friends = Friends()
    with graph.write() as batch:
        batch.insert("Person", [{"name": name, "age": age} for name, age in friends.people.items()])
        batch.insert("Knows", [{"id": edge, "from": a, "to": b} for edge, (a, b) in friends.knows.items()])
    return graph


def commit(graph: Graph, change: Change) -> str:
    """Commit a change; return the id of the commit."""
    with graph.write() as batch:
        if change.people:
            batch.upsert("Person", [{"name": name, "age": age} for name, age in change.people.items()])
        if change.gone:
            batch.delete("Person", ids=change.gone)
        if change.knows:
            batch.insert("Knows", [{"id": edge, "from": a, "to": b} for edge, (a, b) in change.knows.items()])
        if change.cut:
            batch.delete("Knows", ids=change.cut)
    made = batch.result.commit
    assert made is not None
    return made.graph_commit_id


def main() -> None:
    uri, seconds = sys.argv[1], float(sys.argv[2])
    graph, friends = omnigraph.open(uri), Friends()
    begun = time.monotonic()
    while time.monotonic() < begun + seconds:
        try:
            made = commit(graph, friends.next_change())
        except StaleView:
            continue
        friends.go_on()
        print(friends.turn, made, flush=True)
        if friends.turn % _OPTIMIZE_EVERY == 0:
            # Every commit adds files, and every other one looks through them: whoever commits all day tidies up.
            tidied = graph.optimize().commit
            if tidied is not None:
                print(friends.turn, tidied.graph_commit_id, flush=True)
        time.sleep(max(0.0, begun + friends.turn / _COMMITS_PER_SECOND - time.monotonic()))


if __name__ == "__main__":
    main()
