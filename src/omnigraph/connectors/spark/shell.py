"""SQL on Spark over the types of one snapshot, statement by statement; a statement that is interrupted is cancelled."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.connectors.spark.views import RegisteredViews
from omnigraph.engine.spark.session import OpenSession
from omnigraph.errors import QueryFailed

_ERROR_CLASS = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_SQL_STATE = re.compile(r"\s*SQLSTATE: [0-9A-Z]{5}.*$", re.DOTALL)
_PIECE = re.compile(
    r"""'(?:[^'\\]|\\.)*(?:'|\\?\Z) | "(?:[^"\\]|\\.)*(?:"|\\?\Z) | `[^`]*(?:`|\Z)  # also those that do not end
      | --[^\n]* | /\*.*?(?:\*/|\Z)
      | ; | [^;'"`/-]+ | .""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlAnswer:
    """What a statement gave."""

    rows: pa.Table
    has_more: bool
    """Whether rows were left out because only so many were wanted."""


class SqlShell:
    """A session that knows the types of one snapshot by their plain names."""

    def __init__(self, opened: OpenSession, views: RegisteredViews) -> None:
        self._opened = opened
        self._session = opened.session
        self.views = views

    def run(self, statement: str, *, rows_max: int | None) -> SqlAnswer:
        """Run one statement; raise `QueryFailed` with what Spark says in one sentence."""

        def ask() -> pa.Table:
            frame = self._session.sql(statement)
            return (frame if rows_max is None else frame.limit(rows_max + 1)).toArrow()

        rows = self._cancellable(ask)
        has_more = rows_max is not None and rows.num_rows > rows_max
        return SqlAnswer(rows=rows.slice(0, rows_max) if has_more else rows, has_more=has_more)

    def _cancellable(self, ask: Callable[[], pa.Table]) -> pa.Table:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        from omnigraph.engine.spark.interrupts import JobGroup, plain_interrupts

        group = JobGroup(self._session)
        # In a thread of its own: an interrupted call to Java would leave its connection with an answer nobody reads.
        with (
            self._opened.in_use(),
            _no_log_of_errors(),
            plain_interrupts(),
            ThreadPoolExecutor(max_workers=1, thread_name_prefix="omnigraph-sql") as pool,
        ):
            running = pool.submit(group.run, ask)
            try:
                return running.result()
            except KeyboardInterrupt:
                group.cancel()
                raise KeyboardInterrupt("the statement was cancelled") from None
            except (PySparkException, Py4JError, pa.ArrowException) as failure:
                text = str(failure)  # while Java, which knows it, can be asked
                raise QueryFailed(_sentence(text)) from RuntimeError(text)


@contextmanager
def _no_log_of_errors() -> Iterator[None]:
    """Keep PySpark from writing mistakes in a statement to a log as well, which is standard error."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled


def statements_in(text: str) -> tuple[list[str], str]:
    """Cut text at its semicolons, those in texts, names and comments aside; return whole statements and what is left.

    Comments alone are no statement.
    """
    whole: list[str] = []
    pieces: list[str] = []
    for match in _PIECE.finditer(text):
        if match[0] == ";":
            whole.append("".join(pieces).strip())
            pieces = []
        else:
            pieces.append(match[0])
    return [statement for statement in whole if _says_something(statement)], "".join(pieces)


def all_statements(text: str) -> list[str]:
    """Cut text into statements, the last of which needs no semicolon."""
    whole, rest = statements_in(text)
    return [*whole, rest.strip()] if _says_something(rest) else whole


def _says_something(text: str) -> bool:
    return any(_is_word(piece) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    return (match[0] for match in _PIECE.finditer(text))


def _is_word(piece: str) -> bool:
    return bool(piece.strip()) and not piece.startswith(("--", "/*"))


def _sentence(text: str) -> str:
    """Return what Spark says without its codes and traces."""
    said = _SQL_STATE.sub("", text.strip().partition("\n\nJVM stacktrace:")[0])
    raised = re.findall(r"^(?:[\w.]+\.)?(?:\w+): (.+)$", said, re.MULTILINE) if "Traceback (most recent" in said else []
    first = raised[-1] if raised else said.partition("\n")[0]
    first = _ERROR_CLASS.sub("", first).strip() or "Spark failed without a word"
    return first if first.endswith((".", "!", "?")) else f"{first}."
