"""What Spark tells of a failure in the data source: our sentence first, the trace behind it.

Spark passes on what a worker prints of an exception, which begins with the frames of its own functions. A worker that
has failed ends, so that it may be told to print the exception alone; the frames are part of its text.
"""

import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any, TypeVar

from omnigraph.errors import OmniError

Class = TypeVar("Class", bound=type)

_IN_WORKER = ("SPARK_PYTHON_RUNTIME", "PYTHON_WORKER")
_HIDING = "SPARK_HIDE_TRACEBACK"


def sentence_first(*methods: str) -> Callable[[Class], Class]:
    """Let these methods of a class tell of their failures with the sentence first."""

    def change(owner: Class) -> Class:
        for name in methods:
            setattr(owner, name, _telling(getattr(owner, name)))
        return owner

    return change


def _telling(method: Callable[..., Any]) -> Callable[..., Any]:
    if isgeneratorfunction(method):

        @wraps(method)
        def generate(*arguments: Any, **options: Any) -> Iterator[Any]:
            with _told():
                yield from method(*arguments, **options)

        return generate

    @wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        with _told():
            return method(*arguments, **options)

    return call


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except NotImplementedError:
        raise  # how Spark finds out what a source can do
    except Exception as failure:
        if _IN_WORKER not in os.environ.items() or _HIDING in os.environ:
            raise
        os.environ.update({_HIDING: "1"})
        trace = traceback.format_exc()
        if isinstance(failure, OmniError):
            failure.args = (f"{failure}\n\n{trace}",)
            raise
        first = str(failure).strip().partition("\n")[0] or "no reason given"
        raise RuntimeError(f"The omnigraph source failed: {type(failure).__name__}: {first}\n\n{trace}") from failure
