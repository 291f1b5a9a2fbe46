"""Where a graph lives: reading what people type as an address, and spelling it one way ever after.

The canonical text is what Lance, messages and stored references see. The identity is what gates and locks go by: it
resolves symlinks, so that two spellings of one local root cannot get two sets of gates.
"""

import os
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from omnigraph.base.home import expand_home
from omnigraph.base.plain_text import plain_text
from omnigraph.base.values import dataclass
from omnigraph.errors import Addressing, Internal

_URI = re.compile(r"([a-z][a-z0-9+.-]*)://(.*)", re.IGNORECASE | re.DOTALL)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Lance percent-decodes the path of a URI and drops control characters from it, while the control objects take keys as
# they are: with either in the key, one graph would be split over two prefixes.
_SPLITTING_CHARACTERS = re.compile(r"[%\x00-\x1f\x7f]")
_SERVER_SCHEMES = frozenset({"http", "https"})


class StoreKind(StrEnum):
    """The kinds of store that a graph can lie in, by the scheme of its address."""

    LOCAL = "file"
    S3 = "s3"


def is_bucket_uri(path: str) -> bool:
    """Tell whether a path means objects of a bucket rather than files."""
    scheme, separator, _ = path.partition("://")
    kind = _KIND_BY_SCHEME.get(scheme) if separator else None
    return kind is not None and not STORES[kind].is_file_system


def unknown_store(path: str) -> str | None:
    """Say why a path means neither files nor objects of a bucket that can be reached; None if it does."""
    uri = _URI.fullmatch(path)
    if uri is None or uri[1].lower() in _KIND_BY_SCHEME:
        return None
    return f"{_without_secrets(path)} {_unknown(uri[1].lower())}. {_accepted()}."


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRoot:
    """The directory or object-store prefix of one graph; make it with `parse`."""

    uri: str
    """An absolute path, or `s3://bucket/prefix`; no trailing slash."""
    identity: str
    """The same for every spelling of one root; for gates and locks, not for opening anything."""

    @classmethod
    def parse(cls, text: str) -> "GraphRoot":
        """Read an address as a person wrote it; raise `Addressing` naming the accepted forms otherwise.

        A relative path is taken from the current directory, so parse once and keep the value. Nothing needs to exist.
        """
        if not text:
            raise Addressing(f"A graph's address is empty. {_accepted()}.")
        _refuse_unspeakable(_without_secrets(text))
        uri = _URI.fullmatch(text)
        if uri is None:
            if _URI_WITHOUT_SLASHES.match(text):
                raise _refusal(text, "has a scheme but no // after it")
            return _local_root(text, str(expand_home(text)))
        scheme, rest = uri[1].lower(), uri[2]
        kind = _KIND_BY_SCHEME.get(scheme)
        if kind is None:
            raise _refusal(text, _unknown(scheme))
        return STORES[kind].root(text, rest)

    @property
    def store(self) -> StoreKind:
        """The kind of store that the graph lies in."""
        if self.uri.startswith("/"):
            return StoreKind.LOCAL
        kind = _KIND_BY_SCHEME.get(self.uri.partition("://")[0])
        if kind is None:
            raise Internal(f"{self.uri} lies in no kind of store that there is")
        return kind

    @property
    def is_local(self) -> bool:
        """Whether the graph lies on a file system rather than in an object store."""
        return STORES[self.store].is_file_system

    @property
    def local_path(self) -> Path:
        """The directory of a local graph."""
        if not self.is_local:
            raise Internal(f"{self.uri} has no local path")
        return Path(self.uri)

    @property
    def bucket(self) -> str:
        """The bucket of a graph in an object store."""
        return self._bucket_and_key()[0]

    @property
    def key(self) -> str:
        """The prefix of a graph inside its bucket, without slashes at its ends."""
        return self._bucket_and_key()[1]

    @property
    def name(self) -> str:
        """The last segment without `.omni`: what people call the graph."""
        return self.uri.rpartition("/")[2].removesuffix(".omni")

    def table_uri(self, location: str) -> str:
        """Spell the address of the table at `location`, a path relative to the root, for Lance."""
        return f"{self.uri}/{location}"

    def _bucket_and_key(self) -> tuple[str, str]:
        if self.is_local:
            raise Internal(f"{self.uri} is not in a bucket")
        bucket, _, key = self.uri.partition("://")[2].partition("/")
        return bucket, key


def _local_root(text: str, path: str) -> GraphRoot:
    # Lexically: resolving symlinks here would show people another path than the one they typed. POSIX lets abspath keep
    # exactly two leading slashes; no system we run on gives them a meaning.
    absolute = "/" + os.path.abspath(path).lstrip("/")  # noqa: PTH100 - pathlib has no lexical form
    _refuse_unspeakable(absolute)  # what a file:// address or the working directory brought in
    if absolute == "/":
        raise _refusal(text, "is the root of the file system and cannot be a graph")
    return GraphRoot(uri=absolute, identity=os.path.realpath(absolute))


def _refuse_unspeakable(text: str) -> None:
    # Lance wants UTF-8 and drops control characters from a path, while the control objects take it as it is.
    plain_text(text, what="The address", refusal=lambda reason: Addressing(f"{reason} {_accepted()}."))


def _path_of_file_uri(text: str, rest: str) -> str:
    host, slash, path = rest.partition("/")
    if not slash or host.lower() not in {"", "localhost"}:
        raise _refusal(text, "names another host or a relative path, which file:// cannot reach")
    if "?" in path or "#" in path:
        raise _refusal(text, "has a query or a fragment; spell ? as %3F and # as %23")
    decoded = unquote(path)
    return f"/{decoded}"


def _s3_root(text: str, rest: str) -> GraphRoot:
    bucket, _, key = rest.partition("/")
    if "?" in rest or "#" in rest:
        raise _refusal(text, "has a query or a fragment, and an S3 address has none")
    if "@" in bucket:
        raise _refusal(text, "has credentials in it; they belong into the environment or into storage options")
    if not _BUCKET.fullmatch(bucket):
        raise _refusal(text, "has no usable bucket name")
    key = key.removesuffix("/")
    if not key:
        raise _refusal(text, "names a whole bucket; add a prefix for the graph")
    if any(segment in {"", ".", ".."} for segment in key.split("/")):
        raise _refusal(text, "has an empty, . or .. segment, which S3 would take literally")
    if _SPLITTING_CHARACTERS.search(key):
        raise _refusal(text, "has a percent sign or a control character in its prefix, which Lance would decode")
    uri = f"{StoreKind.S3}://{bucket}/{key}"
    return GraphRoot(uri=uri, identity=uri)


def _refusal(text: str, reason: str) -> Addressing:
    return Addressing(f"{_without_secrets(text)} {reason}. {_accepted()}.")


def _unknown(scheme: str) -> str:
    if scheme in _SERVER_SCHEMES:
        return "is the address of a server, not of storage"
    return f"has the unknown scheme {scheme}://"


def _accepted() -> str:
    *others, last = (traits.form for traits in STORES.values())
    return f"Accepted are {', '.join(('a path', *others))} and {last}"


def _without_secrets(text: str) -> str:
    """Cut what may be a password or a signature: user info, query and fragment."""
    scheme, separator, rest = re.split(r"[?#]", text, maxsplit=1)[0].partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTraits:
    """How graphs in a kind of store are addressed."""

    form: str
    """How an address looks, for messages."""
    is_file_system: bool
    """Whether it has files and their locks; an object store has buckets, conditional puts and leases."""
    root: Callable[[str, str], GraphRoot]
    """Reads an address, given whole and without its scheme."""


STORES: Final[Mapping[StoreKind, StoreTraits]] = {
    StoreKind.LOCAL: StoreTraits(
        form="file:///path",
        is_file_system=True,
        root=lambda text, rest: _local_root(text, _path_of_file_uri(text, rest)),
    ),
    StoreKind.S3: StoreTraits(form="s3://bucket/prefix", is_file_system=False, root=_s3_root),
}
"""The kinds of store; `settings.py`, `objects/` and `bucket.py` say how each is reached."""

_KIND_BY_SCHEME: Final = {kind.value: kind for kind in STORES}
_URI_WITHOUT_SLASHES: Final = re.compile(rf"({'|'.join((*_KIND_BY_SCHEME, *_SERVER_SCHEMES))}):", re.IGNORECASE)
