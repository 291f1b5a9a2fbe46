"""Random schema changes on graphs with data: what survives keeps its values, what is new has its default, and the
past reads as it did."""

import tempfile
from typing import Any

from hypothesis import HealthCheck, given, settings

import omnigraph
from omnigraph.catalog.model import EdgeType, EntityType, Property, Scalar
from omnigraph.graph import Graph
from support import harbor
from support.schema_evolutions import histories, text_of

Value = Any
Rows = dict[str, dict[int, Value]]
"""Per id, the values by property identity."""


def value_of(declared: Property, number: int) -> Value:
    """Make the value of entity 0 or 1; no two entities share one, so that every @unique holds."""
    if declared.type.nullable and number == 1:
        return None
    if declared.type.enum_values is not None:
        return declared.type.enum_values[number]
    values: dict[Scalar, Value] = {Scalar.STRING: f"s{number}", Scalar.F64: number + 0.5}
    if declared.type.scalar is Scalar.VECTOR:
        return [float(number)] * (declared.type.dimension or 0)
    value = values.get(declared.type.scalar, number)
    return [value] if declared.type.is_list else value


def record_of(entity: EntityType, number: int, ends: dict[str, list[str]]) -> dict[str, Any]:
    data = {declared.name: value_of(declared, number) for declared in entity.properties}
    if isinstance(entity, EdgeType):
        source, target = ends[entity.from_type][number], ends[entity.to_type][number]
        return {"edge": entity.name, "from": source, "to": target, "data": {"id": f"e{number}", **data}}
    has_key = entity.property_by_name.keys() & {"key"}
    return {"type": entity.name, "data": data if has_key else {"id": f"n{number}", **data}}


def fill(graph: Graph) -> None:
    """Give every type of a new graph two entities."""
    catalog = graph.snapshot().catalog
    graph.load(harbor.lines([record_of(node, at, {}) for node in catalog.nodes for at in (0, 1)]), mode="append")
    ends = {
        node.name: sorted(graph.snapshot().table(node.table_key).to_arrow(["id"])["id"].to_pylist())
        for node in catalog.nodes
    }
    if catalog.edges:
        edges = [record_of(edge, at, ends) for edge in catalog.edges for at in (0, 1)]
        graph.load(harbor.lines(edges), mode="append")


def state(graph: Graph, version: int | None = None) -> dict[int, Rows]:
    """Return everything by identities: type, entity, property."""
    snapshot = graph.snapshot(version=version)
    return {
        entity.type_id: {
            row["id"]: {declared.property_id: row[declared.name] for declared in entity.properties}
            | {-1: (row.get("src"), row.get("dst"))}
            for row in snapshot.table(entity.table_key).to_arrow().to_pylist()
        }
        for entity in snapshot.catalog.entity_types()
    }


def expected_state(graph: Graph, before: dict[int, Rows]) -> dict[int, Rows]:
    """Say what the rows of before must have become under the schema of now."""
    return {
        entity.type_id: {
            row_id: {
                declared.property_id: row.get(declared.property_id, declared.default) for declared in entity.properties
            }
            | {-1: row[-1]}
            for row_id, row in before.get(entity.type_id, {}).items()
        }
        for entity in graph.snapshot().catalog.entity_types()
    }


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(histories())
def test_schema_changes_keep_what_survives_and_the_past_stays_as_it_was(history: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        graph = omnigraph.init(f"{directory}/graph.omni", text_of(history[0]))
        fill(graph)
        past = {graph.snapshot().graph_version: state(graph)}

        for desired in history[1:]:
            before = state(graph)
            result = graph.apply_schema(text_of(desired))

            assert state(graph) == expected_state(graph, before)
            past[result.graph_version] = state(graph)

        assert harbor.pins_equal_heads(graph)
        for version, then in past.items():
            assert state(graph, version) == then
