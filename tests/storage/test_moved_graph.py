"""A graph that was moved or copied: main works; refs, which name their base tables by absolute path, are refused."""

import shutil
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import InvalidTarget
from support import harbor


@pytest.fixture
def moved(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere.omni"


def test_a_copy_without_branches_just_works(local_root: str, moved: Path) -> None:
    harbor.new_graph(local_root)
    shutil.move(local_root, moved)

    graph = omnigraph.open(str(moved))
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Flo")]), mode="append", branch="review")

    assert graph.snapshot("review").table("Sailor").count_rows() == 4
    assert graph.snapshot().table("Sailor").count_rows() == 3


def test_a_copy_with_branches_serves_main_and_refuses_them(local_root: str, moved: Path) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Flo")]), mode="append", branch="review")
    shutil.move(local_root, moved)

    copy = omnigraph.open(str(moved))

    copy.load(harbor.lines([harbor.sailor("Gus")]), mode="append")
    assert copy.snapshot().table("Sailor").count_rows() == 4
    with pytest.raises(InvalidTarget, match="moved from"):
        copy.snapshot("review")
    with pytest.raises(InvalidTarget, match="moved from"):
        copy.branches.create("other")


def test_a_symlink_is_the_same_place(local_root: str, tmp_path: Path) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    link = tmp_path / "link.omni"
    link.symlink_to(local_root)

    linked = omnigraph.open(str(link))

    assert linked.snapshot("review").table("Sailor").count_rows() == 3
