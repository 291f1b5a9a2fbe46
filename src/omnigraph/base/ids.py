"""The only place that makes random ids: ULIDs for everything a person may see, uuids for Lance transactions."""

import random
import secrets
import uuid
from itertools import islice, product

from omnigraph.base import clock

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID_LENGTH = 26
ULID_ENDING_LENGTH = 4
_RUN_BITS = 5 * ULID_ENDING_LENGTH
_RUN_LENGTH = 1 << _RUN_BITS


def new_ulid() -> str:
    """Return a new ULID: 26 characters of upper-case Crockford base32, sortable by its creation millisecond."""
    return _spell(clock.now_ms() << 80 | secrets.randbits(80))


def new_ulids(count: int) -> list[str]:
    """Return `count` distinct new ULIDs in ascending order."""
    runs = new_ulid_runs(count)
    return [
        prefix + "".join(ending)
        for prefix, length in runs
        for ending in islice(product(CROCKFORD, repeat=ULID_ENDING_LENGTH), length)
    ]


def new_ulid_runs(count: int) -> list[tuple[str, int]]:
    """Return new ULIDs as runs that share all but their last four characters: `(prefix, length)`.

    Bulk loads mint millions, and spell the endings, which count up from zero, a column at a time.
    """
    # The random start leaves room for every run, so that no carry reaches the time.
    start = (clock.now_ms() << 80 | secrets.randbits(79)) >> _RUN_BITS << _RUN_BITS
    lengths = [min(_RUN_LENGTH, count - begun) for begun in range(0, count, _RUN_LENGTH)]
    return [(_spell(start + (run << _RUN_BITS))[:-ULID_ENDING_LENGTH], length) for run, length in enumerate(lengths)]


def is_ulid(text: str) -> bool:
    """Tell whether `text` is spelled like a ULID made here."""
    return len(text) == _ULID_LENGTH and text[0] <= "7" and all(letter in CROCKFORD for letter in text)


def ulid_ms(ulid: str) -> int:
    """Return when a ULID was made, in milliseconds since the Unix epoch."""
    number = 0
    for letter in ulid:
        number = number << 5 | CROCKFORD.index(letter)
    return number >> 80


def new_uuid() -> str:
    """Return a new random uuid for a Lance transaction."""
    return str(uuid.uuid4())


def new_secret() -> str:
    """Return a new secret that nobody guesses, fit for an address or a cookie."""
    return secrets.token_urlsafe(32)


def is_same_secret(given: str, known: str) -> bool:
    """Compare two secrets; takes the same time wherever they differ."""
    return secrets.compare_digest(given.encode(), known.encode())


def jitter() -> float:
    """Return a random factor between 0.5 and 1.5 that keeps retrying writers apart."""
    return 0.5 + random.random()


_PAIRS = [first + second for first in CROCKFORD for second in CROCKFORD]


def _spell(number: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


class UlidLine:
    """Makes ULIDs that count up from a random start: cheap enough for every request of a server, and not secret."""

    def __init__(self) -> None:
        self._next = secrets.randbits(79)
        self._ms = -1
        self._time = ""

    def next(self) -> str:
        """Return the next ULID; one thread calls it."""
        ms = clock.now_ms()
        if ms != self._ms:
            self._ms, self._time = ms, _spell(ms << 80)[:10]
        self._next = number = self._next + 1
        high, low = number >> 40, number
        return (
            f"{self._time}{_PAIRS[high >> 30 & 1023]}{_PAIRS[high >> 20 & 1023]}{_PAIRS[high >> 10 & 1023]}"
            f"{_PAIRS[high & 1023]}{_PAIRS[low >> 30 & 1023]}{_PAIRS[low >> 20 & 1023]}{_PAIRS[low >> 10 & 1023]}"
            f"{_PAIRS[low & 1023]}"
        )
