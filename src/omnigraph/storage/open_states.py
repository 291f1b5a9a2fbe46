"""The states of tables that are kept open, those that were used last."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable
from threading import Lock
from typing import Final, Generic, Protocol, TypeVar

_STATES_MAX: Final = 256
_FRAGMENTS_MAX: Final = 131_072
_STATES_PER_PLACE_MAX: Final = 16
_STATES_PER_PLACE_MIN: Final = 2
_FRAGMENTS_PER_PLACE_MAX: Final = 16_384
"""A state holds the list of all its fragments, with about 1 KiB for each: of a table of many, only the newest states
stay, which would have to be read again at once."""


class HasFragments(Protocol):
    """A state of a table."""

    @property
    def fragment_count(self) -> int:
        """How many fragments it has."""
        ...


PlaceT = TypeVar("PlaceT", bound=Hashable)
StateT = TypeVar("StateT", bound=HasFragments)


def are_too_many(states: Collection[HasFragments]) -> bool:
    """Whether these are more states of one table, or heavier ones, than should stay in memory."""
    if len(states) <= _STATES_PER_PLACE_MIN:
        return False
    return len(states) > _STATES_PER_PLACE_MAX or _weight(states) > _FRAGMENTS_PER_PLACE_MAX


def _weight(states: Iterable[HasFragments]) -> int:
    return sum(state.fragment_count for state in states)


class OpenStates(Generic[PlaceT, StateT]):
    """States by the place of their table and their version; several threads may share it."""

    def __init__(self) -> None:
        self._places: OrderedDict[PlaceT, OrderedDict[int, StateT]] = OrderedDict()
        self._count = 0
        self._fragments = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return self._count

    @property
    def fragment_count(self) -> int:
        """How many fragments all states have together."""
        return self._fragments

    def find(self, place: PlaceT, version: int) -> StateT | None:
        """Return an open state, if there is one."""
        with self._lock:
            states = self._places.get(place)
            found = states.get(version) if states is not None else None
            if states is not None and found is not None:
                self._places.move_to_end(place)
                states.move_to_end(version)
            return found

    def keep(self, place: PlaceT, version: int, state: StateT) -> None:
        """Keep a state open, and let go of those that nobody has used for longest."""
        weight = state.fragment_count  # asked before anybody has to wait
        with self._lock:
            states = self._places.setdefault(place, OrderedDict())
            self._places.move_to_end(place)
            replaced = states.pop(version, None)
            self._count += replaced is None
            self._fragments += weight - (replaced.fragment_count if replaced is not None else 0)
            states[version] = state
            while are_too_many(states.values()):
                self._let_go_of_oldest(place)
            while self._count > _STATES_MAX or (
                self._fragments > _FRAGMENTS_MAX and self._count > _STATES_PER_PLACE_MIN
            ):
                self._let_go_of_oldest(next(iter(self._places)))

    def forget(self, is_meant: Callable[[PlaceT], bool]) -> None:
        """Let go of all states of some places."""
        with self._lock:
            for place in [place for place in self._places if is_meant(place)]:
                states = self._places.pop(place)
                self._count -= len(states)
                self._fragments -= _weight(states.values())

    def _let_go_of_oldest(self, place: PlaceT) -> None:
        states = self._places[place]
        _, oldest = states.popitem(last=False)
        self._count -= 1
        self._fragments -= oldest.fragment_count
        if not states:
            del self._places[place]
