"""One request on its way through: what it says, who asks, and the doors to the graph and the threads."""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from starlette.types import Receive, Scope

from omnigraph.base.clock import monotonic_seconds
from omnigraph.errors import (
    BadRequest,
    BranchNotFound,
    CommitNotFound,
    Internal,
    InvalidTarget,
    ResourceLimit,
    SnapshotNotFound,
    Unauthorized,
    UnsupportedMediaType,
)
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.server.members import read_members, read_query_string
from omnigraph.server.service import ServedGraph, Service

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.graph import Graph
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.server.operation import HttpOperation
    from omnigraph.server.service import LookKey

ResultT = TypeVar("ResultT")
_STALE_SECONDS = 0.75
"""How long a look at a head counts while another one is under way."""
_TRACEPARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
"""Version ff and ids of nothing but zeros are no trace."""
_MEDIA_BYTES = {kind: kind.encode() for kind in ("application/json", "application/x-ndjson")}
SMALL_WRITE_BYTES = 256
"""What a write without data counts as: branches, merges."""


class ClientGone(Exception):
    """The client went away while its request was being read; nobody is left to answer."""


class Call:
    """One request."""

    __slots__ = (
        "_header_by_name",
        "_is_admitted",
        "_said",
        "actor",
        "arguments",
        "bytes_in",
        "headers",
        "receive",
        "request_id",
        "route",
        "scope",
        "served",
        "service",
    )

    def __init__(self, service: Service, scope: Scope, receive: Receive) -> None:
        self.service = service
        self.scope = scope
        self.receive = receive
        self.request_id = ""
        self.headers: list[tuple[bytes, bytes]] = scope["headers"]
        self._header_by_name = dict(self.headers)
        self.route: HttpOperation | None = None
        self.arguments: Mapping[str, str] = {}
        self.actor: str | None = None
        self.served: ServedGraph | None = None
        self.bytes_in = 0
        self._is_admitted = False
        self._said: list[object] = []
        """What has been allowed and logged, once: see `is_first`."""

    # What it says

    def header(self, name: bytes) -> bytes | None:
        """Return a header, the last if there are several."""
        return self._header_by_name.get(name)

    def header_values(self, name: bytes) -> list[bytes]:
        """Return every value of a header."""
        return [value for key, value in self.headers if key == name]

    def header_list(self, name: bytes) -> bytes | None:
        """Return a header that is a list, which may come in several lines."""
        return b", ".join(self.header_values(name)) if name in self._header_by_name else None

    @property
    def authorization(self) -> bytes | None:
        """The header that says who asks; two of them say nothing, because others may have looked at either."""
        given = self._header_by_name.get(b"authorization")
        if len(self._header_by_name) != len(self.headers) and len(self.header_values(b"authorization")) > 1:
            raise Unauthorized("invalid bearer token")
        return given

    def check_host(self) -> None:
        """Refuse a request that does not say, once, whom it is for: a proxy and this server could differ about it."""
        is_once = len(self._header_by_name) == len(self.headers) or len(self.header_values(b"host")) == 1
        if b"host" not in self._header_by_name or not is_once:
            raise BadRequest("A request of HTTP/1.1 has one Host header.")

    @property
    def trace_parent(self) -> str | None:
        """The trace that the request belongs to, if it names one as it should."""
        given = self._header_by_name.get(b"traceparent")
        return given.decode() if given is not None and _TRACEPARENT.fullmatch(given) else None

    @property
    def declared_bytes(self) -> int | None:
        """How long the body is, if the request says so."""
        text = self.header(b"content-length")
        return int(text) if text is not None and text.isdigit() else None

    def parameters(self) -> dict[str, Any]:
        """Read the query string, as the route declares it."""
        route = self._route
        return read_query_string(self.scope["query_string"], route.parameters, is_strict=route.is_strict)

    async def members(self) -> dict[str, Any]:
        """Read the body as a JSON object, as the route declares it."""
        return self.members_of(await self.body())

    def members_of(self, content: bytes | bytearray) -> dict[str, Any]:
        """Read a whole body as a JSON object, as the route declares it."""
        route = self._route
        if route.has_optional_body and not content.strip():
            return {}
        try:
            document = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise BadRequest(f"The body is not JSON: {error.msg} at character {error.pos}.") from None
        if not isinstance(document, dict):
            raise BadRequest("The body must be a JSON object.")
        return read_members(document, route.members, is_strict=route.is_strict)

    async def body(self) -> bytes:
        """Read the whole body, up to the limit of the route."""
        message = await self.next_piece()
        content: bytes = message["body"]
        if not message.get("more_body"):
            self.count(len(content))
            return content
        pieces = [content]
        self.count(len(content))
        while message.get("more_body"):
            message = await self.next_piece()
            pieces.append(message["body"])
            self.count(len(message["body"]))
        return b"".join(pieces)

    async def next_piece(self) -> Any:
        """Wait for the next piece of the body; for one that takes too long, the connection is closed elsewhere."""
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        message.setdefault("body", b"")
        return message

    def count(self, size: int) -> None:
        """Count bytes of the body, and refuse those above the limit of the route."""
        self.bytes_in += size
        self.check_size(self.bytes_in)

    def check_size(self, size: int) -> None:
        """Refuse a body above the limit of the route."""
        route = self._route
        if size > route.body_bytes_max:
            raise ResourceLimit(
                f"The body is larger than the {route.body_bytes_max} bytes that this path takes.",
                resource=route.body_resource,
                limit=route.body_bytes_max,
                actual=size,
            )

    def check_body_headers(self) -> None:
        """Refuse a body of another type, encoding or length before any of it is read."""
        route = self._route
        declared = self.header(b"content-length")
        if declared is not None and declared.isdigit():
            self.check_size(int(declared))
        if not route.media_type:
            return
        transfer = self.header(b"transfer-encoding")
        if transfer is not None and transfer.strip().lower() != b"chunked":
            raise UnsupportedMediaType("Transfer-Encoding may be chunked, and nothing else.", expected="chunked")
        encoding = self.header(b"content-encoding")
        if encoding is None and self.header(b"content-type") == _MEDIA_BYTES[route.media_type]:
            return
        if encoding is not None and encoding.strip().lower() not in {b"", b"identity"}:
            raise UnsupportedMediaType(
                "Content-Encoding is not supported; send the body as it is.", expected="identity"
            )
        given = self.header(b"content-type")
        kind = (given or b"").split(b";", 1)[0].strip().lower().decode("latin-1")
        is_empty = given is None and declared in {None, b"0"} and transfer is None
        if kind != route.media_type and not (is_empty and route.has_optional_body):
            raise UnsupportedMediaType(f"Content-Type must be {route.media_type}.", expected=route.media_type)

    # Who may

    def allow(
        self, *, branch: str | None = None, target: str | None = None, action: PolicyAction | None = None
    ) -> None:
        """Ask whether the actor may do what the route does, or another action that goes with it."""
        asked = action or self._route.action
        assert asked is not None, "a route without an action asks nobody"
        question = (asked, branch, target)
        if question not in self._said:
            # A denial raises, and is no answer that could be given again.
            self.at.gate.check(asked, actor=self.actor, branch=branch, target=target, request_id=self.request_id)
            self._said.append(question)

    def is_first(self, line: str) -> bool:
        """Whether a line is to be logged that has not been: a request may be begun at once, and then put off."""
        if line in self._said:
            return False
        self._said.append(line)
        return True

    @contextmanager
    def admitted(self, size_bytes: int | None = None) -> Iterator[None]:
        """Count a write as under way while the block lasts, or raise `TooManyRequests`."""
        size = size_bytes if size_bytes is not None else max(self.bytes_in, SMALL_WRITE_BYTES)
        with self.service.writes.admitted(self.actor, size):
            self._is_admitted = True
            yield

    # The graph

    @property
    def _route(self) -> "HttpOperation":
        if self.route is None:
            raise Internal("a request without a route was asked about it")
        return self.route

    @property
    def at(self) -> ServedGraph:
        """The graph that the path names."""
        if self.served is None:
            raise Internal("a request without a graph was asked about it")
        return self.served

    @property
    def graph(self) -> "Graph":
        """Its handle."""
        return self.at.graph

    async def head(self, branch: str) -> "Snapshot":
        """Return the newest snapshot of a branch, as of less than a second ago."""
        found = self.head_at_hand(branch)
        if found is not None:
            return found
        following = self.graph.following
        looking = self.service.looking
        key = (self.at.graph_id, branch, following.writes)
        look = looking.get(key)
        if look is None:
            look = looking[key] = asyncio.ensure_future(self._look(branch))
            look.add_done_callback(partial(_looked, looking, key))
        stale = following.recent(branch, age_seconds=_STALE_SECONDS)
        return stale if stale is not None else await asyncio.shield(look)

    def head_at_hand(self, branch: str) -> "Snapshot | None":
        """Return the newest snapshot of a branch if nobody has to look at storage for it.

        While somebody looks, what was seen less than a second ago still counts.
        """
        following = self.graph.following
        recent = following.recent(branch)
        if recent is not None or (self.at.graph_id, branch, following.writes) not in self.service.looking:
            return recent
        return following.recent(branch, age_seconds=_STALE_SECONDS)

    async def _look(self, branch: str) -> "Snapshot":
        following = self.graph.following
        self.service.metrics.looks += 1
        missing = BranchNotFound(f"Branch '{branch}' was not found.", branch=branch)
        try:
            snapshot = await self.read(lambda: following.look(branch))
        except (CommitNotFound, SnapshotNotFound, InvalidTarget) as error:
            raise missing from error
        if snapshot.branch != branch:
            # The address of a state of some branch, which nobody was asked about.
            raise missing
        return snapshot

    async def read(self, work: Callable[[], ResultT]) -> ResultT:
        """Run a read in a thread."""
        return await self.service.workers.read(work)

    async def write(self, work: Callable[[], ResultT]) -> ResultT:
        """Run an admitted write in a thread; it goes on to its end whatever becomes of the client."""
        if not self._is_admitted:
            raise Internal("a write was started without admission")
        following = self.graph.following
        started = monotonic_seconds()

        def work_and_forget() -> ResultT:
            try:
                return work()
            finally:
                following.forget()

        result = await self.service.workers.write(work_and_forget)
        self.service.metrics.wrote(self._route.operation_id or "", monotonic_seconds() - started)
        return result


def _looked(
    looking: "dict[LookKey, asyncio.Future[Snapshot]]", key: "LookKey", look: "asyncio.Future[Snapshot]"
) -> None:
    del looking[key]
    if not look.cancelled():
        look.exception()  # looked at: whoever waited has it, and nobody may have


def branch_named(text: str | None, *, default: str = MAIN_BRANCH, name: str = "branch") -> str:
    """Return the name of a branch as it is authorized and used: without the blanks around it."""
    if text is None:
        return default
    trimmed = text.strip()
    if not trimmed:
        raise BadRequest(f"`{name}` is blank; it is the name of a branch.")
    return trimmed
