"""The outside of a record: which type it belongs to, its endpoints, and the object that holds its properties."""

from typing import NamedTuple

from omnigraph.base.units import shorten
from omnigraph.catalog.model import Catalog, EdgeType, EntityKind, EntityType, NodeType
from omnigraph.catalog.names import is_reserved
from omnigraph.records.offences import Code, Rejected
from omnigraph.records.strict_json import Json, spell

_NODE_FIELDS = frozenset({"type", "data"})
_EDGE_FIELDS = frozenset({"edge", "from", "to", "data"})


class Record(NamedTuple):
    """A record whose envelope is in order; only edges have endpoints."""

    entity: EntityType
    data: dict[str, Json]
    source: str | None = None
    target: str | None = None


def open_envelope(value: Json, catalog: Catalog) -> Record:
    """Take a record out of its envelope; raise `Rejected` for the first thing wrong with the envelope."""
    if not isinstance(value, dict):
        raise Rejected(Code.NOT_AN_OBJECT, f"a record is an object, got {spell(value)}")
    if ("type" in value) == ("edge" in value):
        raise _bad_envelope("a record has exactly one of the fields type and edge")
    return _open_node(value, catalog) if "type" in value else _open_edge(value, catalog)


def _open_node(value: dict[str, Json], catalog: Catalog) -> Record:
    name = _string_field(value, "type")
    if not value.keys() <= _NODE_FIELDS:
        raise _unexpected_field(value, _NODE_FIELDS, "node")
    node: NodeType | None = catalog.node_by_name.get(name)
    if node is None:
        raise Rejected(Code.UNKNOWN_TYPE, f"unknown node type {spell(name)}")
    return Record(node, _data(value))


def _open_edge(value: dict[str, Json], catalog: Catalog) -> Record:
    name = _string_field(value, "edge")
    if not value.keys() <= _EDGE_FIELDS:
        raise _unexpected_field(value, _EDGE_FIELDS, "edge")
    edge: EdgeType | None = catalog.edge_by_folded_name.get(name.casefold())
    if edge is None:
        raise Rejected(Code.UNKNOWN_TYPE, f"unknown edge type {spell(name)}")
    return Record(edge, _data(value), _string_field(value, "from"), _string_field(value, "to"))


def _string_field(value: dict[str, Json], name: str) -> str:
    found = value.get(name)
    # An exact comparison of types: number tokens are strings underneath.
    if type(found) is str:
        return found
    if name not in value:
        raise _bad_envelope(f"the field {name} is missing")
    raise _bad_envelope(f"the field {name} must be a string, got {spell(found)}")


def _data(value: dict[str, Json]) -> dict[str, Json]:
    data = value.get("data", {})
    if not isinstance(data, dict):
        raise _bad_envelope(f"the field data must be an object, got {spell(data)}")
    return data


def _bad_envelope(message: str) -> Rejected:
    return Rejected(Code.BAD_ENVELOPE, message)


def _unexpected_field(value: dict[str, Json], allowed: frozenset[str], kind: EntityKind) -> Rejected:
    name = next(name for name in value if name not in allowed)
    if is_reserved(name, kind=kind):
        return Rejected(Code.RESERVED_FIELD, f"the field {shorten(name)} is reserved")
    return Rejected(Code.UNKNOWN_FIELD, f"unknown field {shorten(name)}")
