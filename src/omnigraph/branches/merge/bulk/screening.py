"""One cheap question before the checks: whether a merge may break a rule at all.

Almost every merge keeps them. So workers first count, bucket by bucket, values that two entities would hold and ends of
edges that would be no nodes. Only if there are any does a statement over whole tables find out which, and whether: a
value that moves from one entity to another is counted here and breaks no rule.
"""

from collections.abc import Callable, Iterator

import pyarrow.compute as pc

from omnigraph.branches.merge.bulk.comparing import stored_reading
from omnigraph.branches.merge.bulk.merged_state import GONE, TAKEN
from omnigraph.branches.merge.bulk.outcomes import CARRIED_ROWS, ENDS, RESOLVED, VALUES, end_types, held_values
from omnigraph.catalog.model import Catalog, EdgeType, EntityType, NodeType, TableKey
from omnigraph.engine.interface import Produced
from omnigraph.writes.constraints.resulting_state import number_of
from omnigraph.writes.exchange.stages import Exchange, Query, Step

_NODES = f"""
    SELECT s.id FROM stored s ANTI JOIN (SELECT id FROM resolved WHERE {GONE}) g ON s.id = g.id
    UNION ALL SELECT id FROM resolved WHERE {TAKEN}
"""


def has_suspects(
    exchange: Exchange,
    catalog: Catalog,
    compared: frozenset[TableKey],
    taken: list[EntityType],
    stored: Callable[[EntityType], Produced],
) -> bool:
    """Whether the rows that come from the source may break a rule; `compared` are all types that were resolved."""
    steps = [step for entity in taken for step in _shared_values(entity)]
    nodes = {
        node.table_key: node for edge in taken if isinstance(edge, EdgeType) for _, node in end_types(catalog, edge)
    }
    unread = [node for key, node in nodes.items() if key not in compared]
    if unread:
        exchange.read([stored_reading(node, stored(node), is_compared=False) for node in unread])
    steps += [_missing_nodes(node, is_compared=key in compared) for key, node in nodes.items()]
    if not steps:
        return False
    shelves = [VALUES, *([CARRIED_ROWS, RESOLVED, ENDS] if nodes else [])]
    return bool(pc.sum(exchange.run(shelves, steps)["suspects"]["suspects"]).as_py())


def _shared_values(entity: EntityType) -> Iterator[Step]:
    for values in held_values(entity):
        listed = ", ".join(values.columns)
        is_held = " AND ".join(f"{column} IS NOT NULL" for column in values.columns)
        # The stored holder may be the very entity that comes again.
        shared = f"SELECT 1 FROM held WHERE {is_held} GROUP BY {listed} HAVING min(id) <> max(id)"
        yield Step(relations={"held": values.relation}, queries=(_counted(shared),))


def _missing_nodes(node: NodeType, *, is_compared: bool) -> Step:
    number = number_of(node)
    nodes = _NODES if is_compared else "SELECT id FROM stored"
    resolved = {"resolved": f"{number}_resolved"} if is_compared else {}
    return Step(
        relations={"ends": f"{number}_ends", "stored": f"{number}_stored", **resolved},
        queries=(_counted(f"SELECT 1 FROM ends e ANTI JOIN ({nodes}) n ON e.id = n.id"),),
    )


def _counted(query: str) -> Query:
    return Query(name="suspects", text=f"SELECT count(*) AS suspects FROM ({query})", is_answer=True)
