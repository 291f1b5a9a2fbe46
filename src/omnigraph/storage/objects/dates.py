"""The date of an answer over HTTP: what a store says the time is, without anything being written there."""

from email.utils import parsedate_to_datetime
from http.client import HTTPException


def date_of_answer(url: str, *, timeout_seconds: float) -> float | None:
    """Return the date of whatever the server answers, in seconds since the Unix epoch; None when it does not say."""
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(url, method="HEAD"), timeout=timeout_seconds) as answer:  # noqa: S310 — the store's own URL
            date = answer.headers.get("Date")
    except HTTPError as refusal:
        date = refusal.headers.get("Date")
    except (URLError, HTTPException, OSError, ValueError):
        return None
    try:
        return parsedate_to_datetime(date).timestamp() if date else None
    except ValueError:
        return None
