"""Installed packages that a program of its own can do without, or without for now.

Arrow loads numpy with itself and looks for pandas when it makes its first array: half a second that no command needs.
Only a whole program may keep a package from Arrow; a library has no right to take it from its host.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from threading import RLock
from types import FrameType, ModuleType
from typing import Any

_IMPORTING = (__name__, "importlib.", "_frozen_importlib")


class _Hiding:
    """Finds packages and fails to load them, as if they were broken: those who only look are not surprised."""

    def __init__(self) -> None:
        self.hidden: set[str] = set()
        self.deferred: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Take the names that are hidden or deferred, leave all others to the finders behind."""
        del path, target
        loader: Any = self
        return ModuleSpec(fullname, loader) if fullname in self.hidden or fullname in self.deferred else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Refuse to load what is hidden, and what is deferred if it is for Arrow, which would use it at once."""
        if module.__name__ in self.hidden or _is_asked_by_arrow():
            raise ModuleNotFoundError(f"No module named {module.__name__!r} (hidden)", name=module.__name__)
        module.__class__ = _Deferred


class _Deferred(ModuleType):
    """A package that is loaded when somebody looks into it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_load(self.__name__), name)


_hiding = _Hiding()
_loading = RLock()


def hide_module(name: str) -> None:
    """Let imports of a package fail from now on, unless it is loaded already."""
    _take_part()
    _hiding.hidden.add(name)


def defer_module(name: str) -> None:
    """Let a package be loaded when it is first used instead of when it is imported; Arrow does without it for good.

    An Arrow that has been loaded without numpy cannot convert to and from it.
    """
    _take_part()
    _hiding.deferred.add(name)


def skip_arrow_manual() -> None:
    """Keep Arrow from putting the manual of its functions together while it loads: nobody asks a program for it."""
    manual = _Deferred("pyarrow.vendored.docscrape")
    # All that Arrow asks of it today; whatever else it may ask one day, it gets from the module itself.
    manual.NumpyDocString = lambda _: {"Parameters": ()}  # type: ignore[attr-defined]
    sys.modules.setdefault(manual.__name__, manual)


def reveal_module(name: str) -> None:
    """Let imports of a package succeed again."""
    _hiding.hidden.discard(name)


def _take_part() -> None:
    if _hiding not in sys.meta_path:
        sys.meta_path.insert(0, _hiding)


def _is_asked_by_arrow() -> bool:
    """Whether the import that is under way stands in a module of Arrow, or in a compiled one that it imports."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 — the documented way to learn who asks
    while frame is not None and frame.f_globals["__name__"].startswith(_IMPORTING):
        frame = frame.f_back
    return frame is not None and frame.f_globals["__name__"].partition(".")[0] == "pyarrow"


def _load(name: str) -> ModuleType:
    with _loading:
        _hiding.deferred.discard(name)
        if isinstance(sys.modules.get(name), _Deferred):
            del sys.modules[name]
        return import_module(name)
