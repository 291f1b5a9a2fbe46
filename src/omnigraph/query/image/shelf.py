"""Everything that images keep in memory, on one shelf of bounded size: what was not used for longest goes first.

An entry is never changed, so that taking it off the shelf takes nothing from those who still read it. What does not fit
is not built: the caller is told, and reads the tables in another way.

Whoever reads the same entries again and again keeps them at hand (`Shortcuts`), without a lock and without looking them
up. The shelf empties all shortcuts before it takes anything off; what was in them counts as used until then.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Any, Protocol, TypeVar, cast
from weakref import ref

from omnigraph.errors import InvalidTarget

CACHE_BYTES_VARIABLE = "OMNIGRAPH_CACHE_BYTES"
_BYTES_MAX = 4 << 30
_MEMORY_SHARE = 4


class DoesNotFit(Exception):
    """What was asked for needs more memory than images may take; read the tables in another way."""


class Entry(Protocol):
    """Something that knows how much memory it takes."""

    @property
    def nbytes(self) -> int:
        """How many bytes."""
        ...


EntryT = TypeVar("EntryT", bound=Entry)
FoundT = TypeVar("FoundT")


class Shortcuts(dict[Hashable, Any]):
    """Entries of a shelf, or what reads them, that somebody has at hand until the shelf needs room."""

    __slots__ = ("__weakref__",)


class Shelf:
    """Entries by key, built once each, up to a number of bytes; several threads may share it."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._entries: OrderedDict[Hashable, Entry] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._held: dict[Hashable, int] = {}
        self._used = 0
        self._reserved = 0
        self._building: set[Hashable] = set()
        self._shortcuts: list[ref[Shortcuts]] = []
        self._removals = 0
        self._changed = Condition()
        self.hits = 0
        self.misses = 0
        """How often something was there, or had to be built; what is at hand is not looked up."""

    @property
    def used_bytes(self) -> int:
        """How much is on the shelf."""
        return self._used

    @property
    def count(self) -> int:
        """How many entries are on the shelf."""
        return len(self._entries)

    def find(self, key: Hashable) -> Entry | None:
        """Return an entry if it is there."""
        with self._changed:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def get(self, key: Hashable, build: Callable[[], EntryT], *, peak_bytes: int = 0) -> EntryT:
        """Return an entry, and build it where it is not there; whoever else wants it meanwhile waits.

        `peak_bytes` is what building may take at its highest, which is set aside first. Where only some ways to it
        take much, they set it aside themselves (`reserved`), so that the others take nothing from the shelf.
        """
        with self._changed:
            while True:
                found = self._entries.get(key)
                if found is not None:
                    self._entries.move_to_end(key)
                    self.hits += 1
                    return cast("EntryT", found)
                if key not in self._building:
                    self.misses += 1
                    break
                self._changed.wait()
            self._reserve(peak_bytes)
            self._building.add(key)
        built = None
        try:
            built = build()
        finally:
            with self._changed:
                self._building.discard(key)
                self._reserved -= peak_bytes
                if built is not None:
                    self._put(key, built)
                self._changed.notify_all()
        return built

    @contextmanager
    def reserved(self, size_bytes: int) -> Iterator[None]:
        """Set memory aside for a while; raises `DoesNotFit` where there is not so much."""
        with self._changed:
            self._reserve(size_bytes)
        try:
            yield
        finally:
            with self._changed:
                self._reserved -= size_bytes

    def hold(self, key: Hashable, size_bytes: int) -> None:
        """Set memory aside, or another amount than before, for something that is not on the shelf."""
        if self._held.get(key) == size_bytes:
            return
        with self._changed:
            self._reserved += size_bytes - self._held.get(key, 0)
            self._held[key] = size_bytes
            self._make_room()

    def new_shortcuts(self) -> Shortcuts:
        """Return shortcuts for somebody who reads what is on the shelf; they go with whoever keeps them."""
        new = Shortcuts()
        with self._changed:
            self._shortcuts = [known for known in self._shortcuts if known() is not None]
            self._shortcuts.append(ref(new))
        return new

    def keep_at_hand(self, shortcuts: Shortcuts, key: Hashable, find: Callable[[], FoundT]) -> FoundT:
        """Find something and keep it at hand, unless anything was taken off meanwhile: it may have been this."""
        removals = self._removals
        found = find()
        shortcuts[key] = found
        if self._removals != removals:
            shortcuts.pop(key, None)
        return found

    def remove(self, key: Hashable) -> None:
        """Take an entry off."""
        with self._changed:
            self._empty_shortcuts()
            self._remove(key)

    def remove_all(self, is_meant: Callable[[Hashable], bool]) -> None:
        """Take off every entry whose key is meant."""
        with self._changed:
            self._empty_shortcuts()
            for key in [key for key in self._entries if is_meant(key)]:
                self._remove(key)

    def _reserve(self, size_bytes: int) -> None:
        if size_bytes + self._reserved > self.bytes_max:
            raise DoesNotFit(
                f"{size_bytes:,} bytes are needed and images may take {self.bytes_max:,} (${CACHE_BYTES_VARIABLE})"
            )
        self._reserved += size_bytes
        self._make_room()

    def _put(self, key: Hashable, entry: Entry) -> None:
        self._entries[key] = entry
        self._sizes[key] = entry.nbytes
        self._used += self._sizes[key]
        self._make_room(newest=key)

    def _make_room(self, newest: Hashable = None) -> None:
        if self._used + self._reserved > self.bytes_max:
            self._empty_shortcuts()
            if newest in self._entries:
                self._entries.move_to_end(newest)
        while self._entries and self._used + self._reserved > self.bytes_max:
            self._remove(next(iter(self._entries)))

    def _empty_shortcuts(self) -> None:
        """Let what was at hand count as used, and have it looked up again: who is not at hand any more goes first."""
        self._removals += 1
        used: set[int] = set()
        for known in self._shortcuts:
            shortcuts = known()
            if shortcuts:
                used.update(
                    id(part) for entry in [*shortcuts.values()] for part in (entry, *getattr(entry, "parts", ()))
                )
                shortcuts.clear()
        if used:
            for key in [key for key, entry in self._entries.items() if id(entry) in used]:
                self._entries.move_to_end(key)

    def _remove(self, key: Hashable) -> None:
        if self._entries.pop(key, None) is not None:
            self._used -= self._sizes.pop(key)


def shelf_bytes(value: str | None) -> int:
    """Return how much images may take: what a person says, or a quarter of the memory up to 4 GB."""
    if value is not None and value.strip():
        if not value.strip().isdecimal():
            raise InvalidTarget(f"${CACHE_BYTES_VARIABLE} is a number of bytes, not {value!r}.")
        return int(value)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(memory // _MEMORY_SHARE, _BYTES_MAX)
