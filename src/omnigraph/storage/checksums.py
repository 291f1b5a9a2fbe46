"""Checksums of the files that a commit adds, taken from the store right after they were written.

Lance files carry no checksums: of a bit that flips on the way or on the disk, half are read as other values without a
word. So whoever writes a file reads it back once and its checksum travels with the commit into the row of `__manifest`
that pins it; `verify --deep` compares. Data files and deletion files are covered on every way that this program writes
them. Files that somebody else wrote have no checksum, and are counted as not checkable.
"""

import zlib
from collections.abc import Iterable, Mapping
from typing import Final

from omnigraph.base.values import dataclass
from omnigraph.errors import StorageError
from omnigraph.storage.file_references import FileKind, FileReference
from omnigraph.storage.objects import ControlStore

_SHORT_NAME: Final = 16
"""So many characters at the end of a file's name tell it from all others of its table: Lance draws them at random."""
_SIDECAR_ENTRIES_MAX: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSum:
    """The checksum of a file, and of the blobs that lie beside a data file in a directory of its name."""

    crc32: str
    blob_count: int = 0
    blob_bytes: int = 0
    blob_crc32: str = ""

    def spell(self) -> str:
        """Spell the sum as manifest rows and sidecars hold it."""
        blobs = f"/{self.blob_count}/{self.blob_bytes}/{self.blob_crc32}" if self.blob_count else ""
        return f"{self.crc32}{blobs}"

    @classmethod
    def read(cls, text: str) -> "FileSum":
        """Read what `spell` spelled."""
        crc32, *blobs = text.split("/")
        if not blobs:
            return cls(crc32=crc32)
        count, size, blob_crc32 = blobs
        return cls(crc32=crc32, blob_count=int(count), blob_bytes=int(size), blob_crc32=blob_crc32)


def short_name(path: str) -> str:
    """Return the name under which a file's checksum is kept."""
    return path.rpartition("/")[2].rpartition(".")[0][-_SHORT_NAME:]


def blob_directory(path: str) -> str:
    """Return where Lance puts the larger blobs of a data file."""
    return f"{path.rpartition('.')[0]}/"


def read_back(objects: ControlStore, files: Iterable[FileReference], *, has_blobs: bool) -> dict[str, str]:
    """Read files that were just written and return their checksums by short name."""
    sums = {}
    for file in files:
        beside = has_blobs and file.kind is FileKind.DATA
        try:
            found = sum_of_file(objects, file.path, objects.list(blob_directory(file.path)) if beside else ())
        except FileNotFoundError as gone:
            uri = f"{objects.root.uri}/{file.path}"
            raise StorageError(
                f"{uri} was gone right after it was written; nothing was committed.", storage_kind="not_found", uri=uri
            ) from gone
        sums[short_name(file.path)] = found.spell()
    return sums


def sum_of_file(objects: ControlStore, path: str, blobs: Iterable[str] = ()) -> FileSum:
    """Read a file, and the blobs that lie beside it, to the last byte."""
    crc32 = 0
    for piece in objects.read_pieces(path):
        crc32 = zlib.crc32(piece, crc32)
    count, size, blob_crc32 = 0, 0, 0
    for blob in sorted(blobs):
        count += 1
        for piece in objects.read_pieces(blob):
            size += len(piece)
            blob_crc32 = zlib.crc32(piece, blob_crc32)
    if not count:
        return FileSum(crc32=f"{crc32:08x}")
    return FileSum(crc32=f"{crc32:08x}", blob_count=count, blob_bytes=size, blob_crc32=f"{blob_crc32:08x}")


def for_sidecar(checksums: Mapping[str, str]) -> dict[str, str]:
    """Return what a sidecar holds of them: a sidecar has a largest size, and recovery can do without."""
    return dict(checksums) if len(checksums) <= _SIDECAR_ENTRIES_MAX else {}
