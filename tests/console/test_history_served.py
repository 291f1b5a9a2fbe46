"""History and merges behind a server, which decides by the token and tells conflicts only when it merges."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph
from support.browser import Browser
from support.served import POLICY, TOKENS, Declared, ServerProcess, make_cluster, running_server

pytestmark = pytest.mark.exhaustive
COMPARED = "/g/art/history?source=storm&into=main"


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster whose branches disagree about one artist."""
    root = tmp_path_factory.mktemp("history-served") / "cluster"
    make_cluster(str(root), {"art": Declared()}, policies={"keepers": (POLICY, ("graph.art",))})
    graph = omnigraph.open(str(root / "graphs" / "art.omni"))
    graph.branches.create("storm")
    for branch, born in (("main", 1908), ("storm", 1909)):
        graph.mutate(f'query born() {{ update Artist set {{ born: {born} }} where name = "Ines" }}', branch=branch)
    return root


@pytest.fixture(scope="module")
def server(storage: Path) -> Iterator[ServerProcess]:
    with running_server(str(storage), storage.parent, "--ui") as running:
        yield running


def sign_in(browser: Browser, server: ServerProcess, actor: str) -> None:
    browser.open(f"{server.url}/ui/leave")
    browser.find("#token")
    browser.open(f"{server.url}/ui{COMPARED}")
    browser.find("#token").send_keys(TOKENS[actor])
    browser.press("Open")
    browser.see("which finds conflicts when it merges")


def merge(browser: Browser) -> None:
    browser.press("Merge into main")
    browser.see("Merge storm into main?")
    browser.press("Merge")


def test_who_may_not_merge_is_told_so_and_nothing_changes(
    server: ServerProcess, storage: Path, browser: Browser
) -> None:
    graph = omnigraph.open(str(storage / "graphs" / "art.omni"))
    before = graph.commits()[0].graph_commit_id

    sign_in(browser, server, "act-rae")
    merge(browser)

    assert "act-rae" in browser.find("[role=alert]").text
    assert graph.commits()[0].graph_commit_id == before


def test_conflicts_come_with_the_merge_and_are_settled_all_the_same(
    server: ServerProcess, storage: Path, browser: Browser
) -> None:
    sign_in(browser, server, "act-ines")
    browser.see("storm is 1 commit ahead of main and 1 commit behind it.")
    merge(browser)
    browser.see("1 conflict stands against it")
    assert [each.text for each in browser.all(".og-sides tbody td")] == ["born", "1907", "1908", "1909"]

    browser.press("Keep main's values")
    browser.see("This writes main's values of Artist Ines to storm.")
    browser.press("Write it")
    browser.see("which finds conflicts when it merges")
    merge(browser)
    browser.see("storm was merged into main.")

    graph = omnigraph.open(str(storage / "graphs" / "art.omni"))
    assert graph.commits()[0].kind == "branch_merge"
    found = graph.query('match { $a: Artist { name: "Ines" } } return { $a.born }').rows()
    assert [list(row.values()) for row in found] == [[1908]]
