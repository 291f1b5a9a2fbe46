"""How the manifest of a version lies in its file: messages behind their lengths, and a trailer that finds them."""

import struct

_MAGIC = b"LANC"
_TRAILER = struct.Struct("<QHH4s")
_LENGTH = struct.Struct("<I")


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
