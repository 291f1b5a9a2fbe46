"""How a process that runs for weeks uses memory, where the defaults are made for one that ends soon."""

import gc
import os
from typing import Final

_ARROW_POOL_VARIABLE: Final = "ARROW_DEFAULT_MEMORY_POOL"
_OBJECTS_BETWEEN_COLLECTIONS: Final = 700
"""As Python has it; the command line has it higher, because importing leaves no garbage."""


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
