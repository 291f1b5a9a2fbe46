"""Walking through a graph in a browser: finding, looking, following, and going back in time."""

import io
import json
from collections.abc import Iterator

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import omnigraph
from support.browser import NARROW, WIDE, Browser, Console, running_console
from support.console_graphs import HOSTILE

SCHEMA = """
node Sailor { name: String @key  age: I32?  bio: String? @index  photo: Blob? }
node Ship { hull: String @key  title: String @index }
edge Mentors: Sailor -> Sailor
edge ServesOn: Sailor -> Ship
"""
PUPILS = 62


def records() -> Iterator[dict[str, object]]:
    yield {"type": "Sailor", "data": {"name": "Ana", "age": 50, "bio": "ice " * 100, "photo": "base64:" + "QUJD" * 700}}
    yield {"type": "Sailor", "data": {"name": HOSTILE, "bio": HOSTILE}}
    yield {"type": "Ship", "data": {"hull": "S1", "title": "Northern Star"}}
    yield {"edge": "ServesOn", "from": "Ana", "to": "S1"}
    yield {"edge": "Mentors", "from": "Ana", "to": HOSTILE}
    for number in range(1, PUPILS):
        yield {"type": "Sailor", "data": {"name": f"pupil {number:02}"}}
        yield {"edge": "Mentors", "from": "Ana", "to": f"pupil {number:02}"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Console]:
    root = str(tmp_path_factory.mktemp("explore") / "fleet.omni")
    graph = omnigraph.init(root, SCHEMA)
    graph.load(io.BytesIO("\n".join(map(json.dumps, records())).encode()), mode="append", message="the crew")
    with graph.write(message="a change of crew") as batch:
        batch.delete("Sailor", ids=["pupil 02"])
        batch.insert("Sailor", [{"name": "aab"}])
        batch.insert("Mentors", [{"from": "Ana", "to": "aab"}])
        batch.update("Sailor", {"age": 51}, ids=["Ana"])
    with running_console(root) as console:
        console.root = console.root.replace("127.0.0.1", "localhost")  # another jar of cookies than other consoles have
        browser.open(console.address.replace("127.0.0.1", "localhost"))
        browser.see("fleet")
        yield console


def drawn(browser: Browser) -> list[str]:
    """Return what the canvas shows, by its own account."""
    names: list[str] = browser.driver.execute_script(
        "const element = document.querySelector('.og-canvas');"
        "const vue = getElement(Number(element.id.slice(1)));"
        "return vue.chart.getOption().series[0].data.map(each => each.name);"
    )
    return names


def click_on(browser: Browser, name: str, *, times: int = 1) -> None:
    """Click on a node of the canvas, where it stands."""
    spot = browser.driver.execute_script(
        "const element = document.querySelector('.og-canvas');"
        "element.scrollIntoView({block: 'center'});"
        "const chart = getElement(Number(element.id.slice(1))).chart;"
        "const item = chart.getOption().series[0].data.find(each => each.name === arguments[0]);"
        "const [x, y] = chart.convertToPixel({seriesIndex: 0}, [item.x, item.y]);"
        "const box = element.getBoundingClientRect(); return [box.left + x, box.top + y];",
        name,
    )
    for number in range(1, times + 1):
        for kind in ("mousePressed", "mouseReleased"):
            browser.driver.execute_cdp_cmd(
                "Input.dispatchMouseEvent",
                {"type": kind, "x": spot[0], "y": spot[1], "button": "left", "clickCount": number},
            )


def test_a_node_is_found_and_its_neighbours_come_a_page_at_a_time(fleet: Console, browser: Browser) -> None:
    browser.open(fleet.at("/g/fleet/explore"))
    browser.see("Start with one of these")
    field = browser.find('input[aria-label="Find a node"]')
    field.send_keys("ice", Keys.ENTER)
    browser.see("Close the results")
    browser.press("Ana")

    browser.see("Neighbours")
    browser.see("62 Sailors")
    browser.see("2.1 KiB")
    browser.press("Expand Mentors out")
    browser.see("Sailor 26")
    browser.press("25 more Mentors out")
    browser.see("Sailor 51")
    browser.until(lambda: "12 more" in drawn(browser), "the number of those that are not shown")
    browser.press("Expand ServesOn out")
    browser.see("Ship 1")
    assert "Northern Star" in drawn(browser)

    browser.driver.refresh()
    browser.see("Sailor 51")
    browser.see("Ship 1")
    browser.see("Neighbours")
    assert browser.find('input[aria-label="Find a node"]').get_attribute("value") == "ice"
    assert browser.complaints() == []


def test_the_canvas_answers_to_the_mouse(fleet: Console, browser: Browser) -> None:
    browser.open(fleet.at("/g/fleet/explore?view=Ship.S1&pick=Ship.S1"))
    browser.until(lambda: drawn(browser) == ["Northern Star"], "the ship")
    click_on(browser, "Northern Star", times=2)
    browser.until(lambda: "Ana" in drawn(browser), "who serves on it")
    click_on(browser, "Ana")
    browser.see("62 Sailors")
    browser.press("Expand Mentors out")
    browser.until(lambda: "37 more" in drawn(browser), "the stub")

    before = len(drawn(browser))
    click_on(browser, "37 more")
    browser.until(lambda: len(drawn(browser)) == before + 25, "the next page")
    browser.press("Sailor 51")
    browser.until(lambda: drawn(browser) == ["Northern Star"], "a picture without sailors")
    browser.driver.back()
    browser.press("Remove from the picture")
    browser.until(lambda: "Ana" not in drawn(browser), "a picture without Ana")
    browser.press("Start over")
    browser.see("Nothing to look at yet")


def test_the_past_shows_what_came_and_went(fleet: Console, browser: Browser) -> None:
    browser.open(fleet.at("/g/fleet/explore?view=Sailor.Ana~Sailor.Ana.o.Mentors&pick=Sailor.Ana"))
    browser.see("a change of crew")
    browser.until(lambda: "aab" in drawn(browser), "who is there now")
    browser.press("Earlier commit")

    browser.see("2 came, 2 went since this commit.")
    browser.see("the crew")
    browser.see("since then:")
    browser.until(lambda: {"+ aab", "− pupil 02"} <= set(drawn(browser)), "both signs")
    assert "at=" in browser.driver.current_url
    browser.driver.refresh()
    browser.see("2 came, 2 went since this commit.")

    browser.driver.execute_script("document.querySelector('.q-slider [tabindex], .q-slider[tabindex]').focus()")
    ActionChains(browser.driver).send_keys(Keys.ARROW_LEFT).perform()
    browser.see("genesis")
    browser.until(lambda: all(name.startswith("+ ") for name in drawn(browser)), "nobody yet")
    browser.see("Not there yet")
    browser.press("Later commit")
    browser.see("2 came, 2 went since this commit.")
    browser.press("Later commit")
    browser.until(lambda: "aab" in drawn(browser), "who is there now")
    assert "at=" not in browser.driver.current_url


def test_names_are_never_taken_for_markup(fleet: Console, browser: Browser) -> None:
    browser.open(fleet.at("/g/fleet/explore?q=%3Cscript"))
    browser.see(HOSTILE)
    browser.open(fleet.at("/g/fleet/explore?view=Sailor.Ana~Sailor.Ana.o.Mentors"))
    browser.until(lambda: any(name.startswith("<script>") for name in drawn(browser)), "the name on the canvas")
    click_on(browser, next(name for name in drawn(browser) if name.startswith("<script>")))
    browser.see(HOSTILE)

    assert "broken" not in browser.driver.title
    assert browser.driver.find_elements(By.CSS_SELECTOR, "main script, main img") == []


def test_the_page_fits_on_a_telephone(fleet: Console, browser: Browser) -> None:
    browser.resize(NARROW)
    try:
        browser.open(fleet.at("/g/fleet/explore?q=pupil&view=Sailor.Ana~Sailor.Ana.o.Mentors&pick=Sailor.Ana"))
        browser.see("Neighbours")
        browser.see("More results")
        width = browser.driver.execute_script("return document.documentElement.scrollWidth")
    finally:
        browser.resize(WIDE)

    assert width <= NARROW
