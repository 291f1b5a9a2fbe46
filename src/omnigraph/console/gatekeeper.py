"""What stands before the pages: only people with a session come in, only from this console's own pages.

A secret travels in the fragment of an address, which browsers send nowhere; a page of a few lines hands it over in the
body of a request and gets a cookie for it that scripts cannot read.
"""

from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from omnigraph.console.entrance import entrance_page
from omnigraph.console.visitors import COOKIE, Door, Visitor, Visitors

PREFIX = "/ui"
VISITOR = "omnigraph.visitor"
"""Where a scope holds who asks."""
_SECRET_BYTES_MAX = 8_192
_POLICY = (
    b"default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self' ws: wss:; "
    b"frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


class Gatekeeper:
    """Wraps the pages."""

    def __init__(self, pages: ASGIApp, door: Door, *, hosts: frozenset[str] | None) -> None:
        self._pages = pages
        self._door = door
        self._hosts = hosts
        """The names under which the console may be asked for; None leaves that to a proxy. Another name in a request
        means that a foreign page made a browser resolve its own name to this machine."""
        self.visitors = Visitors()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, hand over, or turn away."""
        if scope["type"] == "lifespan":
            await self._pages(scope, receive, send)
            return
        answer = self._turned_away(scope)
        if answer is None and scope["type"] == "http":
            answer = await self._entered(Request(scope, receive))
        if answer is not None:
            await _refuse(answer, scope, receive, send)
            return
        await self._pages(scope, receive, _guarded(send))

    def _turned_away(self, scope: Scope) -> Response | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if self._hosts is not None and name not in self._hosts:
            return Response("This console is not known under that name.", status_code=421)
        origin = headers.get(b"origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return Response("Only pages of this console may ask it.", status_code=403)
        visitor = self.visitors.find(_cookie(headers.get(b"cookie", ""), _cookie_name(host)))
        scope[VISITOR] = visitor
        if visitor is None and scope["type"] == "websocket":
            return Response(status_code=403)
        return None

    async def _entered(self, request: Request) -> Response | None:
        path = request.scope["path"]
        visitor: Visitor | None = request.scope[VISITOR]
        if path in {"/", PREFIX}:
            return RedirectResponse(f"{PREFIX}/", status_code=303)
        if path == f"{PREFIX}/enter":
            return await self._enter(request) if request.method == "POST" else self._entrance()
        if path == f"{PREFIX}/leave":
            if visitor is not None:
                self.visitors.leave(visitor.session_id)
            answer = RedirectResponse(f"{PREFIX}/enter", status_code=303)
            answer.delete_cookie(_cookie_name(request.headers.get("host", "")), path=PREFIX)
            return answer
        if visitor is not None or path.startswith(f"{PREFIX}/_nicegui/"):
            return None
        wanted = path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"{PREFIX}/enter?to={quote(wanted, safe='')}", status_code=303)

    def _entrance(self) -> Response:
        return HTMLResponse(entrance_page(self._door, action=f"{PREFIX}/enter"))

    async def _enter(self, request: Request) -> Response:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > _SECRET_BYTES_MAX:
                return JSONResponse({"entered": False}, status_code=413)
        scheme = request.headers.get("x-forwarded-proto", request.url.scheme)
        origin = f"{scheme}://{request.headers.get('host', '')}"
        site = await self._door.admit(body.decode("utf-8", errors="replace").strip(), origin)
        if site is None:
            return JSONResponse({"entered": False}, status_code=403)
        visitor = self.visitors.enter(site)
        answer = JSONResponse({"entered": True})
        answer.set_cookie(
            _cookie_name(request.headers.get("host", "")),
            visitor.session_id,
            path=PREFIX,
            httponly=True,
            samesite="strict",
            secure=scheme == "https",
        )
        return answer


def _cookie_name(host: str) -> str:
    """Browsers send cookies to every port of a machine; each of its consoles needs one of its own."""
    port = host.rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isdigit() else COOKIE


def _cookie(header: str, name: str) -> str | None:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return None
    return found.value if found is not None else None


async def _refuse(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4403})
        return
    await answer(scope, receive, _guarded(send))


def _guarded(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *_HEADERS]
        await send(message)

    return guarded
