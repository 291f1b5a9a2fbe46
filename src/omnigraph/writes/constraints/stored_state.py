"""A stored state of a graph as the set checks want it: every row counts as written, none as kept beside it.

With that, the checks of a load ask of all that is stored what they otherwise ask of what comes in.
"""

from collections.abc import Collection, Iterator

from omnigraph.catalog.model import Catalog, EdgeType, EntityType, NodeType, TableKey
from omnigraph.records.offences import Code
from omnigraph.writes.constraints import words
from omnigraph.writes.constraints.keys import key_fields
from omnigraph.writes.constraints.resulting_state import NO_PLACE, ResultingState, number_of
from omnigraph.writes.constraints.set_checks import ViolationQuery, cardinality_check, endpoint_checks, unique_checks


class StoredState(ResultingState):
    """All that is stored, as if it were written."""

    def incoming(self, entity: EntityType) -> str:
        """Name all rows of a type, none of which has a place in any input."""
        columns = ", ".join(name for name, _ in key_fields(entity))
        return self.step(f"in{number_of(entity)}", f"SELECT {columns}, {NO_PLACE} FROM {self.stored(entity)}")

    def kept(self, entity: EntityType) -> str:
        """Name the rows beside these: none."""
        return self.step(f"kept{number_of(entity)}", f"SELECT * FROM {self.stored(entity)} WHERE false")

    def ids_afterwards(self, entity: EntityType) -> str:
        """Name the ids that a type has."""
        return self.stored(entity)

    def lost(self, node: NodeType) -> str:
        """Name the ids that go: none."""
        return self.kept(node)

    def touched_sources(self, edge: EdgeType) -> str:
        """Return a query for the sources that have edges; one without any breaks no rule."""
        return f"SELECT src FROM {self.stored(edge)}"


def needed_tables(catalog: Catalog, entity: EntityType, others: Collection[TableKey]) -> list[EntityType]:
    """Return the types whose keys the checks of a type read: itself and, across edges, its neighbours.

    A node looks at the edges that end at it, unless they are among `others`, whose checks somebody else makes.
    """
    if isinstance(entity, EdgeType):
        ends = [catalog.node_by_name[name] for name in dict.fromkeys((entity.from_type, entity.to_type))]
        return [entity, *ends]
    return [entity, *(edge for edge in catalog.edges_touching(entity.name) if edge.table_key not in others)]


def stored_checks(
    state: StoredState, catalog: Catalog, entity: EntityType, others: Collection[TableKey], limit: int
) -> Iterator[ViolationQuery]:
    """Check one table: its ids, its `@unique`, and that no edge of it, or to it, lacks a node."""
    yield _doubled_ids(state, entity, limit)
    yield from unique_checks(state, entity, limit)
    if isinstance(entity, EdgeType):
        yield from endpoint_checks(state, catalog, entity, limit)
        if not entity.cardinality.is_unbounded:
            yield cardinality_check(state, catalog, entity, limit)
        return
    for edge in needed_tables(catalog, entity, others):
        if isinstance(edge, EdgeType):
            yield from endpoint_checks(state, catalog, edge, limit, at=catalog.node_by_name[entity.name])


def _doubled_ids(state: StoredState, entity: EntityType, limit: int) -> ViolationQuery:
    query = (
        f"SELECT id, n, count(*) OVER () AS total FROM "
        f"(SELECT id, count(*) AS n FROM {state.stored(entity)} GROUP BY id) WHERE n > 1 ORDER BY id LIMIT {limit}"
    )
    return ViolationQuery(
        code=Code.DUPLICATE_ID,
        query=query,
        columns=frozenset({"id", "n", "total"}),
        word=lambda row: words.doubled_finding(entity, row),
    )
