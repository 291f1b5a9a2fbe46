"""What obstore's exceptions mean.

Some carry their meaning in their class; the rest share one class and differ in text only. This is the only place that
reads that text, and `tests/storage/test_s3_failures.py` provokes each of them.
"""

import re

from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)

from omnigraph.errors import StorageError

OBSTORE_FAILURES = (BaseError, OSError, ValueError)
"""Everything that a call of obstore may raise on purpose."""

_STATUS = re.compile(r"non-2xx status code: (\d{3})")
_TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_REFUSED = (
    "configuration",
    "the store refused the credentials or their permissions",
)
# Order matters: the first phrase that occurs decides.
_PHRASES = (
    ("<Code>NoSuchBucket</Code>", "configuration", "there is no such bucket"),
    ("incorrectly configured region", "configuration", "the bucket is in another region; set AWS_REGION"),
    ("HTTP error: builder error", "configuration", "no request could be made for this endpoint"),
    ("HTTP error: ", "transient", "the store could not be reached or did not answer in time"),
)


def is_conflict(exc: BaseException) -> bool:
    """Tell whether the store refused a conditional put because of what is there (412 or 409)."""
    return isinstance(exc, AlreadyExistsError | PreconditionError)


def is_no_such_key(exc: BaseException) -> bool:
    """Tell whether the store says that this object is absent; a missing bucket or a stray 404 is not that."""
    return isinstance(exc, FileNotFoundError) and "<Code>NoSuchKey</Code>" in str(exc)


def storage_error(exc: BaseException, *, doing: str, uri: str) -> StorageError:
    """Translate any other exception of an obstore call."""
    storage_kind, reason = _diagnose(exc)
    return StorageError(f"{doing} {uri} failed: {reason}.", storage_kind=storage_kind, uri=uri)


def _diagnose(exc: BaseException) -> tuple[str, str]:
    if isinstance(exc, PermissionDeniedError | UnauthenticatedError):
        return _REFUSED
    if isinstance(exc, NotSupportedError):
        return "configuration", "the store does not support this operation"
    text = str(exc)
    for phrase, storage_kind, reason in _PHRASES:
        if phrase in text:
            return storage_kind, reason
    status = _STATUS.search(text)
    return _diagnose_status(int(status[1])) if status else ("unknown", type(exc).__name__)


def _diagnose_status(status: int) -> tuple[str, str]:
    if status in {401, 403}:  # a listing reports these without their own class
        return _REFUSED
    storage_kind = "transient" if status in _TRANSIENT_STATUSES else "configuration"
    return storage_kind, f"the store answered with HTTP status {status}"
