"""The only door to HTTP: sends exchanges, waiting for the answer or not, and tells failures from answers.

A token goes to the address it was given for and nowhere else: redirects are not followed, and no message, log record or
`repr` holds one.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import httpx

import omnigraph
from omnigraph.client import failures
from omnigraph.client.exchange import HttpAnswer, HttpExchange
from omnigraph.errors import MissingError, OmniError, Usage

ResultT = TypeVar("ResultT")
CONNECT_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 300.0
"""How long a server may be silent between two bytes."""
_REDIRECTS: Final = range(300, 400)
_ERRORS: Final = range(400, 600)
_NOT_MODIFIED: Final = 304


class _Address:
    """Where requests go: the server, and the graph below it."""

    def __init__(self, url: str, graph: str | None) -> None:
        from omnigraph.client.exchange import segment

        try:
            parts = urlsplit(url)
            is_fit = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            is_fit = False
        if not is_fit:
            raise Usage("A server is addressed by http:// or https:// and a host, which this address is not.")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise Usage(
                f"The address of a server holds no user, password, query or fragment: {failures.without_secrets(url)} "
                "is all of it. Whoever asks is told by a token."
            )
        self.server = url.rstrip("/")
        self.graph = graph
        self.base = self.server if graph is None else f"{self.server}/graphs/{segment(graph)}"

    def __str__(self) -> str:
        return failures.without_secrets(self.base)


def _settings(address: _Address, token: str | None, timeout: float) -> dict[str, Any]:
    headers = {b"user-agent": f"omnigraph/{omnigraph.__version__}".encode(), b"accept-encoding": b"identity"}
    if token is not None:
        headers[b"authorization"] = b"Bearer " + _fit(token)
    if not timeout > 0:
        raise Usage("`timeout` is a number of seconds, more than none.")
    return {
        "headers": headers,
        "timeout": httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
        "follow_redirects": False,
        # Certificates take longer to load than most requests take; where nothing is encrypted there are none to check.
        "verify": address.server.lower().startswith("https:"),
    }


def _fit(token: str) -> bytes:
    """Return a token as a header carries it; raise without showing it for one that no header can."""
    trimmed = token.strip()
    if not trimmed or not trimmed.isprintable():
        raise Usage("The token is blank, or has characters such as line breaks, which no header can carry.")
    return trimmed.encode()


@contextmanager
def _set_up() -> Iterator[None]:
    """Tell what the environment has for programs that speak HTTP and this one cannot use; values may be secret."""
    try:
        yield
    except ImportError as error:
        raise Usage(
            "The variables for proxies name one of SOCKS, which needs a package: pip install socksio."
        ) from error
    except (ValueError, OSError, httpx.InvalidURL) as error:
        raise Usage(
            "What HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE or SSL_CERT_DIR say cannot be used: "
            f"{type(error).__name__}. Correct them, or leave them out for this program."
        ) from error


def _request(exchange: HttpExchange[Any]) -> dict[str, Any]:
    headers = dict(exchange.headers)
    if exchange.media_type is not None:
        headers["content-type"] = exchange.media_type
    return {
        "method": exchange.method,
        "params": list(exchange.query) or None,
        "content": exchange.content,
        "headers": headers,
    }


def _check_open(client: "httpx.Client | httpx.AsyncClient") -> None:
    if client.is_closed:
        raise Usage("The connections to this server were closed; connect again.")


def _checked(status: int, headers: Mapping[str, str], content: bytes, exchange: HttpExchange[Any], url: str) -> None:
    """Raise unless the answer is one that the exchange reads."""
    if status in _REDIRECTS and not exchange.takes_redirect and status != _NOT_MODIFIED:
        raise failures.redirected(status, headers.get("location"), url=url)
    if status in _ERRORS:
        raise failures.refusal(status, content, url=url, is_write=exchange.is_write)


def _read(exchange: HttpExchange[ResultT], answer: HttpAnswer, url: str) -> ResultT:
    try:
        return exchange.read(answer)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        is_json = not isinstance(error, (json.JSONDecodeError, UnicodeDecodeError, RecursionError))
        why = f"a document of another form ({type(error).__name__}: {error})" if is_json else "no JSON"
        raise failures.unreadable(answer.status, url=url, why=why, is_write=exchange.is_write) from error


@contextmanager
def _hinting(address: _Address, *, of_server: bool) -> Iterator[None]:
    """Add to a path that is not there that no graph was picked, if so."""
    try:
        yield
    except MissingError as error:
        if address.graph is None and not of_server:
            error.message += " No graph was selected: pick one with --graph <id>, or with `graph=` in Python."
            error.args = (error.message,)
        raise


@contextmanager
def _telling(exchange: HttpExchange[Any], url: str) -> Iterator[None]:
    """Turn what HTTP raises into one sentence about the server."""
    try:
        yield
    except (httpx.LocalProtocolError, UnicodeEncodeError) as error:
        # Without what it says, which shows the whole of what could not be sent.
        raise Usage("Something that was given holds characters that no request can carry; nothing was sent.") from error
    except httpx.HTTPError as error:
        raise _lost(error, exchange, url) from error
    except httpx.InvalidURL as error:
        raise Usage(f"{failures.without_secrets(url)} is no address of a server: {error}.") from error


def _lost(error: httpx.HTTPError, exchange: HttpExchange[Any], url: str) -> OmniError:
    is_sent = exchange.is_write
    match error:
        case httpx.ConnectTimeout():
            return failures.lost(f"could not be reached within {CONNECT_SECONDS:g} seconds", url=url, is_write=False)
        case httpx.ConnectError() if "SSL" in str(error) or "certificate" in str(error).lower():
            return failures.lost(f"was not trusted: TLS failed ({_reason(error)})", url=url, is_write=False)
        case httpx.ConnectError():
            return failures.lost(f"could not be reached: {_reason(error)}", url=url, is_write=False)
        case httpx.PoolTimeout():
            return failures.lost("has too many requests of this client under way", url=url, is_write=False)
        case httpx.TimeoutException():
            return failures.lost("did not answer in time", url=url, is_write=is_sent)
        case httpx.UnsupportedProtocol():
            return failures.lost(f"cannot be spoken to: {_reason(error)}", url=url, is_write=False)
        case _:
            return failures.lost(f"broke off before the answer was whole: {_reason(error)}", url=url, is_write=is_sent)


def _reason(error: Exception) -> str:
    return str(error).strip().rstrip(".") or type(error).__name__


class HttpTransport:
    """Sends and waits."""

    def __init__(self, url: str, *, graph: str | None, token: str | None, timeout: float) -> None:
        self.address = _Address(url, graph)
        self._token = token
        self._timeout = timeout
        settings = _settings(self.address, token, timeout)
        with _set_up():
            self._http = httpx.Client(**settings)

    def at(self, graph: str | None) -> "HttpTransport":
        """Return the same connection, to another graph."""
        other = HttpTransport.__new__(HttpTransport)
        other.address = _Address(self.address.server, graph)
        other._token, other._timeout, other._http = self._token, self._timeout, self._http  # noqa: SLF001  # its own
        return other

    def send(self, exchange: HttpExchange[ResultT], *, of_server: bool = False) -> ResultT:
        """Send a request and read its answer; `of_server` leaves the graph out of the path."""
        url = f"{self.address.server if of_server else self.address.base}{exchange.path}"
        _check_open(self._http)
        with _telling(exchange, url):
            response = self._http.request(url=url, **_request(exchange))
        with _hinting(self.address, of_server=of_server):
            _checked(response.status_code, response.headers, response.content, exchange, url)
        answer = HttpAnswer(status=response.status_code, headers=response.headers, content=response.content)
        return _read(exchange, answer, url)

    @contextmanager
    def stream(self, exchange: HttpExchange[Any]) -> Iterator[Iterator[bytes]]:
        """Send a request and read its answer as it comes; one that ends early raises `Connection`."""
        url = f"{self.address.base}{exchange.path}"
        _check_open(self._http)
        with _telling(exchange, url), self._http.stream(url=url, **_request(exchange)) as response:
            if response.status_code not in range(200, 300):
                _checked(response.status_code, response.headers, response.read(), exchange, url)
            yield response.iter_bytes()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class AsyncHttpTransport:
    """Sends, and lets others work meanwhile."""

    def __init__(
        self, url: str, *, graph: str | None, token: str | None, timeout: float, app: "Any | None" = None
    ) -> None:
        """Address a server; `app` is one of this very process, which is then asked without a connection."""
        self.address = _Address(url, graph)
        way = None if app is None else httpx.ASGITransport(app)
        settings = _settings(self.address, token, timeout)
        with _set_up():
            self._http = httpx.AsyncClient(**settings, transport=way)

    def at(self, graph: str | None) -> "AsyncHttpTransport":
        """Return the same connection, to another graph."""
        other = AsyncHttpTransport.__new__(AsyncHttpTransport)
        other.address = _Address(self.address.server, graph)
        other._http = self._http  # noqa: SLF001  # its own
        return other

    async def send(self, exchange: HttpExchange[ResultT], *, of_server: bool = False) -> ResultT:
        """Send a request and read its answer; `of_server` leaves the graph out of the path."""
        url = f"{self.address.server if of_server else self.address.base}{exchange.path}"
        _check_open(self._http)
        with _telling(exchange, url):
            response = await self._http.request(url=url, **_request(exchange))
        with _hinting(self.address, of_server=of_server):
            _checked(response.status_code, response.headers, response.content, exchange, url)
        answer = HttpAnswer(status=response.status_code, headers=response.headers, content=response.content)
        return _read(exchange, answer, url)

    @asynccontextmanager
    async def stream(self, exchange: HttpExchange[Any]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Send a request and read its answer as it comes; one that ends early raises `Connection`."""
        url = f"{self.address.base}{exchange.path}"
        _check_open(self._http)
        with _telling(exchange, url):
            async with self._http.stream(url=url, **_request(exchange)) as response:
                if response.status_code not in range(200, 300):
                    _checked(response.status_code, response.headers, await response.aread(), exchange, url)
                yield response.aiter_bytes()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
