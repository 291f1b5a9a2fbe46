"""The lines of the server's log: text for people or JSON for programs, on stderr, written by a thread of its own.

A line is put together and written away from the event loop, a batch at a time. Who logs hands over facts; a secret or
a value of a row is never among them.
"""

import json
import logging
import os
import threading
from collections import deque
from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import orjson

from omnigraph.base import clock
from omnigraph.base.logs import ROOT

LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
FORMATS = ("text", "json")
request_id: ContextVar[str | None] = ContextVar("omnigraph.request_id", default=None)
_WORDS = {level: word for word, level in LEVELS.items()}
_PLAIN = frozenset({"request_id", "method", "duration_ms"})
"""Facts that cannot be misread, and are different every time."""
_PAUSE_SECONDS = 0.05
_LINES_MAX = 100_000

Facts = Mapping[str, Any]


class ServerLog:
    """Takes facts from any thread and writes them in their order."""

    def __init__(self, *, level: str = "info", form: str = "text", descriptor: int = 2) -> None:
        self.level = LEVELS[level]
        self._is_json = form == "json"
        self._descriptor = descriptor
        self._waiting: deque[tuple[int, int, str, Facts]] = deque()
        self._lost = 0
        self._stopping = threading.Event()
        self._flushing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._taken: list[tuple[logging.Logger, list[logging.Handler], bool, int]] = []
        """The loggers that were taken over, each as it was before."""

    def start(self) -> None:
        """Begin to write, and take over what the program logs by the standard library."""
        self._thread = threading.Thread(target=self._write_on, name="log", daemon=True)
        self._thread.start()
        handler = _Handler(self)
        for name in (ROOT, "uvicorn"):
            logger = logging.getLogger(name)
            self._taken.append((logger, logger.handlers, logger.propagate, logger.level))
            logger.handlers = [handler]
            logger.propagate = False
            logger.setLevel(self.level if name == ROOT else max(self.level, logging.WARNING))

    def stop(self) -> None:
        """Write what is waiting, and give the loggers back as they were."""
        self._stopping.set()
        self.flush()
        while self._taken:
            logger, handlers, propagate, level = self._taken.pop()
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)

    def note(self, message: str, facts: Facts) -> None:
        """Log something that happens all the time."""
        if self.level <= logging.INFO:
            self.put(logging.INFO, message, facts)

    def caution(self, message: str, facts: Facts) -> None:
        """Log something that somebody should look at."""
        self.put(logging.WARNING, message, facts)

    def put(self, level: int, message: str, facts: Facts) -> None:
        """Take a line; when nobody reads them for long, lines are lost and counted."""
        if level < self.level:
            return
        if len(self._waiting) >= _LINES_MAX:
            self._lost += 1
            return
        self._waiting.append((clock.now_us(), level, message, facts))

    def flush(self) -> None:
        """Write everything that is waiting now."""
        with self._flushing:
            lines = []
            while self._waiting:
                lines.append(self._line(*self._waiting.popleft()))
            if self._lost:
                lost, self._lost = self._lost, 0
                lines.append(self._line(clock.now_us(), logging.WARNING, "log lines were lost", {"lines": lost}))
            if lines:
                _write_all(self._descriptor, "".join(lines).encode("utf-8", "backslashreplace"))

    def _write_on(self) -> None:
        while not self._stopping.wait(_PAUSE_SECONDS):
            self.flush()

    def _line(self, at_us: int, level: int, message: str, facts: Facts) -> str:
        moment = f"{_second(at_us // 1_000_000)}.{at_us // 1_000 % 1_000:03d}Z"
        word = _WORDS.get(level) or logging.getLevelName(level).lower()
        if self._is_json:
            line = {"ts": moment, "level": word, "msg": message, **facts}
            return orjson.dumps(line, default=str, option=orjson.OPT_APPEND_NEWLINE).decode()
        told = [
            f" {name}={value}" if type(value) is int or name in _PLAIN else f" {name}={_plain(value)}"
            for name, value in facts.items()
            if value is not None
        ]
        return f"{moment} {word:7} {message}{''.join(told)}\n"


class _Handler(logging.Handler):
    """Brings records of the standard library to the same place."""

    def __init__(self, log: ServerLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        facts = {
            "logger": record.name,
            "request_id": request_id.get(),
            "operation_id": getattr(record, "operation_id", None),
            "graph": getattr(record, "graph", None),
        }
        if record.exc_info:
            facts["traceback"] = logging.Formatter().formatException(record.exc_info)
        self._log.put(record.levelno, record.getMessage(), {k: v for k, v in facts.items() if v is not None})


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    return clock.timestamp_from_us(seconds * 1_000_000)[:-1]


@lru_cache(maxsize=4_096)
def _plain(value: object) -> str:
    """Spell a value for a line of text: as it is if that cannot be misread, else as JSON."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if text and text.isprintable() and not {*' ="'} & {*text} else json.dumps(text)


def _write_all(descriptor: int, content: bytes) -> None:
    try:
        while content:
            content = content[os.write(descriptor, content) :]
    except OSError:
        return  # nobody reads the log any more; the server goes on without
