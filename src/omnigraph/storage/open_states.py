"""The states of tables that are kept open, those that were used last."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Final, Generic, TypeVar

_STATES_MAX: Final = 256
_STATES_PER_PLACE_MAX: Final = 16
"""A state holds the list of all its fragments: whoever writes or follows a table keeps its newest states, not all."""

PlaceT = TypeVar("PlaceT", bound=Hashable)
StateT = TypeVar("StateT")


class OpenStates(Generic[PlaceT, StateT]):
    """States by the place of their table and their version; several threads may share it."""

    def __init__(self) -> None:
        self._places: OrderedDict[PlaceT, OrderedDict[int, StateT]] = OrderedDict()
        self._count = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return self._count

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
        with self._lock:
            states = self._places.setdefault(place, OrderedDict())
            self._places.move_to_end(place)
            self._count += version not in states
            states[version] = state
            states.move_to_end(version)
            if len(states) > _STATES_PER_PLACE_MAX:
                states.popitem(last=False)
                self._count -= 1
            while self._count > _STATES_MAX:
                oldest = next(iter(self._places))
                self._places[oldest].popitem(last=False)
                self._count -= 1
                if not self._places[oldest]:
                    del self._places[oldest]

    def forget(self, is_meant: Callable[[PlaceT], bool]) -> None:
        """Let go of all states of some places."""
        with self._lock:
            for place in [place for place in self._places if is_meant(place)]:
                self._count -= len(self._places.pop(place))
