"""All history of a branch in one list, by parents alone."""

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.manifest.ancestry import ancestors, newest_first, parents_of
from omnigraph.manifest.commits import Commit, CommitId, CommitKind


def commit(name: str, *parents: str) -> Commit:
    first, second = (*parents, None, None)[:2]
    return Commit(
        graph_commit_id=CommitId(name),
        parent_commit_id=None if first is None else CommitId(first),
        merged_parent_commit_id=None if second is None else CommitId(second),
        graph_branch="main",
        graph_version=1,
        kind=CommitKind.MUTATION,
        actor_id=None,
        created_at_us=0,
    )


def history(*commits: Commit) -> dict[CommitId, Commit]:
    return {found.graph_commit_id: found for found in commits}


def test_merged_commits_follow_the_merge_that_brought_them():
    known = history(
        commit("g"),
        commit("m1", "g"),
        commit("b1", "g"),
        commit("b2", "b1"),
        commit("m2", "m1", "b2"),
        commit("x", "g"),
    )

    assert [found.graph_commit_id for found in newest_first(known, CommitId("m2"))] == ["m2", "b2", "b1", "m1", "g"]


@given(st.lists(st.tuples(st.integers(0, 30), st.none() | st.integers(0, 30)), max_size=15))
def test_every_reachable_commit_comes_once_and_before_its_parents(parents: list[tuple[int, int | None]]):
    commits = [commit("c0")]
    for number, (first, second) in enumerate(parents, start=1):
        names = [f"c{parent % number}" for parent in (first, second) if parent is not None]
        commits.append(commit(f"c{number}", *dict.fromkeys(names)))
    known = history(*commits)
    head = commits[-1].graph_commit_id

    order = [found.graph_commit_id for found in newest_first(known, head)]

    assert set(order) == ancestors(known, head)
    assert len(order) == len(set(order))
    places = {name: place for place, name in enumerate(order)}
    assert all(places[name] < places[parent] for name in order for parent in parents_of(known[name]))
