"""The state that a load would produce, as named steps over the key columns of its records and of what is stored."""

from collections.abc import Callable, Mapping

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EdgeType, EntityType, NodeType, TableKey
from omnigraph.engine.interface import Produced
from omnigraph.pipeline.load.meaning import naming_endpoints
from omnigraph.pipeline.load.writer import LoadMode
from omnigraph.writes.constraints.keys import identity_columns, member_columns
from omnigraph.writes.constraints.resulting_state import ResultingState, number_of


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingKeys:
    """The key columns of all records of one type."""

    entity: EntityType
    relation: Produced
    rows: int
    ids_given: int

    @property
    def has_newest(self) -> bool:
        """Whether a property tells which of several records with one id counts."""
        return "newest" in self.relation.schema.names

    def is_all_new(self, mode: LoadMode) -> bool:
        """Whether every id was minted just now, so that none can repeat or exist; a merge looks for meaning first."""
        return self.ids_given == 0 and mode != "merge"


class Views(ResultingState):
    """The records of a load count as written; `folded` are the types in which an id occurs more than once."""

    def __init__(
        self,
        incoming: Mapping[TableKey, IncomingKeys],
        stored: Callable[[EntityType], Produced],
        *,
        mode: LoadMode,
        folded: frozenset[TableKey] = frozenset(),
    ) -> None:
        super().__init__(stored)
        self._incoming = incoming
        self._mode = mode
        self._folded = folded

    def has(self, entity: EntityType) -> bool:
        """Whether the input holds records of a type."""
        return entity.table_key in self._incoming

    def is_replaced(self, entity: EntityType) -> bool:
        """Whether nothing stored of a type remains."""
        return self._mode == "overwrite" and self.has(entity)

    def is_all_new(self, entity: EntityType) -> bool:
        """Whether no record of a type can be a stored entity."""
        return self._incoming[entity.table_key].is_all_new(self._mode)

    def named(self, entity: EntityType) -> str:
        """Name the records of a type under the ids that they will have, repeated ones included."""
        keys = f"k{number_of(entity)}"
        self.relations[keys] = self._incoming[entity.table_key].relation
        if self._mode != "merge" or not isinstance(entity, EdgeType):
            return keys
        columns = [name for name in self._columns(entity) if name != "id"]
        meant = self._meant(entity, keys)
        return self.step(
            f"named{number_of(entity)}",
            f"SELECT coalesce(k.id, m.id, k.minted) AS id, {', '.join(f'k.{name}' for name in columns)} "
            f"FROM {keys} k LEFT JOIN {meant} m ON k.position = m.position",
        )

    def incoming(self, entity: EntityType) -> str:
        """Name the records of a type, the newest or last one of every id."""
        named = self.named(entity)
        if entity.table_key not in self._folded:
            return named
        newest = "newest DESC NULLS LAST, " if self._incoming[entity.table_key].has_newest else ""
        return self.step(
            f"in{number_of(entity)}",
            f"SELECT {', '.join(self._columns(entity))} FROM (SELECT *, row_number() OVER "
            f"(PARTITION BY id ORDER BY {newest}position DESC) AS place FROM {named}) WHERE place = 1",
        )

    def kept(self, entity: EntityType) -> str:
        """Name the stored rows of a type that the load leaves as they are."""
        stored = self.stored(entity)
        if self.is_replaced(entity):
            return self.step(f"kept{number_of(entity)}", f"SELECT * FROM {stored} WHERE false")
        if not self.has(entity) or self.is_all_new(entity):
            return stored
        return self.step(
            f"kept{number_of(entity)}",
            f"SELECT s.* FROM {stored} s ANTI JOIN {self.incoming(entity)} i ON s.id = i.id",
        )

    def ids_afterwards(self, entity: EntityType) -> str:
        """Name the ids that a type will have; one may occur twice."""
        parts = []
        if self.has(entity):
            parts.append(f"SELECT id FROM {self.incoming(entity)}")
        if not self.is_replaced(entity):
            parts.append(f"SELECT id FROM {self.stored(entity)}")
        return self.step(f"ids{number_of(entity)}", " UNION ALL ".join(parts))

    def lost(self, node: NodeType) -> str:
        """Name the ids that a type has now and will not have afterwards."""
        return self.step(
            f"lost_{node.type_id}",
            f"SELECT s.id FROM {self.stored(node)} s ANTI JOIN {self.incoming(node)} i ON s.id = i.id",
        )

    def touched_sources(self, edge: EdgeType) -> str:
        """Return a query for the sources, as `src`, whose number of edges may change."""
        incoming = self.incoming(edge)
        sources = [f"SELECT src FROM {incoming}"]
        if self.is_replaced(edge):
            sources.append(f"SELECT src FROM {self.stored(edge)}")
        elif not self.is_all_new(edge):
            sources.append(f"SELECT s.src FROM {self.stored(edge)} s SEMI JOIN {incoming} i ON s.id = i.id")
        return " UNION ALL ".join(sources)

    def _columns(self, entity: EntityType) -> list[str]:
        return _columns(entity) + (["newest"] if self._incoming[entity.table_key].has_newest else [])

    def _meant(self, edge: EdgeType, keys: str) -> str:
        names = naming_endpoints(edge)
        text = self._meant_by_endpoints(edge, keys, names) if names else self._meant_by_content(edge, keys)
        return self.step(f"meant{number_of(edge)}", text)

    def _meant_by_endpoints(self, edge: EdgeType, keys: str, names: tuple[tuple[str, ...], ...]) -> str:
        """Take the one edge on which all naming constraints agree, for the first record that means it."""
        found = " UNION ALL ".join(
            f"SELECT i.position, min(s.id) AS id FROM {keys} i JOIN {self.stored(edge)} s "
            f"ON {' AND '.join(f'i.{name} = s.{name}' for name in columns)} WHERE i.id IS NULL GROUP BY i.position"
            for columns in names
        )
        return f"""
            SELECT position, id FROM (
                SELECT position, id, row_number() OVER (PARTITION BY id ORDER BY position) AS place FROM (
                    SELECT position, min(id) AS id FROM ({found}) GROUP BY position HAVING min(id) = max(id)
                )
            ) WHERE place = 1
        """

    def _meant_by_content(self, edge: EdgeType, keys: str) -> str:
        """Match records with equal stored edges one to one, leaving out edges that the input names by id."""
        same = "src, dst, content"
        return f"""
            SELECT i.position, s.id FROM (
                SELECT position, {same}, row_number() OVER (PARTITION BY {same} ORDER BY position) AS place
                FROM {keys} WHERE id IS NULL
            ) i JOIN (
                SELECT s.id, {same}, row_number() OVER (PARTITION BY {same} ORDER BY s.id) AS place
                FROM {self.stored(edge)} s ANTI JOIN (SELECT id FROM {keys} WHERE id IS NOT NULL) n ON s.id = n.id
            ) s ON i.src = s.src AND i.dst = s.dst AND i.content = s.content AND i.place = s.place
        """


def _columns(entity: EntityType) -> list[str]:
    members = [column for column in member_columns(entity).values() if column not in {"src", "dst"}]
    return [*identity_columns(entity), *members, "position", "file", "line"]
