"""Random branches, writes, merges and deletes against plain dictionaries: same outcome, conflicts and content."""

import tempfile
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import omnigraph
from omnigraph.errors import (
    BranchHasDependents,
    ConstraintViolation,
    HistoricalVersionReclaimed,
    KeyConflict,
    MergeConflicts,
)
from omnigraph.graph import Graph

SCHEMA = """
node N { k: String @key  v: I32?  u: I32? @unique }
edge E: N -> N { w: I32? }
"""
BRANCHES_MAX = 4
TAKE, DELETE = "take", "delete"

Rows = dict[str, tuple[Any, ...]]
"""Content by id."""
Resolution = dict[str, str]


@dataclass
class State:
    """Nodes as `(v, u)`, edges as `(src, dst, w)`."""

    nodes: Rows = field(default_factory=dict)
    edges: Rows = field(default_factory=dict)

    @property
    def is_valid(self) -> bool:
        return not orphans(self.nodes, self.edges) and not clashes(self.nodes, written=set(self.nodes))

    @classmethod
    def of(cls, graph: Graph, branch: str) -> "State":
        snapshot = graph.snapshot(branch)
        nodes, edges = (snapshot.table(name).to_arrow().to_pylist() for name in "NE")
        read = cls(
            nodes={row["id"]: (row["v"], row["u"]) for row in nodes},
            edges={row["id"]: (row["src"], row["dst"], row["w"]) for row in edges},
        )
        assert (len(read.nodes), len(read.edges)) == (len(nodes), len(edges))
        return read


def orphans(nodes: Rows, edges: Rows) -> set[str]:
    return {name for name, (source, target, _) in edges.items() if source not in nodes or target not in nodes}


def clashes(nodes: Rows, *, written: set[str]) -> set[str]:
    """Name the written nodes whose value somebody else holds first."""
    found = set()
    for value in {u for _, u in nodes.values() if u is not None}:
        holders = sorted((name in written, name) for name, (_, u) in nodes.items() if u == value)
        found.update(name for is_written, name in holders[1:] if is_written)
    return found


# --- the rules of merging


def changed(base: Rows, side: Rows) -> dict[str, str]:
    ops = dict.fromkeys(side.keys() - base.keys(), "insert")
    ops |= dict.fromkeys(base.keys() - side.keys(), "delete")
    return ops | {name: "update" for name in base.keys() & side.keys() if base[name] != side[name]}


def resolve(source_ops: dict[str, str], target_ops: dict[str, str], source: Rows, target: Rows) -> Resolution:
    found = {}
    for name, op in source_ops.items():
        other = target_ops.get(name)
        if other is None:
            found[name] = DELETE if op == "delete" else TAKE
        elif "delete" in (op, other):
            if op != other:
                found[name] = "delete_vs_update"
        elif source[name] != target[name]:
            found[name] = "divergent_insert" if op == "insert" else "divergent_update"
    return found


def pairs(left: Rows, left_ids: Iterable[str], right: Rows, right_ids: Iterable[str]) -> dict[str, str]:
    """Match equal contents one to one, by ascending ids."""
    free = sorted(right_ids)
    found = {}
    for name in sorted(left_ids):
        twin = next((other for other in free if right[other] == left[name]), None)
        if twin is not None:
            free.remove(twin)
            found[name] = twin
    return found


def having(ops: dict[str, str], op: str) -> set[str]:
    return {name for name, found in ops.items() if found == op}


def without(ops: dict[str, str], names: Iterable[str]) -> dict[str, str]:
    left_out = set(names)
    return {name: op for name, op in ops.items() if name not in left_out}


def resolve_edges(base: Rows, source: Rows, target: Rows) -> Resolution:
    source_ops, target_ops = changed(base, source), changed(base, target)
    replaced = pairs(base, having(source_ops, "delete"), source, having(source_ops, "insert"))
    stand_ins = pairs(base, having(target_ops, "delete"), target, having(target_ops, "insert"))
    source_ops = without(source_ops, [*replaced, *replaced.values()])
    target_ops = without(target_ops, [*stand_ins, *stand_ins.values()])
    ours, theirs = having(source_ops, "insert"), having(target_ops, "insert")
    source_ops = without(source_ops, pairs(source, ours - theirs, target, theirs - ours))
    found = resolve(source_ops, target_ops, source, target)
    for name, stand_in in stand_ins.items():
        if found.get(name) in {TAKE, DELETE}:
            found[stand_in] = DELETE
            if found[name] == DELETE:
                del found[name]
    return found


def agreed(resolutions: list[Resolution]) -> Resolution:
    names = {name for resolution in resolutions for name in resolution}
    outcomes = {name: {resolution.get(name) for resolution in resolutions} for name in names}
    return {name: found.pop() if len(found) == 1 else "divergent_update" for name, found in outcomes.items()}


def applied(resolution: Resolution, source: Rows, target: Rows) -> Rows:
    """Return the target's rows afterwards; a change against a deletion counts as the change."""
    rows = dict(target)
    for name, outcome in resolution.items():
        if outcome == DELETE:
            del rows[name]
        elif outcome in {TAKE, "delete_vs_update"} and name in source:
            rows[name] = source[name]
    return rows


def merge_states(bases: list[State], source: State, target: State) -> tuple[State, set[tuple[str, str]]]:
    of_nodes = agreed(
        [
            resolve(changed(base.nodes, source.nodes), changed(base.nodes, target.nodes), source.nodes, target.nodes)
            for base in bases
        ]
    )
    of_edges = agreed([resolve_edges(base.edges, source.edges, target.edges) for base in bases])
    after = State(
        nodes=applied(of_nodes, source.nodes, target.nodes), edges=applied(of_edges, source.edges, target.edges)
    )
    both = [*of_nodes.items(), *of_edges.items()]
    conflicts = {(outcome, name) for name, outcome in both if outcome not in {TAKE, DELETE}}
    written = {
        name for name, outcome in of_nodes.items() if name in source.nodes and outcome in {TAKE, "delete_vs_update"}
    }
    conflicts |= {("unique_violation", name) for name in clashes(after.nodes, written=written)}
    return after, conflicts | {("orphan_edge", name) for name in orphans(after.nodes, after.edges)}


# --- the rules of history


@dataclass
class Commit:
    parents: tuple[str, ...]
    state: State
    is_fast_forward: bool = False


@dataclass
class Branch:
    head: str
    parent: str | None


class Merges(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()
        self.graph = omnigraph.init(str(Path(self._directory.name) / "graph.omni"), SCHEMA)
        self.commits: dict[str, Commit] = {}
        self.branches: dict[str, Branch] = {}
        self.created = 0
        self.edges_made = 0

    @initialize()
    def start_with_some_entities(self) -> None:
        state = State(
            nodes={f"n{number}": (0, None) for number in range(4)}, edges={"e": ("n0", "n1", 0), "f": ("n1", "n2", 0)}
        )
        with self.graph.write() as batch:
            batch.insert("N", [{"k": name, "v": v, "u": u} for name, (v, u) in state.nodes.items()])
            batch.insert("E", [{"id": name, "from": a, "to": b, "w": w} for name, (a, b, w) in state.edges.items()])
        self.commits[batch.result.commit.graph_commit_id] = Commit(parents=(), state=state)
        self.branches["main"] = Branch(head=batch.result.commit.graph_commit_id, parent=None)
        self._create("main")

    def state_of(self, branch: str) -> State:
        return self.commits[self.branches[branch].head].state

    def some_branch(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.branches)))

    @precondition(lambda self: len(self.branches) < BRANCHES_MAX)
    @rule(data=st.data())
    def create(self, data: st.DataObject) -> None:
        self._create(self.some_branch(data))

    def _create(self, parent: str) -> None:
        name = f"b{self.created}"
        self.created += 1
        self.graph.branches.create(name, source=parent)
        self.branches[name] = Branch(head=self.branches[parent].head, parent=parent)

    @rule(
        data=st.data(),
        verb=st.sampled_from(
            ["upsert", "upsert", "delete node", "insert edge", "insert edge", "delete edge", "update edge"]
        ),
    )
    def write(self, data: st.DataObject, verb: str) -> None:
        branch = self.some_branch(data)
        after = deepcopy(self.state_of(branch))
        small, nodes = st.sampled_from([0, 1]), st.sampled_from([f"n{number}" for number in range(5)])
        statement = _Statement(self.graph, branch)
        if verb == "upsert":
            name, v, u = data.draw(nodes), data.draw(small), data.draw(st.sampled_from([None, None, 7]))
            after.nodes[name] = (v, u)
            statement.do("upsert", "N", [{"k": name, "v": v, "u": u}])
        elif verb == "delete node":
            name = data.draw(nodes)
            after.nodes.pop(name, None)
            after.edges = {key: row for key, row in after.edges.items() if name not in row[:2]}
            statement.do("delete", "N", ids=[name])
        elif verb == "insert edge":
            self.edges_made += 1
            name, row = f"e{self.edges_made:03d}", (data.draw(nodes), data.draw(nodes), data.draw(small))
            after.edges[name] = row
            statement.do("insert", "E", [{"id": name, "from": row[0], "to": row[1], "w": row[2]}])
        elif after.edges:
            name = data.draw(st.sampled_from(sorted(after.edges)))
            if verb == "delete edge":
                del after.edges[name]
                statement.do("delete", "E", ids=[name])
            else:
                after.edges[name] = (*after.edges[name][:2], w := data.draw(small))
                statement.do("update", "E", {"w": w}, ids=[name])
        self._expect_write(branch, after, statement)

    def _expect_write(self, branch: str, after: State, statement: "_Statement") -> None:
        if not after.is_valid:
            assert statement.refused
            return
        assert not statement.refused
        assert (statement.commit is not None) == (after != self.state_of(branch))
        if statement.commit is not None:
            self._advance(branch, statement.commit, Commit(parents=(self.branches[branch].head,), state=after))

    def _advance(self, branch: str, commit_id: str, commit: Commit) -> None:
        self.commits[commit_id] = commit
        self.branches[branch].head = commit_id

    @precondition(lambda self: len(self.branches) > 1)
    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        source, target = data.draw(st.permutations(sorted(self.branches)))[:2]
        theirs, ours = self.branches[source].head, self.branches[target].head
        common = self._ancestors(theirs) & self._ancestors(ours)
        if theirs in common:
            assert self.graph.branches.merge(source, into=target).outcome == "already_up_to_date"
            return
        best = sorted(name for name in common if not any(name in self._ancestors(o) for o in common - {name}))
        bases = [self._readable(name) for name in best]
        if None in bases:
            # The state went with its branch, unless its tables were kept for this very merge.
            if self._is_reclaimed(source, target):
                return
            bases = [self._readable(name) or self.commits[name].state for name in best]
        after, conflicts = merge_states(bases, self.state_of(source), self.state_of(target))
        if conflicts:
            refused = self._refused(source, target, MergeConflicts)
            found = {(conflict["kind"], conflict["row_id"]) for conflict in refused.details["merge_conflicts"]}
            assert found == conflicts
            return
        result = self.graph.branches.merge(source, into=target)
        is_fast_forward = best == [ours]
        assert result.outcome == ("fast_forward" if is_fast_forward else "merged")
        merged = Commit(parents=(ours, theirs), state=after, is_fast_forward=is_fast_forward)
        self._advance(target, result.commit.graph_commit_id, merged)

    def _is_reclaimed(self, source: str, target: str) -> bool:
        try:
            self.graph.branches.merge(source, into=target, dry_run=True)
        except HistoricalVersionReclaimed:
            return True
        except MergeConflicts:
            pass
        return False

    def _refused(self, source: str, target: str, kind: type[Any]) -> Any:
        try:
            self.graph.branches.merge(source, into=target)
        except kind as error:
            return error
        raise AssertionError(f"the merge should have been refused with {kind.__name__}")

    def _ancestors(self, commit: str) -> set[str]:
        return {commit}.union(*(self._ancestors(parent) for parent in self.commits[commit].parents))

    def _readable(self, commit: str) -> State | None:
        """The state of a commit, or of a fast-forward to it, that lies on the line of a live branch."""
        lines: set[str] = set()
        for branch in self.branches.values():
            current: str | None = branch.head
            while current is not None:
                lines.add(current)
                current = next(iter(self.commits[current].parents), None)
        forwards = sorted(
            name for name, found in self.commits.items() if found.is_fast_forward and found.parents[1] == commit
        )
        return next((self.commits[name].state for name in (commit, *forwards) if name in lines), None)

    @precondition(lambda self: len(self.branches) > 1)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.branches.keys() - {"main"})))
        has_children = any(branch.parent == name for branch in self.branches.values())
        try:
            self.graph.branches.delete(name)
        except BranchHasDependents:
            assert has_children
        else:
            assert not has_children
            del self.branches[name]

    @invariant()
    def every_branch_is_as_the_model_says(self) -> None:
        for name in self.branches:
            assert State.of(self.graph, name) == self.state_of(name)
        assert self.graph.pending_operations() == []

    def teardown(self) -> None:
        self._directory.cleanup()


class _Statement:
    """One statement as one write; remembers its commit, or that it was refused."""

    def __init__(self, graph: Graph, branch: str) -> None:
        self._graph, self._branch = graph, branch
        self.commit: str | None = None
        self.refused = False

    def do(self, verb: str, *arguments: Any, **options: Any) -> None:
        try:
            with self._graph.write(branch=self._branch) as batch:
                getattr(batch, verb)(*arguments, **options)
        except (ConstraintViolation, KeyConflict):
            self.refused = True
        else:
            self.commit = batch.result.commit.graph_commit_id if batch.result.commit else None


TestMerges = Merges.TestCase
TestMerges.settings = settings(
    max_examples=10,
    stateful_step_count=20,
    deadline=None,
    print_blob=True,
    phases=[Phase.reuse, Phase.generate],  # shrinking would take longer than a test may
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
