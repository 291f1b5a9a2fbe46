"""Finding the route of a request by its raw path, so that an escaped slash stays inside of its segment."""

from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import unquote_to_bytes

from omnigraph.errors import BadRequest, MethodNotAllowed, RouteNotFound

_REMEMBERED_MAX = 4_096
_REMEMBERED_BYTES_MAX = 256
"""Of a path; a longer one is nobody's habit, and anybody may send it."""


class Routable(Protocol):
    """What can be routed to: a method and a path whose variable segments stand in braces."""

    @property
    def method(self) -> str:
        """The method."""
        ...

    @property
    def path(self) -> str:
        """The path."""
        ...


RouteT = TypeVar("RouteT", bound=Routable)


class Matched(NamedTuple, Generic[RouteT]):
    """A route, and what stands in the variable segments of the path."""

    route: RouteT
    arguments: Mapping[str, str]


class Router(Generic[RouteT]):
    """Matches paths segment by segment; what was found is remembered, because clients repeat themselves."""

    def __init__(self, routes: Iterable[RouteT]) -> None:
        self._by_length: dict[int, list[tuple[tuple[str, ...], RouteT]]] = {}
        for route in routes:
            segments = tuple(route.path.split("/")[1:])
            self._by_length.setdefault(len(segments), []).append((segments, route))
        for found in self._by_length.values():
            # Literal segments first: `branches/merge` is no branch where both could be meant.
            found.sort(key=lambda row: [segment.startswith("{") for segment in row[0]])
        self._remembered: dict[tuple[str, bytes], Matched[RouteT]] = {}

    def known(self, method: str, raw_path: bytes) -> Matched[RouteT] | None:
        """Return the route if the same was asked for before."""
        return self._remembered.get((method, raw_path))

    def match(self, method: str, raw_path: bytes) -> Matched[RouteT]:
        """Find the route; raise `RouteNotFound`, or `MethodNotAllowed` for a path that takes other methods."""
        known = self._remembered.get((method, raw_path))
        if known is not None:
            return known
        found = self._find(method, raw_path)
        if len(raw_path) > _REMEMBERED_BYTES_MAX:
            return found
        if len(self._remembered) >= _REMEMBERED_MAX:
            self._remembered.clear()
        self._remembered[method, raw_path] = found
        return found

    def _find(self, method: str, raw_path: bytes) -> Matched[RouteT]:
        segments = [_decoded(segment) for segment in raw_path.split(b"/")[1:]]
        allowed: set[str] = set()
        for template, route in self._by_length.get(len(segments), ()):
            arguments = _fitted(template, segments)
            if arguments is None:
                continue
            if route.method == method:
                return Matched(route, arguments)
            allowed.add(route.method)
        if allowed:
            allow = sorted(allowed)
            raise MethodNotAllowed(f"{method} is not a method of this path; it takes {', '.join(allow)}.", allow=allow)
        raise RouteNotFound("there is no such path")


def _decoded(segment: bytes) -> str:
    try:
        return unquote_to_bytes(segment).decode() if b"%" in segment else segment.decode()
    except UnicodeDecodeError:
        raise BadRequest("The path is not UTF-8 text.") from None


def _fitted(template: tuple[str, ...], segments: list[str]) -> dict[str, str] | None:
    arguments: dict[str, str] = {}
    for expected, segment in zip(template, segments, strict=True):
        if expected.startswith("{"):
            if not segment:
                return None
            arguments[expected[1:-1]] = segment
        elif expected != segment:
            return None
    return arguments
