"""The lines of the server's log: text for people or JSON for programs, on stderr, written by a thread of its own.

A line is put together and written away from the event loop, a batch at a time. Who logs hands over facts; a secret or
a value of a row is never among them.
"""

import logging
import os
import threading
from collections import deque
from contextvars import ContextVar
from typing import Any, TypeAlias

from omnigraph.base import clock
from omnigraph.base.logs import ROOT
from omnigraph.server.lines import LEVELS, Facts, LineShape, spell_line

FORMATS = ("text", "json")
request_id: ContextVar[str | None] = ContextVar("omnigraph.request_id", default=None)
_PAUSE_SECONDS = 0.05
_LINES_MAX = 100_000

_Waiting: TypeAlias = "tuple[int, int, str, Facts] | tuple[int, LineShape, tuple[Any, ...]]"


class ServerLog:
    """Takes facts from any thread and writes them in their order."""

    def __init__(self, *, level: str = "info", form: str = "text", descriptor: int = 2) -> None:
        self.level = LEVELS[level]
        self._is_json = form == "json"
        self._descriptor = descriptor
        self._waiting: deque[_Waiting] = deque()
        self._lost = 0
        self._stopping = threading.Event()
        self._flushing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._taken: list[tuple[logging.Logger, list[logging.Handler], bool, int]] = []
        """The loggers that were taken over, each as it was before."""

    def start(self) -> None:
        """Begin to write, and take over what the program and its libraries log by the standard library."""
        self._thread = threading.Thread(target=self._write_on, name="log", daemon=True)
        self._thread.start()
        handler = _Handler(self)
        # The last one, which has no name, is that of all libraries: one of them says when traces cannot be delivered.
        for name in (ROOT, "uvicorn", None):
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

    def note_shaped(self, shape: LineShape, *values: Any) -> None:
        """Log what happens with most requests: a shape, and the values of this one line."""
        if self.level > logging.INFO:
            return
        if len(self._waiting) >= _LINES_MAX:
            self._lost += 1
            return
        self._waiting.append((clock.now_us(), shape, values))

    def flush(self) -> None:
        """Write everything that is waiting now."""
        with self._flushing:
            lines = []
            while self._waiting:
                lines.append(self._line(self._waiting.popleft()))
            if self._lost:
                lost, self._lost = self._lost, 0
                lines.append(self._line((clock.now_us(), logging.WARNING, "log lines were lost", {"lines": lost})))
            if lines:
                _write_all(self._descriptor, "".join(lines).encode("utf-8", "backslashreplace"))

    def _write_on(self) -> None:
        while not self._stopping.wait(_PAUSE_SECONDS):
            self.flush()

    def _line(self, waiting: _Waiting) -> str:
        if len(waiting) == 3:
            at_us, shape, values = waiting
            return shape.spell(at_us, values, is_json=self._is_json)
        at_us, level, message, facts = waiting
        return spell_line(at_us, level, message, facts, is_json=self._is_json)


class _Handler(logging.Handler):
    """Brings records of the standard library to the same place."""

    def __init__(self, log: ServerLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        facts = {
            "logger": record.name,
            "request_id": getattr(record, "request_id", None) or request_id.get(),
            "operation_id": getattr(record, "operation_id", None),
            "graph": getattr(record, "graph", None),
        }
        if record.exc_info:
            facts["traceback"] = logging.Formatter().formatException(record.exc_info)
        self._log.put(record.levelno, record.getMessage(), {k: v for k, v in facts.items() if v is not None})


def _write_all(descriptor: int, content: bytes) -> None:
    try:
        while content:
            content = content[os.write(descriptor, content) :]
    except OSError:
        return  # nobody reads the log any more; the server goes on without
