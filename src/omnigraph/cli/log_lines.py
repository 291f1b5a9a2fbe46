"""What the program logs, as lines on stderr: with `--debug`, or at the level that `$OMNIGRAPH_LOG` names."""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from omnigraph.base import clock
from omnigraph.base.logs import ROOT

LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class _Lines(logging.Formatter):
    """Time in UTC, level, logger, then the operation and the graph as far as there are any, then the message."""

    def format(self, record: logging.LogRecord) -> str:
        """Spell one record."""
        named = (getattr(record, "operation_id", None), getattr(record, "graph", None))
        record.belongs_to = "".join(f" [{name}]" for name in named if name is not None)
        more = (f"{name}={getattr(record, name)}" for name in ("path", "reason") if hasattr(record, name))
        return " ".join((super().format(record), *more))

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 — its base's name
        """Spell the time of a record to the millisecond."""
        del datefmt
        return f"{clock.timestamp_from_us(int(record.created * 1e6)).removesuffix('Z')}.{record.msecs:03.0f}Z"


@contextmanager
def log_lines(level: int) -> Iterator[None]:
    """Write what is logged at a level or above to stderr while the block runs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines("%(asctime)s %(levelname)s %(name)s%(belongs_to)s %(message)s"))
    logger = logging.getLogger(ROOT)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


def level_named(word: str) -> int | None:
    """Return the level that a word names; None if none does."""
    return LEVELS.get(word.strip().lower())
