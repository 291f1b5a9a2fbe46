"""The records of a served load: read and expanded here, because a server takes plain lines and not too many of them."""

import gzip
from pathlib import Path
from typing import BinaryIO, cast

from omnigraph.client.writes import LOAD_BYTES_MAX, too_large
from omnigraph.errors import Io, Usage

_PIECE = 1 << 20


def read_records(data: "str | Path | BinaryIO") -> bytes:
    """Read a file, expanded if it ends in .gz or .zst, or an open stream; refuse more than one request carries."""
    if not isinstance(data, (str, Path)):
        return _read(data)
    path = Path(data)
    if path.is_dir() or any(character in str(data) for character in "*?[") or "://" in str(data):
        raise Usage(
            f"{data} is no single file: a load through a server takes one file, or - for stdin. Load more with --store "
            "<uri>.",
            flag="--data",
        )
    try:
        with path.open("rb") as file:
            return _read(_expanded(file, path))
    except (OSError, EOFError) as error:
        raise Io(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.", path=str(path)) from error


def _expanded(file: BinaryIO, path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    if path.suffix == ".zst":
        import pyarrow as pa

        return pa.CompressedInputStream(file, "zstd")  # type: ignore[no-any-return]  # reads like a file
    return file


def _read(stream: BinaryIO) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := stream.read(_PIECE):
        size += len(piece)
        if size > LOAD_BYTES_MAX:
            raise too_large(size)
        pieces.append(piece)
    return b"".join(pieces)
