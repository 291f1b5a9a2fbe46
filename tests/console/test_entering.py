"""Who gets in: the key of the address once, a session afterwards, and nobody else."""

from pathlib import Path

import httpx

from support.browser import Browser, Console, running_console


def test_the_key_opens_the_console_once_and_leaves_the_address(harbor: Path, browser: Browser) -> None:
    with running_console(str(harbor)) as console:
        browser.open(console.address)
        browser.see("Sailor")

        assert "token" not in browser.driver.current_url
        browser.driver.refresh()
        browser.see("Sailor")

        browser.driver.delete_cookie(f"omnigraph_console_{console.root.rpartition(':')[2]}")
        browser.open("about:blank")
        browser.open(console.address)
        browser.see("was used already")


def test_without_a_session_nothing_is_told(console: Console) -> None:
    for path in ("/", "/g/harbor/overview", "/g/harbor/query?q=x"):
        answer = httpx.get(console.at(path))

        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/ui/enter?to=")
    assert httpx.post(console.at("/enter"), content=b"guessed").status_code == 403
    assert httpx.get(console.at("/_nicegui_ws/socket.io/?EIO=4&transport=polling")).status_code == 303


def test_foreign_names_and_pages_are_turned_away(console: Console) -> None:
    assert httpx.get(console.at("/enter"), headers={"host": "evil.example"}).status_code == 421
    assert httpx.get(console.at("/enter"), headers={"origin": "http://evil.example"}).status_code == 403
    answer = httpx.get(console.at("/enter"))
    assert answer.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_two_consoles_on_one_machine_keep_their_sessions(console: Console, harbor: Path, browser: Browser) -> None:
    with running_console(str(harbor)) as other:
        browser.open(other.address)
        browser.see("Sailor")
        browser.open(console.at("/g/harbor/overview"))
        browser.see("Sailor")
