"""What went wrong, as the errors that graphs raise themselves, rebuilt from the document that a server sends."""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from omnigraph import errors
from omnigraph.base.plain_text import printable
from omnigraph.base.units import shorten
from omnigraph.errors import Effect, OmniError, Retry, StorageError

_PLAIN: Final = frozenset({"error", "kind", "code", "request_id"})
_TEXT_MAX: Final = 200
_ACCIDENT: Final = 500
_ON_THE_WAY: Final = frozenset({408, *range(500, 600)})
"""What a proxy says when it waited in vain, and what anybody says whom something happened to."""
_EXIT_CODES: Final = {401: 6, 403: 6, 409: 5, 412: 4, 429: 8, 503: 8}
_UNSURE: Final = " Whether the write landed is unknown: compare the head of the branch (`omnigraph commit list`)."


def without_secrets(url: str) -> str:
    """Return a URL as messages may show it: without user, password, query and fragment."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def refusal(status: int, content: bytes, *, url: str, is_write: bool) -> OmniError:
    """Rebuild the error that a server answered with; what is no such document is a `ServerAnswer`.

    After a write, an answer that says that something went wrong on the way leaves open what had happened by then.
    """
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("error"), str):
        return unreadable(status, url=url, why=_first_words(content), is_write=is_write and status in _ON_THE_WAY)
    kind = document.get("kind")
    found = _class_of(kind) if isinstance(kind, str) else None
    error: OmniError
    if found is None:
        error = errors.ServerAnswer(document["error"], url=without_secrets(url), status=status)
        error.exit_code = _EXIT_CODES.get(status, 1)
    else:
        error = _restored(found, document)
    if is_write and (status == _ACCIDENT or (found is None and status in _ON_THE_WAY)):
        error.effect = Effect.UNKNOWN
    error.answered = document
    return error


def unreadable(status: int, *, url: str, why: str, is_write: bool) -> errors.ServerAnswer:
    """Say that an answer makes no sense; `why` is what was found instead, `is_write` that it may have landed."""
    return errors.ServerAnswer(
        f"{without_secrets(url)} answered {status} with something that no graph server sends: {why}."
        f"{_UNSURE if is_write else ''}",
        effect=Effect.UNKNOWN if is_write else Effect.NONE,
        url=without_secrets(url),
        status=status,
    )


def redirected(status: int, location: str | None, *, url: str) -> errors.ServerAnswer:
    """Say that another address was named, which is never followed: a token is for one server."""
    where = f" to {without_secrets(location)}" if location else ""
    return errors.ServerAnswer(
        f"{without_secrets(url)} answered {status}, a redirect{where}, which is not followed. Give that address if it "
        "is the one that is meant.",
        url=without_secrets(url),
        status=status,
    )


def lost(reason: str, *, url: str, is_write: bool) -> errors.Connection:
    """Say that a server was not reached, or broke off; `reason` is a clause."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return errors.Connection(
        f"The server at {parts.hostname}:{port} {reason}.{_UNSURE if is_write else ''}",
        effect=Effect.UNKNOWN if is_write else Effect.NONE,
        url=without_secrets(url),
    )


def _class_of(kind: str) -> type[OmniError] | None:
    # The base is of the kind `internal`, too; graphs raise the class of that name.
    return next((found for found in _below(OmniError)[1:] if vars(found).get("kind") == kind), None)


def _below(base: type[OmniError]) -> list[type[OmniError]]:
    return [base, *(found for child in base.__subclasses__() for found in _below(child))]


def _restored(cls: type[OmniError], document: Mapping[str, Any]) -> OmniError:
    """Make an error without its constructor, whose arguments differ from class to class."""
    error = cls.__new__(cls, document["error"])
    member = document.get(cls.member or cls.kind)
    rest = {name: value for name, value in document.items() if name not in _PLAIN}
    error.args = (document["error"],)
    error.message = document["error"]
    error.details = dict(member) if isinstance(member, dict) else rest
    error.effect = cls.default_effect
    if isinstance(error, StorageError) and error.details.get("storage_kind") == "transient":
        error.exit_code, error.retry = 8, Retry.LATER
    return error


def _first_words(content: bytes) -> str:
    text = content[: 4 * _TEXT_MAX].decode("utf-8", "replace").strip()
    return f"`{shorten(printable(' '.join(text.split())), _TEXT_MAX)}`" if text else "an empty body"
