"""How a process that runs for weeks uses memory, where the defaults are made for one that ends soon."""

import ctypes
import gc
import os
from typing import Final

_ARROW_POOL_VARIABLE: Final = "ARROW_DEFAULT_MEMORY_POOL"
_ARENAS_VARIABLE: Final = "MALLOC_ARENA_MAX"
_ARENAS: Final = 4
_M_ARENA_MAX: Final = -8
"""What `mallopt` calls the number of arenas."""
_OBJECTS_BETWEEN_COLLECTIONS: Final = 700
"""As Python has it; the command line has it higher, because importing leaves no garbage."""


def choose_allocator() -> None:
    """Let Arrow take memory where everything else does; call it before Arrow is imported.

    Its own allocator keeps what every thread has let go of for that thread, which never ends where there are many
    threads and none of them ends. Whoever runs the server may choose another one. Of the places where the C library
    keeps free memory there are only a few, too, unless `$MALLOC_ARENA_MAX` says otherwise: it would have eight for
    every core, and each keeps what it had at its busiest.
    """
    os.environ.setdefault(_ARROW_POOL_VARIABLE, "system")
    if _ARENAS_VARIABLE not in os.environ:
        _c_library("mallopt", _M_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Give free memory back to the system, where the C library can; takes some milliseconds, on any thread."""
    _c_library("malloc_trim", 0)


def _c_library(function: str, *arguments: int) -> None:
    # A library that lacks the function has no such places either, or looks after them by itself.
    found = getattr(ctypes.CDLL(None), function, None)
    if found is not None:
        found(*arguments)


def settle() -> None:
    """Look for garbage often, but not among what is there by now and stays for as long as the server runs.

    A failed request leaves a circle of small objects, which may hold a large table that Python does not count.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
