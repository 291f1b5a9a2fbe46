"""Every writing method of a graph asks before it does anything else, and the actor who was asked for is recorded."""

import inspect
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import InvalidName, InvalidTarget, PolicyDenied
from omnigraph.graph import Graph
from support.program import POLICY, SCHEMA, SEED

RECORDS = b'{"type": "Artist", "data": {"name": "Zoe"}}\n'
INSERT = 'query q() { insert Artist { name: "Mia" } }'

READS = {
    *("snapshot", "snapshot_at", "diff", "query", "algorithms", "explain", "prepare", "sql", "blob", "show"),
    *("commits", "commit", "plan_schema", "lint", "export", "baseline", "frames", "register_views"),
    *("health", "verify", "pending_operations", "recoveries"),
}
MAINTENANCE = {"optimize", "repair", "cleanup", "recover", "abandon", "maintain"}
"""Recorded under names of the system, and never asked about."""
BRANCH_READS = {"list", "diff"}
PROPERTIES = {"uri", "schema_source", "changes", "branches", "following"}
"""The verbs of `branches` are below, those of `changes` read."""


class Unread:
    """Input that nobody may look at before the answer is there."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} of the input was asked for")


Asked = tuple[str, str | None, str | None]
WRITES: dict[str, tuple[Callable[[Graph], object], list[Asked]]] = {
    "write": (lambda graph: graph.write(branch="draft", actor="act-lee"), [("change", "draft", None)]),
    "mutate": (lambda graph: graph.mutate("no query", branch="draft", actor="act-lee"), [("change", "draft", None)]),
    "apply_schema": (lambda graph: graph.apply_schema("no schema", actor="act-lee"), [("schema_apply", None, "main")]),
    "load": (
        lambda graph: graph.load(Unread(), mode="no mode", branch="draft", actor="act-lee"),
        [("change", "draft", None)],
    ),
    "load_table": (
        lambda graph: graph.load_table(Unread(), type="Artist", mode="merge", branch="draft", actor="act-lee"),
        [("change", "draft", None)],
    ),
    "load_dataframe": (
        lambda graph: graph.load_dataframe(object(), type="Artist", mode="merge", branch="draft", actor="act-lee"),
        [("change", "draft", None)],
    ),
    "load_dataframes": (
        lambda graph: graph.load_dataframes({"Artist": Unread()}, mode="merge", branch="draft", actor="act-lee"),
        [("change", "draft", None)],
    ),
    "embed": (lambda graph: graph.embed(branch="draft", actor="act-lee"), [("change", "draft", None)]),
    "branches.create": (
        lambda graph: graph.branches.create("a b", source="draft", actor="act-lee"),
        [("branch_create", "draft", "a b")],
    ),
    "branches.delete": (lambda graph: graph.branches.delete("a b", actor="act-lee"), [("branch_delete", None, "a b")]),
    "branches.merge": (
        lambda graph: graph.branches.merge("a b", into="c d", actor="act-lee"),
        [("branch_merge", "a b", "c d")],
    ),
}


@dataclass
class Recorder:
    """Answers no, or yes to so many questions, and remembers what it was asked."""

    answers_yes: int = 0
    asked: list[Asked] = field(default_factory=list)
    actors: set[str | None] = field(default_factory=set)

    def authorize(self, action: str, *, actor: str | None, branch: str | None = None, target_branch: str | None = None):
        self.asked.append((str(action), branch, target_branch))
        self.actors.add(actor)
        if len(self.asked) > self.answers_yes:
            raise PolicyDenied("denied by the test")


@pytest.fixture
def museum(local_root: str) -> str:
    omnigraph.init(local_root, SCHEMA).load(io.BytesIO(SEED.encode()), mode="merge")
    return local_root


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A graph that is refused whatever is asked of it, so that all cases can share it."""
    uri = str(tmp_path_factory.mktemp("museum") / "untouched.omni")
    omnigraph.init(uri, SCHEMA)
    return uri


@pytest.fixture
def guarded(museum: str) -> Graph:
    """The museum with the policy of the contract, and a branch that interns may write to."""
    omnigraph.open(museum).branches.create("draft")
    return omnigraph.open(museum, policy=omnigraph.PolicyEngine.from_source(POLICY, "artworks"))


def methods_of(cls: type) -> set[str]:
    return {name for name, member in inspect.getmembers_static(cls, inspect.isfunction) if not name.startswith("_")}


def is_property(member: object) -> bool:
    return isinstance(member, property | cached_property)


def test_every_method_of_the_handle_is_known_to_read_to_maintain_or_to_write():
    """A new method belongs into one of the sets above; one that takes an actor writes."""
    written = {name for name in WRITES if "." not in name}
    written_by_branches = {name.partition(".")[2] for name in WRITES if name.startswith("branches.")}

    assert methods_of(Graph) == READS | MAINTENANCE | written
    assert {name for name, _ in inspect.getmembers_static(Graph, is_property) if name[0] != "_"} == PROPERTIES
    assert methods_of(omnigraph.Branches) == BRANCH_READS | written_by_branches
    for name in READS | MAINTENANCE:
        assert "actor" not in inspect.signature(getattr(Graph, name)).parameters, name
    for name in written:
        assert "actor" in inspect.signature(getattr(Graph, name)).parameters, name
    for name in written_by_branches:
        assert "actor" in inspect.signature(getattr(omnigraph.Branches, name)).parameters, name


@pytest.mark.parametrize("method", WRITES)
def test_a_writing_method_asks_before_anything_else(method, untouched):
    """What each is called with cannot be carried out, so that whatever came before the question would show."""
    write, expected = WRITES[method]
    recorder = Recorder()
    graph = omnigraph.open(untouched, policy=recorder)

    with pytest.raises(PolicyDenied):
        write(graph)

    assert recorder.asked == expected
    assert recorder.actors == {"act-lee"}
    assert len(omnigraph.open(untouched).commits()) == 1


def test_a_merge_that_deletes_its_source_asks_for_both_first(untouched):
    recorder = Recorder(answers_yes=1)
    graph = omnigraph.open(untouched, policy=recorder)

    with pytest.raises(PolicyDenied):
        graph.branches.merge("a b", into="c d", delete_branch=True, actor="act-lee")

    assert recorder.asked == [("branch_merge", "a b", "c d"), ("branch_delete", None, "a b")]


def test_reading_maintaining_and_dry_runs_ask_nobody(museum):
    recorder = Recorder()
    omnigraph.open(museum).branches.create("draft")
    graph = omnigraph.open(museum, policy=recorder)

    graph.snapshot().table("Artist").to_arrow()
    graph.plan_schema(SCHEMA)
    graph.branches.merge("draft", dry_run=True)
    graph.branches.list()
    graph.optimize()
    graph.repair(confirm=True)
    graph.cleanup(keep=10, confirm=True)
    graph.recover()

    assert recorder.asked == []


def test_a_load_asks_for_a_branch_only_if_it_has_to_create_it(museum):
    recorder = Recorder(answers_yes=2)
    graph = omnigraph.open(museum, policy=recorder)
    for _ in range(2):
        graph.load(io.BytesIO(RECORDS), mode="merge", branch="draft", from_branch="main", actor="act-lee")
        recorder.answers_yes += 1

    assert recorder.asked == [("change", "draft", None), ("branch_create", "main", "draft"), ("change", "draft", None)]


def test_a_load_that_may_not_create_its_branch_leaves_none(museum):
    graph = omnigraph.open(museum, policy=omnigraph.PolicyEngine.from_source(POLICY, "artworks"))

    with pytest.raises(PolicyDenied, match="'branch_create' on branch 'main' targeting branch 'draft'"):
        graph.load(io.BytesIO(RECORDS), mode="merge", branch="draft", from_branch="main", actor="act-lee")

    assert [branch.name for branch in graph.branches.list()] == ["main"]


def merged(graph: Graph, actor: str) -> object:
    graph.mutate(INSERT, branch="draft", actor="act-lee")
    return graph.branches.merge("draft", actor=actor).commit


ALLOWED_AND_REFUSED: dict[str, tuple[str, str, Callable[[Graph, str], object]]] = {
    "mutate": ("act-lee", "act-ines", lambda graph, actor: graph.mutate(INSERT, branch="draft", actor=actor).commit),
    "load": (
        "act-lee",
        "act-ines",
        lambda graph, actor: graph.load(io.BytesIO(RECORDS), mode="merge", branch="draft", actor=actor).commit,
    ),
    "apply_schema": (
        "act-ines",
        "act-lee",
        lambda graph, actor: graph.apply_schema(f"{SCHEMA}\nnode Room {{ name: String @key }}\n", actor=actor).commit,
    ),
    "branches.create": ("act-ines", "act-lee", lambda graph, actor: graph.branches.create("review", actor=actor)),
    "branches.merge": ("act-ines", "act-lee", merged),
    "branches.delete": ("act-omar", "act-ines", lambda graph, actor: graph.branches.delete("draft", actor=actor)),
}


@pytest.mark.parametrize("method", ALLOWED_AND_REFUSED)
def test_the_policy_decides_and_its_actor_is_that_of_the_commit(method, guarded):
    allowed, refused, write = ALLOWED_AND_REFUSED[method]
    graph = guarded
    if method == "apply_schema":
        omnigraph.open(graph.uri).branches.delete("draft")
    if method == "branches.delete":
        text = POLICY.replace("[invoke_query]", "[branch_delete]").replace("act-ines, ", "")
        graph = omnigraph.open(graph.uri, policy=omnigraph.PolicyEngine.from_source(text, "artworks"))

    for actor in (refused, "act-zoe", "omnigraph:maintenance"):
        with pytest.raises(PolicyDenied) as refusal:
            write(graph, actor)
        assert (refusal.value.http_status, refusal.value.code, refusal.value.exit_code) == (403, "forbidden", 6)
        assert refusal.value.effect == "none"
    for nobody in (None, "", " "):
        with pytest.raises(PolicyDenied, match=r"denied.*no actor"):
            write(graph, nobody)

    done = write(graph, allowed)

    if isinstance(done, omnigraph.Commit):
        assert done.actor_id == allowed


def test_a_branch_is_the_same_however_it_is_spelled(guarded):
    for branch in ("main", " main", "main "):
        with pytest.raises(PolicyDenied):
            guarded.mutate(INSERT, branch=branch, actor="act-lee")


def test_a_batch_is_asked_for_when_it_begins(guarded):
    with pytest.raises(PolicyDenied):
        guarded.write(actor="act-lee")

    with guarded.write(branch="draft", actor="act-lee") as batch:
        batch.insert("Artist", [{"name": "Lou"}])

    assert batch.result.commit is not None
    assert batch.result.commit.actor_id == "act-lee"


def test_without_a_policy_nothing_is_asked(museum):
    graph = omnigraph.open(museum)

    commit = graph.mutate(INSERT).commit

    assert commit is not None
    assert commit.actor_id is None
    with pytest.raises(InvalidName, match="reserved"):
        graph.branches.create("draft", actor="omnigraph:maintenance")
    with pytest.raises(InvalidName, match="reserved"):
        graph.branches.delete("draft", actor="omnigraph:maintenance")


def test_a_read_only_handle_refuses_before_anybody_is_asked(untouched):
    recorder = Recorder()

    with pytest.raises(InvalidTarget, match="read-only"):
        omnigraph.open(untouched, read_only=True, policy=recorder).mutate(INSERT)

    assert recorder.asked == []


@pytest.mark.parametrize("policy", ["keepers.policy.yaml", {"version": 1}])
def test_what_cannot_answer_is_refused_when_the_graph_is_opened(policy, untouched):
    with pytest.raises(InvalidTarget, match="PolicyEngine"):
        omnigraph.open(untouched, policy=policy)
