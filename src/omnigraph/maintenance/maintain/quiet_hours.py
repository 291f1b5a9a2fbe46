"""Hours in which nothing is changed: reading how people write them, and telling whether a moment is in them. Pure."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from omnigraph.base.values import dataclass

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_FORM = "write them like `08:00-18:00` or `mon-fri 08:00-18:00`"
_SPAN = re.compile(
    r"(?:(?P<days>[a-z]{3}(?:-[a-z]{3})?(?:,[a-z]{3}(?:-[a-z]{3})?)*) +)?"
    r"(?P<begin>[0-9]{2}:[0-9]{2})-(?P<end>[0-9]{2}:[0-9]{2})"
)
_MINUTES_OF_A_DAY = 24 * 60
_DAYS_AHEAD = 8
"""Whatever is declared comes round within a week."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietSpan:
    """A part of some days of the week; one whose end is not after its begin goes on past midnight."""

    days: tuple[int, ...]
    """Of the begin; Monday is 0."""
    begin_minute: int
    end_minute: int

    @property
    def minutes(self) -> int:
        """How long it is."""
        return (self.end_minute - self.begin_minute - 1) % _MINUTES_OF_A_DAY + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """All spans that somebody declared, by the clocks of one place."""

    spans: tuple[QuietSpan, ...] = ()
    timezone: str = "UTC"

    def until(self, now_us: int) -> datetime | None:
        """Return when the quiet ends that `now_us` lies in; None where it lies in none."""
        now = _moment(now_us)
        end = now
        # Spans may follow one another or overlap: the quiet ends where no other one takes over.
        while (later := max((stop for start, stop in self._around(now) if start <= end < stop), default=end)) > end:
            end = later
        return end if end > now else None

    def next_begin(self, now_us: int) -> datetime | None:
        """Return when quiet begins again after a moment that lies in none; None where none is declared."""
        now = _moment(now_us)
        return min((start for start, _ in self._around(now) if start > now), default=None)

    def _around(self, now: datetime) -> list[tuple[datetime, datetime]]:
        """Return every span, begin and end, from the one that may have begun yesterday to a week ahead."""
        if not self.spans:
            return []
        zone = ZoneInfo(self.timezone)
        today = now.astimezone(zone).date()
        found = []
        for offset in range(-1, _DAYS_AHEAD + 1):
            day = today + timedelta(days=offset)
            midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
            for span in self.spans:
                if day.weekday() in span.days:
                    # Added to a local time, minutes are those on the wall, as whoever declared the span reads them.
                    start = midnight + timedelta(minutes=span.begin_minute)
                    stop = start + timedelta(minutes=span.minutes)
                    found.append((start.astimezone(UTC), stop.astimezone(UTC)))
        return found


def read_spans(texts: Sequence[str]) -> tuple[QuietSpan, ...]:
    """Read spans such as `mon-fri 08:00-18:00`; raise ValueError naming the accepted form otherwise."""
    return tuple(_read_span(text) for text in texts)


def _read_span(text: str) -> QuietSpan:
    match = _SPAN.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(f"{text[:40]!r} is no span of hours: {_FORM}")
    days = tuple(range(7)) if match["days"] is None else _read_days(match["days"])
    return QuietSpan(days=days, begin_minute=_read_minute(match["begin"]), end_minute=_read_minute(match["end"]))


def _read_days(text: str) -> tuple[int, ...]:
    days: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        for name in (first, last or first):
            if name not in DAYS:
                raise ValueError(f"{name!r} is no day of the week; they are {', '.join(DAYS)}")
        begin, end = DAYS.index(first), DAYS.index(last or first)
        days |= {day % 7 for day in range(begin, end + (7 if end < begin else 0) + 1)}
    return tuple(sorted(days))


def _read_minute(text: str) -> int:
    hour, minute = int(text[:2]), int(text[3:])
    if minute > 59 or hour * 60 + minute > _MINUTES_OF_A_DAY:
        raise ValueError(f"{text!r} is no time of a day: {_FORM}")
    return hour * 60 + minute


def _moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1e6, tz=UTC)
