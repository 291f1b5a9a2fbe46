"""Dates and timestamps as people write them → milliseconds since the epoch, in UTC."""

import json
import re
from datetime import date

DAY_MS = 86_400_000
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_DATE = r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})|(?P<compact>[0-9]{4}))"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]+))?)?"
_ZONE = r"Z|(?P<sign>[+-])(?P<zone_hour>[0-9]{2})(?::?(?P<zone_minute>[0-9]{2}))?"
_MOMENT = re.compile(rf"{_DATE}(?:[T ]{_TIME}(?:{_ZONE})?)?")


class ValueRefusedError(ValueError):
    """A value does not fit a type; the message says why, and its reader knows which property was meant."""


def parse_moment_ms(text: str) -> int:
    """Read a date or a timestamp as milliseconds since the epoch; without a zone it is UTC.

    `2031-07-15`, `20310715` and `2031-7-15` are dates; a time follows after `T` or a space, with optional seconds
    and one of `Z`, `+02`, `+0200`, `+02:00`. Digits beyond milliseconds are cut toward the past.
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueRefusedError(f"{_quoted(text)} is neither YYYY-MM-DD nor an ISO timestamp")
    part = match.groupdict(default="0")
    month, day = (part["compact"][:2], part["compact"][2:]) if match["compact"] else (part["month"], part["day"])
    try:
        days = date(int(part["year"]), int(month), int(day)).toordinal() - _EPOCH_ORDINAL
    except ValueError:
        raise ValueRefusedError(f"{_quoted(text)} names a day that does not exist") from None
    time_ms = _clock_ms(text, part["hour"], part["minute"], part["second"]) + int(part["fraction"][:3].ljust(3, "0"))
    zone_ms = _clock_ms(text, part["zone_hour"], part["zone_minute"], "0")
    return days * DAY_MS + time_ms + (zone_ms if match["sign"] == "-" else -zone_ms)


def _clock_ms(text: str, hour: str, minute: str, second: str) -> int:
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        raise ValueRefusedError(f"{_quoted(text)} names a time that does not exist")
    return (int(hour) * 3_600 + int(minute) * 60 + int(second)) * 1_000


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
