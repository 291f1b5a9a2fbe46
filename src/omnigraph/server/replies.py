"""What a handler answers with: a document, bytes, nothing, or a stream."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import orjson
from starlette.types import Send

from omnigraph.base.values import Json

Headers = Sequence[tuple[bytes, bytes]]
JSON_TYPE = b"application/json"
NDJSON_TYPE = b"application/x-ndjson; charset=utf-8"


class Reply:
    """A whole answer."""

    __slots__ = ("body", "headers", "media_type", "sent_bytes", "status")

    def __init__(
        self, body: bytes = b"", *, status: int = 200, media_type: bytes | None = JSON_TYPE, headers: Headers = ()
    ) -> None:
        self.body = body
        self.status = status
        self.media_type = media_type
        self.headers = headers
        self.sent_bytes = 0

    def head(self, extra: Headers) -> list[tuple[bytes, bytes]]:
        """Return all headers of the answer."""
        kind = () if self.media_type is None else ((b"content-type", self.media_type),)
        return [*kind, *self.headers, *extra]

    async def send(self, send: Send, extra: Headers) -> None:
        """Send the answer, with the headers that every answer has."""
        length = b"%d" % len(self.body)
        headers = (
            [*self.head(extra), (b"content-length", length)] if self.status not in {204, 304} else self.head(extra)
        )
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})
        self.sent_bytes = len(self.body)


class HeadReply(Reply):
    """The headers of an answer whose body nobody asked for."""

    async def send(self, send: Send, extra: Headers) -> None:
        """Send the headers; they say how long the body would be."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.head(extra)})
        await send({"type": "http.response.body", "body": b""})


class StreamReply(Reply):
    """An answer that is sent as it is made; what fails after the first piece breaks the connection."""

    __slots__ = ("pieces",)

    def __init__(
        self,
        pieces: AsyncIterator[bytes],
        *,
        status: int = 200,
        media_type: bytes = NDJSON_TYPE,
        headers: Headers = (),
    ) -> None:
        super().__init__(status=status, media_type=media_type, headers=headers)
        self.pieces = pieces

    async def send(self, send: Send, extra: Headers) -> None:
        """Send piece by piece, as fast as the client takes them."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.head(extra)})
        async for piece in self.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            self.sent_bytes += len(piece)
        await send({"type": "http.response.body", "body": b""})


def document_reply(document: "Json | Mapping[str, Any]", *, status: int = 200, headers: Headers = ()) -> Reply:
    """Answer with a JSON document."""
    return Reply(orjson.dumps(document), status=status, headers=headers)
