"""Which token goes to which server: a keyed one only to the server that it is keyed to.

Pure: whoever sends a request hands in its URL, the servers of the operator config, the environment, and how to look a
token up in the credentials file, which is opened only if nothing else answered.
"""

import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

BEARER_VARIABLE = "OMNIGRAPH_BEARER_TOKEN"
TOKEN_PREFIX = "OMNIGRAPH_TOKEN_"  # noqa: S105 — the name of variables, no token
_DEFAULT_PORTS = {"http": 80, "https": 443}
_Place = tuple[str, str, int | None, tuple[str, ...]]
"""A URL as far as it says where a request goes: scheme, host, port, and the segments of its path."""


def token_for(
    url: str, *, servers: Mapping[str, str], environ: Mapping[str, str], stored: Callable[[str], str | None]
) -> str | None:
    """Return the bearer token for a request to `url`, or None.

    The server of the operator config with the longest URL that `url` lies below has its own variable, then its entry
    in the credentials file. The general variable answers where those do not.
    """
    name = server_of(url, servers)
    keyed = None
    if name is not None:
        keyed = _given(environ.get(token_variable(name))) or _given(stored(name))
    return keyed or _given(environ.get(BEARER_VARIABLE))


def server_of(url: str, servers: Mapping[str, str]) -> str | None:
    """Return the name of the server whose URL is the longest prefix of `url`, by whole segments; None for no server.

    Of several with the same URL, the one whose name comes first in the alphabet counts.
    """
    asked = _place(url)
    if asked is None:
        return None
    depth_by_name = {
        name: len(place[3])
        for name, written in servers.items()
        if (place := _place(written)) is not None and place[:3] == asked[:3] and asked[3][: len(place[3])] == place[3]
    }
    return min(depth_by_name, key=lambda name: (-depth_by_name[name], name), default=None)


def token_variable(name: str) -> str:
    """Return the variable that holds the token of a server."""
    return TOKEN_PREFIX + re.sub("[^A-Z0-9]", "_", name.upper())


def _place(url: str) -> _Place | None:
    try:
        parts = urlsplit(url)
        scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
        port = parts.port or _DEFAULT_PORTS.get(scheme)
    except ValueError:  # such as a port that is no number
        return None
    if scheme not in _DEFAULT_PORTS or not host:
        return None
    return scheme, host, port, tuple(segment for segment in parts.path.split("/") if segment)


def _given(value: str | None) -> str | None:
    return (value or "").strip() or None
