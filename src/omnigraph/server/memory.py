"""How a process that runs for weeks uses memory, where the defaults are made for one that ends soon."""

import asyncio
import ctypes
import gc
import os
from collections.abc import Callable
from typing import Final

_ARROW_POOL_VARIABLE: Final = "ARROW_DEFAULT_MEMORY_POOL"
_OBJECTS_BETWEEN_COLLECTIONS: Final = 700
"""As Python has it; the command line has it higher, because importing leaves no garbage."""
_RETURN_SECONDS: Final = 10.0


def choose_allocator() -> None:
    """Let Arrow take memory where everything else does; call it before Arrow is imported.

    Its own allocator keeps what every thread has let go of for that thread, which never ends where there are many
    threads and none of them ends. Whoever runs the server may choose another one.
    """
    os.environ.setdefault(_ARROW_POOL_VARIABLE, "system")


def settle() -> None:
    """Look for garbage often, but not among what is there by now and stays for as long as the server runs.

    A failed request leaves a circle of small objects, which may hold a large table that Python does not count.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)


async def keep_returning() -> None:
    """Give memory that nobody uses back to the system again and again, for as long as the server runs.

    The C library keeps what a thread has freed below something that is still in use, for a next time; what was needed
    once by each of many threads would stay for good, several times what is in use. The calls run beside the loop and
    take a few milliseconds.
    """
    give_back = free_memory_returner()
    while give_back is not None:
        await asyncio.sleep(_RETURN_SECONDS)
        await asyncio.to_thread(give_back, 0)


def free_memory_returner() -> Callable[[int], int] | None:
    """Return what gives free memory back; None where the C library is not the one of GNU and has no such call."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return found
