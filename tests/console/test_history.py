"""The History page in a browser: commits drawn, a commit's changes, and a branch merged through a conflict."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

import omnigraph
from support.browser import NARROW, WIDE, Browser, Console, running_console
from support.console_graphs import HOSTILE, make_harbor

MANY = 120
"""Sailors of one commit: more than a page of changes."""


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A harbor of its own, whose conflict may be settled, with a commit of many changes and a quiet branch."""
    root = make_harbor(tmp_path_factory.mktemp("history") / "harbor.omni")
    graph = omnigraph.open(str(root))
    crowd = [{"type": "Sailor", "data": {"name": f"Cadet {number:03}", "rank": "deckhand"}} for number in range(MANY)]
    lines = "\n".join(map(json.dumps, crowd)).encode()
    graph.load(io.BytesIO(lines), mode="append", message="a crowd", branch="storm", actor="act-cy")
    return root


@pytest.fixture(scope="module")
def port(busy: Path, browser: Browser) -> Iterator[Console]:
    with running_console(str(busy)) as running:
        browser.open(running.address)
        browser.see("harbor")
        yield running


def test_commits_and_merges_are_drawn_newest_first_and_hostile_messages_stay_text(
    port: Console, browser: Browser
) -> None:
    browser.open(port.at("/g/harbor/history"))
    browser.see("a crowd")

    text = browser.text()
    assert text.index("a crowd") < text.index(HOSTILE) < text.index("promoted") < text.index("the crew")
    assert {"main", "storm", "review"} <= {each.text for each in browser.all(".og-tip")}
    assert "act-cy" in text
    knots, lines = browser.all(".og-knot"), browser.all(".og-lanes path")
    assert len(knots) == len(browser.all(".og-commit"))
    assert len(lines) >= len(knots) - 1
    assert len(browser.all(".og-knot-merge")) == 1
    assert browser.driver.title == "History · harbor · OmniGraph"
    assert browser.complaints() == []


def test_a_commit_shows_its_facts_and_its_changes_page_by_page(port: Console, browser: Browser) -> None:
    browser.open(port.at("/g/harbor/history?at=storm"))
    browser.press("a crowd")
    browser.see("What it changed")
    browser.see("Cadet 000")

    assert "commit=" in browser.driver.current_url
    assert len(browser.all(".og-change")) == 50
    first = browser.all(".og-change")[0].text.split()
    assert first == ["+", "added", "Sailor", "Cadet", "000", "name", "Cadet", "000", "rank", "deckhand"]
    browser.press("Next changes")
    browser.see("Cadet 099")
    assert "Cadet 000" not in browser.text()
    browser.driver.refresh()
    browser.see("Cadet 099")
    browser.press("Next changes")
    browser.see("Cadet 119")
    browser.press("First changes")
    browser.see("Cadet 000")
    commit_id = browser.find(".og-list .og-mono").text
    link = browser.find(".og-card a[href*='/overview?at=']").get_attribute("href")
    assert link is not None
    assert link.endswith(f"/g/harbor/overview?at={commit_id}")


def test_the_page_fits_a_telephone(port: Console, browser: Browser) -> None:
    try:
        browser.resize(NARROW, 800)
        for address, text in (("history", "a crowd"), ("history?source=storm&into=main", "was changed differently")):
            browser.open(port.at(f"/g/harbor/{address}"))
            browser.see(text)
            assert browser.driver.execute_script("return document.documentElement.scrollWidth") == NARROW
    finally:
        browser.resize(WIDE)


def test_a_branch_is_made_and_a_name_that_cannot_be_is_refused(port: Console, browser: Browser) -> None:
    browser.open(port.at("/g/harbor/history"))
    browser.see("a crowd")
    browser.press("New branch")
    browser.find("input[aria-label='Name of the new branch']").send_keys("no spaces")
    browser.press("Create")
    browser.find(".q-dialog [role=alert]")
    name = browser.find("input[aria-label='Name of the new branch']")
    name.send_keys(Keys.CONTROL, "a")
    name.send_keys("calm")
    browser.press("Create")
    browser.until(lambda: "at=calm" in browser.driver.current_url, "the new branch")


def test_a_branch_is_merged_through_a_conflict(port: Console, busy: Path, browser: Browser) -> None:
    browser.open(port.at("/g/harbor/history?source=storm&into=main"))
    browser.see("1 conflict stands against it")
    browser.see("storm is 2 commits ahead of main and 2 commits behind it.")
    cells = [each.text for each in browser.all(".og-sides tbody td")]
    assert cells == ["age", "50", "52", "51"]

    browser.press("Take storm's values")
    browser.see("This writes storm's values of Sailor Ana to main.")
    browser.press("Write it")
    browser.see("Both branches have moved")
    browser.find("input[aria-label='Message of the merge']").send_keys(HOSTILE[:40])
    browser.press("Merge into main")
    browser.see("Merge storm into main?")
    browser.press("Merge")
    browser.see("storm was merged into main.")
    browser.press("See the commit")
    browser.see(HOSTILE[:40])

    graph = omnigraph.open(str(busy))
    newest = graph.commits()[0]
    assert (newest.kind, newest.message) == ("branch_merge", HOSTILE[:40])
    assert newest.graph_commit_id in browser.driver.current_url
    ages = graph.query('match { $s: Sailor { name: "Ana" } } return { $s.age }').rows()
    assert [list(row.values()) for row in ages] == [[51]]
    browser.open(port.at("/g/harbor/history?source=storm&into=main"))
    browser.see("main has everything that storm has")


def test_who_may_only_look_is_told_so(harbor: Path, browser: Browser) -> None:
    with running_console(str(harbor), "--read-only") as running:
        browser.open(running.address)
        browser.see("harbor")
        browser.open(running.at("/g/harbor/history?source=storm&into=main"))
        browser.see("This console was opened with --read-only: it shows merges and makes none.")
        button = browser.find("article button")
        assert button.get_attribute("disabled") is not None
