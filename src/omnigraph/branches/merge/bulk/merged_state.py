"""The graph that a merge would make, as named steps over resolutions and the target's key columns."""

from collections.abc import Callable, Mapping

from omnigraph.catalog.model import EdgeType, EntityType, NodeType, TableKey
from omnigraph.engine.interface import Produced, Relation
from omnigraph.writes.constraints.keys import key_fields
from omnigraph.writes.constraints.resulting_state import NO_PLACE, ResultingState, number_of

TAKEN = "outcome IN ('take', 'delete_vs_update') AND row_id IS NOT NULL"
"""What comes from the source. A conflict between a change and a deletion counts as the change, whichever side made it:
the checks then report the conflict alone, and not every edge of a node that may yet stay."""
GONE = f"(outcome = 'delete' OR ({TAKEN}))"
"""What the target has no longer as it has it now."""


class MergedState(ResultingState):
    """What comes from the source counts as written."""

    def __init__(self, resolved: Mapping[TableKey, Relation], stored: Callable[[EntityType], Produced]) -> None:
        super().__init__(stored)
        self._resolved = resolved

    def resolved(self, entity: EntityType) -> str:
        """Name the resolution of a type that the merge changes."""
        name = f"r{number_of(entity)}"
        self.relations[name] = self._resolved[entity.table_key]
        return name

    def incoming(self, entity: EntityType) -> str:
        """Name the rows that come from the source."""
        columns = ", ".join(name for name, _ in key_fields(entity))
        query = f"SELECT {columns}, {NO_PLACE} FROM {self.resolved(entity)} WHERE {TAKEN}"
        return self.step(f"in{number_of(entity)}", query)

    def kept(self, entity: EntityType) -> str:
        """Name the target's rows that stay as they are."""
        stored = self.stored(entity)
        if entity.table_key not in self._resolved:
            return stored
        gone = f"(SELECT id FROM {self.resolved(entity)} WHERE {GONE})"
        return self.step(f"kept{number_of(entity)}", f"SELECT s.* FROM {stored} s ANTI JOIN {gone} g ON s.id = g.id")

    def ids_afterwards(self, entity: EntityType) -> str:
        """Name the ids that a type will have."""
        parts = [f"SELECT id FROM {self.kept(entity)}"]
        if entity.table_key in self._resolved:
            parts.append(f"SELECT id FROM {self.incoming(entity)}")
        return self.step(f"ids{number_of(entity)}", " UNION ALL ".join(parts))

    def lost(self, node: NodeType) -> str:
        """Name the ids that a type has now and will not have afterwards."""
        query = f"SELECT id FROM {self.resolved(node)} WHERE outcome = 'delete' AND target_row IS NOT NULL"
        return self.step(f"lost{number_of(node)}", query)

    def touched_sources(self, edge: EdgeType) -> str:
        """Return a query for the sources whose number of edges may change."""
        return (
            f"SELECT src FROM {self.incoming(edge)} UNION ALL "
            f"SELECT target_src FROM {self.resolved(edge)} WHERE {GONE} AND target_row IS NOT NULL"
        )
