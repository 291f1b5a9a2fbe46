"""The comparisons that pages of large commits go on with, whoever asks for the next page."""

from collections import OrderedDict
from threading import Lock

from omnigraph.changes.diff import Diff

_DIFFS_MAX = 8
_BYTES_MAX = 64 << 20


class KeptDiffs:
    """A few diffs that somebody has read a part of; several threads may share it.

    A diff knows which entities changed, which may have taken long to find out, and reads their images page by page.
    """

    def __init__(self) -> None:
        self._diffs: OrderedDict[object, tuple[Diff, int]] = OrderedDict()
        self._lock = Lock()

    def known(self, diff: Diff) -> Diff:
        """Return the diff of the same states and filters that is kept, or the given one."""
        with self._lock:
            found = self._diffs.get(diff.key)
            return found[0] if found is not None else diff

    def settle(self, diff: Diff, *, is_done: bool) -> None:
        """Keep a diff of which a page was read, or let go of it if that was the last; those with images are not kept.

        Their entities are few. The bounds are a small number of diffs, and the bytes of what they found.
        """
        size_bytes = None if is_done else diff.found_bytes
        with self._lock:
            self._diffs.pop(diff.key, None)
            if size_bytes is None or size_bytes > _BYTES_MAX:
                return
            self._diffs[diff.key] = (diff, size_bytes)
            while len(self._diffs) > _DIFFS_MAX or sum(size for _, size in self._diffs.values()) > _BYTES_MAX:
                self._diffs.popitem(last=False)
