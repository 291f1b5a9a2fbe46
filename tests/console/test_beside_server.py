"""The console of a server: the token decides what a person sees and does."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from omnigraph.console.beside_server import TokenDoor
from support.browser import Browser
from support.served import (
    POLICY,
    SERVER_POLICY,
    TOKENS,
    Declared,
    ServedApp,
    ServerProcess,
    make_cluster,
    running_server,
    served_app,
)

PRIVATE = """\
version: 1
groups: { keepers: [act-ines] }
rules:
  - id: keepers-all
    allow: { actors: { group: keepers }, actions: [read, change], branch_scope: any }
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("server")
    make_cluster(
        str(directory / "cluster"),
        {"art": Declared(), "vault": Declared()},
        policies={
            "keepers": (POLICY, ("graph.art",)),
            "private": (PRIVATE, ("graph.vault",)),
            "lists": (SERVER_POLICY, ("cluster",)),
        },
    )
    with running_server(str(directory / "cluster"), directory, "--ui") as running:
        yield running


def sign_in(browser: Browser, server: ServerProcess, actor: str, path: str = "/") -> None:
    browser.open(f"{server.url}/ui/leave")
    browser.find("#token")
    browser.open(f"{server.url}/ui{path}")
    browser.find("#token").send_keys(TOKENS[actor])
    browser.press("Open")


def test_two_people_see_what_their_policies_let_them(server: ServerProcess, browser: Browser) -> None:
    sign_in(browser, server, "act-ines")
    browser.see("art")
    browser.see("vault")
    browser.press("vault")
    browser.see("Artwork")
    browser.see(f"{server.url}/graphs/vault")

    sign_in(browser, server, "act-rae")
    browser.see("You may not list the graphs of this server")
    browser.open(f"{server.url}/ui/g/art/overview")
    browser.see("Artwork")
    browser.open(f"{server.url}/ui/g/vault/overview")
    browser.see("act-rae")
    assert "Artwork" not in browser.text()


def test_a_server_offers_no_maintenance(server: ServerProcess, browser: Browser) -> None:
    sign_in(browser, server, "act-ines", "/g/art/maintenance")

    browser.see("Maintenance needs the storage of the graph.")
    assert not [each for each in browser.all("button") if "now" in each.text]


def test_a_wrong_token_opens_nothing_and_one_in_an_address_is_no_token(server: ServerProcess, browser: Browser) -> None:
    browser.open(f"{server.url}/ui/leave")
    browser.find("#token").send_keys("guessed")
    browser.press("Open")
    browser.see("This token is not accepted.")

    answer = httpx.get(f"{server.url}/ui/g/art/overview?token={TOKENS['act-ines']}")
    assert answer.status_code == 303
    assert httpx.get(f"{server.url}/graphs").status_code == 401


def test_without_the_flag_there_is_no_console(tmp_path: Path) -> None:
    make_cluster(str(tmp_path / "cluster"))
    with running_server(str(tmp_path / "cluster"), tmp_path) as plain:
        assert httpx.get(f"{plain.url}/ui/").status_code == 404


def test_a_token_that_is_taken_back_asks_to_sign_in_again(tmp_path: Path, browser: Browser) -> None:
    make_cluster(str(tmp_path / "cluster"), policies={"keepers": (POLICY, ("graph.art",))})
    with running_server(str(tmp_path / "cluster"), tmp_path, "--ui") as first:
        sign_in(browser, first, "act-omar", "/g/art/overview")
        browser.see("Artwork")
        port = first.address[1]
        first.process.kill()
        first.wait()
        browser.see("Connection lost")
    kept = {"OMNIGRAPH_BIND": "", "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": '{"act-ines": "another"}'}
    with running_server(
        str(tmp_path / "cluster"), tmp_path, "--ui", "--bind", f"127.0.0.1:{port}", environ=kept
    ) as again:
        browser.open(f"{again.url}/ui/g/art/overview")
        browser.find("#token").send_keys(TOKENS["act-omar"])
        browser.press("Open")
        browser.see("This token is not accepted.")


@pytest.mark.parametrize("secret", ["", " ", "guessed", "guessed\nX-Actor: act-ines", "\x00", "guésséd"])
def test_what_is_nobodys_token_lets_nobody_in(museum_of_tokens: ServedApp, secret: str) -> None:
    door = TokenDoor(museum_of_tokens.application)

    admitted = asyncio.run_coroutine_threadsafe(door.admit(secret, "http://here"), museum_of_tokens.loop).result(30)

    assert admitted is None


@pytest.fixture(scope="module")
def museum_of_tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    root = tmp_path_factory.mktemp("tokens") / "museum"
    root.mkdir()
    make_cluster(str(root), policies={"lists": (SERVER_POLICY, ("cluster",))})
    app = served_app(str(root))
    yield app
    app.close()
