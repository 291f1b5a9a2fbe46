"""The overview: what there is, in every state of the graph."""

import omnigraph
from support.browser import Browser, Console
from support.console_graphs import HOSTILE


def test_the_overview_shows_schema_counts_commits_and_health(console: Console, browser: Browser) -> None:
    browser.open(console.at("/g/harbor/overview"))

    browser.see("Latest commits")
    browser.see("Needs attention")
    browser.find(".og-schema svg")
    browser.see("Sailor")
    browser.see("promoted")
    assert browser.complaints() == []


def test_text_of_the_graph_is_never_markup(console: Console, browser: Browser) -> None:
    browser.open(console.at("/g/harbor/overview"))

    browser.see(HOSTILE)
    assert browser.driver.title != "broken"
    assert browser.all("main img[src=x]") == []


def test_a_commit_shows_the_past(console: Console, browser: Browser, harbor: object) -> None:
    first = omnigraph.open(str(harbor), read_only=True).commits()[-1].graph_commit_id

    browser.open(console.at(f"/g/harbor/overview?at={first}"))

    browser.see("back to main")
    browser.until(lambda: browser.find(".og-figures").text.split()[:2] == ["0", "nodes"], "an empty past")


def test_what_is_not_there_is_said_and_leads_on(console: Console, browser: Browser) -> None:
    browser.open(console.at("/g/nowhere/overview"))
    browser.see("There is no graph nowhere here.")
    browser.see("All graphs")

    browser.open(console.at("/g/harbor/overview?at=no-such-branch"))
    browser.see("no-such-branch")
    browser.see("Try again")


def test_a_telephone_has_room_for_everything(console: Console, browser: Browser) -> None:
    browser.resize(400, 800)
    try:
        for page in ("overview", "maintenance"):
            browser.open(console.at(f"/g/harbor/{page}"))
            browser.see("Overview")
            browser.until(lambda: browser.all("[role=status]") == [], "the end of loading")
            width = browser.driver.execute_script("return document.documentElement.scrollWidth")
            assert width <= 400, f"{page} is {width} px wide"
    finally:
        browser.resize(1280)


def test_keys_open_pages_and_light_becomes_dark(console: Console, browser: Browser) -> None:
    from selenium.webdriver import ActionChains, Keys

    browser.open(console.at("/g/harbor/overview"))
    browser.see("Types")
    ActionChains(browser.driver).key_down(Keys.ALT).send_keys("5").key_up(Keys.ALT).perform()
    browser.see("Clean up")
    browser.press("Light or dark")
    browser.find("body.body--dark")
    browser.press("Light or dark")
    browser.find("body.body--light")
