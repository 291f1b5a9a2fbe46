"""Who looks at the console: a secret opens a session at the door, a cookie keeps it."""

from typing import Protocol

from omnigraph.base import clock, ids
from omnigraph.base.values import dataclass
from omnigraph.console.sources.protocol import GraphSite

COOKIE = "omnigraph_console"
_IDLE_SECONDS = 12 * 3_600
_SESSIONS_MAX = 1_000


@dataclass(slots=True, kw_only=True)
class Visitor:
    """One person in one browser, and the graphs that they may see."""

    site: GraphSite
    session_id: str
    seen_at: float


class Door(Protocol):
    """Lets people in who know a secret."""

    @property
    def asks_for(self) -> str:
        """What a person without a secret in the address is asked to type; empty if there is nothing to type."""

    @property
    def is_open(self) -> bool:
        """Whether everybody is let in."""

    async def admit(self, secret: str, origin: str) -> GraphSite | None:
        """Return what the holder of a secret may see, or None; `origin` is how the browser calls this place."""
        ...


class OneTimeDoor:
    """The door of a console on this machine: one secret, which opens one session."""

    asks_for = ""
    is_open = False

    def __init__(self, site: GraphSite) -> None:
        self._site = site
        self.secret: str | None = ids.new_secret()

    async def admit(self, secret: str, origin: str) -> GraphSite | None:
        """Let the first in who has the secret."""
        del origin
        if self.secret is None or not ids.is_same_secret(secret, self.secret):
            return None
        self.secret = None
        return self._site


class Visitors:
    """The open sessions; they end with the process, or when nobody came for half a day."""

    def __init__(self) -> None:
        self._by_session: dict[str, Visitor] = {}

    def enter(self, site: GraphSite) -> Visitor:
        """Open a session."""
        now = clock.monotonic_seconds()
        for session_id in [key for key, each in self._by_session.items() if now - each.seen_at > _IDLE_SECONDS]:
            del self._by_session[session_id]
        if len(self._by_session) >= _SESSIONS_MAX:
            del self._by_session[min(self._by_session, key=lambda key: self._by_session[key].seen_at)]
        visitor = Visitor(site=site, session_id=ids.new_secret(), seen_at=now)
        self._by_session[visitor.session_id] = visitor
        return visitor

    def find(self, session_id: str | None) -> Visitor | None:
        """Return who has a session, and keep it."""
        visitor = self._by_session.get(session_id or "")
        if visitor is None:
            return None
        now = clock.monotonic_seconds()
        if now - visitor.seen_at > _IDLE_SECONDS:
            del self._by_session[visitor.session_id]
            return None
        visitor.seen_at = now
        return visitor

    def leave(self, session_id: str) -> None:
        """End a session."""
        self._by_session.pop(session_id, None)
