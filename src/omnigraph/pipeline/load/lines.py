"""The bytes of a file as chunks of whole lines, in bounded memory.

Line numbers are physical: blank lines count, and only LF ends a line.
"""

from collections.abc import Iterator
from typing import Protocol

from omnigraph import errors
from omnigraph.base.units import spell_bytes
from omnigraph.base.values import dataclass

CHUNK_BYTES = 8 * 2**20
LINE_BYTES_MAX = 2**31
_BOM = b"\xef\xbb\xbf"


class ByteStream(Protocol):
    """Anything that gives its bytes in order."""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Whole consecutive lines of one file, the first of which has the given number."""

    text: bytes
    first_line: int


def read_chunks(
    stream: ByteStream,
    *,
    name: str,
    chunk_bytes: int = CHUNK_BYTES,
    line_bytes_max: int = LINE_BYTES_MAX,
    is_file_start: bool = True,
) -> Iterator[Chunk]:
    """Yield the lines of a file in chunks of about `chunk_bytes`; a longer line makes a longer chunk.

    A byte-order mark at the start of the file is skipped. A line of `line_bytes_max` or more raises `ResourceLimit`.
    """
    first_line = 1
    unfinished: list[bytes] = []
    while block := stream.read(chunk_bytes):
        end = block.rfind(b"\n") + 1
        if end:
            text = b"".join((*unfinished, block[:end]))
            yield _chunk(text, first_line, may_have_mark=is_file_start)
            first_line += text.count(b"\n")
            unfinished = []
        unfinished.append(block[end:])
        length = sum(map(len, unfinished))
        if length >= line_bytes_max:
            raise errors.ResourceLimit(
                f"{name}:{first_line}: a record must be smaller than {spell_bytes(line_bytes_max)}; nothing was loaded",
                resource="load_line_bytes",
                limit=line_bytes_max,
                actual=length,
            )
    if any(unfinished):
        yield _chunk(b"".join(unfinished), first_line, may_have_mark=is_file_start)


def _chunk(text: bytes, first_line: int, *, may_have_mark: bool) -> Chunk:
    has_mark = may_have_mark and first_line == 1 and text.startswith(_BOM)
    return Chunk(text=text.removeprefix(_BOM) if has_mark else text, first_line=first_line)
