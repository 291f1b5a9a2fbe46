"""One cheap question before the checks: whether there is anything at all to look at.

Almost every load is right, so the usual answer is no. It costs a count over joins and groups, bucket by bucket on the
workers, without any sorting. A yes may also be harmless, for instance an id that a merge may repeat, or a value that
moves from one entity to another; the checks then find out.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from omnigraph.catalog.model import Catalog, EdgeType, EntityType, NodeType, TableKey
from omnigraph.pipeline.load.bulk.buckets import Facet, Side, degree_facet, identity_facet, source_facet, unique_facets
from omnigraph.pipeline.load.bulk.views import IncomingKeys
from omnigraph.pipeline.load.meaning import naming_endpoints
from omnigraph.pipeline.load.writer import LoadMode

_ENDPOINTS = ("src", "dst")


class Screening:
    """Builds the statement, and remembers which facets it asks for."""

    def __init__(
        self,
        incoming: Mapping[TableKey, IncomingKeys],
        catalog: Catalog,
        mode: LoadMode,
        *,
        is_looked_up: bool = False,
        is_stale: bool = False,
    ) -> None:
        """With `is_looked_up`, incoming rows met nothing stored that they must not meet, and what they miss is kept.

        With `is_stale` they were looked up, and what was found does not count.
        """
        self._incoming = incoming
        self.is_looked_up = is_looked_up
        self._is_stale = is_stale
        self._catalog = catalog
        self._mode = mode
        self._asked: dict[str, tuple[Side, Facet]] = {}
        queries = [f"SELECT 1 AS suspect FROM ({query})" for query in self._suspects()]
        found = " UNION ALL ".join(["SELECT 0 AS rows", *map(self._named_again, self.edges_to_name_again)])
        self.statement = (
            f"SELECT (SELECT count(*) FROM ({' UNION ALL '.join(queries)})) AS suspects, "
            f"(SELECT CAST(sum(rows) AS BIGINT) FROM ({found})) AS named_again"
        )

    @property
    def edges_to_name_again(self) -> list[EdgeType]:
        """Return the types whose stored edges all go while each of their sources must have some.

        Where they were looked up, the statement counts the stored edges of all sources that the input names again.
        """
        if not self.is_looked_up:
            return []
        return [edge for edge in self._catalog.edges if self._is_replaced(edge) and edge.cardinality.low > 0]

    @property
    def schema_by_relation(self) -> dict[str, pa.Schema]:
        """Return the relations that the statement names."""
        return {name: facet.schema for name, (_, facet) in self._asked.items()}

    def stored_facets(self) -> dict[TableKey, tuple[Facet, ...]]:
        """Return what must be known of stored rows, by type."""
        found: dict[TableKey, tuple[Facet, ...]] = {}
        for side, facet in self._asked.values():
            if side == "s":
                found[facet.entity.table_key] = (*found.get(facet.entity.table_key, ()), facet)
        return found

    def _suspects(self) -> Iterator[str]:
        # Something to count, for loads without anything to check.
        yield "SELECT 1 WHERE false"
        for entity in self._catalog.type_by_table_key.values():
            if self._has(entity):
                yield from self._repeated(entity)
                for facet in unique_facets(entity, self._mode):
                    yield self._shared_values(facet)
        for node in self._catalog.nodes:
            yield from self._missing_nodes(node)
        for edge in self._catalog.edges:
            if self._has(edge) and not edge.cardinality.is_unbounded:
                yield self._crowded_sources(edge)

    def _repeated(self, entity: EntityType) -> Iterator[str]:
        table = self._incoming[entity.table_key]
        # Records that give no id look for the edge that they mean; once found, its id is as good as a given one.
        means = self._mode == "merge" and isinstance(entity, EdgeType) and table.ids_given < table.rows
        if means and self._is_stale:
            yield "SELECT 1"  # they may mean others now
        if table.ids_given == 0 and not (means and self.is_looked_up):
            return  # all of them were minted just now
        ids = self._name("i", identity_facet(entity))
        yield f"SELECT id FROM {ids} GROUP BY id HAVING count(*) > 1"
        if self._mode == "append" and not self.is_looked_up:
            stored = self._name("s", identity_facet(entity))
            yield f"SELECT i.id FROM {ids} i SEMI JOIN {stored} s ON i.id = s.id"
        if means and not self.is_looked_up and isinstance(entity, EdgeType) and naming_endpoints(entity):
            yield "SELECT 1"  # a record may mean by its endpoints the edge that another names by its id

    def _shared_values(self, facet: Facet) -> str:
        listed = ", ".join(facet.columns)
        held = f"SELECT * FROM {self._name('i', facet)}"
        if not self._is_replaced(facet.entity) and not self.is_looked_up:
            held += f" UNION ALL SELECT * FROM {self._name('s', facet)}"
        # In a merge the stored holder may be the very entity that comes again.
        shared = "min(owner) <> max(owner)" if facet.has_owner else "count(*) > 1"
        return f"SELECT {listed} FROM ({held}) GROUP BY {listed} HAVING {shared}"

    def _missing_nodes(self, node: NodeType) -> Iterator[str]:
        """Look for all the ends that edges need at nodes of one type together."""
        needed = []
        # What was found among stored nodes tells nothing if those go.
        side: Side = "m" if self.is_looked_up and not self._is_replaced(node) else "i"
        for edge in self._catalog.edges:
            for column, name in zip(_ENDPOINTS, (edge.from_type, edge.to_type), strict=True):
                if name != node.name:
                    continue
                if self._has(edge):
                    needed.append(f"SELECT {column} AS endpoint FROM {self._name(side, Facet(edge, (column,)))}")
                if self._is_replaced(node) and not self._is_replaced(edge) and not self.is_looked_up:
                    needed.append(f"SELECT {column} AS endpoint FROM {self._name('s', Facet(edge, (column,)))}")
        if needed:
            facet = identity_facet(node)
            ids = [f"SELECT id FROM {self._name('i', facet)}"] if self._has(node) else []
            if not self._is_replaced(node) and not self.is_looked_up:
                ids.append(f"SELECT id FROM {self._name('s', facet)}")
            found = f"ANTI JOIN ({' UNION ALL '.join(ids)}) n ON e.endpoint = n.id" if ids else ""
            yield f"SELECT e.endpoint FROM ({' UNION ALL '.join(needed)}) e {found}"

    def _crowded_sources(self, edge: EdgeType) -> str:
        """Count the edges of every source; one with too few has at least one record or one replaced edge."""
        low, high = edge.cardinality.low, edge.cardinality.high
        if self._mode == "merge" and low > 0 and not self.is_looked_up:
            return "SELECT 1"  # an edge that moves takes from a source that no record names
        facet = source_facet(edge)
        counted = f"SELECT src, 1 AS edges FROM {self._name('i', facet)}"
        if not self._is_replaced(edge):
            if self.is_looked_up:
                counted += f" UNION ALL SELECT src, rows FROM ({self._degrees(edge)})"
            else:
                counted += f" UNION ALL SELECT src, 1 FROM {self._name('s', facet)}"
            if self._mode == "merge" and self.is_looked_up:
                counted += f" UNION ALL SELECT src, -1 FROM {self._name('r', facet)}"
        elif low > 0 and not self.is_looked_up:
            # Sources that lose their last edge have no row of their own.
            counted += f" UNION ALL SELECT src, 0 FROM {self._name('s', facet)}"
        outside = f"sum(edges) < {low}" + (f" OR sum(edges) > {high}" if high is not None else "")
        return f"SELECT src FROM ({counted}) GROUP BY src HAVING {outside}"

    def _degrees(self, edge: EdgeType) -> str:
        """Return a query for the number of stored edges of sources; several parts may have looked up the same one."""
        return f"SELECT src, max(rows) AS rows FROM {self._name('m', degree_facet(edge))} GROUP BY src"

    def _named_again(self, edge: EdgeType) -> str:
        return f"SELECT rows FROM ({self._degrees(edge)})"

    def _has(self, entity: EntityType) -> bool:
        return entity.table_key in self._incoming

    def _is_replaced(self, entity: EntityType) -> bool:
        return self._mode == "overwrite" and self._has(entity)

    def _name(self, side: Side, facet: Facet) -> str:
        name = facet.relation(side)
        self._asked[name] = (side, facet)
        return name
