"""Typed events: what happened while an operation ran, for terminals, logs and tests alike.

An operation takes an `Events` receiver and emits small frozen values; who listens decides how to show them.
"""

from collections.abc import Callable
from dataclasses import dataclass


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
class Advanced(Event):
    """How far a phase of long work is; `total` is None while it is unknown."""

    phase: str
    done: int
    total: int | None
    unit: str


Events = Callable[[Event], None]


def ignore_events(event: Event) -> None:
    """Receive events and drop them: the default of the Python API."""
