"""Polls that many clients make alike: one page of a feed is made once, and nobody reads to learn that nothing is new.

An answer counts for the head that it was asked at, as the shared look at that head found it (`Call.head`). Whatever is
kept here is small or short-lived: a commit whose versions a cleanup removes is a gap for everybody a moment later.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from omnigraph.base.clock import monotonic_seconds

if TYPE_CHECKING:
    from omnigraph.graphs.snapshot import Snapshot

_ENDS_MAX = 1_024
"""How many feeds, each a branch with its filters, are known to the cursor behind their head."""
_KEPT_SECONDS = 2.0
_KEPT_BYTES = 16 << 20
_KEPT_PAGE_BYTES = 2 << 20

FeedKey: TypeAlias = tuple[str, str, tuple[object, ...]]
"""A graph, a branch, and the filters as they were written."""


class SeenHead(NamedTuple):
    """The head of a branch, of which there may have been others by its name."""

    commit_id: str
    incarnation: str

    @classmethod
    def of(cls, snapshot: "Snapshot") -> "SeenHead":
        """Return the head that a look found."""
        return cls(snapshot.commit_id, snapshot.incarnation)


class PollKey(NamedTuple):
    """What makes two polls alike."""

    feed: FeedKey
    head: SeenHead
    place: tuple[object, ...]
    """Where the page begins, and how much it holds."""


class _Kept(NamedTuple):
    body: bytes
    at: float


class SharedPolls:
    """The pages that are being made or were made a moment ago; one event loop uses it."""

    def __init__(self) -> None:
        self._underway: dict[PollKey, asyncio.Future[bytes]] = {}
        self._kept: OrderedDict[PollKey, _Kept] = OrderedDict()
        self._kept_bytes = 0
        self._end_by_feed: dict[FeedKey, tuple[SeenHead, str]] = {}

    def is_at_end(self, feed: FeedKey, head: SeenHead, cursor: str) -> bool:
        """Whether a cursor is known to stand behind this head; asks nobody."""
        return self._end_by_feed.get(feed) == (head, cursor)

    def know_end(self, feed: FeedKey, head: SeenHead, cursor: str) -> None:
        """Know the cursor behind the head of a feed."""
        if len(self._end_by_feed) >= _ENDS_MAX:
            self._end_by_feed.clear()
        self._end_by_feed[feed] = (head, cursor)

    async def page(self, key: PollKey, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return a page that somebody makes or has just made, or make it; failures are told to all who wait."""
        kept = self._kept.get(key)
        if kept is not None and monotonic_seconds() - kept.at < _KEPT_SECONDS:
            return kept.body
        making = self._underway.get(key)
        if making is None:
            making = self._underway[key] = asyncio.ensure_future(make())
            making.add_done_callback(lambda made: self._made(key, made))
        # Shielded: whoever asked first may go away while others wait.
        return await asyncio.shield(making)

    def _made(self, key: PollKey, made: "asyncio.Future[bytes]") -> None:
        del self._underway[key]
        if made.cancelled() or made.exception() is not None:
            return
        body = made.result()
        self._let_go(key)
        if len(body) <= _KEPT_PAGE_BYTES:
            self._kept[key] = _Kept(body, monotonic_seconds())
            self._kept_bytes += len(body)
        while self._kept and (self._kept_bytes > _KEPT_BYTES or self._is_old(next(iter(self._kept.values())))):
            self._let_go(next(iter(self._kept)))

    def _is_old(self, kept: _Kept) -> bool:
        return monotonic_seconds() - kept.at >= _KEPT_SECONDS

    def _let_go(self, key: PollKey) -> None:
        found = self._kept.pop(key, None)
        self._kept_bytes -= len(found.body) if found is not None else 0
