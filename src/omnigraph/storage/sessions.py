"""What Lance keeps in memory for one open graph, within bounds.

Every graph that is opened has a session of its own: Lance knows some entries by the address of a table and a number of
a version alone, so that whoever removed a graph and made another in its place would meet the old one's.
"""

import os
from typing import Any, Final

from omnigraph.errors import InvalidTarget

INDEX_CACHE_BYTES_VARIABLE = "OMNIGRAPH_INDEX_CACHE_BYTES"
_METADATA_CACHE_BYTES: Final = 32 << 20
"""A small part of what Lance would take: enough for the thousands of files in use, of which each takes 6 to 20 KiB.

Whoever writes or follows commits fills it, however large it is, with files and versions that nobody asks for again.
"""
_INDEX_CACHE_BYTES_MAX: Final = 1 << 30
"""A sixth of what Lance would take, however little memory the machine has."""
_MEMORY_SHARE: Final = 8


def new_session() -> Any:
    """Return a session for the tables of one graph.

    Unbounded, whoever writes for long fills it with the metadata and indexes of versions that nobody reads again.
    """
    import lance

    return lance.Session(  # type: ignore[attr-defined]  # public, though not in its __all__
        metadata_cache_size_bytes=_METADATA_CACHE_BYTES,
        index_cache_size_bytes=index_cache_bytes(os.environ.get(INDEX_CACHE_BYTES_VARIABLE)),
    )


def index_cache_bytes(value: str | None) -> int:
    """Return how much the indexes of one graph may take: what a person says, or an eighth of the memory up to 1 GiB."""
    if value is not None and value.strip():
        if not value.strip().isdecimal():
            raise InvalidTarget(f"${INDEX_CACHE_BYTES_VARIABLE} is a number of bytes, not {value!r}.")
        return int(value)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(memory // _MEMORY_SHARE, _INDEX_CACHE_BYTES_MAX)
