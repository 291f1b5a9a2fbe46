"""The Query page in a browser: typed and run, wrong, drawn, kept in the address, changed, downloaded, refused."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import omnigraph
from support.browser import NARROW, WIDE, Browser, Console, running_console
from support.console_graphs import HOSTILE
from support.program import Run
from support.served import POLICY, TOKENS, make_cluster, running_server

NAMES = "match { $a: Sailor } return { $a.name, $a.age } order { $a.name }"
MENTORS = "match { $a: Sailor $b: Sailor $a mentors $b } return { $a, $b }"
RANKS = "match { $a: Sailor } return { $a.rank, count($a) as n } order { $a.rank }"
OLDER = 'query older($age: I32) { update Sailor set { age: $age } where name = "Ana" }'


def query_page(console: Console, text: str, **parts: str) -> str:
    words = "".join(f"&{name}={quote(value)}" for name, value in parts.items())
    return console.at(f"/g/harbor/query?q={quote(text)}{words}")


def write(browser: Browser, text: str) -> None:
    browser.find(".og-editor .cm-content[aria-label]").send_keys(Keys.CONTROL, "a", Keys.NULL, Keys.DELETE, text)


def run_it(browser: Browser) -> None:
    browser.find(".og-editor .cm-content").send_keys(Keys.CONTROL, Keys.ENTER, Keys.NULL)


def accept(browser: Browser, word: str) -> None:
    """Take the first word that is offered."""
    offered = ".cm-tooltip-autocomplete li"
    browser.until(lambda: word in browser.driver.find_element(By.CSS_SELECTOR, offered).text, f"the offer of {word}")
    browser.click(offered)


def command(browser: Browser) -> list[str]:
    text = browser.until(lambda: browser.driver.find_element(By.CSS_SELECTOR, ".og-line code").text, "the command")
    return shlex.split(text)


@contextmanager
def visiting(browser: Browser, *words: str, environ: Mapping[str, str] | None = None) -> Iterator[Console]:
    """Sign in to another console."""
    with running_console(*words, environ=environ) as console:
        browser.open(console.address)
        browser.find(".og-header")
        yield console


def test_a_query_is_typed_and_run_and_survives_a_reload(console: Console, browser: Browser) -> None:
    browser.complaints()
    browser.open(console.at("/g/harbor/query"))
    browser.find(".og-gq-keyword")
    write(browser, NAMES)
    run_it(browser)

    browser.see("6 rows in")
    browser.see("Ana")
    assert "run=1" in browser.driver.current_url
    browser.driver.refresh()
    browser.see("6 rows in")
    browser.see(HOSTILE[:20])
    assert browser.driver.find_element(By.CSS_SELECTOR, ".og-gq-type").text == "Sailor"
    assert browser.driver.find_elements(By.CSS_SELECTOR, ".og-grid img, .og-grid script") == []
    assert browser.driver.title == "Query · harbor · OmniGraph"
    assert browser.complaints() == []


def test_the_schema_completes_what_is_typed(console: Console, browser: Browser) -> None:
    browser.open(console.at("/g/harbor/query"))
    write(browser, "match { $a: Sai")
    accept(browser, "Sailor")
    browser.find(".og-editor .cm-content").send_keys(" } return { $a.na")
    accept(browser, "name")
    run_it(browser)

    browser.see("6 rows in")


def test_a_mistake_is_underlined_with_its_message(console: Console, browser: Browser) -> None:
    browser.open(query_page(console, "match { $a: Sailr } return { $a.name }", run="1"))
    browser.see("there is no node type Sailr; did you mean Sailor?")

    assert browser.find(".og-gq-wrong").text == "Sailr"
    write(browser, NAMES)
    browser.until(lambda: not browser.driver.find_elements(By.CSS_SELECTOR, ".og-gq-wrong"), "the correction")
    browser.until(lambda: "did you mean" not in browser.text(), "the end of the message")


def test_an_answer_is_a_table_a_graph_a_chart_and_steps(console: Console, browser: Browser) -> None:
    browser.open(query_page(console, MENTORS, run="1", view="graph"))
    browser.until(lambda: "Ana" in browser.find(".og-drawn svg").text, "the picture")
    browser.press("Chart")
    browser.see("There is no number to draw.")
    assert "view=chart" in browser.driver.current_url

    browser.open(query_page(console, RANKS, run="1", view="chart"))
    browser.until(lambda: "captain" in browser.find(".og-drawn svg").text, "the chart")
    browser.press("Steps")
    browser.see("scan $a: Sailor")
    browser.see("Answered by")
    browser.press("Graph")
    browser.see("The rows hold no whole nodes.")

    browser.open(query_page(console, 'match { $a: Sailor { name: "Nobody" } } return { $a }', run="1"))
    browser.see("No rows.")


def test_the_command_and_the_downloads_say_the_same(
    console: Console, browser: Browser, run: Run, tmp_path: Path
) -> None:
    text = (
        "query q($name: String) { match { $a: Sailor $a.name != $name } return { $a.name, $a.tags } order { $a.name } }"
    )
    folder = tmp_path / "downloads"
    browser.driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder), "eventsEnabled": False}
    )
    browser.open(query_page(console, text, run="1", at="review", **{"p.name": "it's"}))
    browser.see("5 rows in")
    words = command(browser)
    assert words[0] == "omnigraph"

    for form in ("CSV", "JSON", "Parquet"):
        browser.press(f"Download {form}")
        name = f"q.{form.lower()}"
        expected = tmp_path / name
        assert run(*words[1:], "--out", str(expected)).code == 0
        browser.until(lambda name=name: (folder / name).exists(), f"the download {name}")
        assert (folder / name).read_bytes() == expected.read_bytes()
    assert len(run(*words[1:], "--json").document["rows"]) == 5


def test_nothing_is_wider_than_a_telephone(console: Console, browser: Browser) -> None:
    try:
        browser.resize(NARROW, 800)
        for shape in ("table", "graph", "chart", "steps"):
            browser.open(query_page(console, RANKS if shape == "chart" else MENTORS, run="1", view=shape))
            browser.see("rows in")
            assert browser.driver.execute_script("return document.documentElement.scrollWidth") <= NARROW
    finally:
        browser.resize(WIDE)


def test_a_commit_and_a_read_only_console_refuse_mutations(console: Console, browser: Browser, harbor: Path) -> None:
    commit = omnigraph.open(str(harbor)).commits()[0].graph_commit_id
    browser.open(query_page(console, OLDER, at=commit, run="1", **{"p.age": "60"}))
    browser.see("A commit never changes")
    assert not browser.find(".og-card button").is_enabled()

    with visiting(browser, str(harbor), "--read-only") as other:
        browser.open(query_page(other, OLDER, **{"p.age": "60"}))
        browser.see("opened with --read-only")
        run_it(browser)
        browser.open(query_page(other, NAMES, run="1"))
        browser.see("6 rows in")
    assert omnigraph.open(str(harbor)).commits()[0].graph_commit_id == commit


def test_a_stored_query_is_a_form_and_a_mutation_asks_first(browser: Browser, tmp_path: Path) -> None:
    root = str(tmp_path / "cluster")
    make_cluster(root)
    with visiting(browser, "--cluster", root) as other:
        browser.open(other.at("/g/art/query"))
        browser.click("a[href*='stored=by_artist']")
        browser.see("Ask with a full name.")
        browser.find('[aria-label="$name: text"]').send_keys("Ines", Keys.ENTER)
        browser.see("1 row in")
        browser.see("Still Life")
        assert "stored=by_artist" in browser.driver.current_url
        assert "p.name=Ines" in browser.driver.current_url

        browser.open(other.at("/g/art/query?stored=add_artist&p.name=Zoe&run=1"))
        browser.press("Run the mutation…")
        browser.see("Run add_artist on the branch main?")
        browser.press("Cancel")
        graph = omnigraph.open(f"{root}/graphs/art.omni")
        before = graph.commits()[0].graph_commit_id
        browser.press("Run the mutation…")
        browser.press("Change the graph")
        browser.see("Changed main: 1 node, 0 edges.")
        after = graph.commits()[0].graph_commit_id
        assert after != before
        browser.press("See the commit in History")
        browser.until(lambda: f"history?commit={after}" in browser.driver.current_url, "the page of the commit")


@pytest.mark.exhaustive
def test_through_a_server_everything_but_steps_is_there(browser: Browser, tmp_path: Path) -> None:
    root = str(tmp_path / "cluster")
    make_cluster(root, policies={"keepers": (POLICY, ("graph.art",))})
    environ = {"OMNIGRAPH_BEARER_TOKEN": TOKENS["act-ines"]}
    with (
        running_server(root, tmp_path) as server,
        visiting(browser, "--server", server.url, "--graph", "art", environ=environ) as other,
    ):
        text = "match { $a: Artist } return { $a }"
        browser.open(other.at(f"/g/art/query?q={quote(text)}&run=1&view=steps"))
        browser.see("2 rows in")
        browser.see("A server does not tell the steps of a query.")
        browser.press("Graph")
        browser.until(lambda: "Ines" in browser.find(".og-drawn svg").text, "the picture")
        browser.open(other.at("/g/art/query?stored=by_artist&p.name=Ines&run=1"))
        browser.see("1 row in")
