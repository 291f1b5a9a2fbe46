"""What one line says about long work: which phase it is in, how far that is, how fast, and how long it will take.

Pure: events and the time come in, text goes out. Who draws the line decides when.
"""

import unicodedata
from collections import deque
from dataclasses import field

from omnigraph.base.events import Advanced, Event, PhaseFinished, PhaseStarted
from omnigraph.base.units import spell_bytes, spell_seconds
from omnigraph.base.values import dataclass

_RATE_SECONDS = 20.0
"""How far back a rate looks: long enough to even out pieces of work, short enough to follow a change of pace."""
_RATE_SECONDS_MIN = 3.0
"""What is shorter says more about the size of a piece than about the pace."""
_BYTES = "bytes"


@dataclass(slots=True, kw_only=True)
class _Running:
    """One phase that has started and has not finished."""

    phase: str
    total: int | None
    unit: str
    started_at: float
    is_announced: bool
    """Whether it will say when it is finished; one that only advances ends with the next that starts."""
    done: int = 0
    samples: deque[tuple[float, int]] = field(default_factory=deque)

    def advance(self, event: Advanced, now: float) -> None:
        self.done, self.total, self.unit = event.done, event.total, event.unit
        self.samples.append((now, event.done))
        while len(self.samples) > 1 and self.samples[1][0] <= now - _RATE_SECONDS:
            self.samples.popleft()

    def rate(self, now: float) -> float:
        """Return units per second, of the last seconds if anything moved in them, else since the phase began.

        Zero for the first moments after a late start: workers that took long to begin are not slow workers.
        """
        since, before = self.samples[0] if self.samples else (self.started_at, 0)
        if now - since < _RATE_SECONDS_MIN < since - self.started_at:
            return 0.0
        if now - since < _RATE_SECONDS_MIN or self.done == before:
            since, before = self.started_at, 0
        return (self.done - before) / (now - since) if now > since else 0.0


class ProgressLine:
    """Follows the phases of one operation."""

    def __init__(self, first_phase: str, now: float) -> None:
        self._started_at = now
        self._running = [
            _Running(phase=first_phase, total=None, unit="", started_at=now, is_announced=False),
        ]

    def receive(self, event: Event, now: float) -> bool:
        """Take one event in; return whether the line says something else from now on."""
        match event:
            case PhaseStarted():
                self._running = [running for running in self._running if running.is_announced]
                self._start(event.phase, event.total, event.unit, now, is_announced=True)
            case Advanced():
                found = next((running for running in self._running if running.phase == event.phase), None)
                if found is None:
                    self._running = [running for running in self._running if running.is_announced]
                    found = self._start(event.phase, event.total, event.unit, now, is_announced=False)
                found.advance(event, now)
            case PhaseFinished():
                self._running = [running for running in self._running if running.phase != event.phase]
            case _:
                return False
        return True

    def text(self, now: float) -> str:
        """Return the line: elapsed time first, because it moves while everything else stands still."""
        return f"[{_clock(now - self._started_at)}] {self.plain_text(now)}"

    def plain_text(self, now: float) -> str:
        """Return the line without the running clock."""
        if not self._running:
            return "finishing"
        running = self._running[-1]
        if running.total is None and not running.done:
            return f"{running.phase} ({spell_seconds(now - running.started_at)})"
        facts = [_share(running)]
        rate = running.rate(now)
        if rate > 0:
            facts.append(_spell_rate(rate, running.unit))
            if running.total is not None and running.done < running.total:
                facts.append(f"{spell_seconds((running.total - running.done) / rate)} left")
        return f"{running.phase}: {', '.join(facts)}"

    def _start(self, phase: str, total: int | None, unit: str, now: float, *, is_announced: bool) -> _Running:
        started = _Running(phase=phase, total=total, unit=unit, started_at=now, is_announced=is_announced)
        self._running.append(started)
        return started


def clip(text: str, columns: int) -> str:
    """Cut a line to what fits into so many columns of a terminal; wide characters take two."""
    taken = 0
    for place, character in enumerate(text):
        taken += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if taken > columns:
            return text[:place]
    return text


def _share(running: _Running) -> str:
    if running.total is None:
        return _spell(running.done, running.unit, with_unit=True)
    percent = f" ({min(100, 100 * running.done // running.total)}%)" if running.total else ""
    is_bytes = running.unit == _BYTES
    done, total = (
        _spell(running.done, running.unit, with_unit=is_bytes),
        _spell(running.total, running.unit, with_unit=True),
    )
    return f"{done} of {total}{percent}"


def _spell(count: float, unit: str, *, with_unit: bool) -> str:
    if unit == _BYTES:
        return spell_bytes(round(count))
    return f"{count:,.0f} {unit}" if with_unit else f"{count:,.0f}"


def _spell_rate(rate: float, unit: str) -> str:
    if unit != _BYTES and rate < 10:  # whole numbers would hide a slow pace
        return f"{rate:.1f} {unit}/s"
    return f"{_spell(rate, unit, with_unit=True)}/s"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
