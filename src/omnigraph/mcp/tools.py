"""A stored query as a tool: its name, what it is for, and the JSON Schema of its parameters."""

from collections.abc import Mapping
from typing import Any, Final

from omnigraph.base.values import Json, dataclass
from omnigraph.client.values import StoredParameterInfo, StoredQueryInfo

ROWS_MAX: Final = 1_000
"""Rows of one answer: whoever reads them has a memory of words, not of tables."""

_SCALARS: Final[Mapping[str, Mapping[str, Any]]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "bigint": {"type": ["integer", "string"], "description": "A whole number, or its digits as text."},
    "float": {"type": "number"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "blob": {"type": "string", "description": "Bytes, spelled as base64: and then base64."},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTool:
    """What the protocol says of a stored query."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    is_read: bool


def tool_of(query: StoredQueryInfo) -> QueryTool:
    """Describe a stored query."""
    does = "Changes the graph, as one commit." if query.is_mutation else "Reads the graph and changes nothing."
    said = query.description or f"The stored query {query.name}."
    return QueryTool(
        name=query.name,
        description=" ".join(filter(None, (said, query.instruction, does))),
        input_schema={
            "type": "object",
            "properties": {one.name: _schema(one) for one in query.parameters},
            "required": [one.name for one in query.parameters if not one.nullable],
            "additionalProperties": False,
        },
        is_read=not query.is_mutation,
    )


def shortened(document: Json, rows_max: int = ROWS_MAX) -> Json:
    """Cut a long answer, and say so in it."""
    if not isinstance(document, dict) or not isinstance(document.get("rows"), list):
        return document
    rows = document["rows"]
    if len(rows) <= rows_max:
        return document
    return {**document, "rows": rows[:rows_max], "rows_left_out": len(rows) - rows_max}


def _schema(parameter: StoredParameterInfo) -> dict[str, Any]:
    schema = _plain(parameter)
    if parameter.nullable:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        schema["type"] = [*kinds, "null"]
    return schema


def _plain(parameter: StoredParameterInfo) -> dict[str, Any]:
    if parameter.kind == "vector":
        size = parameter.vector_dim
        return {"type": "array", "items": {"type": "number"}, "minItems": size, "maxItems": size}
    if parameter.kind == "list":
        return {"type": "array", "items": dict(_SCALARS.get(parameter.item_kind or "", {}))}
    return dict(_SCALARS.get(parameter.kind, {"type": "string"}))
