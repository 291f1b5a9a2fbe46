"""Blobs: whole or in part, by the rules that HTTP has for both."""

import re
import string
from collections.abc import AsyncIterator
from functools import partial
from typing import NamedTuple
from urllib.parse import quote

from omnigraph.errors import BlobPreconditionFailed, InvalidTarget, RangeNotSatisfiable
from omnigraph.graphs.blobs import BLOB_PIECE_BYTES, Blob
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.server.calls import Call, branch_named
from omnigraph.server.handlers.reading import allowed_snapshot
from omnigraph.server.replies import Headers, HeadReply, Reply, StreamReply
from omnigraph.server.streams import until_gone

_OCTETS = b"application/octet-stream"
_PLAIN = string.digits + string.ascii_letters + string.punctuation
"""Whatever else somebody put into a reference behind the graph's back cannot stand in a header."""
_RANGE = re.compile(r"bytes\s*=\s*([0-9]{0,1000})\s*-\s*([0-9]{0,1000})")


class _Span(NamedTuple):
    start: int
    end: int


async def get_blob(call: Call) -> Reply:
    """Send a blob, or the part of it that a range asks for."""
    found = await _found(call)
    if found.uri is not None:
        return _elsewhere(found, found.uri)
    unchanged = _conditions(call, found)
    if unchanged is not None:
        return unchanged
    size = _size(found)
    asked = _requested(call, found)
    span = asked or _Span(0, size)
    headers = [*_headers(found), (b"content-length", b"%d" % (span.end - span.start))]
    if asked is not None:
        headers.append((b"content-range", f"bytes {span.start}-{span.end - 1}/{size}".encode()))
    status = 200 if asked is None else 206
    pieces = until_gone(call, _bytes(call, found, span))
    return StreamReply(pieces, status=status, media_type=_OCTETS, headers=headers)


async def head_blob(call: Call) -> Reply:
    """Say how long a blob is, without reading any of it."""
    found = await _found(call)
    if found.uri is not None:
        return _elsewhere(found, found.uri)
    unchanged = _conditions(call, found)
    if unchanged is not None:
        return unchanged
    headers = (*_headers(found), (b"content-length", b"%d" % _size(found)))
    return HeadReply(media_type=_OCTETS, headers=headers)


async def _found(call: Call) -> Blob:
    given = call.parameters()
    branch, address = given.get("branch"), given.get("snapshot")
    if address is not None:
        if branch is not None:
            raise InvalidTarget("`branch` and `snapshot` say different things about which state is meant; give one.")
        snapshot = await allowed_snapshot(call, address)
    else:
        branch = branch_named(branch, default=MAIN_BRANCH)
        call.allow(branch=branch)
        snapshot = await call.head(branch)
    table_key = f"{given['entity']}:{given['type']}"
    return await call.read(lambda: snapshot.blob(table_key, given["id"], given["property"]))


def _size(found: Blob) -> int:
    return found.size or 0


def _elsewhere(found: Blob, uri: str) -> Reply:
    """Send the client to where the bytes are; they are never opened here."""
    return Reply(
        b"",
        status=302,
        media_type=None,
        headers=(
            (b"location", quote(uri, safe=_PLAIN).encode()),
            (b"cache-control", b"no-store"),
            (b"omnigraph-snapshot-id", found.commit_id.encode()),
        ),
    )


def _headers(found: Blob) -> Headers:
    return (
        (b"accept-ranges", b"bytes"),
        (b"etag", _tag(found)),
        (b"omnigraph-snapshot-id", found.commit_id.encode()),
    )


def _tag(found: Blob) -> bytes:
    return f'"{found.etag}"'.encode()


def _conditions(call: Call, found: Blob) -> Reply | None:
    """Check `If-Match`, then `If-None-Match`; return the answer that says that nothing changed, if so."""
    tag = _tag(found)
    match = call.header_list(b"if-match")
    if match is not None and match.strip() != b"*" and tag not in _tags(match):
        raise BlobPreconditionFailed("The blob is not the one that If-Match names.")
    none_match = call.header_list(b"if-none-match")
    if none_match is not None:
        known = [each.removeprefix(b"W/") for each in _tags(none_match)]
        if none_match.strip() == b"*" or tag in known:
            return Reply(b"", status=304, media_type=None, headers=_headers(found))
    return None


def _tags(header: bytes) -> list[bytes]:
    return [each.strip() for each in header.split(b",")]


def _requested(call: Call, found: Blob) -> _Span | None:
    """Return the one range of bytes that is asked for; None for none, and for what is no such range."""
    header = call.header(b"range")
    condition = call.header(b"if-range")
    if header is None or (condition is not None and condition.strip() != _tag(found)):
        return None
    matched = _RANGE.fullmatch(header.decode("latin-1").strip())
    if matched is None or not (matched[1] or matched[2]):
        return None
    size = _size(found)
    if matched[1]:
        start = int(matched[1])
        end = min(int(matched[2]) + 1 if matched[2] else size, size)
        if matched[2] and int(matched[2]) < start:
            return None
    else:
        start, end = max(size - int(matched[2]), 0), size
    if start >= end:
        raise RangeNotSatisfiable(
            f"The blob has {size} bytes, and the range lies outside of it.", start=start, end=end, length=size
        )
    return _Span(start, end)


async def _bytes(call: Call, found: Blob, span: _Span) -> AsyncIterator[bytes]:
    """Read a piece when the one before is on its way, so that a slow client costs no memory."""
    for start in range(span.start, span.end, BLOB_PIECE_BYTES):
        read = partial(found.read, offset=start, length=min(BLOB_PIECE_BYTES, span.end - start))
        yield await call.read(read)
