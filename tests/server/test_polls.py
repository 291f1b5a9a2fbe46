"""Many clients that poll one feed: who asks alike shares a page, and who is told of nothing new makes nobody read."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import omnigraph
from omnigraph.changes.feed import Feed
from omnigraph.manifest.state import ManifestReader
from omnigraph.server import polls
from omnigraph.server.polls import PollKey, SeenHead, SharedPolls
from support.served import ServedApp, served_app

FEED = "/graphs/art/changes"
_CLIENTS = 6


@pytest.fixture
def server(museum: str) -> Iterator[ServedApp]:
    served = served_app(museum)
    yield served
    served.close()


def add_artist(server: ServedApp, name: str) -> None:
    query = f'query add() {{ insert Artist {{ name: "{name}" }} }}'
    assert server.ask("POST", "/graphs/art/mutate", {"query": query}).status_code == 200


def changed(page: Any) -> list[str]:
    return [change["id"] for block in page.json()["blocks"] for change in block["changes"]]


def test_a_poll_with_nothing_new_asks_for_no_more_than_the_shared_look(
    server: ServedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = server.ask("GET", FEED).json()["cursor"]
    first = server.ask("GET", f"{FEED}?cursor={cursor}")
    server.ask("GET", "/graphs/art/snapshot")
    monkeypatch.setattr(ManifestReader, "load", None)
    monkeypatch.setattr(polls, "_KEPT_SECONDS", 0)
    following = server.application.service.graphs["art"].graph.following
    recent = following.recent("main", age_seconds=60)
    monkeypatch.setattr(following, "recent", lambda *_, **__: recent)

    answers = [server.ask("GET", f"{FEED}?cursor={cursor}") for _ in range(3)]

    assert [answer.content for answer in answers] == [first.content] * 3
    assert first.json() == {"blocks": [], "cursor": cursor, "caught_up": True}


def test_what_is_written_is_delivered_by_the_next_poll(server: ServedApp) -> None:
    cursor = server.ask("GET", FEED).json()["cursor"]
    assert server.ask("GET", f"{FEED}?cursor={cursor}").json()["caught_up"]

    add_artist(server, "Vermeer")
    page = server.ask("GET", f"{FEED}?cursor={cursor}")
    filtered = server.ask("GET", f"{FEED}?cursor={cursor}&op=delete")

    assert changed(page) == ["Vermeer"]
    assert server.ask("GET", f"{FEED}?cursor={page.json()['cursor']}").json()["blocks"] == []
    assert filtered.json()["kind"] == "change_cursor_rejected"


def test_a_cursor_from_another_process_is_known_at_once(server: ServedApp) -> None:
    server.ask("GET", FEED)
    uri = server.application.service.graphs["art"].graph.uri
    elsewhere = omnigraph.open(uri)
    with elsewhere.write() as batch:
        batch.insert("Artist", [{"name": "Vermeer"}])
    cursor = elsewhere.changes.poll().cursor

    page = server.ask("GET", f"{FEED}?cursor={cursor}")

    assert page.json() == {"blocks": [], "cursor": cursor, "caught_up": True}


def test_a_branch_that_was_made_again_does_not_go_on_with_the_cursor_of_the_old_one(server: ServedApp) -> None:
    server.ask("POST", "/graphs/art/branches", {"name": "review"})
    cursor = server.ask("GET", f"{FEED}?branch=review").json()["cursor"]
    assert server.ask("GET", f"{FEED}?branch=review&cursor={cursor}").json()["caught_up"]

    server.ask("DELETE", "/graphs/art/branches/review")
    gone = server.ask("GET", f"{FEED}?branch=review&cursor={cursor}")
    server.ask("POST", "/graphs/art/branches", {"name": "review"})
    again = server.ask("GET", f"{FEED}?branch=review&cursor={cursor}")

    assert (gone.status_code, gone.json()["kind"]) == (404, "branch_not_found")
    assert again.json()["kind"] == "change_cursor_rejected"


def test_polls_that_are_alike_are_made_once(server: ServedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    goes_on = threading.Event()
    poll = Feed.poll

    def slow(feed: Feed, **options: Any) -> Any:
        made.append(1)
        goes_on.wait(30)
        return poll(feed, **options)

    server.ask("GET", "/graphs/art/snapshot")
    monkeypatch.setattr(Feed, "poll", slow)
    waiting = [server.start("GET", f"{FEED}?start=beginning&limit=2") for _ in range(_CLIENTS)]
    other = server.start("GET", f"{FEED}?start=beginning&limit=3")
    goes_on.set()
    answers = [answer.result(60) for answer in waiting]

    assert len({answer.content for answer in answers}) == 1
    assert other.result(60).content != answers[0].content
    assert len(made) == 2
    assert server.ask("GET", f"{FEED}?start=beginning&limit=2").content == answers[0].content


def key(number: int) -> PollKey:
    return PollKey(("art", "main", ()), SeenHead("commit", "main"), (number,))


def test_a_failed_page_is_told_to_all_who_wait_and_made_anew_for_the_next() -> None:
    made: list[int] = []

    async def fail() -> bytes:
        made.append(1)
        await asyncio.sleep(0)
        raise ValueError("no page")

    async def ask() -> list[object]:
        shared = SharedPolls()
        found: list[object] = [
            *await asyncio.gather(*(shared.page(key(1), fail) for _ in range(3)), return_exceptions=True)
        ]
        await asyncio.gather(shared.page(key(1), fail), return_exceptions=True)
        return found

    found = asyncio.run(ask())

    assert [type(failure) for failure in found] == [ValueError] * 3
    assert len(made) == 2


def test_pages_are_kept_for_a_moment_within_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(polls, "monotonic_seconds", lambda: now[0])
    monkeypatch.setattr(polls, "_KEPT_BYTES", 100)
    monkeypatch.setattr(polls, "_KEPT_PAGE_BYTES", 60)
    made: list[int] = []
    shared = SharedPolls()

    async def ask(number: int, size: int) -> None:
        async def make() -> bytes:
            made.append(number)
            return b"x" * size

        assert len(await shared.page(key(number), make)) == size
        await asyncio.sleep(0)

    async def story() -> None:
        for number, size in ((1, 50), (1, 50), (2, 50), (1, 50), (3, 50), (1, 50), (4, 80), (4, 80)):
            await ask(number, size)
        now[0] = polls._KEPT_SECONDS
        await ask(3, 50)

    asyncio.run(story())

    assert made == [1, 2, 3, 1, 4, 4, 3]
    assert shared._kept_bytes == 50


def test_the_ends_that_are_known_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polls, "_ENDS_MAX", 2)
    shared = SharedPolls()
    head = SeenHead("commit", "main")
    for branch in ("a", "b", "c"):
        shared.know_end(("art", branch, ()), head, f"behind {branch}")

    known = [branch for branch in "abc" if shared.is_at_end(("art", branch, ()), head, f"behind {branch}")]

    assert known == ["c"]
    assert not shared.is_at_end(("art", "c", ()), SeenHead("commit", "another"), "behind c")
