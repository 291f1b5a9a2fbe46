"""Bytes and durations: reading what people type, and spelling what they read."""

import re
from datetime import timedelta

_SIZE_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_DURATION_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SECONDS_MAX = 2**63 - 1


def parse_bytes(text: str) -> int:
    """Read `4096`, `64KiB`, `2 GiB`; raise ValueError naming the accepted units otherwise."""
    match = re.fullmatch(r"([0-9]{1,20}) ?(KiB|MiB|GiB|TiB)?", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size: write a whole number, optionally with KiB, MiB, GiB or TiB")
    return int(match[1]) * _SIZE_UNITS[match[2] or ""]


def parse_duration(text: str) -> timedelta:
    """Read `90s`, `15m`, `7d`; raise ValueError naming the accepted units otherwise.

    A number alone is refused: whoever writes 7 and means days must not lose what is older than seven seconds.
    """
    match = re.fullmatch(r"([0-9]{1,20})([smhdw])", text.strip())
    seconds = int(match[1]) * _DURATION_SECONDS[match[2]] if match else -1
    if not 0 <= seconds <= _SECONDS_MAX:
        problem = "has no unit" if text.strip().isdecimal() else "is not a duration"
        raise ValueError(
            f"{shorten(text, 40)!r} {problem}: write a whole number with its unit, one of s, m, h, d, w, such as 7d"
        )
    # timedelta ends far below 2^63 seconds; anything longer than its range means "for ever" to every caller.
    return timedelta(seconds=min(seconds, timedelta.max // timedelta(seconds=1)))


def spell_bytes(count: int) -> str:
    """Spell a byte count for people: `512 B`, `2.1 MiB`, `32 MiB`."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.1f}".removesuffix(".0") + f" {unit}"


def spell_seconds(seconds: float) -> str:
    """Spell how long something takes for people: `7 s`, `2 min 5 s`, `3 h 20 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def counted(number: int, noun: str) -> str:
    """Spell a number of things: `1 row`, `12 rows`, `0 branches`."""
    return f"{number} {noun if number == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"


def shorten(text: str, limit: int = 200) -> str:
    """Cut user values in messages, so that no error repeats a whole document."""
    return text if len(text) <= limit else text[:limit] + "…"
