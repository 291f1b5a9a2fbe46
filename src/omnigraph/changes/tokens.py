"""Cursors and page tokens: the whole state of a feed, held by its consumer.

A token is base64url over a JSON document with its SHA-256 before it. The digest guards against damage and mix-ups; it
is no signature, and a forged token shows nothing that its holder could not ask for otherwise.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from omnigraph.catalog.canonical import canonical_json
from omnigraph.errors import ChangeCursorRejected, Internal

_TOKEN_CHARACTERS_MAX = 4_096
_DIGEST_BYTES = 32


class TokenUse(StrEnum):
    """What a token continues."""

    CURSOR = "cursor"
    """A feed, behind a complete commit."""
    FEED_PAGE = "feed page"
    """One poll, inside a commit."""
    DIFF_PAGE = "diff page"
    """The differences of two snapshots, such as a commit and its parent."""


def seal(use: TokenUse, document: Mapping[str, Any]) -> str:
    """Spell a token."""
    content = canonical_json({**document, "use": use.value}).encode()
    token = base64.urlsafe_b64encode(hashlib.sha256(content).digest() + content).decode().rstrip("=")
    if len(token) > _TOKEN_CHARACTERS_MAX:
        raise Internal(f"A {use} token of {len(token)} characters was made.")
    return token


def unseal(token: str, use: TokenUse) -> dict[str, Any]:
    """Read a token that was made for this use."""
    if len(token) > _TOKEN_CHARACTERS_MAX:
        raise ChangeCursorRejected(f"it has more than {_TOKEN_CHARACTERS_MAX} characters")
    try:
        sealed = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (binascii.Error, ValueError) as error:
        raise ChangeCursorRejected("it is not a token of this program") from error
    digest, content = sealed[:_DIGEST_BYTES], sealed[_DIGEST_BYTES:]
    if not content or hashlib.sha256(content).digest() != digest:
        raise ChangeCursorRejected("it is damaged, or not a token of this program")
    document: dict[str, Any] = json.loads(content)
    if document.get("use") != use:
        raise ChangeCursorRejected(f"it is a {document.get('use')} token, not a {use} token")
    return document


def refuse_other(bound: Mapping[str, Any], token: Mapping[str, Any]) -> None:
    """Raise unless a token is bound to exactly these facts; the first that differs is named."""
    for fact, value in bound.items():
        if token.get(fact) != value:
            raise ChangeCursorRejected(f"it belongs to another {fact}")
