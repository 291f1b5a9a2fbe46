"""The manifest of a version: how Lance names its file inside `_versions/`, and how the message lies in it.

Messages stand behind their lengths, and a trailer finds the manifest's own.
"""

import struct
from typing import Final

_VERSION_MAX: Final = 2**64 - 1
"""Names count down from here, so that the newest is listed first."""
_MAGIC = b"LANC"
_TRAILER = struct.Struct("<QHH4s")
_LENGTH = struct.Struct("<I")


def version_path(table_path: str, version: int) -> str:
    """Return where the manifest of a version lies, below the graph's root."""
    return f"{table_path}/_versions/{version_file(version)}"


def version_file(version: int) -> str:
    """Return the name of a version's manifest."""
    return f"{_VERSION_MAX - version:020d}.manifest"


def detached_path(table_path: str, version: int) -> str:
    """Return where the manifest of a version lies that stands beside the line of versions."""
    return f"{table_path}/_versions/d{version}.manifest"


def is_detached_file(name: str) -> bool:
    """Whether a file of this name is the manifest of a version that stands beside the line of versions."""
    digits = name.removeprefix("d").removesuffix(".manifest")
    return name.startswith("d") and name.endswith(".manifest") and digits.isdecimal()


def version_of_file(name: str) -> int | None:
    """Return the version that a manifest of this name belongs to; None for any other file.

    Beside the manifests lie a hint at the newest one, and those of versions that stand beside the line.
    """
    digits = name.removesuffix(".manifest")
    return _VERSION_MAX - int(digits) if name.endswith(".manifest") and digits.isdecimal() else None


def manifest_message(content: bytes) -> bytes:
    """Return the manifest's own message; raise ValueError when the file is cut off or no manifest."""
    if len(content) < _TRAILER.size:
        raise ValueError("the file is too short")
    position, _, _, magic = _TRAILER.unpack(content[-_TRAILER.size :])
    if magic != _MAGIC:
        raise ValueError("the file does not end like a Lance manifest")
    return message_at(content, position)


def message_at(content: bytes, position: int) -> bytes:
    """Return the message that begins at a byte of the file; raise ValueError when there is none."""
    start = position + _LENGTH.size
    if start > len(content):
        raise ValueError(f"nothing is at byte {position}")
    (length,) = _LENGTH.unpack(content[position:start])
    if start + length > len(content):
        raise ValueError(f"the message at byte {position} is cut off")
    return content[start : start + length]
