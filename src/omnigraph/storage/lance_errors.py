"""The only place that reads the text of Lance's errors.

Lance signals conflicts, absence and faults of the store as plain `OSError`, `ValueError` or `RuntimeError`. This
module sorts them into a closed set; `tests/guards/test_errors_text.py` pins every phrase for the pinned Lance.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from omnigraph.base.endings import is_panic
from omnigraph.errors import StorageError


class LanceFailure(StrEnum):
    """What a Lance error means to us."""

    CONFLICT = "conflict"
    """Somebody else committed first; re-reading the state and trying again may be right."""
    INCOMPATIBLE = "incompatible"
    """Somebody else's commit makes this transaction meaningless."""
    NOT_FOUND = "not_found"
    EXISTS = "exists"
    TRANSIENT = "transient"
    UNKNOWN = "unknown"
    """Never retried blindly: only after a look at the state proved that the attempt did not land."""


# Order matters: the first phrase that occurs decides. Everything is compared in lower case.
_PHRASES: tuple[tuple[LanceFailure, tuple[str, ...]], ...] = (
    (
        LanceFailure.CONFLICT,
        ("too many concurrent writers", "retryable commit conflict", "commit conflict for version"),
    ),
    (LanceFailure.INCOMPATIBLE, ("incompatible transaction",)),
    (LanceFailure.EXISTS, ("already exists",)),
    (LanceFailure.NOT_FOUND, ("was not found", "not found", "no such file")),
    (
        LanceFailure.TRANSIENT,
        (
            "timed out",
            "timeout",
            "connection",
            "error sending request",
            "too many requests",
            "slowdown",
            "service unavailable",
            "internal server error",
            "throttl",
        ),
    ),
)


_ERRORS = (OSError, ValueError, RuntimeError)


def lance_failures() -> tuple[type[BaseException], ...]:
    """Return the classes by which Lance fails, for an `except` clause, which asks when something was raised.

    Over damaged files Lance may panic. A panic is no `Exception`, so that nobody who looks after one table of many, or
    has a sidecar to settle, would catch it; and its class cannot be named, only recognised.
    """
    raised = sys.exception()
    return (*_ERRORS, type(raised)) if raised is not None and is_panic(raised) else _ERRORS


def classify(error: BaseException) -> LanceFailure:
    """Sort an exception raised by a Lance call."""
    if is_panic(error):
        return LanceFailure.UNKNOWN
    text = str(error).lower()
    for failure, phrases in _PHRASES:
        if any(phrase in text for phrase in phrases):
            return failure
    return LanceFailure.UNKNOWN


_STORAGE_KIND = {
    LanceFailure.CONFLICT: "precondition",
    LanceFailure.INCOMPATIBLE: "precondition",
    LanceFailure.EXISTS: "precondition",
    LanceFailure.NOT_FOUND: "not_found",
    LanceFailure.TRANSIENT: "transient",
    LanceFailure.UNKNOWN: "unknown",
}


def storage_error(error: BaseException, *, doing: str, uri: str) -> StorageError:
    """Translate a Lance exception that nobody above can act on."""
    first_line = str(error).split(", /", 1)[0].strip() or type(error).__name__
    if is_panic(error):
        first_line = f"Lance panicked, as it does over damaged files ({first_line})"
    return StorageError(f"{doing} failed: {first_line}", storage_kind=_STORAGE_KIND[classify(error)], uri=uri)


@contextmanager
def translated(*, doing: str, uri: str) -> Iterator[None]:
    """Turn whatever Lance raises inside the block into a `StorageError` that says what was being done."""
    try:
        yield
    except lance_failures() as error:
        raise storage_error(error, doing=doing, uri=uri) from error
