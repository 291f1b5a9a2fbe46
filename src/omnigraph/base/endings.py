"""Steps on which an outcome no longer hangs: what follows a publish, and what an operation leaves behind itself.

Such a step may fail without the operation having failed. It is said in a warning, with what becomes of it, and the
operation ends as it would have.
"""

from collections.abc import Callable

from omnigraph.base.events import Events, Warned, tell
from omnigraph.base.logs import logger_of

__all__ = ["attempt", "is_failure", "is_panic", "tell"]

_log = logger_of(__name__)


def attempt(step: Callable[[], object], events: Events, *, otherwise: str) -> bool:
    """Take a step that may fail; return whether it did not. `otherwise` says what is so if it does, and the way on."""
    try:
        step()
    except BaseException as failure:
        if not is_failure(failure):
            raise
        reason = str(failure) or type(failure).__name__
        _log.warning("%s (%s)", otherwise, reason)
        tell(events, Warned(message=f"{otherwise} ({reason})"))
        return False
    return True


def is_failure(raised: BaseException) -> bool:
    """Tell a failure from somebody's wish to stop; Lance's panics are failures that do not call themselves so."""
    return isinstance(raised, Exception) or is_panic(raised)


def is_panic(raised: BaseException | None) -> bool:
    """Tell a panic of a library written in Rust: no `Exception`, and of a class that cannot be imported."""
    return type(raised).__module__ == "pyo3_runtime"
