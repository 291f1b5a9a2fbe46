"""One Blob value of one entity in one snapshot: what is known of it, and its bytes in pieces of bounded size.

Who finds it and reads it is somebody else: a table that is open here (`finding_blobs.py`), or a server.
"""

from collections.abc import Callable, Iterator
from typing import Final, Literal

from omnigraph.base.values import dataclass
from omnigraph.errors import InvalidTarget, RangeNotSatisfiable

BLOB_PIECE_BYTES: Final = 4 * 2**20
"""The most that is in memory of a blob at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobSelector:
    """Which value is meant: the kind and name of a type, the id of an entity, and the name of a property."""

    entity: Literal["node", "edge"]
    type: str
    id: str
    property: str

    def __str__(self) -> str:
        return f"{self.type}.{self.property} of {self.entity} {self.id!r}"


class Blob:
    """A value that is bytes, or a reference to bytes elsewhere, which is never followed.

    Nothing is read until somebody asks for bytes; then at most 4 MiB are in memory, however large the value is.
    """

    def __init__(
        self,
        selector: BlobSelector,
        *,
        size: int | None,
        etag: str | None,
        uri: str | None,
        branch: str,
        commit_id: str,
        read: Callable[[int, int], bytes],
    ) -> None:
        self.selector = selector
        self.size = size
        """How many bytes the value has; None for a reference."""
        self.etag = etag
        """A text that differs whenever the bytes differ; it may also change when they do not. None for a reference."""
        self.uri = uri
        """The address that a reference holds; None where the graph has the bytes."""
        self.branch = branch
        """The branch whose state was looked at."""
        self.commit_id = commit_id
        """The commit that made that state."""
        self._read = read

    def __repr__(self) -> str:
        return f"<Blob {self.selector}: {self.uri if self.kind == 'external' else f'{self.size} bytes'}>"

    @property
    def kind(self) -> Literal["managed", "external"]:
        """Whether the graph has the bytes (`managed`) or an address of them (`external`)."""
        return "managed" if self.uri is None else "external"

    def read(self, *, offset: int = 0, length: int | None = None) -> bytes:
        """Return the bytes, all or a range of them; a range that ends behind the value is cut to it."""
        return b"".join(self.pieces(offset=offset, length=length))

    def pieces(self, *, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yield the same bytes in pieces of at most 4 MiB; the range is checked at once."""
        start, end = self.range_of(offset, length)
        return self._pieces(start, end)

    def range_of(self, offset: int = 0, length: int | None = None) -> tuple[int, int]:
        """Return the first byte of a range and the one behind its last; raise unless some of it is there.

        An empty value has the empty range only, wherever one begins.
        """
        size = self._readable_size()
        if offset < 0 or (length is not None and length < 1):
            raise InvalidTarget("A range begins at byte 0 or behind it and has at least one byte.")
        end = size if length is None else min(size, offset + length)
        if size and offset >= size:
            raise RangeNotSatisfiable(
                f"The range from byte {offset} is not satisfiable: {self.selector} has {size} bytes.",
                start=offset,
                end=end if length is None else offset + length,
                length=size,
            )
        return min(offset, size), end

    def _readable_size(self) -> int:
        if self.size is None:
            raise InvalidTarget(
                f"{self.selector} is a reference to {self.uri}, which is never followed; `omnigraph blob stat` and "
                "`Blob.uri` tell the address."
            )
        return self.size

    def _pieces(self, start: int, end: int) -> Iterator[bytes]:
        for offset in range(start, end, BLOB_PIECE_BYTES):
            yield self._read(offset, min(BLOB_PIECE_BYTES, end - offset))
