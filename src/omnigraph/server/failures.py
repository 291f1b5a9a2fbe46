"""From an exception to an answer: the status of its class, its document, and nothing that nobody should see."""

from collections.abc import Mapping
from typing import Any

from omnigraph import errors
from omnigraph.server.admission import ADMISSION_RETRY_SECONDS, STREAM_RETRY_SECONDS
from omnigraph.server.replies import Reply, document_reply

_HIDDEN = "internal error"


def translate(failure: Exception) -> errors.OmniError:
    """Return the error that an answer tells of; what was raised by accident becomes `internal`."""
    return failure if isinstance(failure, errors.OmniError) else errors.Internal(_HIDDEN)


def failure_reply(
    error: errors.OmniError, *, request_id: str, location: str | None, graph_id: str | None, is_discreet: bool
) -> Reply:
    """Answer with the error document; `location`, where the graph is stored, is replaced by its id.

    On a discreet route whatever is nobody's mistake is one fixed sentence.
    """
    status = error.http_status or 500
    document = error.document()
    if status == 500 and (is_discreet or error.kind in {"internal", "blob_integrity"}):
        document = {"error": _HIDDEN, "kind": error.kind, "code": "internal"}
    if isinstance(error, errors.StorageError):
        document.pop("storage", None)
    if location is not None:
        document = _without(document, location, f"graph '{graph_id}'")
    document["request_id"] = request_id
    return document_reply(document, status=status, headers=_headers(error))


def _headers(error: errors.OmniError) -> list[tuple[bytes, bytes]]:
    match error:
        case errors.Unauthorized():
            return [(b"www-authenticate", b"Bearer")]
        case errors.MethodNotAllowed():
            return [(b"allow", ", ".join(error.details["allow"]).encode())]
        case errors.TooManyRequests():
            seconds = STREAM_RETRY_SECONDS if error.details else ADMISSION_RETRY_SECONDS
            return [(b"retry-after", b"%d" % seconds)]
        case errors.Draining():
            # A proxy would ask again on a connection that it keeps; a new one goes to another server.
            return [(b"connection", b"close")]
        case errors.RangeNotSatisfiable():
            return [(b"content-range", b"bytes */%d" % error.details["length"])]
        case _:
            return []


def _without(value: Any, location: str, instead: str) -> Any:
    """Replace a location wherever a text of a document holds it."""
    match value:
        case str():
            return value.replace(location, instead)
        case Mapping():
            return {name: _without(member, location, instead) for name, member in value.items()}
        case list() | tuple():
            return [_without(member, location, instead) for member in value]
        case _:
            return value
