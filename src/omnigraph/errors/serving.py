"""Failures that only a server has: of the HTTP request itself, of its credentials, and of the server's own capacity."""

from typing import ClassVar

from omnigraph.errors.base import OmniError, Retry
from omnigraph.errors.conflicts import StateConflict
from omnigraph.errors.missing import MissingError
from omnigraph.errors.requests import RequestError


class BadRequest(RequestError):
    """The body, a parameter or a header of an HTTP request cannot be read; the message names it."""

    kind = "bad_request"


class Unauthorized(OmniError):
    """An HTTP request has no bearer token, or one that the server does not know."""

    kind = "unauthorized"
    http_status = 401
    code = "unauthorized"
    exit_code = 6


class RouteNotFound(MissingError):
    """The server has no such path."""

    kind = "route_not_found"


class StoredQueryNotFound(MissingError):
    """No stored query has this name, or the caller may not run stored queries: the answer is the same."""

    kind = "stored_query_not_found"


class MethodNotAllowed(RequestError):
    """The path is known, and takes other methods; details have `allow`."""

    kind = "method_not_allowed"
    http_status = 405
    code = "method_not_allowed"


class UnsupportedMediaType(RequestError):
    """The body of an HTTP request is of another type or encoding than the route takes; details have `expected`."""

    kind = "unsupported_media_type"
    http_status = 415


class BlobPreconditionFailed(StateConflict):
    """A blob is not the one that `If-Match` names."""

    kind = "blob_precondition_failed"
    http_status = 412
    retry = Retry.AFTER_REREAD


class SchemaApplyDisabled(StateConflict):
    """A server of a cluster changes no schema: `cluster apply` does, and a restart."""

    kind = "schema_apply_disabled"
    exit_code = 1


class TooManyRequests(OmniError):
    """Somebody has as many requests under way as the server allows; nothing was done, try again later."""

    kind = "too_many_requests"
    http_status = 429
    code = "too_many_requests"
    exit_code = 8
    retry = Retry.LATER
    member = "resource_limit"


class Draining(OmniError):
    """The server is shutting down; nothing was done, ask another one or later."""

    kind = "draining"
    http_status: ClassVar[int | None] = 503
    code: ClassVar[str | None] = None
    exit_code = 8
    retry = Retry.LATER


class BootRefused(OmniError):
    """A server does not start; the message lists every reason as `[code] path: message`."""

    kind = "boot_refused"
    http_status: ClassVar[int | None] = None
    code: ClassVar[str | None] = None
    retry = Retry.AFTER_CHANGE
