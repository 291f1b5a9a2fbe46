"""Typed events: what happened while an operation ran, for terminals, logs and tests alike.

An operation takes an `Events` receiver and emits small frozen values; who listens decides how to show them. Long work
is told in phases: each starts with its total and unit as far as they are known, advances, and finishes
(`phase`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from omnigraph.base.logs import logger_of
from omnigraph.base.values import dataclass

_log = logger_of(__name__)
_doing: ContextVar[str | None] = ContextVar("doing", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something a person may want to know while an operation runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned(Event):
    """The operation went on, but somebody should look."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Event):
    """A fact worth one line: which engine ran, what was created on the way."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Published(Event):
    """Something is durable and visible from now on, whatever becomes of the rest of the run."""

    what: str
    """Named for people: `commit 01… (graph version 7 of branch main)`, `branch review`."""
    commit_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChosen(Event):
    """Where bulk work is about to run, and why there."""

    engine: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseStarted(Event):
    """A phase of long work begins; phases nest, and the one that started last is what the operation is doing now."""

    phase: str
    """What is being done, in words for people: `reading the input`."""
    total: int | None = None
    """How much there is to do; None while nobody knows."""
    unit: str = ""
    """What is counted: `bytes`, or a plural such as `rows`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advanced(Event):
    """How far a phase is, from its beginning; says everything anew, so that any event may be left out."""

    phase: str
    done: int
    total: int | None
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseFinished(Event):
    """A phase ended, well or not."""

    phase: str


Events = Callable[[Event], None]


def ignore_events(event: Event) -> None:
    """Receive events and drop them: the default of the Python API."""


def tell(events: Events, event: Event) -> None:
    """Hand over an event; a listener that fails has no say in the outcome."""
    try:
        events(event)
    except Exception:  # noqa: BLE001  # whoever listens is not ours; whatever it raises is theirs
        _log.warning("a listener failed at %s", event, exc_info=True)


class Phase:
    """One phase under way; any thread may say how far it is, and it never goes back."""

    def __init__(self, events: Events, name: str, *, total: int | None, unit: str) -> None:
        self._events = events
        self._name = name
        self._total = total
        self._unit = unit
        self._done = 0
        self._lock = Lock()

    def advance(self, count: int = 1) -> None:
        """Say that so much more is done."""
        with self._lock:
            self._done += count
            self._tell()

    def reach(self, done: int) -> None:
        """Say how much is done since the beginning."""
        with self._lock:
            if done > self._done:
                self._done = done
                self._tell()

    def _tell(self) -> None:
        tell(self._events, Advanced(phase=self._name, done=self._done, total=self._total, unit=self._unit))


@contextmanager
def phase(events: Events, name: str, *, total: int | None = None, unit: str = "") -> Iterator[Phase]:
    """Tell `events` of one phase of long work; the block does the work and says how far it is."""
    before = _doing.get()
    _doing.set(name)
    tell(events, PhaseStarted(phase=name, total=total, unit=unit))
    try:
        yield Phase(events, name, total=total, unit=unit)
    finally:
        tell(events, PhaseFinished(phase=name))
        _doing.set(before)  # no token: a generator may end its phase in another context than it began


def current_phase() -> str | None:
    """Return what the operation of this thread is doing, in the words that its listeners get."""
    return _doing.get()
