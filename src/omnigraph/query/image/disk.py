"""Structures of images on disk: one file each, written once, renamed into place, mapped when it is opened.

The files lie in the user's cache directory, never inside a graph. Whatever is wrong with one, it is thrown away and the
structure is built again: every array has a checksum, and every file says what it is of. A directory that cannot be
written to, or a full disk, costs time and nothing else.
"""

import json
import mmap
import os
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from struct import Struct
from struct import error as StructError  # noqa: N812 — an exception like others
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnigraph.base import clock, ids
from omnigraph.base.home import cache_directory
from omnigraph.errors import InvalidTarget

DISK_BYTES_VARIABLE = "OMNIGRAPH_DISK_CACHE_BYTES"
_BYTES_MAX = 4 << 30
_MAGIC = b"OMNIIMG1"
_PREFIX = Struct("<8sQI4x")
"""What begins a file: the format, the length of the header, and its checksum."""
_ALIGNMENT = 64
_ENDING = ".image"
_UNFINISHED_ENDING = ".part"
_UNFINISHED_SECONDS = 3_600

Key = Sequence[str | int | None]


class Stored(NamedTuple):
    """What a file holds: small facts, and arrays that lie in the file."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]


class DiskCache:
    """Files in one directory, up to a number of bytes; several processes may share it."""

    def __init__(self, directory: Path, bytes_max: int) -> None:
        self._directory = directory
        self._bytes_max = bytes_max

    @classmethod
    def of_environment(cls, environ: Mapping[str, str]) -> "DiskCache | None":
        """Return the cache of the user; None where it is turned off."""
        value = environ.get(DISK_BYTES_VARIABLE, "").strip()
        if value and not value.isdecimal():
            raise InvalidTarget(f"${DISK_BYTES_VARIABLE} is a number of bytes, not {value!r}; 0 keeps nothing on disk.")
        bytes_max = int(value) if value else _BYTES_MAX
        try:
            return cls(cache_directory(environ) / "images", bytes_max) if bytes_max else None
        except RuntimeError:
            return None  # a user without a home

    def has(self, key: Key) -> bool:
        """Whether something was written under a key, right or not."""
        return self._path(key).exists()

    def read(self, key: Key) -> Stored | None:
        """Open what was written under a key; None when there is nothing, or nothing that is right."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # an empty file cannot be mapped
            return None
        try:
            stored = _parsed(content, key)
        except (StructError, ValueError, KeyError, TypeError, OverflowError):
            self._discard(path)
            return None
        with suppress(OSError):
            os.utime(path)  # What is used stays longest.
        return stored

    def write(self, key: Key, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bool:
        """Keep a structure under a key; whether that worked."""
        header, places = _described(key, facts, arrays)
        size = places[-1] if places else _aligned(_PREFIX.size + len(header))
        if size > self._bytes_max:
            return False
        unfinished = self._path(key).with_suffix(f".{ids.new_ulid()}{_UNFINISHED_ENDING}")
        try:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)  # what is in a graph is not for everybody
            self._make_room(size)
            with unfinished.open("wb") as file:
                file.write(_PREFIX.pack(_MAGIC, len(header), zlib.crc32(header)) + header)
                for array, start in zip(arrays.values(), places, strict=False):
                    file.seek(start)
                    file.write(np.ascontiguousarray(array).data)
                file.truncate(size)
            unfinished.replace(self._path(key))
        except OSError:
            self._discard(unfinished)
            return False
        return True

    def _make_room(self, size: int) -> None:
        """Remove what was not used for longest, and what somebody did not finish."""
        with os.scandir(self._directory) as entries:
            found = [(entry.stat(), entry.path) for entry in entries if entry.is_file()]
        oldest = clock.now_us() / 1_000_000 - _UNFINISHED_SECONDS
        used = size
        for facts, path in sorted(found, key=lambda each: -each[0].st_mtime):
            used += facts.st_size
            is_left_over = path.endswith(_UNFINISHED_ENDING) and facts.st_mtime < oldest
            if used > self._bytes_max or is_left_over:
                self._discard(Path(path))

    def _path(self, key: Key) -> Path:
        return self._directory / f"{sha256(json.dumps([*key]).encode()).hexdigest()[:32]}{_ENDING}"

    def _discard(self, path: Path) -> None:
        with suppress(OSError):
            path.unlink()


def _described(key: Key, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> tuple[bytes, list[int]]:
    """Return the header, and where each array begins and the file ends; the places depend on the header's length."""
    described = [
        {"name": name, "dtype": array.dtype.str, "count": len(array), "sum": _checksum(array)}
        for name, array in arrays.items()
    ]
    header = json.dumps({"key": [*key], "facts": facts, "arrays": described}).encode()
    places = [_aligned(_PREFIX.size + len(header))]
    for array in arrays.values():
        places.append(_aligned(places[-1] + array.nbytes))
    return header, places


def _parsed(content: mmap.mmap, key: Key) -> Stored:
    """Read a file; raise if it is not wholly what was written."""
    magic, length, checksum = _PREFIX.unpack_from(content)
    header = content[_PREFIX.size : _PREFIX.size + length]
    if magic != _MAGIC or len(header) != length or zlib.crc32(header) != checksum:
        raise ValueError("no image, or of another version")
    document = json.loads(header)
    if document["key"] != [*key]:
        raise ValueError("of something else")
    arrays: dict[str, NDArray[Any]] = {}
    start = _aligned(_PREFIX.size + length)
    for described in document["arrays"]:
        array = np.frombuffer(content, np.dtype(described["dtype"]), described["count"], start)
        if _checksum(array) != described["sum"]:
            raise ValueError("damaged")
        arrays[described["name"]] = array
        start = _aligned(start + array.nbytes)
    if start != len(content):
        raise ValueError("of another length")
    return Stored(document["facts"], arrays)


def _checksum(array: NDArray[Any]) -> int:
    """Add up the words of an array, as fast as memory can be read; one changed byte always shows."""
    data = np.frombuffer(np.ascontiguousarray(array).data, np.uint8) if array.nbytes else np.zeros(0, np.uint8)
    words = len(data) // 8 * 8
    total = int(np.add.reduce(data[:words].view(np.uint64), dtype=np.uint64)) if words else 0
    return (total + int.from_bytes(data[words:].tobytes(), "little") * 3) & (2**64 - 1)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
