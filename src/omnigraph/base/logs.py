"""Loggers that say which operation on which graph a record belongs to.

Everything is logged under `omnigraph.*`, and every record has the attributes `operation_id` and `graph`, None where
there is no operation or no graph. A library has no say in where records go: nothing is printed before a program sets up
a handler. Records never hold values of rows, contents of files or credentials.
"""

import logging
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

ROOT = "omnigraph"
_NOTHING: dict[str, str | None] = {"operation_id": None, "graph": None}
_current: ContextVar[dict[str, str | None]] = ContextVar("omnigraph.logs", default=_NOTHING)

logging.getLogger(ROOT).addHandler(logging.NullHandler())

if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    _Adapter = logging.LoggerAdapter


class OperationLogger(_Adapter):
    """A logger whose records carry what `about` said."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the operation and the graph to what the record says beside its message."""
        kwargs["extra"] = {**_current.get(), **(kwargs.get("extra") or {})}
        return msg, kwargs


def logger_of(name: str) -> OperationLogger:
    """Return the logger of a module of this package."""
    return OperationLogger(logging.getLogger(name), None)


@contextmanager
def about(*, graph: str, operation_id: str | None = None) -> Iterator[None]:
    """Let the records of this block, and of threads that take its context along, say what they belong to."""
    token = _current.set({"operation_id": operation_id, "graph": graph})
    try:
        yield
    finally:
        _current.reset(token)
