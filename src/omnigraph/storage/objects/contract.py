"""What a store of control objects promises, whatever it is made of.

Sidecars, schema files, claims, locks and leases are small text objects. Paths are relative to the graph's root and
use `/`; a name that starts with a dot is the store's own and invisible.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NewType, Protocol

from omnigraph.base.values import dataclass
from omnigraph.storage.uris import GraphRoot

PIECE_BYTES: Final = 8 << 20

Token = NewType("Token", str)
"""Names one content of one object. Equal content may have an equal token: who needs to tell two writes of the same
text apart puts an id or a counter into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object as one read saw it."""

    content: bytes
    token: Token
    last_modified: float
    """Seconds since the Unix epoch by the store's clock, which may stand anywhere and may count whole seconds only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectFacts:
    """What a listing says of an object."""

    size: int
    last_modified: float
    """As in `StoredObject`."""


class ObjectExists(Exception):
    """`create` found an object; nothing was written. It never leaves `storage/` untranslated."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} already exists")
        self.path = path


class ObjectChanged(Exception):
    """`replace` found other content than its token names, or none; nothing was written. It stays inside as well."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was changed or deleted by somebody else")
        self.path = path


class ControlStore(Protocol):
    """Small objects with create-if-absent and compare-and-swap.

    A returned write is durable. Failures other than these two are `StorageError`s; in particular
    "could not look" never reads as "nothing there". There is no rename: object stores have none.
    """

    @property
    def root(self) -> GraphRoot:
        """The graph that the paths are relative to."""
        ...

    def create(self, path: str, content: bytes) -> Token:
        """Write a new object; raise `ObjectExists` if there is one. Of two racing creators one wins."""
        ...

    def replace(self, path: str, content: bytes, token: Token) -> Token:
        """Overwrite exactly the content that `token` names; raise `ObjectChanged` if it is not there any more."""
        ...

    def put(self, path: str, content: bytes) -> None:
        """Write the object whatever was there before."""
        ...

    def read(self, path: str) -> StoredObject | None:
        """Return the object, or None if the store says that there is none."""
        ...

    def read_pieces(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of an object of any size; raise `FileNotFoundError` if the store says that there is none."""
        ...

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes from `start` to `end`; raise `FileNotFoundError` if the store says that there is none."""
        ...

    def read_end(self, path: str, length: int) -> bytes:
        """Return the last bytes, all if there are fewer; raise `FileNotFoundError` likewise."""
        ...

    def list(self, prefix: str) -> tuple[str, ...]:
        """Return the paths of all objects in the directory `prefix` and below it, sorted.

        An object that is gone when it is read afterwards belonged to somebody who has finished.
        """
        ...

    def sizes(self, prefix: str) -> Mapping[str, int]:
        """Return what `list` returns, each path with the bytes of its object."""
        ...

    def facts(self, prefix: str) -> Mapping[str, ObjectFacts]:
        """Return what `list` returns, each path with the size of its object and when it was written."""
        ...

    def sizes_of(self, paths: Collection[str]) -> Mapping[str, int]:
        """Return the bytes of each of these objects that is there; few of them are asked for one by one."""
        ...

    def delete(self, path: str) -> None:
        """Remove the object; an absent one is fine."""
        ...

    def delete_all(self, paths: Collection[str]) -> None:
        """Remove files that nobody replaces, such as those of tables; absent ones are fine, and so is any order."""
        ...

    def glance_at_clock(self) -> float | None:
        """Return the store's present in seconds since the Unix epoch without writing; None where that cannot be had."""
        ...

    def probe(self) -> None:
        """Prove, once per process and root, that the store can do conditional writes; raise `StorageError` if not."""
        ...
