"""Keeping the versions that a frame reads from cleanup, for as long as the frame or one made from it can be asked.

A frame of Spark Connect is a plan in this process, and every frame made from it refers to that plan. A classic frame is
an object of the JVM: all plans made from it share the table that its relation reads, and a weak reference says whether
anybody still has it, views and caches included. Nobody tells when it is gone, so it is looked for whenever another
frame is made.
"""

from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary, finalize

from omnigraph.storage.locks import HeldVersions

_lock = Lock()
_held_by_table: list[tuple[Any, HeldVersions]] = []
"""Weak references of the JVM to the tables of classic frames."""
_held_by_view: WeakKeyDictionary[Any, dict[str, HeldVersions]] = WeakKeyDictionary()
"""What views of Connect sessions read: they live on a server, for as long as the session."""


def hold_with_frame(frame: Any, held: HeldVersions) -> None:
    """Hold versions until nobody can ask the frame any more, or one that was made from it."""
    _let_go_of_lost_tables()
    if is_connect(frame.sparkSession):
        _hold_with(frame._plan, held)  # noqa: SLF001  # frames made from this one refer to its plan, not to it
        return
    try:
        table = frame._jdf.queryExecution().analyzed().table()  # noqa: SLF001  # there is no public way
        reference = frame.sparkSession._jvm.java.lang.ref.WeakReference(table)  # noqa: SLF001  # the same
    except Exception:  # noqa: BLE001  # another Spark, which keeps its relations elsewhere
        _hold_with(frame, held)
        return
    with _lock:
        _held_by_table.append((reference, held))


def is_connect(session: Any) -> bool:
    """Whether a session is a Spark Connect session, which has no JVM in this process."""
    return not hasattr(session, "_jsparkSession")


def hold_with_view(session: Any, name: str, held: HeldVersions) -> None:
    """Hold versions until a view of a Connect session is replaced, or the session is gone."""
    with _lock:
        views = _held_by_view.setdefault(session, {})
        former = views.get(name.casefold())
        views[name.casefold()] = held
    if former is not None:
        former.release()


def _hold_with(owner: Any, held: HeldVersions) -> None:
    # Nothing needs to be given back one by one when the process ends.
    finalize(owner, held.release).atexit = False


def _let_go_of_lost_tables() -> None:
    with _lock:
        known = list(_held_by_table)
        kept = [(reference, held) for reference, held in known if _is_there(reference)]
        _held_by_table[:] = kept
    for reference, held in known:
        if not any(reference is other for other, _ in kept):
            held.release()


def _is_there(reference: Any) -> bool:
    try:
        return reference.get() is not None
    except Exception:  # noqa: BLE001  # the JVM is gone, and its frames with it
        return False
