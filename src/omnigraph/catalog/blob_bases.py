"""Which objects outside of a graph its blobs may refer to: those below bases that somebody allowed.

A reference is compared with bases by what it names, not by how it begins. It has to be spelled in one way only: what a
reader might understand differently, such as `..`, credentials or a query, is refused before anything is compared.
"""

import os
import re
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from omnigraph.base.values import dataclass

REFERENCE_BYTES_MAX: Final = 4_096
"""How long a reference may be: it travels in the head of an HTTP answer."""
REFERENCE_SCHEMES: Final = ("s3", "file")
"""Where objects may lie. Lance cannot rewrite rows with references of other kinds, see `tests/guards/test_blobs.py`."""

_PATH: Final = re.compile(r"(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)+")
_BUCKET: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Place(NamedTuple):
    """What a reference or a base names: a bucket or this machine, and the names that lead to it."""

    scheme: str
    host: str
    names: tuple[str, ...]

    def is_below(self, base: "Place") -> bool:
        """Whether it lies inside of a base; the base itself does not."""
        depth = len(base.names)
        return self[:2] == base[:2] and len(self.names) > depth and self.names[:depth] == base.names


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobBases:
    """The bases that a graph allows, as a value that travels."""

    uris: tuple[str, ...]

    def refusal(self, uri: str) -> str | None:
        """Say why a reference is not accepted; None if it is. It is not repeated: it may hold a key."""
        place, problem = read_reference(uri)
        if place is None:
            return problem
        for base in map(base_place, self.uris):
            if base is not None and place.is_below(base):
                return _way_out(place, base)
        return "lies below no base that this graph allows"


def read_reference(uri: str) -> tuple[Place | None, str]:
    """Return what a reference names, or what is wrong with its spelling."""
    scheme, separator, rest = uri.partition("://")
    if not separator or scheme not in REFERENCE_SCHEMES:
        return None, f"must start with {' or '.join(f'{name}://' for name in REFERENCE_SCHEMES)}"
    host, slash, path = rest.partition("/")
    if "?" in rest or "#" in rest:
        return None, "must have no query and no fragment"
    if "@" in host:
        return None, "must have no credentials"
    if scheme == "file" and host:
        return None, "must name no host: file:///…"
    if scheme == "s3" and not _BUCKET.fullmatch(host):
        return None, "names no bucket"
    if not _PATH.fullmatch(slash + path):
        return None, "must be names behind single slashes, with everything but plain characters as %XX"
    names = _names(path)
    if names is None:
        return None, "has a name that is no plain name: `.`, `..`, or with a slash or a control character in it"
    return Place(scheme, host, names), ""


def base_place(uri: str) -> Place | None:
    """Return what a base names; None for what names nothing that can be compared."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme not in REFERENCE_SCHEMES or "@" in parts.netloc or _PERCENT.search(parts.path):
        return None
    path = parts.path.strip("/")
    names = _names(path) if path else ()
    if names is None:
        return None
    return Place(parts.scheme, "" if parts.scheme == "file" else parts.netloc, names)


def _names(path: str) -> tuple[str, ...] | None:
    """Decode the names of a path; None if one of them could be taken for something else."""
    try:
        names = tuple(unquote_to_bytes(name).decode() for name in path.split("/"))
    except UnicodeDecodeError:
        return None
    return None if any(name in {"", ".", ".."} or _is_odd(name) for name in names) else names


def _is_odd(name: str) -> bool:
    return "/" in name or "\\" in name or not name.isprintable()


def _way_out(place: Place, base: Place) -> str | None:
    """Say so if links on this machine lead out of a base; nothing is opened to find out."""
    if place.scheme != "file":
        return None
    real, real_base = (os.path.realpath("/" + "/".join(each.names)) for each in (place, base))
    is_inside = os.path.commonpath((real, real_base)) == real_base and real != real_base
    return None if is_inside else "leads out of the base that it lies below"
