"""Which names a branch may have."""

import pytest

from omnigraph.branches.names import check_branch_name, check_new_name
from omnigraph.errors import BranchNameOverlap, InvalidName

GOOD = ["review", "review/42", "a.b-c_D/9", "_x", "x" * 100, "0", "etl/run-1"]
BAD = ["", " ", "-x", ".x", "a//b", "/a", "a/", "a..b", "..", "a/.b", "x.lock", "a/b.lock", "é", "a b", "x" * 101]
BAD += ["a/" * 100 + "a" * 50, "__system", "a~b", "a@b", "a\nb"]


@pytest.mark.parametrize("name", GOOD)
def test_a_good_name_is_taken_trimmed(name: str) -> None:
    assert check_branch_name(f" {name} ") == name


@pytest.mark.parametrize("name", BAD)
def test_a_bad_name_is_refused_by_name(name: str) -> None:
    with pytest.raises(InvalidName) as refusal:
        check_branch_name(name)

    # What no terminal should be given to print is spelled out.
    assert refusal.value.details["name"] == (name if name.isprintable() else repr(name)[1:-1])
    assert refusal.value.exit_code == 2


def test_main_cannot_be_created() -> None:
    with pytest.raises(InvalidName):
        check_new_name("main", [])


@pytest.mark.parametrize(("new", "old"), [("review", "review/42"), ("review/42", "review"), ("a/b", "a/b/c")])
def test_live_names_never_lie_inside_each_other(new: str, old: str) -> None:
    with pytest.raises(BranchNameOverlap) as refusal:
        check_new_name(new, ["other", old])

    assert refusal.value.details == {"branch": new, "existing": old}


def test_names_that_only_begin_alike_live_side_by_side() -> None:
    assert check_new_name("review2", ["review", "review-old"]) == "review2"
