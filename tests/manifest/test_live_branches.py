"""Whoever looks at all branches sees every one that stays, whatever is deleted meanwhile."""

from collections.abc import Callable

import pytest

from omnigraph.errors import OmniError, StorageError
from omnigraph.graph import Graph
from omnigraph.manifest.state import ManifestState, look_at_live_branches
from support import harbor


@pytest.fixture
def graph(local_root: str) -> Graph:
    graph = harbor.new_graph(local_root)
    for name in ("a", "b", "c"):
        graph.branches.create(name)
    return graph


def nothing() -> None:
    """Let a look pass as it is."""


def look(graph: Graph, *meanwhile: Callable[[], object]) -> dict[str, ManifestState]:
    """Look at all branches; before each look the next thing happens."""
    manifest = graph._context.manifest
    to_come = iter(meanwhile)

    def load(name: str) -> ManifestState:
        next(to_come, nothing)()
        return manifest.load(name)

    return look_at_live_branches(manifest, load)


def test_main_comes_first_and_the_others_by_name(graph: Graph) -> None:
    assert list(look(graph)) == ["main", "a", "b", "c"]


def test_a_branch_that_is_deleted_meanwhile_is_left_out_and_the_others_are_looked_at_again(graph: Graph) -> None:
    def change_main() -> None:
        graph.load(harbor.lines([harbor.sailor("Moe")]), mode="append")

    seen = look(graph, nothing, change_main, lambda: graph.branches.delete("c"))

    assert list(seen) == ["main", "a", "b"]
    assert seen["main"].head == graph._context.manifest.load("main").head


def test_branches_that_go_at_every_look_end_the_looking(graph: Graph) -> None:
    def delete(name: str) -> Callable[[], object]:
        return lambda: graph.branches.delete(name)

    first, second = (nothing, delete("c"), nothing, nothing), (nothing, delete("b"), nothing)

    assert list(look(graph, *first, *second, nothing, delete("a"))) == ["main"]


def test_a_branch_that_is_made_again_meanwhile_is_seen_as_it_is_now(graph: Graph) -> None:
    def fail_once(name: str) -> ManifestState:
        if name == "c" and not remade:
            graph.branches.delete("c")
            graph.branches.create("c")
            remade.append(name)
            raise StorageError("its files went", storage_kind="unknown", uri=graph.uri)
        return graph._context.manifest.load(name)

    remade: list[str] = []

    seen = look_at_live_branches(graph._context.manifest, fail_once)

    assert seen["c"].branch == graph._context.manifest.resolve("c")


def test_a_branch_that_is_there_and_cannot_be_read_raises(graph: Graph) -> None:
    def fail(name: str) -> None:
        raise StorageError(f"{name} is broken", storage_kind="unknown", uri=graph.uri)

    with pytest.raises(OmniError, match="main is broken"):
        look_at_live_branches(graph._context.manifest, fail)
