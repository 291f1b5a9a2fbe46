"""One cheap question before the checks: whether there is anything at all to look at.

Almost every load is right, so the usual answer is no, and it costs one count over joins without any sorting. A yes may
also be harmless, for instance an id that a merge may repeat; the checks then find out.
"""

from collections.abc import Iterator

from omnigraph.catalog.model import Catalog, EdgeType, EntityType, NodeType
from omnigraph.pipeline.load.bulk.views import Views
from omnigraph.pipeline.load.writer import LoadMode
from omnigraph.writes.constraints.keys import member_columns

_ENDPOINTS = ("src", "dst")


def screening_query(views: Views, catalog: Catalog, mode: LoadMode) -> str:
    """Return a query for the number of suspects; none means that every check would pass."""
    suspects = [f"SELECT 1 AS suspect FROM ({query})" for query in _suspects(views, catalog, mode)]
    return f"SELECT count(*) AS suspects FROM ({' UNION ALL '.join(suspects)})"


def _suspects(views: Views, catalog: Catalog, mode: LoadMode) -> Iterator[str]:
    # Something to count, for loads without anything to check.
    yield "SELECT 1 WHERE false"
    for entity in catalog.type_by_table_key.values():
        if not views.has(entity):
            continue
        if not views.is_all_new(entity):
            yield f"SELECT id FROM {views.named(entity)} GROUP BY id HAVING count(*) > 1"
            if mode == "append":
                yield f"SELECT i.id FROM {views.named(entity)} i SEMI JOIN {views.stored(entity)} s ON i.id = s.id"
        yield from _shared_values(views, entity)
    for node in catalog.nodes:
        yield from _missing_nodes(views, catalog, node)
    for edge in catalog.edges:
        if views.has(edge) and not edge.cardinality.is_unbounded:
            yield _crowded_sources(views, edge)


def _shared_values(views: Views, entity: EntityType) -> Iterator[str]:
    column_by_name = member_columns(entity)
    for rule in entity.uniques:
        columns = [column_by_name[name] for name in rule.properties]
        listed = ", ".join(columns)
        known = " AND ".join(f"{column} IS NOT NULL" for column in columns)
        held = f"SELECT {listed} FROM {views.named(entity)}"
        if not views.is_replaced(entity):
            held += f" UNION ALL SELECT {listed} FROM {views.kept(entity)}"
        yield f"SELECT {listed} FROM ({held}) WHERE {known} GROUP BY {listed} HAVING count(*) > 1"


def _missing_nodes(views: Views, catalog: Catalog, node: NodeType) -> Iterator[str]:
    """Look for all the ends that edges need at nodes of one type together."""
    needed = []
    for edge in catalog.edges:
        for column, name in zip(_ENDPOINTS, (edge.from_type, edge.to_type), strict=True):
            if name != node.name:
                continue
            if views.has(edge):
                needed.append(f"SELECT {column} AS endpoint FROM {views.named(edge)}")
            if views.is_replaced(node) and not views.is_replaced(edge):
                needed.append(f"SELECT {column} AS endpoint FROM {views.stored(edge)}")
    if needed:
        yield (
            f"SELECT e.endpoint FROM ({' UNION ALL '.join(needed)}) e "
            f"ANTI JOIN {views.ids_afterwards(node)} n ON e.endpoint = n.id"
        )


def _crowded_sources(views: Views, edge: EdgeType) -> str:
    """Count the edges of every source; one with too few has at least one record or one replaced edge."""
    low, high = edge.cardinality.low, edge.cardinality.high
    counted = f"SELECT src, 1 AS edges FROM {views.named(edge)} UNION ALL SELECT src, 1 FROM {views.kept(edge)}"
    if low > 0:
        # Sources that lose their last edge have no row of their own.
        counted += f" UNION ALL SELECT src, 0 FROM {views.stored(edge)}"
    outside = f"sum(edges) < {low}" + (f" OR sum(edges) > {high}" if high is not None else "")
    return f"SELECT src FROM ({counted}) GROUP BY src HAVING {outside}"
