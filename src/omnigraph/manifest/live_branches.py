"""Looking at all branches while somebody deletes some: one that is listed may be gone when it is read."""

from collections.abc import Callable
from typing import TypeVar

from omnigraph.errors import OmniError
from omnigraph.manifest.state import ManifestReader

_LISTINGS_MAX = 3

Seen = TypeVar("Seen")


def look_at_live_branches(manifest: ManifestReader, look: Callable[[str], Seen]) -> dict[str, Seen]:
    """Return what `look` says of every live branch, `main` first; those deleted meanwhile are left out.

    A branch that is still there and cannot be read raises: it might need anything. When one is gone, the list is made
    and everything looked at again, at most three times in all, since what went may have been merged into a branch
    that was seen before. After the last time the gap is harmless: no branch goes while another reads its tables.
    """
    for listings_left in reversed(range(_LISTINGS_MAX)):
        listed = manifest.incarnations()
        seen: dict[str, Seen] = {}
        for name in listed:
            try:
                seen[name] = look(name)
            except OmniError:
                incarnation = manifest.incarnations().get(name)
                is_another = incarnation != listed[name]
                if not is_another or (incarnation is not None and not listings_left):
                    raise
        if seen.keys() == listed.keys():
            break
    return seen
