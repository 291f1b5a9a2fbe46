"""The maintenance page: plans, a run to its end, and refusals."""

from pathlib import Path

import omnigraph
from support.browser import Browser, Console, running_console
from support.console_graphs import HOSTILE, make_harbor
from support.raw_tables import foreign_append


def test_a_plan_is_shown_before_anything_runs_and_the_run_is_followed_to_its_end(
    browser: Browser, tmp_path: Path
) -> None:
    own = make_harbor(tmp_path / "harbor.omni")
    with running_console(str(own)) as console:
        browser.open(console.address)
        browser.see("Types")
        browser.open(console.at("/g/harbor/maintenance"))
        browser.see("Needs attention")
        browser.see("never optimized")
        browser.press("Show the plan")
        browser.see("tables would be rewritten or indexed")
        assert omnigraph.open(str(own)).commits()[0].kind != "maintenance"

        browser.press("Optimize now")
        browser.see("Optimize has ended")
        browser.see("tables were rewritten or indexed")
        browser.see("optimize of main")
        assert omnigraph.open(str(own)).commits()[0].kind == "maintenance"

        browser.driver.refresh()
        browser.see("Optimize has ended")
        browser.press("Show what would go")
        browser.see("would go.")
        browser.press("Verify now")
        browser.see("Everything is there")
        browser.press("Clean up now")
        browser.see("cannot be brought back")
        browser.press("Remove")
        browser.see("were removed")


def test_a_read_only_console_plans_and_changes_nothing(harbor: Path, browser: Browser) -> None:
    with running_console(str(harbor), "--read-only") as console:
        browser.open(console.address)
        browser.see("read-only")
        browser.open(console.at("/g/harbor/maintenance"))
        browser.see("plans and verifies, and changes nothing")

        buttons = {each.text: each.is_enabled() for each in browser.all("button")}
        assert not buttons["Optimize now"]
        assert not buttons["Clean up now"]
        assert buttons["Show the plan"]


def test_tables_that_are_as_the_graph_names_them_are_said_to_be(console: Console, browser: Browser) -> None:
    browser.open(console.at("/g/harbor/maintenance"))

    browser.see("Every table is at the version that the graph names.")


def test_drift_is_shown_with_its_rows(browser: Browser, tmp_path: Path) -> None:
    own = str(tmp_path / "ships.omni")
    graph = omnigraph.init(own, "node Ship { hull: String @key }")
    foreign_append(graph, "Ship", id=HOSTILE, hull=HOSTILE)
    with running_console(own) as console:
        browser.open(console.address)
        browser.see("Types")
        browser.open(console.at("/g/ships/maintenance"))

        browser.see("1 table changed outside of the graph.")
        browser.open_fold("Rows of node:Ship")
        browser.see("1 row added, 0 rows changed, 0 rows removed.")
        browser.see(f"insert {HOSTILE}")
        assert browser.driver.title != "broken"
