"""One request to a provider: sent, repeated where that may help, and given up in time.

Timeouts, lost connections, status 429 and 5xx are repeated; anything else would be answered the same again. Redirects
are not followed: the key would go to wherever they point.
"""

import http.client
import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Event, Lock
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from omnigraph.base import clock, ids
from omnigraph.base.traces import trace_parent
from omnigraph.base.units import counted, shorten
from omnigraph.base.values import dataclass
from omnigraph.errors import EmbeddingProvider
from omnigraph.providers.config import EmbedConfig
from omnigraph.providers.wire import HttpRequest, error_message

_ANSWER_BYTES_MAX = 256 * 2**20
_ERROR_BYTES_MAX = 64 * 2**10
_READ_BYTES = 256 * 2**10
_TOO_MANY_REQUESTS = 429


class Stopped(Exception):
    """Another request has failed for good, so this one is not worth waiting for."""


class _PassingFailure(Exception):
    """A failure that may not happen again."""

    def __init__(self, message: str, *, status: int | None = None, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class Pacer:
    """What concurrent requests share: nobody asks again before a throttling provider said so, and all stop together."""

    def __init__(self) -> None:
        self._stopped = Event()
        self._lock = Lock()
        self._open_at = 0.0

    def hold(self, seconds: float) -> None:
        """Keep every request back for so long."""
        with self._lock:
            self._open_at = max(self._open_at, clock.monotonic_seconds() + seconds)

    def stop(self) -> None:
        """Wake up whoever waits, and let nobody send any more."""
        self._stopped.set()

    def wait(self, seconds: float = 0.0) -> None:
        """Pause for so long, and until nobody is held back; raise `Stopped` if there is no point any more."""
        self._pause(seconds)
        while (left := self._open_at - clock.monotonic_seconds()) > 0:
            self._pause(left)

    def _pause(self, seconds: float) -> None:
        if self._stopped.wait(seconds):
            raise Stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """Sends requests to one provider; threads may share it."""

    config: EmbedConfig
    pacer: Pacer
    opener: OpenerDirector
    parent: str | None = None
    """The trace that the requests belong to; whoever made this had it, the threads that share it have not."""

    @classmethod
    def to(cls, config: EmbedConfig) -> "Transport":
        """Open nothing yet; every request makes its own connection."""
        return cls(config=config, pacer=Pacer(), opener=build_opener(_NoRedirects), parent=trace_parent.get())

    def call(self, request: HttpRequest) -> Any:
        """Return the decoded answer; raise `EmbeddingProvider` when it does not come or cannot be decoded."""
        started = clock.monotonic_seconds()
        budget = self.config.deadline_seconds
        pause = 0.0
        for attempt in range(1, self.config.attempts + 1):
            self.pacer.wait(pause)
            left = None if budget is None else budget - (clock.monotonic_seconds() - started)
            try:
                return self._attempt(request, left)
            except _PassingFailure as failure:
                last = failure
            pause = max(self.config.backoff_seconds * 2 ** (attempt - 1) * ids.jitter(), last.retry_after)
            spent = clock.monotonic_seconds() - started
            if budget is not None and spent + pause >= budget:
                raise self._gave_up(attempt, last, f" within {budget:g} s") from last
            if last.status == _TOO_MANY_REQUESTS:
                self.pacer.hold(pause)
        raise self._gave_up(self.config.attempts, last, "") from last

    def _attempt(self, request: HttpRequest, seconds_left: float | None) -> Any:
        timeout = self.config.timeout_seconds
        if seconds_left is not None:
            if seconds_left <= 0:
                raise _PassingFailure("no time was left")
            timeout = min(timeout, seconds_left)
        body = self._send(request, timeout)
        try:
            return json.loads(body)
        except ValueError as exc:
            raise self._failure(f"the answer is not JSON ({exc})") from exc

    def _send(self, request: HttpRequest, timeout: float) -> bytes:
        headers = dict(request.headers)
        if self.parent is not None:
            headers["traceparent"] = self.parent
        prepared = Request(request.url, data=request.body, headers=headers, method="POST")  # noqa: S310 — the configuration admits http and https only
        try:
            with self.opener.open(prepared, timeout=timeout) as response:
                return _read_within(response, timeout)
        except HTTPError as exc:
            raise self._refused(exc) from exc
        except TimeoutError as exc:
            raise _PassingFailure(f"no answer within {timeout:g} s") from exc
        except URLError as exc:
            reason = "it timed out" if isinstance(exc.reason, TimeoutError) else str(exc.reason)
            raise _PassingFailure(f"the connection failed: {reason}") from exc
        except (http.client.HTTPException, OSError) as exc:
            raise _PassingFailure(f"the connection broke: {exc or type(exc).__name__}") from exc

    def _refused(self, refusal: HTTPError) -> Exception:
        with refusal:
            try:
                said = error_message(refusal.read(_ERROR_BYTES_MAX))
            except (http.client.HTTPException, OSError):
                said = ""
        message = f"HTTP status {refusal.code}" + (f": {self._without_key(shorten(said))}" if said else "")
        if refusal.code == _TOO_MANY_REQUESTS or refusal.code >= 500:
            return _PassingFailure(message, status=refusal.code, retry_after=_retry_after(refusal))
        return self._failure(message, status=refusal.code)

    def _gave_up(self, attempts: int, last: _PassingFailure, budget: str) -> EmbeddingProvider:
        return self._failure(f"{last} (gave up after {counted(attempts, 'attempt')}{budget})", status=last.status)

    def _failure(self, reason: str, *, status: int | None = None) -> EmbeddingProvider:
        return provider_failure(self.config, reason, status=status)

    def _without_key(self, text: str) -> str:
        key = self.config.api_key
        return text.replace(key, "…") if key else text


def provider_failure(config: EmbedConfig, reason: str, *, status: int | None = None) -> EmbeddingProvider:
    """Word a failure of the provider for people: who, where, what, and that it may be repeated."""
    details: dict[str, Any] = {"provider": config.provider.value}
    if status is not None:
        details["status"] = status
    host = urlsplit(config.base_url).hostname
    return EmbeddingProvider(
        f"The embedding provider {config.provider} at {host} failed: {reason}. Nothing was written; run it again to "
        "go on with what is missing.",
        **details,
    )


class _NoRedirects(HTTPRedirectHandler):
    """Leaves a redirect as the failure it is for an API."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing."""


def _read_within(response: Any, seconds: float) -> bytes:
    """Read a whole body; the timeout of a socket starts anew with every byte, so the sum is watched here."""
    deadline = clock.monotonic_seconds() + seconds
    pieces: list[bytes] = []
    size = 0
    while piece := response.read1(_READ_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > _ANSWER_BYTES_MAX:
            raise http.client.HTTPException("the answer is too long")
        if clock.monotonic_seconds() > deadline:
            raise TimeoutError
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(pieces)


def _retry_after(refusal: HTTPError) -> float:
    """Return the pause that the provider asks for, in seconds; 0 if it says nothing that can be understood."""
    asked = (refusal.headers.get("Retry-After") or "").strip()
    if asked.isdecimal():
        return float(asked)
    try:
        moment = parsedate_to_datetime(asked)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.fromtimestamp(clock.now_us() / 1e6, UTC)).total_seconds())
