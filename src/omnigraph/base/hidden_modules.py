"""Installed packages that a program of its own can do without.

Arrow looks for pandas when it makes its first array and loads it if it is there: a third of a second that no command
needs. Only a whole program may hide a package; a library has no right to take it from its host.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Hiding(MetaPathFinder, Loader):
    """Finds packages and fails to load them, as if they were broken: those who only look are not surprised."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Take the names that are hidden, leave all others to the finders behind."""
        del path, target
        return ModuleSpec(fullname, self) if fullname in self.names else None

    def exec_module(self, module: ModuleType) -> None:
        """Refuse to load."""
        raise ModuleNotFoundError(f"No module named {module.__name__!r} (hidden)", name=module.__name__)


_hiding = _Hiding()


def hide_module(name: str) -> None:
    """Let imports of a package fail from now on, unless it is loaded already."""
    if _hiding not in sys.meta_path:
        sys.meta_path.insert(0, _hiding)
    _hiding.names.add(name)


def reveal_module(name: str) -> None:
    """Let imports of a package succeed again."""
    _hiding.names.discard(name)
