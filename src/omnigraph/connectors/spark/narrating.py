"""What a write through the data source says while it runs: lines of the logger `omnigraph.spark`, at INFO.

Spark calls the source in Python processes of its own: the standard error of the one that plans and commits is that of
the driver, and of those that write it is that of their executor. Nobody has told logging about them there, so a write
that is to be heard puts a handler in place for as long as it runs.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.base import clock, work
from omnigraph.base.events import Advanced, Event, PhaseStarted, Warned
from omnigraph.base.logs import about, logger_of
from omnigraph.base.units import spell_bytes
from omnigraph.manifest.commits import Commit

_SECONDS_BETWEEN = 5.0
_log = logger_of("omnigraph.spark")


@contextmanager
def heard(graph: str, *, shows: bool) -> Iterator[None]:
    """Let lines of this block be heard, if they are wanted and nobody listens already; leave no trace behind it."""
    logger = _log.logger
    with about(graph=graph):
        if not shows or _is_heard(logger):
            yield
            return
        handler, level = logging.StreamHandler(sys.stderr), logger.level
        handler.setFormatter(logging.Formatter("%(asctime)s omnigraph: %(message)s", "%H:%M:%S"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)


def _is_heard(logger: logging.Logger | None) -> bool:
    """Whether anybody listens to a logger, beside those who drop what they hear."""
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


class Narrator:
    """Turns events into lines, few enough to be read: every phase, and how far it is every few seconds."""

    def __init__(self) -> None:
        self._said_at = clock.monotonic_seconds()

    def __call__(self, event: Event) -> None:
        """Receive an event."""
        match event:
            case PhaseStarted():
                self._say(f"{event.phase}{_amount(None, event.total, event.unit)}")
            case Advanced() if self._is_time:
                self._say(f"{event.phase}{_amount(event.done, event.total, event.unit)}")
            case Warned():
                _log.warning(event.message)
            case _:
                pass

    def rows_of_partition(self, partition: int) -> work.Report:
        """Return what is told of rows as a worker takes them in."""
        rows = 0

        def took(count: int) -> None:
            nonlocal rows
            rows += count
            if self._is_time:
                self._say(f"partition {partition}: {rows:,} {'row' if rows == 1 else 'rows'}")

        return took

    @property
    def _is_time(self) -> bool:
        return clock.monotonic_seconds() - self._said_at >= _SECONDS_BETWEEN

    def _say(self, line: str) -> None:
        self._said_at = clock.monotonic_seconds()
        _log.info(line)


def tell_begin(what: str, where: str) -> None:
    """Say what is about to be written."""
    _log.info("writing %s to %s", what, where)


def tell_end(what: str, rows: int, partitions: int, commit: Commit | None) -> None:
    """Say what became of it."""
    came = (
        f"commit {commit.graph_commit_id}, version {commit.graph_version} of {commit.graph_branch}"
        if commit is not None
        else "nothing to change"
    )
    _log.info("%s: %s rows of %s partitions; %s", what, f"{rows:,}", partitions, came)


def _amount(done: int | None, total: int | None, unit: str) -> str:
    figures = [_figure(number, unit) for number in (done, total) if number is not None]
    if not figures:
        return ""
    shown = unit.removesuffix("s") if total == 1 else unit
    return f": {' of '.join(figures)}" + ("" if unit == "bytes" else f" {shown}")


def _figure(number: int, unit: str) -> str:
    return spell_bytes(number) if unit == "bytes" else f"{number:,}"
