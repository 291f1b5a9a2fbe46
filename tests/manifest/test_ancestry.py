"""Merge bases of hand-drawn and of random histories, against the definition taken literally."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import GraphCorrupt
from omnigraph.manifest.ancestry import History, ancestors, merge_bases
from omnigraph.manifest.commits import Commit, CommitId, CommitKind


def history(**parents: str) -> History:
    """Draw a history: `m="a b"` is a merge of b into a; parents of `g` are the empty text."""
    found = {}
    for name, text in parents.items():
        first, second, *_ = (*text.split(), None, None)
        found[CommitId(name)] = Commit(
            graph_commit_id=CommitId(name),
            parent_commit_id=CommitId(first) if first else None,
            merged_parent_commit_id=CommitId(second) if second else None,
            graph_branch="main",
            graph_version=1,
            kind=CommitKind.MUTATION,
            actor_id=None,
            created_at_us=0,
        )
    return found


@pytest.mark.parametrize(
    ("drawn", "left", "right", "bases"),
    [
        pytest.param(history(g=""), "g", "g", ("g",), id="a commit with itself"),
        pytest.param(history(g="", a="g", b="a"), "a", "b", ("a",), id="an ancestor"),
        pytest.param(history(g="", a="g", b="g"), "a", "b", ("g",), id="a fork"),
        pytest.param(history(g="", x="g", y="g"), "g", "y", ("g",), id="only one side moved"),
        pytest.param(
            history(g="", third="g", a="g third", b="g third"), "a", "b", ("third",), id="a merged branch, not the fork"
        ),
        pytest.param(
            history(g="", a="g", b="g", c="a b", d="b a"), "c", "d", ("a", "b"), id="criss-cross has two bases"
        ),
        pytest.param(
            history(g="", s1="g", s2="s1", s3="s2", near="g", left="s3 near", right="near"),
            "left",
            "right",
            ("near",),
            id="not the nearest by steps",
        ),
        pytest.param(history(g="", h="", a="g", b="h"), "a", "b", (), id="unrelated"),
    ],
)
def test_bases_are_the_common_ancestors_that_no_other_surpasses(
    drawn: History, left: str, right: str, bases: tuple[str, ...]
) -> None:
    assert merge_bases(drawn, CommitId(left), CommitId(right)) == bases
    assert merge_bases(drawn, CommitId(right), CommitId(left)) == bases


def test_a_parent_that_no_log_knows_is_named() -> None:
    with pytest.raises(GraphCorrupt, match="lost"):
        merge_bases(history(g="", a="g lost", b="g"), CommitId("a"), CommitId("b"))


@st.composite
def histories(draw: st.DrawFn) -> History:
    names = [f"c{number}" for number in range(draw(st.integers(1, 14)))]
    parents = {}
    for number, name in enumerate(names):
        earlier = st.sampled_from(names[:number]) if number else st.nothing()
        count = draw(st.integers(0 if number < 2 else 1, min(2, number)))
        parents[name] = " ".join(draw(st.lists(earlier, min_size=count, max_size=count, unique=True)))
    return history(**parents)


@given(st.data())
def test_random_histories_agree_with_the_definition(data: st.DataObject) -> None:
    drawn = data.draw(histories())
    left, right = data.draw(st.sampled_from(sorted(drawn))), data.draw(st.sampled_from(sorted(drawn)))
    common = ancestors(drawn, left) & ancestors(drawn, right)

    bases = merge_bases(drawn, left, right)

    assert set(bases) == {
        candidate
        for candidate in common
        if not any(candidate in ancestors(drawn, other) for other in common - {candidate})
    }
