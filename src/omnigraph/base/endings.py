"""Steps on which an outcome no longer hangs: what follows a publish, and what an operation leaves behind itself.

Such a step may fail without the operation having failed. It is said in a warning, with what becomes of it, and the
operation ends as it would have.
"""

import logging
from collections.abc import Callable

from omnigraph.base.events import Event, Events, Warned

_log = logging.getLogger(__name__)


def attempt(step: Callable[[], object], events: Events, *, otherwise: str) -> bool:
    """Take a step that may fail; return whether it did not. `otherwise` says what is so if it does, and the way on."""
    try:
        step()
    except BaseException as failure:
        if not is_failure(failure):
            raise
        tell(events, Warned(message=f"{otherwise} ({str(failure) or type(failure).__name__})"))
        return False
    return True


def tell(events: Events, event: Event) -> None:
    """Hand over an event; a listener that fails has no say in the outcome."""
    try:
        events(event)
    except Exception:  # noqa: BLE001  # whoever listens is not ours; whatever it raises is theirs
        _log.warning("a listener failed at %s", event, exc_info=True)


def is_failure(raised: BaseException) -> bool:
    """Tell a failure from somebody's wish to stop; Lance's panics are failures that do not call themselves so."""
    return isinstance(raised, Exception) or type(raised).__module__ == "pyo3_runtime"
