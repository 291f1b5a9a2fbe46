"""The rows that a merge compares, as workers read them and cut them by id."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from omnigraph.branches.merge.bulk.outcomes import CARRIED_ROWS, held_values
from omnigraph.branches.merge.bulk.rows import unshared
from omnigraph.branches.merge.routes import Route
from omnigraph.branches.merge.sides import MergeSides
from omnigraph.catalog.model import EdgeType, EntityType
from omnigraph.changes.compare import TableState
from omnigraph.engine.interface import Produced
from omnigraph.writes.constraints.resulting_state import number_of
from omnigraph.writes.exchange.stages import Kept, Reading

Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One table of a merge: how it is merged, and how many bases it is compared with."""

    entity: EntityType
    route: Route
    bases: int

    @property
    def number(self) -> str:
        """What the relations of this table begin with."""
        return number_of(self.entity)

    def relation(self, side: Side, base: int, what: str = "") -> str:
        """Name a relation of one side against one base."""
        return f"{self.number}_{side}{base}{what and '_'}{what}"

    def compared_sides(self) -> tuple[Side, ...]:
        """Return the sides that may have changes."""
        return SIDES if self.route is Route.THREE_WAY else SIDES[:1]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReadings:
    """What workers read of one table, and in how many parts they read the source."""

    readings: tuple[Reading, ...]
    parts: int


def read_table(
    sides: MergeSides, compared: Compared, stored: Produced, *, operation_id: str, slots: int
) -> TableReadings:
    """Describe the rows that workers read of one table: those that differ between states, and the target's keys."""
    entity, found, parts = compared.entity, [stored_reading(compared.entity, stored)], 0
    rows_of = partial(unshared, uri=sides.target.context.store.uri, operation_id=operation_id, slots=slots)
    states: dict[Side, TableState] = {"source": sides.source_state(entity), "target": sides.target_state(entity)}
    for number, base in enumerate(sides.base_states(entity)):
        for side in compared.compared_sides():
            after = rows_of(states[side], base, has_keys=side == "source")
            parts = max(parts, len(after.tasks)) if side == "source" else parts
            for what, rows in (("before", rows_of(base, states[side])), ("after", after)):
                kept = Kept(relation=compared.relation(side, number, what), shelf=CARRIED_ROWS, by=("id",))
                weights = tuple(task.rows for task in rows.tasks)
                found.append(Reading(produced=rows, rows_by_task=weights, keeps=(kept,)))
    return TableReadings(readings=tuple(found), parts=parts)


def stored_reading(entity: EntityType, stored: Produced, *, is_compared: bool = True) -> Reading:
    """Describe the key columns of the target's rows: where each is found and, for checks, what it holds for itself."""
    sources = ("src",) if isinstance(entity, EdgeType) else ()
    columns = ("id", "row_id", "row_address", *sources) if is_compared else ("id",)
    number = number_of(entity)
    keeps = [Kept(relation=f"{number}_stored", shelf=CARRIED_ROWS, columns=columns, by=("id",))]
    if is_compared:
        keeps += [values.kept for values in held_values(entity)]
    return Reading(produced=stored, rows_by_task=tuple(task.rows for task in stored.tasks), keeps=tuple(keeps))
