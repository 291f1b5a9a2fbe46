"""Choosing the way: look-ups while they are cheaper than building an image, which pays for itself later.

Whoever only ever asks a few small questions never builds an image. Whoever goes on asking has spent, by the time it is
built, at most as much again on look-ups.
"""

from enum import StrEnum
from math import inf
from threading import Lock
from typing import TYPE_CHECKING

from omnigraph.base.values import dataclass
from omnigraph.query.ways.costs import LOCAL_ASK, REMOTE_ASK, build_seconds, duckdb_seconds, look_up_seconds, rows_in
from omnigraph.query.ways.parts import parts_of

if TYPE_CHECKING:
    from omnigraph.catalog.model import TableKey
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.query.plan.steps import Plan
    from omnigraph.storage.layout import TableLayout

_SMALL_ROWS = 10_000
"""Fewer rows are read into memory as fast as anything can be looked up."""
_KNOWN_MAX = 10_000


class WayName(StrEnum):
    """The ways there are."""

    IMAGE = "image"
    LOOK_UPS = "look-ups"
    DUCKDB = "DuckDB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a read is answered, and why."""

    name: WayName
    reason: str
    build_seconds: float = 0.0
    """What building the missing parts of the image takes, about; endless where it does not fit."""
    rows_max: int = 0
    """How many rows may be looked up before another way is taken after all."""

    def instead(self, reason: str) -> "Way":
        """Return the way that is left when look-ups are none."""
        name = WayName.IMAGE if self.build_seconds < inf else WayName.DUCKDB
        return Way(name=name, reason=reason, build_seconds=self.build_seconds)


READY = Way(name=WayName.IMAGE, reason="it is at hand")
NO_ROOM = Way(name=WayName.DUCKDB, reason="the image would take more memory than allowed", build_seconds=inf)


class Ways:
    """Chooses for the reads of one graph, and remembers what look-ups have cost so far; threads may share it."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._ready: set[tuple[str, int]] = set()
        self._lock = Lock()

    def choose(self, snapshot: "Snapshot", plan: "Plan") -> Way:
        """Choose the way for one run."""
        if self.is_ready(snapshot, plan):
            return READY
        way = self._weighed(snapshot, plan)
        if way is READY:
            self._remember(snapshot, plan)
        return way

    def is_ready(self, snapshot: "Snapshot", plan: "Plan") -> bool:
        """Whether a plan is known to find everything that it needs in the image."""
        return (snapshot.commit_id, id(plan)) in self._ready

    def took(self, snapshot: "Snapshot", plan: "Plan", way: Way, seconds: float) -> None:
        """Remember what a way has cost."""
        with self._lock:
            if way.name is not WayName.IMAGE:
                self._spent += seconds if way.build_seconds < inf else 0.0
                return
            self._spent = max(0.0, self._spent - way.build_seconds)
        self._remember(snapshot, plan)

    def _remember(self, snapshot: "Snapshot", plan: "Plan") -> None:
        """Remember that a plan finds what it needs; if that is put away later, it is made again as it is needed."""
        with self._lock:
            if len(self._ready) >= _KNOWN_MAX:
                self._ready.clear()
            self._ready.add((snapshot.commit_id, id(plan)))

    def _weighed(self, snapshot: "Snapshot", plan: "Plan") -> Way:
        from omnigraph.graphs.snapshot import pinned_state
        from omnigraph.query.image.images import images_of

        context, pinned = pinned_state(snapshot)
        images = images_of(context)
        parts = parts_of(plan)
        missing = [part for part in parts if not images.has(pinned.pins[part.table_key], part.kind, part.name)]
        if not missing:
            return READY
        ask_seconds = LOCAL_ASK if context.store.root.is_local else REMOTE_ASK

        def count(table: "TableKey") -> int:
            return pinned.pins[table].row_count

        does_fit = images.would_fit((part.kind, part.of, count(part.table_key)) for part in parts)
        if does_fit and sum(map(count, {part.table_key for part in missing})) < _SMALL_ROWS:
            return Way(name=WayName.IMAGE, reason="the tables are small")
        look_ups = look_up_seconds(plan, count, _Unindexed(snapshot), ask_seconds)
        if not does_fit:
            return self._without_image(look_ups, duckdb_seconds(parts, count, ask_seconds))
        build = build_seconds(missing, count, ask_seconds)
        if self._spent + look_ups < build:
            reason = f"they take about {_time(look_ups)}, and building the image would take {_time(build)}"
            return Way(name=WayName.LOOK_UPS, reason=reason, build_seconds=build, rows_max=_rows_max(build))
        reason = f"building it takes about {_time(build)}"
        if self._spent and look_ups < build:
            reason += f", and look-ups have taken {_time(self._spent)} so far"
        return Way(name=WayName.IMAGE, reason=reason, build_seconds=build)

    @staticmethod
    def _without_image(look_ups: float, duckdb: float) -> Way:
        name = WayName.LOOK_UPS if look_ups < duckdb else WayName.DUCKDB
        return Way(name=name, reason=NO_ROOM.reason, build_seconds=inf, rows_max=_rows_max(duckdb))


class _Unindexed:
    """Counts the rows that no index knows."""

    def __init__(self, snapshot: "Snapshot") -> None:
        self._snapshot = snapshot
        self._layouts: dict[TableKey, TableLayout] = {}

    def __call__(self, table: "TableKey", column: str) -> int:
        from omnigraph.graphs.snapshot import stored_table
        from omnigraph.storage.index_lookup import unindexed_rows
        from omnigraph.storage.layout import read_layout

        if table not in self._layouts:
            self._layouts[table] = read_layout(stored_table(self._snapshot, table))
        return unindexed_rows(self._layouts[table], column)


def _rows_max(other_seconds: float) -> int:
    """Return how many rows may be looked up before that takes as long as another way."""
    return max(rows_in(other_seconds), _SMALL_ROWS)


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{max(seconds * 1_000, 1):.0f} ms"
